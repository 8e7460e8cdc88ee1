"""A suite whose episodes are played in sandboxes of a pool: leased, watched, and replaced when they break down.

To whoever plays, it is a suite like any other: the loop, its gate and the policy stay where they are, and screen,
programs, reader and teacher live in the member's process. What is lost with a member raises MemberLost, so that the
episode counts as failed and is never scored; with `recoveries` it goes on in another member first, which does the same
actions again and has to come to the same picture.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

from agent_core.actions import Action
from agent_core.errors import ScreenError
from agent_core.protocols import Reader
from agent_core.step import Element, Outcome, Prompt, Reply, Screenshot
from training.sandboxes.member import Member, MemberLost
from training.sandboxes.pool import Bounds, Lease, SandboxPool
from training.tasks.task import Episode, Split, Suite

if TYPE_CHECKING:
    from training.sandboxes.chromium import SharedChromium


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where an episode stands: what was done since it was opened at its seed, and the SHA-256 of what was seen then."""

    task: str
    seed: int
    split: Split
    actions: tuple[Action, ...] = ()
    digest: str = ""


class SuiteSandbox:
    """In the member: one episode of a suite at a time, a call at a time. The methods are those that a lease calls."""

    def __init__(self, make: Callable[[], Suite]) -> None:
        self._suite = make()
        self._episode: Episode | None = None
        self._shot: Screenshot | None = None

    def reset(self, task: str, seed: int, split: Split) -> tuple[str, bool]:
        """Opens a task at a seed: its text, and whether it brings a reader of its own."""
        self.leave()
        self._episode = self._suite.open(task, seed, split)
        return self._episode.task, self._episode.reader is not None

    def observe(self) -> Screenshot:
        self._shot = self._playing.operator.look()
        return self._shot

    def read(self) -> tuple[Element, ...]:
        """The elements of what was observed last."""
        reader, shot = self._playing.reader, self._shot
        return reader.read(shot) if reader is not None and shot is not None else ()

    def act(self, action: Action) -> Outcome:
        return self._playing.operator.do(action, self._shot or self.observe(), Event())

    def let_go(self) -> None:
        if self._episode is not None:
            self._episode.operator.let_go()

    def done(self) -> bool:
        return self._playing.done()

    def evaluate(self) -> float:
        return self._playing.score()

    def teach(self, prompt: Prompt) -> Reply:
        return self._playing.teacher.reply(prompt, Event())

    def restore(self, checkpoint: Checkpoint) -> None:
        """Raises ScreenError when the same actions do not lead to the same picture."""
        self.reset(checkpoint.task, checkpoint.seed, checkpoint.split)
        shot = self.observe()
        for action in checkpoint.actions:
            self.act(action)
            shot = self.observe()
        if digest_of(shot) != checkpoint.digest:
            raise ScreenError("The episode could not be brought back to where it stood; it is played again.")

    def leave(self) -> None:
        """Ends the episode, wherever it stands."""
        episode, self._episode, self._shot = self._episode, None, None
        if episode is not None:
            episode.close()

    @property
    def _playing(self) -> Episode:
        if self._episode is None:
            raise ScreenError("No episode is going on in this sandbox; open one first.")
        return self._episode


class LeasedEpisode:
    """Eyes and hands on a leased sandbox: the operator of its episode, and everything else that the episode needs."""

    name = "sandbox"

    def __init__(self, lease: Lease, checkpoint: Checkpoint, recoveries: int) -> None:
        self._lease, self._recoveries = lease, recoveries
        self._checkpoint = checkpoint
        self._done: list[Action] = []
        self._digest = ""
        self.text, self.has_reader = lease.call("reset", checkpoint.task, checkpoint.seed, checkpoint.split)

    @property
    def member(self) -> Member:
        """The sandbox that it is played in now."""
        return self._lease.member

    def look(self) -> Screenshot:
        shot: Screenshot = self._ask("observe")
        self._digest = digest_of(shot)
        return shot

    def read(self, shot: Screenshot) -> tuple[Element, ...]:
        elements: tuple[Element, ...] = self._ask("read")
        return elements

    def do(self, action: Action, shot: Screenshot, stop: Event) -> Outcome:
        if stop.is_set():
            return Outcome(ok=False, text="Stopped.")
        outcome: Outcome = self._ask("act", action)
        self._done.append(action)
        return outcome

    def done(self) -> bool:
        return bool(self._ask("done"))

    def score(self) -> float:
        return float(self._ask("evaluate"))

    def reply(self, prompt: Prompt, stop: Event, on_text: Callable[[str], None] | None = None) -> Reply:
        """The teacher's."""
        reply: Reply = self._ask("teach", prompt)
        return reply

    def checkpoint(self) -> Checkpoint:
        """Where the episode stood at the last look."""
        at = self._checkpoint
        return Checkpoint(at.task, at.seed, at.split, tuple(self._done), self._digest)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Back to a checkpoint, or on to one of another episode. Raises ScreenError when it cannot be verified."""
        self._lease.call("restore", checkpoint)
        self._checkpoint, self._done, self._digest = checkpoint, list(checkpoint.actions), checkpoint.digest

    def let_go(self) -> None:
        with contextlib.suppress(ScreenError):  # what is gone holds no key
            self._lease.call("let_go")

    def hands_off(self) -> AbstractContextManager[None]:
        """Nobody sits at a sandbox."""
        return contextlib.nullcontext()

    def close(self) -> None:
        with contextlib.suppress(ScreenError):  # lost, or given back already
            self._lease.call("leave")
        self._lease.release()

    def _ask(self, method: str, *given: object) -> Any:
        try:
            return self._lease.call(method, *given)
        except MemberLost:
            if not self._recoveries:
                raise
        self._recoveries -= 1
        self._lease.recover()
        if self._digest:
            self._lease.call("restore", self.checkpoint())
        else:
            at = self._checkpoint
            self._lease.call("reset", at.task, at.seed, at.split)
        return self._lease.call(method, *given)


class LeasedSuite:
    """The suite that `make` gives, in up to `size` members at the same time; for as many threads as there are members.

    A lease lasts `lease_seconds` at most. Everything else is the pool's. `make` must be picklable.
    """

    def __init__(
        self,
        make: Callable[[], Suite],
        size: int,
        *,
        lease_seconds: float = 600.0,
        recoveries: int = 0,
        spares: int = 0,
        call_seconds: float = 60.0,
        bounds: Bounds | None = None,
        chromium: SharedChromium | None = None,
        sandbox: Callable[[Callable[[], Suite]], SuiteSandbox] = SuiteSandbox,
    ) -> None:
        source = make()
        self.name, self.evaluated, self.episodes = source.name, source.evaluated, source.episodes
        self._tasks = source.tasks()
        source.close()
        self._lease_seconds, self._recoveries = lease_seconds, recoveries
        served = partial(sandbox, make)
        self.pool = SandboxPool(
            served, size, spares=spares, call_seconds=call_seconds, bounds=bounds, chromium=chromium
        )

    def tasks(self) -> tuple[str, ...]:
        return self._tasks

    def open(self, task_name: str, seed: int, split: Split) -> Episode:
        """Waits for a free sandbox. Raises what the suite raises, and ScreenError when none is to be had."""
        lease = self.pool.allocate(self._lease_seconds)
        try:
            played = LeasedEpisode(lease, Checkpoint(task_name, seed, split), self._recoveries)
        except BaseException:
            lease.release()
            raise
        reader: Reader | None = played if played.has_reader else None
        return Episode(
            played.text, played, teacher=played, score=played.score, close=played.close, done=played.done, reader=reader
        )

    def close(self) -> None:
        self.pool.close()


def digest_of(shot: Screenshot) -> str:
    """The SHA-256 of a picture."""
    return hashlib.sha256(shot.rgb).hexdigest()
