"""A pool of sandboxes, each in a process of its own: allocate, lease with a deadline, ask, release, recover.

A thread looks after the members: what has crashed, hangs, outlasts its lease or holds more than it may is ended with
everything that it started, and another is started in its place. An episode that was going on is never scored: its
lease raises MemberLost, and whoever plays it starts again from its seed, or recovers and does the same actions again.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from agent_core.errors import DeskhandError, ScreenError
from training.sandboxes.member import Member, MemberLost

if TYPE_CHECKING:
    from training.sandboxes.chromium import SharedChromium

_ROUND_SECONDS = 0.25
_FAILED_STARTS = 3  # in a row, and nothing more is expected of the next one


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a member may hold when it comes back: more is a leak, and it is replaced. Memory and files are of the whole
    tree. A member is also replaced after `leases`, because some leaks show nowhere."""

    processes: int = 40
    memory: int = 4 << 30
    files: int = 4000
    leases: int = 200


@dataclass(frozen=True, slots=True)
class PoolFigures:
    """Since the pool was made. `crashed`, `hung`, `overdue` and `leaking` members were replaced, as were `retired`."""

    leases: int
    started: int
    crashed: int
    hung: int
    overdue: int
    leaking: int
    retired: int


class SandboxPool:
    """At most `size` leases at the same time, over members that each serve what `make` gives.

    `spares` members more are kept ready, so that a lost one is replaced at once. `call_seconds` is the longest that
    one call may take. `chromium` is a browser that the members share; the pool keeps it alive and ends it.
    """

    def __init__(
        self,
        make: Callable[[], object],
        size: int,
        *,
        spares: int = 0,
        call_seconds: float = 60.0,
        bounds: Bounds | None = None,
        chromium: SharedChromium | None = None,
    ) -> None:
        self._make, self._count, self._bounds = make, size + spares, bounds or Bounds()
        self.call_seconds = call_seconds
        self._chromium = chromium
        self._free: list[Member] = []
        self._starting: list[Member] = []
        self._leased: dict[Member, Lease] = {}
        self._used: Counter[Member] = Counter()
        self._tally: Counter[str] = Counter()
        self._failed_starts = 0
        self._text = ""
        self._size = size
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._look_after, daemon=True, name="sandboxes")
        self._thread.start()

    def allocate(self, seconds: float = 300.0, wait: float = 300.0) -> Lease:
        """A sandbox for at most `seconds`. Raises ScreenError when none start or none is free in `wait` seconds."""
        lease = Lease(self, seconds)
        lease.member = self.assign(lease, wait)
        return lease

    def figures(self) -> PoolFigures:
        with self._changed:
            return PoolFigures(**{name: self._tally[name] for name in PoolFigures.__dataclass_fields__})

    def close(self) -> None:
        """Ends every member, those that are leased too, and the browser that they share."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()
        for member in (*self._free, *self._starting, *self._leased):
            member.end()
        self._free, self._starting, self._leased = [], [], {}
        if self._chromium is not None:
            self._chromium.close()

    # -- for leases ------------------------------------------------------------------------------------------------

    def assign(self, lease: Lease, wait: float) -> Member:
        """A free member, which is the lease's from now on."""
        until = time.monotonic() + wait
        with self._changed:
            while not self._free or len(self._leased) >= self._size:
                if self._failed_starts >= _FAILED_STARTS:
                    raise ScreenError(f"No sandbox starts: {self._text}")
                if self._closed or time.monotonic() > until:
                    raise ScreenError(f"No sandbox was free for {wait:g} seconds; start fewer episodes at a time.")
                self._changed.wait(1.0)
            member = self._free.pop(0)
            self._leased[member] = lease
            self._used[member] += 1
            self._tally["leases"] += 1
            lease.begin()
            return member

    def take_back(self, member: Member) -> None:
        """A member whose lease is over: it goes back among the free ones, or is ended and replaced."""
        why = member.lost.how if member.lost else self._worn(member)
        if why:
            member.end()
        with self._changed:
            if self._leased.pop(member, None) is None:
                return  # it was taken back when it was overdue, or the pool was closed
            if why:
                self._tally[why] += 1
                del self._used[member]
            else:
                self._free.append(member)
            self._changed.notify_all()

    def _worn(self, member: Member) -> str:
        """Why a member should not be used again; empty when it may."""
        held, most = member.usage(), self._bounds
        if held.processes > most.processes or held.memory > most.memory or held.files > most.files:
            return "leaking"
        return "retired" if self._used[member] >= most.leases else ""

    # -- the thread that looks after them ----------------------------------------------------------------------------

    def _look_after(self) -> None:
        while not self._closed:
            if self._chromium is not None:
                self._chromium.check()
            self._end_overdue()
            self._check_free()
            self._welcome()
            self._start_missing()
            with self._changed:
                self._changed.wait_for(lambda: self._closed, _ROUND_SECONDS)

    def _end_overdue(self) -> None:
        with self._changed:
            overdue = [member for member, lease in self._leased.items() if lease.seconds_left < 0]
        for member in overdue:
            with contextlib.suppress(MemberLost):
                member.lose("overdue", "its lease ran out")
            self.take_back(member)

    def _check_free(self) -> None:
        with self._changed:
            waiting = list(self._free)
        for member in waiting:
            try:
                member.check()
            except MemberLost as lost:
                with self._changed:
                    if member in self._free:  # a lease that took it meanwhile finds out by itself
                        self._free.remove(member)
                        self._tally[lost.how] += 1
                        del self._used[member]

    def _welcome(self) -> None:
        for member in list(self._starting):
            try:
                ready = member.is_ready()
            except DeskhandError as error:
                member.end()
                with self._changed:
                    self._starting.remove(member)
                    self._failed_starts += 1
                    self._text = str(error)
                    self._changed.notify_all()
                continue
            if ready:
                with self._changed:
                    self._starting.remove(member)
                    self._failed_starts = 0
                    self._free.append(member)
                    self._changed.notify_all()

    def _start_missing(self) -> None:
        with self._changed:
            missing = self._count - len(self._free) - len(self._starting) - len(self._leased)
        for _ in range(missing):
            self._starting.append(Member(self._make))
            self._tally["started"] += 1


class Lease:
    """The use of one sandbox for a while. As a context manager it is released at the end. For one thread at a time."""

    member: Member

    def __init__(self, pool: SandboxPool, seconds: float) -> None:
        self._pool, self._seconds = pool, seconds
        self._over = False
        self.begin()

    def begin(self) -> None:
        """The time runs from now."""
        self._until = time.monotonic() + self._seconds

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    @property
    def seconds_left(self) -> float:
        return self._until - time.monotonic()

    def call(self, method: str, *given: object, seconds: float = 0.0) -> Any:
        """Asks the sandbox. Raises what it raised, and MemberLost when it is lost; `recover` gives another one."""
        if self._over:
            raise ScreenError("This sandbox was given back; allocate another one.")
        return self.member.call(method, *given, seconds=seconds or self._pool.call_seconds)

    def recover(self, wait: float = 300.0) -> None:
        """Another sandbox in the place of this one, as fresh as after `allocate`, with the whole time again."""
        self._pool.take_back(self.member)
        self.member = self._pool.assign(self, wait)

    def release(self) -> None:
        """Gives it back. Safe to call twice."""
        if not self._over:
            self._over = True
            self._pool.take_back(self.member)
