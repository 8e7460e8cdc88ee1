"""Rollouts in step: every turn of all of them together, and the same rollouts for the same weights and seeds.

For runs that must be repeatable to the last bit, for evaluation, and as the peer of the streaming pool.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace

from agent_core.errors import DeskhandError
from agent_core.step import Prompt
from training.episodes import Environment
from training.jobs import Job, PoolMetrics, Tally, Trajectory, ask_of, failure, timed, trajectory
from training.serving import Actor, Answer, Ask


def lockstep(
    actor: Actor,
    environments: Sequence[Environment],
    jobs: Sequence[Job],
    seed: int,
    retries: int = 2,
    workers: Executor | None = None,
) -> tuple[list[Trajectory], PoolMetrics]:
    """Plays all jobs, one per environment at a time, each turn of all of them together; failed ones are left out.

    With one thread (`workers` None) everything happens in one order, so the same weights give the same rollouts.
    """
    tally = Tally()
    ended: dict[int, Trajectory] = {}
    todo = list(jobs)
    while todo:
        wave, todo = todo[: len(environments)], todo[len(environments) :]
        for one in _wave(actor, environments, wave, seed, workers, tally):
            if one.reward is not None:
                ended[one.job.number] = one
                continue
            tally.failed += 1
            if one.job.attempt < retries:
                todo.append(replace(one.job, attempt=one.job.attempt + 1))
    played = [ended[job.number] for job in jobs if job.number in ended]
    tally.ages = [0] * len(played)
    return played, tally.metrics(len(environments))


def _wave(
    actor: Actor,
    environments: Sequence[Environment],
    jobs: Sequence[Job],
    seed: int,
    workers: Executor | None,
    tally: Tally,
) -> list[Trajectory]:
    began, version = time.monotonic(), actor.version
    every = workers.map if workers else map
    places = [_Place(environment, job, seed) for environment, job in zip(environments, jobs, strict=False)]
    list(every(_Place.reset, places))
    while asking := [place for place in places if place.prompt is not None]:
        answers = actor.act([place.ask() for place in asking])
        list(every(_Place.step, asking, answers))
    tally.busy += sum(place.busy for place in places)
    return [place.result(version, time.monotonic() - began) for place in places]


class _Place:
    """One environment at work on one job."""

    def __init__(self, environment: Environment, job: Job, seed: int) -> None:
        self.environment, self.job, self.seed = environment, job, seed
        self.prompt: Prompt | None = None
        self.answers: list[Answer] = []
        self.error: DeskhandError | None = None
        self.busy = 0.0  # seconds

    def reset(self) -> None:
        try:
            self.prompt = timed(self._add, self.environment.reset, self.job.task, self.job.seed)
        except DeskhandError as error:
            self.error = error

    def ask(self) -> Ask:
        assert self.prompt is not None
        return ask_of(self.job, len(self.answers), self.prompt, self.seed)

    def step(self, answer: Answer) -> None:
        self.answers.append(answer)
        self.prompt = None
        try:
            self.prompt = timed(self._add, self.environment.step, answer.reply)
        except DeskhandError as error:
            self.error = error

    def _add(self, seconds: float) -> None:
        self.busy += seconds

    def result(self, version: int, seconds: float) -> Trajectory:
        if self.error is not None:
            return failure(self.job, self.error, version)
        return trajectory(self.job, self.answers, self.environment.score(), version, seconds)
