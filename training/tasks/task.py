"""What a suite of tasks is: a program opened at a seed, a text for the agent, a teacher that solves it, a score.

Recording, rollouts and evaluation all run the same episodes, so that what is learnt is what is measured. Training
and held-out seeds are two ranges that cannot meet; `seed_of` is the one place that hands them out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from agent_core.protocols import Model, Operator, Reader

Split = Literal["train", "held_out"]
TRAIN_SEEDS = range(10_000)
HELD_OUT_SEEDS = range(1_000_000, 2_000_000)


def seed_of(n: int, split: Split) -> int:
    """The n-th seed of a split, from 0. Raises ValueError when the split has no such seed."""
    seeds = TRAIN_SEEDS if split == "train" else HELD_OUT_SEEDS
    if not 0 <= n < len(seeds):
        raise ValueError(f"the split {split} has {len(seeds)} seeds, there is no number {n}")
    return seeds[n]


def check_seed(seed: int, split: Split) -> None:
    """Raises ValueError when a seed does not belong to the split: a held-out seed must never be trained on."""
    if seed not in (TRAIN_SEEDS if split == "train" else HELD_OUT_SEEDS):
        raise ValueError(f"seed {seed} is not one of the {split} seeds")


class Task(Protocol):
    """One kind of task, and the ways its text is worded."""

    name: str
    suite: str
    wordings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Episode:
    """One task opened at one seed, ready for the loop.

    `task` is the text given to the agent. `teacher` answers prompts like any model, but looks into the program to
    know what to do. `reader` is to be used for the screenshots of this episode when there is a teacher at work: it
    lets the teacher see the elements that the agent sees. `score` is 1.0 for solved and 0.0 or less for failed, read
    from the program itself; `done` tells that the program has ended the task; `close` frees what `open` took.
    """

    task: str
    operator: Operator
    teacher: Model
    score: Callable[[], float]
    close: Callable[[], None]
    done: Callable[[], bool] = lambda: False
    reader: Reader | None = None


@runtime_checkable
class Suite(Protocol):
    """A named set of tasks. `evaluated` are the tasks that are measured, `episodes` how many of each at least."""

    name: str
    evaluated: tuple[str, ...]
    episodes: int

    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks, in a fixed order."""

    def open(self, task_name: str, seed: int, split: Split) -> Episode:
        """Starts a task. Raises ValueError for an unknown name or a seed of the other split."""

    def close(self) -> None:
        """Ends the programs that the suite keeps running between episodes. Safe to call twice."""
