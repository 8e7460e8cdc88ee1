"""One sandbox in a process of its own, seen from outside: asked, waited for, found dead or hung, and ended.

A member serves an object (`worker`); everything that it starts ends with it (`guarded`). It is lost when its process
is gone ("crashed"), when its beats stay away or a call outlasts its limit ("hung"), or when its lease ran out
("overdue"); what was going on in it is then nobody's success and nobody's failure.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, Literal, NoReturn

from agent_core.errors import ScreenError
from training.sandboxes.guarded import Guarded, Usage

How = Literal["crashed", "hung", "overdue"]
START_SECONDS = 300.0  # seconds at rest, minutes where everybody starts at once; one that hangs stops beating before
SILENCE_SECONDS = 10.0  # without a beat; twenty of them in a row are missed by no live process
_LOOK_SECONDS = 0.2


class MemberLost(ScreenError):
    """A sandbox's process is gone or was ended. `how` says what was found."""

    def __init__(self, how: How, text: str) -> None:
        super().__init__(text)
        self.how = how

    def __reduce__(self) -> tuple[type[MemberLost], tuple[How, str]]:
        return MemberLost, (self.how, str(self))


class Member:
    """`make` is called in the new process and gives what is served; it must be picklable, as all that is passed.

    One thread at a time makes calls; `end` may be called from any thread and breaks a call off.
    """

    def __init__(self, make: Callable[[], object]) -> None:
        ours, theirs = Pipe()
        self._connection: Connection[Any, Any] = ours
        self._beats, beat = os.pipe()
        os.set_blocking(self._beats, False)
        command = [sys.executable, "-m", "training.sandboxes.worker", str(theirs.fileno()), str(beat)]
        try:
            self.program = Guarded(lambda folder: command, (theirs.fileno(), beat))
        finally:
            theirs.close()
            os.close(beat)
        self._calling = threading.RLock()  # the thread of a call may have to end the member
        self._ending = threading.RLock()
        self._began = self._heard = time.monotonic()
        self._ended = False
        self.lost: MemberLost | None = None
        self._is_ready = False
        self._connection.send(make)

    def is_ready(self) -> bool:
        """Whether it is there and can be asked. Raises MemberLost, and what making the object raised."""
        if not self._is_ready and self._connection.poll(0):
            self._answer(time.monotonic() + START_SECONDS, "start")
            self._is_ready = True
        if not self._is_ready:
            self.check()
            if time.monotonic() - self._began > START_SECONDS:
                self.lose("hung", "it took too long to start")
        return self._is_ready

    def call(self, method: str, *given: object, seconds: float) -> Any:
        """What a method of the served object gives. Raises what it raised, and MemberLost: then the member is ended."""
        with self._calling:
            try:
                self._connection.send((method, given))
            except OSError:
                pass  # it is gone; the answer says so
            return self._answer(time.monotonic() + seconds, method)

    def check(self) -> None:
        """Raises MemberLost when its process is gone or gives no sign of life."""
        if self.lost is not None:
            raise self.lost
        if not self.program.is_alive:
            self.lose("crashed", "its process ended")
        if self._silence() > SILENCE_SECONDS:
            self.lose("hung", f"no sign of life for {SILENCE_SECONDS:g} seconds")

    def usage(self) -> Usage:
        return self.program.usage()

    def lose(self, how: How, why: str) -> NoReturn:
        """Ends it and raises MemberLost; the first reason counts."""
        with self._ending:
            if self.lost is None and self._ended:
                self.lost = MemberLost("crashed", "The sandboxes were closed; the episode counts as not played.")
            if self.lost is None:
                words = self.program.last_words() if how == "crashed" else ""
                said = f": {words}" if words else ""
                self.lost = MemberLost(how, f"A sandbox was lost ({how}, {why}{said}); the episode is played again.")
        self.end()
        raise self.lost

    def end(self) -> None:
        """Ends the process with all that it started, and waits until it is gone. Safe to call twice."""
        with self._ending:
            if self._ended:
                return
            self._ended = True
            self.program.end()
        if self._calling.acquire(timeout=_LOOK_SECONDS * 10):  # a call that waits has heard the end by now
            self._connection.close()
            os.close(self._beats)
            self._calling.release()

    def _answer(self, until: float, method: str) -> Any:
        while True:
            try:
                if self._connection.poll(_LOOK_SECONDS):
                    good, told = self._connection.recv()
                    break
            except (OSError, EOFError):
                self.lose("crashed", f"its process ended during {method}")
            self.check()
            if time.monotonic() > until:
                self.lose("hung", f"{method} took too long")
        if not good:
            raise told
        return told

    def _silence(self) -> float:
        """Seconds since the last beat."""
        try:
            while os.read(self._beats, 4096):
                self._heard = time.monotonic()
        except OSError:
            pass  # none that is new
        return time.monotonic() - self._heard
