"""What a pool of rollouts deals in: jobs to play, the trajectories they become, and what is counted on the way.

Values that pass between the threads or machines that play and the trainer that learns. How they are played is in
`pool`, streaming, and in `lockstep`.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from agent_core.errors import DeskhandError
from agent_core.step import Prompt
from training.curate import is_solved
from training.episodes import Score
from training.rows import Ended, SampledTurn
from training.serving import Answer, Ask

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Job:
    """One rollout to play. Jobs with the same `group` are the same task at the same seed, `group_size` of them."""

    number: int
    task: str
    seed: int
    group: int
    group_size: int = 1
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One rollout that ended. `version` is that of the weights it began with; `reward` is None only if it failed."""

    job: Job
    turns: tuple[SampledTurn, ...]
    reward: float | None
    ended: Ended
    version: int
    seconds: float = 0.0
    text: str = ""

    @property
    def solved(self) -> bool:
        return is_solved(self.reward)


@dataclass(frozen=True, slots=True)
class PoolMetrics:
    """Since the last look. Idle shares are of the environments' time and of the trainer's; staleness is in updates, of
    the rollouts that were taken."""

    environment_idle: float
    trainer_idle: float
    staleness_mean: float
    staleness_max: int
    dropped: int
    failed: int


class JobSource:
    """Every task in turn, group by group; job n is the same whatever came before it: what resuming rests on.

    `seeds` gives a seed of the suite by its number. Of several ranks each draws groups of its own.
    """

    def __init__(
        self, tasks: Sequence[str], seeds: Callable[[int], int], group_size: int = 1, rank: int = 0, world: int = 1
    ) -> None:
        self._tasks, self._seeds, self._size, self._rank, self._world = tasks, seeds, group_size, rank, world

    def job(self, number: int) -> Job:
        group = number // self._size * self._world + self._rank
        seed = self._seeds(group // len(self._tasks))
        return Job(number, self._tasks[group % len(self._tasks)], seed, group, self._size)


def ask_of(job: Job, turn: int, prompt: Prompt, seed: int) -> Ask:
    """The question of one turn, with a random stream of its own."""
    return Ask(prompt, random.Random(f"{seed} {job.group} {job.number} {job.attempt} {turn}").getrandbits(48))


def trajectory(job: Job, answers: Sequence[Answer], score: Score, version: int, seconds: float) -> Trajectory:
    """Answers and scores put together. The reply that a limit left undone is not trained on: its prompt alone stays."""
    turns = []
    for n, answer in enumerate(answers):
        done = n < len(score.turns)
        turns.append(
            SampledTurn(
                answer.prompt_ids,
                answer.reply.token_ids if done else (),
                answer.reply.logprobs if done else (),
                answer.images,
                reward=score.turns[n] if done else 0.0,
                version=answer.version,
                thought_chars=score.thoughts[n] if done else 0,
                reply_chars=len(answer.reply.text) if done else 0,
            )
        )
    return Trajectory(job, tuple(turns), score.reward, score.ended, version, seconds, score.text)


def failure(job: Job, error: DeskhandError, version: int) -> Trajectory:
    """What a broken environment leaves."""
    return Trajectory(job, (), None, "failed", version, text=str(error))


def timed(busy: Callable[[float], None], work: Callable[..., T], *given: object) -> T:
    began = time.monotonic()
    try:
        return work(*given)
    finally:
        busy(time.monotonic() - began)


@dataclass(slots=True)
class Tally:
    """What is counted between two looks at the metrics."""

    began: float = field(default_factory=time.monotonic)
    busy: float = 0.0  # seconds that environments were at work, all together
    waited: float = 0.0  # seconds that the trainer waited
    ages: list[int] = field(default_factory=list)
    dropped: int = 0
    failed: int = 0
    text: str = ""

    def metrics(self, slots: int) -> PoolMetrics:
        wall = max(time.monotonic() - self.began, 1e-9)
        return PoolMetrics(
            environment_idle=min(1.0, max(0.0, 1 - self.busy / (wall * slots))),
            trainer_idle=min(1.0, self.waited / wall),
            staleness_mean=statistics.fmean(self.ages) if self.ages else 0.0,
            staleness_max=max(self.ages, default=0),
            dropped=self.dropped,
            failed=self.failed,
        )
