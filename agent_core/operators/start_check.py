"""Before the first run: whether the pointer goes where it is sent on a monitor, told apart from where it is said to be.

Where screens are scaled by the session, mirrored, or cut, every click would land beside its target. That is found out
here once, by moving the pointer and reading it back, instead of by the person whose file was clicked.
"""

from __future__ import annotations

import time

from Xlib import X
from Xlib.display import Display
from Xlib.ext import xtest

from agent_core.actions import Point
from agent_core.errors import InputError
from agent_core.operators.geometry import to_input
from agent_core.operators.xinput import NEAR_PIXELS, X_ERRORS
from agent_core.step import Transform

PLACES = (Point(0.25, 0.25), Point(0.75, 0.75))
TRIES = 3  # a person's hand may be on the mouse
PAUSE_S = 0.05


def check_pointer(monitor: Transform, display_name: str | None = None) -> None:
    """Sends the pointer to two places of the monitor and back to where it was.

    Raises InputError with a sentence when it does not get there or the X server cannot be asked.
    """
    try:
        display = Display(display_name)
    except X_ERRORS as error:
        raise InputError(
            f"The X server cannot be asked where the pointer is ({error}). Is it still running?"
        ) from error
    try:
        before = _where(display)
        for place in PLACES:
            _send(display, to_input(place, monitor), monitor)
        xtest.fake_input(display, X.MotionNotify, 0, X.CurrentTime, X.NONE, *before)
        display.sync()
    except X_ERRORS as error:
        raise InputError(f"The pointer cannot be moved ({error}). Is the X server still running?") from error
    finally:
        display.close()


def _send(display: Display, to: tuple[int, int], monitor: Transform) -> None:
    there = (0, 0)
    for _ in range(TRIES):
        xtest.fake_input(display, X.MotionNotify, 0, X.CurrentTime, X.NONE, *to)
        display.sync()
        there = _where(display)
        if max(abs(there[0] - to[0]), abs(there[1] - to[1])) <= NEAR_PIXELS:
            return
        time.sleep(PAUSE_S)
    raise InputError(
        f"On monitor {monitor.monitor} the pointer was sent to {to} but came to {there}, so clicks would miss. Choose "
        "another monitor in the settings, or set the display's scale to 100 %; leave the mouse alone meanwhile."
    )


def _where(display: Display) -> tuple[int, int]:
    seen = display.screen().root.query_pointer()
    return seen.root_x, seen.root_y
