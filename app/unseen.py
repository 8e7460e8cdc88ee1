"""An operator whose looks and actions our own windows do not get into: hidden while it looks, and while it acts.

Also here because they belong to the same moments: the ring shown just before an action, and the note to the hotkeys
that an Esc is the agent's own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Event

from agent_core.actions import Action, Hotkey, Press, Terminal, Wait, target_of
from agent_core.errors import ScreenError
from agent_core.protocols import Operator
from agent_core.step import Outcome, Screenshot
from app.own_windows import OwnWindows

RING_S = 0.25
REPAINT_S = 0.06  # what lay under our windows paints itself
TRIES = 5
ESCAPES = ("esc", "escape")


class Unseen:
    """The Operator protocol around another one. Made, used and closed in the agent's thread."""

    def __init__(
        self,
        inner: Operator,
        acting: Callable[[Action, Screenshot], None],
        own_escapes: Callable[[int], None],
    ) -> None:
        self.name = inner.name
        self._inner, self._acting, self._own_escapes = inner, acting, own_escapes
        self._own = OwnWindows()

    def look(self) -> Screenshot:
        """A frame without any of our pixels. Raises ScreenError if one of our windows keeps coming up."""
        for _ in range(TRIES):
            with self._own.hidden() as count:
                time.sleep(REPAINT_S if count else 0)
                shot = self._inner.look()
                clean = not self._own.any_visible()
            if clean:
                return shot
        raise ScreenError("Deskhand's own windows kept opening over the screen. Close them and start the task again.")

    def do(self, action: Action, shot: Screenshot, stop: Event) -> Outcome:
        """Rings the place, waits a moment, acts with our windows out of the way."""
        if isinstance(action, Wait | Terminal):
            return self._inner.do(action, shot, stop)
        if target_of(action) is not None:
            self._acting(action, shot)
            stop.wait(RING_S)
        self._own_escapes(escapes_in(action))
        with self._own.hidden():
            return self._inner.do(action, shot, stop)

    def hands_off(self) -> AbstractContextManager[None]:
        return self._inner.hands_off()

    def let_go(self) -> None:
        self._inner.let_go()

    def close(self) -> None:
        self._own.close()
        self._inner.close()


def escapes_in(action: Action) -> int:
    """How often the action presses Esc."""
    match action:
        case Hotkey(keys):
            return sum(key.lower() in ESCAPES for key in keys)
        case Press(key):
            return int(key.lower() in ESCAPES)
        case _:
            return 0
