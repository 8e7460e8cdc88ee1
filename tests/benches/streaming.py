"""Rollouts that stream beside rollouts in step, with the times that real episodes took.

Environments sleep as long as capturing, reading, acting and opening the next program took in recorded episodes, the
policy as long as it thought, the trainer as long as an average rollout; all of it a tenth as long. What is measured is
the scheduling alone, and it is the trainer's own: training.pool.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from agent_core.step import Message, Prompt, Reply
from tests.benches.measure import Result
from training.episodes import Score
from training.jobs import JobSource, PoolMetrics
from training.lockstep import lockstep
from training.pool import Pool
from training.serving import Answer, Ask

DATA = Path(__file__).resolve().parent.parent / "data" / "sandbox_latencies.json"
SPEED = 10.0  # times as fast as it was
ENVIRONMENTS = BATCH = 16
UPDATES = 6
MAX_STALE = 1


@dataclass(frozen=True, slots=True)
class Recorded:
    """One episode: seconds to open it, and (seconds of the environment, seconds of thinking) a turn."""

    reset: float
    turns: tuple[tuple[float, float], ...]

    @property
    def seconds(self) -> float:
        return self.reset + sum(acting + thinking for acting, thinking in self.turns)


def episodes() -> list[Recorded]:
    """The recorded episodes, sped up."""
    found = json.loads(DATA.read_text(encoding="utf-8"))["episodes"]
    scale = 1 / (1000 * SPEED)
    return [
        Recorded(one["reset_ms"] * scale, tuple((acts * scale, thinks * scale) for acts, thinks in one["turns"]))
        for one in found
    ]


class Replayed:
    """An environment that takes the recorded time; the question tells the policy how long it thought."""

    def __init__(self, recorded: Sequence[Recorded]) -> None:
        self._recorded = recorded
        self._turns: list[tuple[float, float]] = []

    def reset(self, task: str, seed: int) -> Prompt:
        one = self._recorded[seed % len(self._recorded)]
        self._turns = list(one.turns)
        time.sleep(one.reset)
        return self._question()

    def step(self, reply: Reply) -> Prompt | None:
        acting, _ = self._turns.pop(0)
        time.sleep(acting)
        return self._question() if self._turns else None

    def score(self) -> Score:
        return Score(1.0, "end")

    def close(self) -> None:
        """Nothing is held."""

    def _question(self) -> Prompt:
        return Prompt((Message("user", str(self._turns[0][1])),))


class Thinking:
    """A policy on a server: every question takes its recorded time, whatever else is asked meanwhile."""

    version = 0

    def act(self, asks: Sequence[Ask]) -> list[Answer]:
        time.sleep(max(float(ask.prompt.messages[0].text) for ask in asks))
        return [Answer(Reply("wait()", (1,), (0.0,)), (0,), self.version) for _ in asks]

    def load(self, adapter: Path | None, version: int) -> None:
        self.version = version

    def close(self) -> None:
        """Nothing is held."""


def streaming() -> Result:
    """Rollouts per second of the pool, against all environments in step and a trainer that waits for all of them."""
    recorded = episodes()
    training = statistics.fmean(one.seconds for one in recorded)
    stepwise, step_idle = in_step(recorded, training)
    pooled, pool_idle = in_stream(recorded, training)
    detail = (
        f"{pooled:.1f} against {stepwise:.1f} rollouts/s at {SPEED:g} times the speed, {ENVIRONMENTS} environments, "
        f"batches of {BATCH}; idle: environments {pool_idle[0]:.0%} against {step_idle[0]:.0%}, "
        f"trainer {pool_idle[1]:.0%} against {step_idle[1]:.0%}; "
        f"staleness mean {pool_idle[2]:.2f}, at most {pool_idle[3]:.0f}"
    )
    return Result("streaming", pooled / stepwise, 2.0, "rollouts in step with a barrier at every batch", detail)


Idle = tuple[float, float, float, float]  # environments, trainer, staleness mean, staleness max


def in_step(recorded: Sequence[Recorded], training: float) -> tuple[float, Idle]:
    """(rollouts per second, idle shares). Environments act at the same time and wait for the slowest at every turn."""
    actor = Thinking()
    jobs = JobSource(("replayed",), lambda n: n)
    environments = [Replayed(recorded) for _ in range(ENVIRONMENTS)]
    busy = waited = 0.0
    began = time.monotonic()
    with ThreadPoolExecutor(ENVIRONMENTS) as workers:
        for update in range(UPDATES):
            batch = [jobs.job(update * BATCH + n) for n in range(BATCH)]
            start = time.monotonic()
            _, metrics = lockstep(actor, environments, batch, 0, workers=workers)
            spent = time.monotonic() - start
            busy += (1 - metrics.environment_idle) * spent
            waited += spent
            time.sleep(training)
    wall = time.monotonic() - began
    return UPDATES * BATCH / wall, (1 - busy / wall, waited / wall, 0.0, 0.0)


def in_stream(recorded: Sequence[Recorded], training: float) -> tuple[float, Idle]:
    """(rollouts per second, idle shares) from the first update on, when the pool has filled."""
    actor = Thinking()
    pool = Pool(
        actor,
        [Replayed(recorded) for _ in range(ENVIRONMENTS)],
        JobSource(("replayed",), lambda n: n),
        batch=BATCH,
        max_stale=MAX_STALE,
    )
    seen: list[PoolMetrics] = []
    taken = 0
    began = time.monotonic()
    for version in range(1, UPDATES + 1):
        taken += len(pool.take())
        time.sleep(training)
        actor.load(None, version)
        pool.published(version)
        seen.append(pool.metrics())
    wall = time.monotonic() - began
    pool.close()
    every = [[one.environment_idle, one.trainer_idle, one.staleness_mean] for one in seen]
    environments, trainer, stale = (statistics.fmean(column) for column in zip(*every, strict=True))
    return taken / wall, (environments, trainer, stale, max(one.staleness_max for one in seen))
