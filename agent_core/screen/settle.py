"""Waits until the screen has come to rest, so that no half-drawn window is read. A blinking caret is rest."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event

from agent_core.screen.compare import changed_extent
from agent_core.step import Screenshot

CARET = (10, 40)  # width and height in pixels: a smaller change is a blinking caret, which never ends


def settled(
    grab: Callable[[], Screenshot], limit_s: float, poll_s: float = 0.08, stop: Event | None = None
) -> Screenshot:
    """The newest frame once two in a row are equal but for a caret, or after `limit_s` seconds, or on `stop`."""
    end = time.monotonic() + limit_s
    stop = stop or Event()
    last = grab()
    while time.monotonic() < end and not stop.wait(min(poll_s, max(0.0, end - time.monotonic()))):
        shot = grab()
        if at_rest(last, shot):
            return shot
        last = shot
    return last


def at_rest(a: Screenshot, b: Screenshot) -> bool:
    """Whether two frames differ by no more than a caret."""
    width, height = changed_extent(a, b)
    return width <= CARET[0] and height <= CARET[1]
