"""A person's hand on the mouse: the pointer is found elsewhere than where it was left.

`Hand` remembers where that was and judges what is seen; `HandWatch` looks beside the agent's thread, which may be
thinking or reading the screen. Programs that warp the pointer or screens that change may nudge it by some pixels; a
hand moves it further, and is seen twice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from threading import Event
from typing import Protocol

from Xlib import error
from Xlib.display import Display

from agent_core.errors import TakenOver

HAND_PIXELS = 8
SURE_SECONDS = 0.005  # between the two looks that it takes to be sure, inside an action
POLL_SECONDS = 0.05  # between those of the watch

Place = tuple[int, int]


class Hand:
    """Where the pointer was left, and whether a person has taken it. `minded` is whether that matters at all.

    `lock` is held by whoever moves the pointer until `left` is called, so that no move of ours is taken for theirs.
    """

    def __init__(self, minded: bool) -> None:
        self.minded = minded
        self.lock = threading.RLock()
        self._left_at: Place | None = None
        self._seen = False
        self._strays: list[int] = []

    def left(self, at: Place | None) -> None:
        """The pointer was put there; None: it is the person's from now on."""
        self._left_at = at

    def given_back(self) -> None:
        """The person had the mouse and has given it back, wherever it is now."""
        self._left_at, self._seen, self._strays = None, False, []

    def seen(self) -> None:
        """The watch saw a hand: what is being done is to be broken off."""
        self._left_at, self._seen = None, True

    def is_far(self, where: Callable[[], Place]) -> bool:
        """Whether the pointer is further away than by a nudge. Nobody minds where it is before it was put anywhere."""
        with self.lock:
            return self._left_at is not None and _distance(self._left_at, where()) > HAND_PIXELS

    def check(self, where: Callable[[], Place]) -> None:
        """Raises TakenOver when a hand has the pointer. The first check after `given_back` only remembers its place."""
        while self.minded:
            at = where()
            self._left_at = self._left_at or at
            stray = _distance(self._left_at, at)
            self._strays = [*self._strays, stray] if stray else []
            if self._seen or (len(self._strays) > 1 and sum(self._strays) > HAND_PIXELS):
                self.given_back()
                raise TakenOver("You moved the mouse, so the action was broken off.")
            if stray <= HAND_PIXELS:  # it may add up: in a drag each move puts the pointer back
                return
            time.sleep(SURE_SECONDS)


class Held(Protocol):
    """What the watch needs of the input: what it holds, and letting go of it from any thread."""

    hand: Hand
    display: Display

    @property
    def holds(self) -> bool: ...

    def let_go(self) -> None: ...


class HandWatch:
    """A thread with its own connection to the X server, from its making to `close`: sees a hand, and the stop.

    `on_person` is called in that thread, once until the pointer is moved by us again. At the stop what is held is
    released at once, not when the agent's thread gets to it.
    """

    def __init__(self, x: Held, on_person: Callable[[], None]) -> None:
        self._x, self._on_person = x, on_person
        self.stop = Event()  # that of the run under way
        self._over = Event()
        self._display = Display(x.display.get_display_name())
        self._thread = threading.Thread(target=self._watch, name="hand watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread. Safe to call twice."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        hand, times = self._x.hand, 0
        try:
            while not self._over.wait(POLL_SECONDS):
                if self._x.holds and self.stop.is_set():
                    self._x.let_go()
                times = times + 1 if hand.minded and hand.is_far(self._pointer) else 0
                if times > 1:
                    hand.seen()
                    self._on_person()
        except (error.ConnectionClosedError, error.XError, OSError):
            pass  # the screen has gone, and the run with it
        finally:
            self._display.close()

    def _pointer(self) -> Place:
        there = self._display.screen().root.query_pointer()
        return there.root_x, there.root_y


def _distance(a: Place, b: Place) -> int:
    return max(abs(a[0] - b[0]), abs(a[1] - b[1]))
