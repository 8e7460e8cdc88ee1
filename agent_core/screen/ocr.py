"""The two text networks (PP-OCR, shipped inside the `rapidocr` package) run directly on onnxruntime.

Screens are upright and sharp, so neither the rotation classifier nor any enlarging of the image is needed. What a crop
is read as depends on its pixels alone: crops are padded to fixed widths and the result is kept by the hash of the
pixels, so reading again what did not change costs nothing and cannot differ.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent_core.errors import ScreenError

Pixels = NDArray[np.uint8]
DETECTOR = "PP-OCRv6_det_small.onnx"
RECOGNISER = "PP-OCRv6_rec_small.onnx"
LINE_HEIGHT = 48  # what the recogniser was trained on
WIDTH_STEP = 64  # crops are padded to a multiple of this, so that few shapes occur
BATCH = 8
TEXT_PROBABILITY = 0.3  # of the detector's map, the value the network was published with
MAX_SIDE = 2048  # larger screens are shrunk for finding lines; recognition always sees native pixels
KEPT = 4096  # recognised crops remembered


@dataclass(frozen=True, slots=True)
class Words:
    """What a crop says: the text, the mean probability of its characters, and each character's centre.

    `places` are fractions of the padded crop's width, one per character; `width_share` is the padded width over the
    crop's own.
    """

    text: str
    score: float
    places: tuple[float, ...] = ()
    width_share: float = 1.0


def session(name: str, threads: int) -> Any:
    """An onnxruntime session for a network of the rapidocr package. Raises ScreenError when it is not installed."""
    import onnxruntime

    spec = importlib.util.find_spec("rapidocr")
    path = Path(spec.origin).parent / "models" / name if spec and spec.origin else None
    if path is None or not path.is_file():
        raise ScreenError(f"The text reader {name} is missing; install Deskhand again.")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class LineDetector:
    """Finds where text lines are."""

    def __init__(self, threads: int = 2) -> None:
        self._session = session(DETECTOR, threads)

    def cores(self, rgb: Pixels) -> NDArray[np.int32]:
        """The cores of all text lines, n x 4 pixels (left, top, right, bottom). A core is thinner than its text."""
        import cv2

        height, width = rgb.shape[:2]
        scale = min(1.0, MAX_SIDE / max(height, width))
        size = (max(32, round(width * scale / 32) * 32), max(32, round(height * scale / 32) * 32))
        small = cv2.resize(rgb[:, :, ::-1], size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
        blob = small.astype(np.float32) / 127.5 - 1
        found = self._session.run(None, {"x": np.ascontiguousarray(blob.transpose(2, 0, 1)[None])})[0][0, 0]
        _, _, stats, _ = cv2.connectedComponentsWithStats((found > TEXT_PROBABILITY).astype(np.uint8))
        boxes = stats[1:, :4].astype(np.float64)
        boxes[:, 2:] += boxes[:, :2]
        boxes *= np.array([width / size[0], height / size[1]] * 2)
        cores: NDArray[np.int32] = np.rint(boxes).astype(np.int32)
        return cores


class WordReader:
    """Reads crops that hold one line of text."""

    def __init__(self, threads: int = 2) -> None:
        self._session = session(RECOGNISER, threads)
        characters = self._session.get_modelmeta().custom_metadata_map["character"].splitlines()
        self._characters = ["", *characters, " "]
        self._known: OrderedDict[bytes, Words] = OrderedDict()

    def read(self, crops: Sequence[Pixels]) -> list[Words]:
        """What each crop (height x width x 3, RGB) says, in the same order."""
        keys = [
            hashlib.blake2b(crop.tobytes(), digest_size=16, key=repr(crop.shape).encode()).digest() for crop in crops
        ]
        unknown = {key: crop for key, crop in zip(keys, crops, strict=True) if key not in self._known}
        by_width: dict[int, list[tuple[bytes, Pixels, float]]] = {}
        for key, crop in unknown.items():
            line, share = _as_line(crop)
            by_width.setdefault(line.shape[1], []).append((key, line, share))
        for lines in by_width.values():
            for start in range(0, len(lines), BATCH):
                self._read_batch(lines[start : start + BATCH])
        for key in keys:
            self._known.move_to_end(key)
        words = [self._known[key] for key in keys]
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return words

    def _read_batch(self, lines: list[tuple[bytes, Pixels, float]]) -> None:
        blob = np.stack([line for _, line, _ in lines]).astype(np.float32) / 127.5 - 1
        out = self._session.run(None, {"x": np.ascontiguousarray(blob.transpose(0, 3, 1, 2))})[0]
        for (key, _, share), chances in zip(lines, out, strict=True):
            self._known[key] = self._decoded(chances, share)

    def _decoded(self, chances: NDArray[np.float32], share: float) -> Words:
        """Greedy CTC: the best character per column, repeats and blanks dropped."""
        best = chances.argmax(axis=1)
        keep = np.flatnonzero((best != 0) & (np.diff(best, prepend=-1) != 0))
        if not len(keep):
            return Words("", 0.0)
        text = "".join(self._characters[i] for i in best[keep])
        score = float(chances[keep, best[keep]].mean())
        return Words(text, score, tuple((keep + 0.5) / len(best)), share)


def _as_line(crop: Pixels) -> tuple[Pixels, float]:
    """The crop at the network's height, in BGR, its right end continued to a multiple of WIDTH_STEP, and the ratio
    of the widths with and without that end."""
    import cv2

    height, width = crop.shape[:2]
    wide = max(8, round(width * LINE_HEIGHT / height))
    method = cv2.INTER_AREA if height > LINE_HEIGHT else cv2.INTER_CUBIC
    line = cv2.resize(crop[:, :, ::-1], (wide, LINE_HEIGHT), interpolation=method)
    padded = -(-wide // WIDTH_STEP) * WIDTH_STEP
    return cv2.copyMakeBorder(line, 0, 0, 0, padded - wide, cv2.BORDER_REPLICATE), padded / wide
