"""Rollouts that stream: environments that do not wait for the trainer, a trainer that does not wait for all of them.

A policy acts (`serving.Actor`), environments reset, step and score (`episodes.Environment`); each slot of the pool
plays one rollout after the other in a thread of its own. An update starts when enough rollouts have ended; unfinished
ones stay. How old a rollout may be is bounded twice: one may start only while
`started < (version + max_stale + 1) * batch`, and one that is older than `max_stale` when it is taken is dropped. A
rollout whose environment broke down is never scored: it is played again, a few times.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Condition, Thread

from agent_core.errors import DeskhandError
from training.episodes import Environment
from training.jobs import Job, JobSource, PoolMetrics, Tally, Trajectory, ask_of, failure, timed, trajectory
from training.serving import Actor, Answer, Ask


def may_have_started(version: int, max_stale: int, batch: int) -> int:
    """How many rollouts may have started once `version` updates were published: the gate on staleness."""
    return (version + max_stale + 1) * batch


class Together:
    """An Actor for many threads over one that answers batches: questions that wait are answered in one call.

    While a batch is being answered the next one gathers, so nobody waits for a batch to fill.
    """

    def __init__(self, actor: Actor, most: int = 64) -> None:
        self._actor, self._most = actor, most
        self._working = threading.Lock()  # held by the thread that answers, and while weights are changed
        self._guard = threading.Lock()
        self._waiting: list[tuple[Ask, Future[Answer]]] = []

    @property
    def version(self) -> int:
        return self._actor.version

    def act(self, asks: Sequence[Ask]) -> list[Answer]:
        mine: list[tuple[Ask, Future[Answer]]] = [(ask, Future()) for ask in asks]
        with self._guard:
            self._waiting += mine
        with self._working:
            while not all(future.done() for _, future in mine):
                self._answer_some()
        return [future.result() for _, future in mine]

    def load(self, adapter: Path | None, version: int) -> None:
        with self._working:
            self._actor.load(adapter, version)

    def close(self) -> None:
        self._actor.close()

    def _answer_some(self) -> None:
        with self._guard:
            batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
        try:
            answers = self._actor.act([ask for ask, _ in batch])
        except DeskhandError as error:
            for _, future in batch:
                future.set_exception(error)
        else:
            for (_, future), answer in zip(batch, answers, strict=True):
                future.set_result(answer)


def play(
    actor: Actor,
    environment: Environment,
    job: Job,
    seed: int,
    busy: Callable[[float], None] = lambda seconds: None,
    given_up: Callable[[], bool] = lambda: False,
) -> Trajectory:
    """One rollout from beginning to end. `busy` hears the seconds that the environment was at work; once `given_up`
    says so the rollout is left where it is, and counts as failed."""
    began, version = time.monotonic(), actor.version
    answers: list[Answer] = []
    try:
        prompt = timed(busy, environment.reset, job.task, job.seed)
        while prompt is not None:
            if given_up():
                return failure(job, DeskhandError("The rollout was left before its end."), version)
            answers += actor.act([ask_of(job, len(answers), prompt, seed)])
            prompt = timed(busy, environment.step, answers[-1].reply)
        score = environment.score()
    except DeskhandError as error:
        return failure(job, error, version)
    return trajectory(job, answers, score, version, time.monotonic() - began)


class Pool:
    """The streaming pool. `take` is called by the trainer's thread alone, then `published` when new weights are out.

    `batch` is how many rollouts an update takes, `retries` how often a rollout is played again whose environment broke.
    """

    def __init__(
        self,
        actor: Actor,
        environments: Sequence[Environment],
        jobs: JobSource,
        *,
        batch: int,
        max_stale: int = 1,
        retries: int = 2,
        seed: int = 0,
        first: int = 0,
    ) -> None:
        self._actor, self._environments, self._jobs = actor, environments, jobs
        self._batch, self._max_stale, self._retries, self._seed = batch, max_stale, retries, seed
        self._next_number = first
        self._version = actor.version
        self._allowed = may_have_started(0, max_stale, batch)
        self._started = 0  # rollouts that were lost or dropped do not count
        self._again: list[Job] = []
        self._groups: dict[int, _Group] = {}
        self._failures = 0  # in a row
        self._closed = False
        self._tally = Tally()
        self._changed = Condition()
        self._threads = [Thread(target=self._run, args=(one,), daemon=True, name="rollout") for one in environments]
        for thread in self._threads:
            thread.start()

    def take(self) -> list[Trajectory]:
        """At least `batch` rollouts that ended, in whole groups, the earliest begun first; waits for them.

        Raises DeskhandError when the environments do nothing but fail.
        """
        began = time.monotonic()
        found: list[Trajectory] = []
        with self._changed:
            while len(found) < self._batch:
                whole = [number for number, group in self._groups.items() if group.missing == 0]
                if whole:
                    found += self._fresh(self._groups.pop(min(whole)).ended)
                else:
                    self._check()
                    self._changed.wait(1.0)
            self._tally.waited += time.monotonic() - began
            self._tally.ages += [self._version - one.version for one in found]
        return found

    def published(self, version: int) -> None:
        """New weights are out: more rollouts may start."""
        with self._changed:
            self._allowed += (version - self._version) * self._batch
            self._version = version
            self._changed.notify_all()

    def metrics(self) -> PoolMetrics:
        """Since the last call."""
        with self._changed:
            tally, self._tally = self._tally, Tally()
        return tally.metrics(len(self._environments))

    def close(self) -> None:
        """Ends the threads, each after the turn that it is in."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        for environment in self._environments:
            environment.close()

    def _fresh(self, ended: Sequence[Trajectory]) -> list[Trajectory]:
        """What is not too old; the rest is dropped, and as many may start in its place."""
        fresh = [one for one in ended if self._version - one.version <= self._max_stale]
        self._lose(len(ended) - len(fresh))
        self._tally.dropped += len(ended) - len(fresh)
        return fresh

    def _lose(self, count: int) -> None:
        self._started -= count
        if count:
            self._changed.notify_all()

    def _check(self) -> None:
        if self._failures > 3 * len(self._environments) + self._batch:
            raise DeskhandError("The sandboxes fail again and again, so nothing can be learnt: " + self._tally.text)

    # -- in the slots' threads -----------------------------------------------------------------------------------

    def _run(self, environment: Environment) -> None:
        while (job := self._next()) is not None:
            one = play(self._actor, environment, job, self._seed, self._busy, self._is_closed)
            with self._changed:
                self._keep(one)
                self._changed.notify_all()

    def _next(self) -> Job | None:
        """The next job once the gate lets it through; None when the pool is closed."""
        with self._changed:
            while not self._closed:
                if self._again:
                    return self._again.pop()
                job = self._jobs.job(self._next_number)
                if self._started < self._allowed or job.group in self._groups:  # a group begins whole
                    self._next_number += 1
                    self._started += 1
                    self._groups.setdefault(job.group, _Group(job.group_size))
                    return job
                self._changed.wait()
        return None

    def _keep(self, one: Trajectory) -> None:
        group = self._groups[one.job.group]
        if one.reward is not None:
            self._failures = 0
            group.ended.append(one)
            group.missing -= 1
            return
        self._failures += 1
        self._tally.failed += 1
        self._tally.text = one.text
        if one.job.attempt < self._retries:
            self._again.append(replace(one.job, attempt=one.job.attempt + 1))
        else:
            group.missing -= 1
            self._lose(1)

    def _busy(self, seconds: float) -> None:
        with self._changed:
            self._tally.busy += seconds

    def _is_closed(self) -> bool:
        return self._closed


@dataclass(slots=True)
class _Group:
    """Rollouts of one task at one seed: those that ended, and how many are still to come."""

    missing: int
    ended: list[Trajectory] = field(default_factory=list)
