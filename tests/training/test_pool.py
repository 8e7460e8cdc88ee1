"""The streaming pool and its lockstep: gate, staleness, retries, groups, and the program's loop as an environment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from agent_core.errors import DeskhandError, ModelError, ScreenError
from agent_core.step import Message, Prompt, Reply
from training.episodes import EpisodeEnvironment, Score
from training.jobs import JobSource, Trajectory
from training.lockstep import lockstep
from training.pool import Pool, Together
from training.serving import Answer, Ask
from training.tasks import suite
from training.tasks.task import seed_of

TURNS = 2


class Policy:
    """An actor whose reply is the seed it was asked with; counts its calls and the largest batch."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.version = 0
        self.seconds = seconds
        self.batches: list[int] = []

    def act(self, asks: Sequence[Ask]) -> list[Answer]:
        self.batches.append(len(asks))
        time.sleep(self.seconds)
        return [Answer(Reply(str(ask.seed), (7, 1), (-0.5, -0.1)), (3, 4), self.version) for ask in asks]

    def load(self, adapter: Path | None, version: int) -> None:
        self.version = version

    def close(self) -> None:
        """Nothing is held."""


class Counting:
    """An environment of two turns; the score is 1. `breaks` says which (seed, attempt) break down."""

    def __init__(self, breaks: Callable[[int, int], bool] = lambda seed, attempt: False, seconds: float = 0.0) -> None:
        self.breaks, self.seconds = breaks, seconds
        self.attempts: dict[int, int] = {}
        self.left = 0

    def reset(self, task: str, seed: int) -> Prompt:
        attempt = self.attempts.get(seed, 0)
        self.attempts[seed] = attempt + 1
        if self.breaks(seed, attempt):
            raise ScreenError("The screen went black.")
        self.left = TURNS
        return Prompt((Message("user", task),))

    def step(self, reply: Reply) -> Prompt | None:
        time.sleep(self.seconds)
        self.left -= 1
        return Prompt((Message("user", "again"),)) if self.left else None

    def score(self) -> Score:
        return Score(1.0, "end", (0.0, 1.0), (3, 4))

    def close(self) -> None:
        """Nothing is held."""


def jobs(group_size: int = 1) -> JobSource:
    return JobSource(("a", "b"), lambda n: n, group_size)


def pool_of(actor: Policy, environments: list[Counting], **more: int) -> Iterator[Pool]:
    source = jobs(more.pop("group_size", 1))
    pool = Pool(actor, environments, source, **{"batch": 4, "max_stale": 1, **more})
    try:
        yield pool
    finally:
        pool.close()


def wait_until(true: Callable[[], bool], seconds: float = 5.0) -> None:
    limit = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < limit, "it did not come to pass"
        time.sleep(0.005)


def test_jobs_take_the_tasks_in_turn_and_ranks_take_other_groups() -> None:
    mine = [jobs(2).job(n) for n in range(8)]
    assert [job.task for job in mine] == ["a", "a", "b", "b", "a", "a", "b", "b"]
    assert [job.seed for job in mine] == [0, 0, 0, 0, 1, 1, 1, 1]
    first, second = (JobSource(("a",), lambda n: n, 1, rank, 2) for rank in (0, 1))
    assert {first.job(n).group for n in range(5)} & {second.job(n).group for n in range(5)} == set()


def test_lockstep_gives_the_same_rollouts_for_the_same_seed() -> None:
    def texts(seed: int) -> list[int]:
        played, _ = lockstep(Policy(), [Counting(), Counting()], [jobs().job(n) for n in range(5)], seed)
        return [one.turns[0].reply_chars for one in played] + [one.job.number for one in played]

    assert texts(1) == texts(1)
    played, metrics = lockstep(Policy(), [Counting()], [jobs().job(0)], 1)
    [one] = played
    assert [turn.reward for turn in one.turns] == [0.0, 1.0]
    assert one.turns[0].reply_ids == (7, 1)
    assert one.turns[0].logprobs == (-0.5, -0.1)
    assert metrics.failed == 0


def test_a_broken_environment_is_played_again_and_never_scored() -> None:
    environment = Counting(lambda seed, attempt: seed == 0 and attempt < 2)
    played, metrics = lockstep(Policy(), [environment], [jobs().job(n) for n in (0, 2)], 0, retries=2)
    assert [one.reward for one in played] == [1.0, 1.0]
    assert metrics.failed == 2

    never = Counting(lambda seed, attempt: seed == 0)
    played, metrics = lockstep(Policy(), [never], [jobs().job(n) for n in (0, 2)], 0, retries=1)
    assert [one.job.number for one in played] == [2]  # left out, not counted as a failure of the policy


def test_the_gate_lets_only_so_many_begin() -> None:
    actor = Policy()
    for pool in pool_of(actor, [Counting() for _ in range(3)], batch=4, max_stale=1):
        wait_until(lambda: len(actor.batches) == 8 * TURNS)  # (version 0 + max_stale 1 + 1) * batch 4 rollouts
        time.sleep(0.05)
        assert len(actor.batches) == 8 * TURNS
        assert len(pool.take()) == 4
        pool.published(1)
        wait_until(lambda: len(actor.batches) == 12 * TURNS)


def test_what_is_too_old_is_dropped_when_it_is_taken() -> None:
    actor = Policy()
    for pool in pool_of(actor, [Counting()], batch=2, max_stale=1):
        wait_until(lambda: len(actor.batches) == 4 * TURNS)
        assert [one.version for one in pool.take()] == [0, 0]
        actor.load(None, 2)
        pool.published(2)  # the two that wait are two updates old now
        fresh = pool.take()
        assert [one.version for one in fresh] == [2, 2]
        metrics = pool.metrics()
        assert metrics.dropped == 2
        assert metrics.staleness_max == 0


def test_groups_are_taken_whole() -> None:
    for pool in pool_of(Policy(), [Counting() for _ in range(3)], batch=4, group_size=4):
        taken = pool.take() + pool.take()
        groups = [one.job.group for one in taken]
        assert sorted(groups[:4] + groups[4:]) == [0] * 4 + [1] * 4
        assert len(set(groups[:4])) == len(set(groups[4:])) == 1


def test_a_failed_member_leaves_a_smaller_group() -> None:
    def breaks(seed: int, attempt: int) -> bool:
        return seed == 0 and attempt == 0  # one slot plays all: the first member breaks down once

    for pool in pool_of(Policy(), [Counting(breaks)], batch=2, group_size=2, retries=0, max_stale=0):
        taken = pool.take()
        assert [one.job.group for one in taken[:2]] == [0, 1]
        assert pool.metrics().failed == 1


def test_sandboxes_that_do_nothing_but_fail_end_the_run_with_a_sentence() -> None:
    for pool in pool_of(Policy(), [Counting(lambda seed, attempt: True)], batch=2):
        with pytest.raises(DeskhandError, match="The screen went black"):
            pool.take()


def test_idle_shares_are_told() -> None:
    slow = [Counting(seconds=0.02) for _ in range(2)]
    for pool in pool_of(Policy(), slow, batch=8, max_stale=3):
        pool.metrics()
        pool.take()
        metrics = pool.metrics()
        assert metrics.environment_idle < 0.5  # they hardly wait for this policy
        assert metrics.trainer_idle > 0.5  # while the trainer does nothing but wait


def test_questions_of_many_threads_are_answered_together() -> None:
    inner = Policy(seconds=0.02)
    actor = Together(inner, most=8)
    answers: list[Answer] = []
    prompt = Prompt((Message("user", "?"),))
    threads = [threading.Thread(target=lambda n=n: answers.extend(actor.act([Ask(prompt, n)]))) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(answer.reply.text) for answer in answers) == list(range(12))
    assert len(inner.batches) <= 4
    assert max(inner.batches) <= 8


def test_an_error_of_the_policy_reaches_everyone_who_asked() -> None:
    class Broken(Policy):
        def act(self, asks: Sequence[Ask]) -> list[Answer]:
            raise ModelError("The model is gone.")

    actor = Together(Broken())
    with pytest.raises(ModelError, match="gone"):
        actor.act([Ask(Prompt((Message("user", "?"),)), 0)])


# -- the program's own loop --------------------------------------------------------------------------------------------


def play(environment: EpisodeEnvironment, replies: Callable[[str], str]) -> list[str]:
    prompt = environment.reset("fill", seed_of(1, "train"))
    asked = []
    while prompt is not None:
        asked.append(prompt.messages[0].text)
        prompt = environment.step(Reply(replies(asked[-1]), (1, 2), (-0.1, -0.2)))
    return asked


def test_the_loop_stops_at_every_question_and_scores_what_was_done() -> None:
    environment = EpisodeEnvironment(suite("pretend_small"))
    asked = play(environment, lambda _: "Thought: The task is done.\nAction: finished()")
    assert len(asked) == 1
    assert environment.score() == Score(0.0, "end", (0.0,), (17,), "Done.")
    environment.close()


def test_a_reply_that_a_limit_left_undone_is_not_learnt_from() -> None:
    environment = EpisodeEnvironment(suite("pretend_small"), max_steps=2, per_turn=0.1)
    asked = play(environment, lambda _: "Action: click(point='<point>990 990</point>')")
    score = environment.score()
    assert len(asked) == 3  # the third reply met the limit
    assert score.ended == "cut"
    assert score.turns == pytest.approx((-0.1, -0.1))

    [one], _ = lockstep(Clicking(), [environment], [JobSource(("fill",), lambda n: n).job(0)], 0)
    assert isinstance(one, Trajectory)
    assert [len(turn.reply_ids) for turn in one.turns] == [2, 2, 0]  # the last prompt alone stays, for its value
    environment.close()


class Clicking(Policy):
    def act(self, asks: Sequence[Ask]) -> list[Answer]:
        text = "Action: click(point='<point>990 990</point>')"
        return [Answer(Reply(text, (7, 1), (-0.5, -0.1)), (3, 4), self.version) for _ in asks]


def test_an_episode_can_be_left_in_the_middle() -> None:
    environment = EpisodeEnvironment(suite("pretend_small"))
    assert environment.reset("press", seed_of(0, "train")) is not None
    assert environment.reset("press", seed_of(1, "train")) is not None
    environment.close()


def test_a_seed_of_the_other_split_is_refused_in_the_trainers_thread() -> None:
    environment = EpisodeEnvironment(suite("pretend_small"), "held_out")
    with pytest.raises(ValueError, match="not one of the held_out seeds"):
        environment.reset("press", 0)
    environment.close()
