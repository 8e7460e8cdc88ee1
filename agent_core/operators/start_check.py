"""Before the first run: whether the pointer goes where it is sent on a monitor, told apart from where it is said to be.

Where screens are scaled by the session, mirrored, or cut, every click would land beside its target. That is found out
here once, by moving the pointer and reading it back, instead of by the person whose file was clicked.
"""

from __future__ import annotations

import time

from agent_core.actions import Point
from agent_core.errors import InputError
from agent_core.operators.geometry import to_input
from agent_core.operators.xinput import X_ERRORS, XInput, is_near
from agent_core.step import Transform

PLACES = (Point(0.25, 0.25), Point(0.75, 0.75))
TRIES = 3  # a person's hand may be on the mouse
PAUSE_S = 0.05


def check_pointer(monitor: Transform, display_name: str | None = None) -> None:
    """Sends the pointer to two places of the monitor and back to where it was.

    Raises InputError with a sentence when it does not get there, ScreenError or InputError when there is no X server to
    be asked.
    """
    x = XInput(display_name)
    try:
        before = x.pointer()
        for place in PLACES:
            _send(x, to_input(place, monitor), monitor)
        x.put(*before)
    except X_ERRORS as error:
        raise InputError(f"The pointer cannot be moved ({error}). Is the X server still running?") from error
    finally:
        x.close()


def _send(x: XInput, to: tuple[int, int], monitor: Transform) -> None:
    there = (0, 0)
    for _ in range(TRIES):
        there = x.put(*to)
        if is_near(there, to):
            return
        time.sleep(PAUSE_S)
    raise InputError(
        f"On monitor {monitor.monitor} the pointer was sent to {to} but came to {there}, so clicks would miss. Choose "
        "another monitor in the settings, or set the display's scale to 100 %; leave the mouse alone meanwhile."
    )
