"""Grabs one monitor's native pixels into a Screenshot and says clearly why it cannot.

Each thread has its own connection to the screen: mss and X connections are bound to the thread that made them.
Covered: X11, Windows, macOS through mss; a Wayland session and a black frame are refused. Not covered: waiting
(`settle`), reading (`elements`), removing secrets (`redact`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import mss
import numpy as np
from mss.exception import ScreenShotError
from PIL import Image

from agent_core.errors import ScreenError
from agent_core.screen.window import ActiveWindow
from agent_core.step import Screenshot, Transform

BLACK = 0.995  # more pure black than this is no picture (locked session, screen asleep, protected content)
BLACK_RETRY_S = 0.3


class Screen:
    """One monitor. `monitor` counts from 1; `hide` is entered around every grab so that our own windows stay out."""

    def __init__(
        self, monitor: int = 1, hide: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext
    ) -> None:
        self._monitor = monitor
        self._hide = hide
        self._own = threading.local()

    def grab(self) -> Screenshot:
        """The frame as it is now, any thread. Raises ScreenError: no display, Wayland, no such monitor, black frame."""
        started = time.perf_counter()
        with self._hide():
            shot = self._frame()
            if _is_black(shot.rgb):
                time.sleep(BLACK_RETRY_S)
                shot = self._frame()
        if _is_black(shot.rgb):
            raise ScreenError("The screen is black. Wake or unlock it, or close the window that forbids screenshots.")
        return dataclasses.replace(shot, capture_ms=(time.perf_counter() - started) * 1000)

    def monitors(self) -> tuple[Transform, ...]:
        """Every monitor in the order in which they are counted, sizes in pixels. Raises ScreenError: no display."""
        return tuple(_transform(place, n) for n, place in enumerate(self._grabber().monitors[1:], start=1))

    def place(self) -> Transform:
        """Where the chosen monitor lies. Raises ScreenError: no display, no such monitor."""
        return _transform(self._chosen(self._grabber()), self._monitor)

    def close(self) -> None:
        """Frees this thread's connection. Threads that end free their own."""
        for name in ("grabber", "window"):
            part = self._own.__dict__.pop(name, None)
            if part is not None:
                part.close()

    def _frame(self) -> Screenshot:
        grabber = self._grabber()
        try:
            place = self._chosen(grabber)
            image = grabber.grab(place)
        except ScreenShotError as error:
            self.close()
            raise ScreenError(
                f"The screen could not be captured ({error}). Check that it is on and try again."
            ) from error
        transform = transform_of(_name(place, self._monitor), place, (image.width, image.height))
        return Screenshot(image.rgb, image.width, image.height, transform, window=self._own.window.title())

    def _chosen(self, grabber: Any) -> Mapping[str, Any]:
        """The capture library's words on the chosen monitor."""
        monitors: list[Mapping[str, Any]] = grabber.monitors[1:]
        if not 1 <= self._monitor <= len(monitors):
            raise ScreenError(
                f"There is no monitor {self._monitor}; {len(monitors)} found. Choose another in the settings."
            )
        return monitors[self._monitor - 1]

    def _grabber(self) -> Any:
        """This thread's connection, opened on first use, and anew when a monitor was unplugged, turned or moved."""
        grabber = getattr(self._own, "grabber", None)
        if grabber is not None and self._own.window.monitors() != self._own.layout:
            self.close()
            grabber = None
        if grabber is None:
            refuse_unusable_session()
            try:
                grabber = mss.MSS() if hasattr(mss, "MSS") else mss.mss()
            except ScreenShotError as error:
                raise ScreenError(
                    f"The display {os.environ.get('DISPLAY', '')} cannot be opened ({error}). "
                    "Check DISPLAY and that you may use this screen."
                ) from error
            self._own.grabber = grabber
            self._own.window = ActiveWindow()
            self._own.layout = self._own.window.monitors()
        return grabber


def _transform(place: Mapping[str, Any], number: int) -> Transform:
    """Where a monitor lies, before it was captured."""
    return Transform(_name(place, number), place["left"], place["top"], place["width"], place["height"])


def _name(place: Mapping[str, Any], number: int) -> str:
    return str(place.get("name") or number)


def transform_of(name: str, place: Mapping[str, Any], pixels: tuple[int, int]) -> Transform:
    """Where a picture of so many pixels lies. `place` is in units of the input, which macOS counts in points."""
    scale = pixels[0] / place["width"]
    return Transform(name, round(place["left"] * scale), round(place["top"] * scale), *pixels, scale)


def refuse_unusable_session() -> None:
    """Raises ScreenError where no picture can be had: no DISPLAY, or a Wayland session (also with XWayland)."""
    if not sys.platform.startswith("linux"):
        return
    has_x = bool(os.environ.get("DISPLAY"))
    if os.environ.get("XDG_SESSION_TYPE") == "wayland" or (os.environ.get("WAYLAND_DISPLAY") and not has_x):
        raise ScreenError(
            "This is a Wayland session, which hides the screen from programs. Log in with an X11 session."
        )
    if not has_x:
        raise ScreenError("There is no display (DISPLAY is not set). Start Deskhand inside a desktop session.")


def _is_black(rgb: bytes) -> bool:
    """Whether nearly every pixel is pure black."""
    values = np.frombuffer(rgb, np.uint8)
    return bool(np.count_nonzero(values) <= values.size * (1 - BLACK))


def png(shot: Screenshot) -> bytes:
    """The frame as PNG, packed fast rather than small."""
    out = io.BytesIO()
    Image.frombytes("RGB", (shot.width, shot.height), shot.rgb).save(out, "PNG", compress_level=1)
    return out.getvalue()


def from_png(data: bytes, transform: Transform | None = None, window: str = "") -> Screenshot:
    """A Screenshot of a stored picture. Raises ScreenError when it is no picture."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            rgb = image.convert("RGB")
    except (OSError, ValueError) as error:
        raise ScreenError(f"The picture cannot be read ({error}).") from error
    place = transform or Transform("picture", 0, 0, rgb.width, rgb.height)
    return Screenshot(rgb.tobytes(), rgb.width, rgb.height, place, window)
