"""The element reader: reading again after a small change, and beside RapidOCR as it comes."""

from __future__ import annotations

import numpy as np

from agent_core.screen.elements import ElementReader
from tests.benches.frames import two_frames, upside_down
from tests.benches.measure import Result, beside, cpu_seconds

TIMES = 3


def incremental() -> Result:
    """Reading a frame in which one line is new, against reading it for the first time."""
    before, after = two_frames()
    warm = upside_down(before)

    def first_time() -> float:
        reader = ElementReader()
        reader.read(warm)
        return cpu_seconds(lambda: reader.read(after))

    def again() -> float:
        reader = ElementReader()
        reader.read(before)
        return cpu_seconds(lambda: reader.read(after))

    taken = beside(again, first_time, TIMES)
    detail = f"{taken.ours:.2f} s after a one-line change, {taken.peer:.2f} s in full; processor time, 1280x800"
    return Result("reader_incremental", taken.ratio, 3.0, "our own reader, full read", detail)


def against_stock() -> Result:
    """A full read against RapidOCR's, which gives words only."""
    from rapidocr import RapidOCR

    shot, _ = two_frames()
    warm = upside_down(shot)
    stock = RapidOCR(params={"Global.log_level": "critical"})  # everything else as it comes
    stock(_bgr(warm.rgb, shot.height, shot.width))
    image = _bgr(shot.rgb, shot.height, shot.width)

    def ours() -> float:
        reader = ElementReader()
        reader.read(warm)
        return cpu_seconds(lambda: reader.read(shot))

    taken = beside(ours, lambda: cpu_seconds(lambda: stock(image)), TIMES)
    detail = f"{taken.ours:.2f} s ours, words and widgets; {taken.peer:.2f} s stock, words; processor time, 1280x800"
    return Result("reader_against_stock", taken.ratio, 1.5, "rapidocr.RapidOCR()(image), default settings", detail)


def _bgr(rgb: bytes, height: int, width: int) -> np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]:
    """RapidOCR takes pictures as OpenCV reads them."""
    return np.ascontiguousarray(np.frombuffer(rgb, np.uint8).reshape(height, width, 3)[:, :, ::-1])
