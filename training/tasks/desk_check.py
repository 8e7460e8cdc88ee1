"""How often the desk's teachers succeed through the real loop, and that doing nothing scores 0.

python -m training.tasks.desk_check [--seeds 10] [--first 0] [TASK ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from agent_core.dialects.elements import Elements
from agent_core.traces.store import NoTrace
from training.rollouts import run_episode
from training.tasks.desk import TRAINED, Desk
from training.tasks.task import seed_of

MAX_STEPS = 20


def check(desk: Desk, task: str, n: int) -> tuple[float, str]:
    """The score of the teacher at the n-th training seed, and what there is to say. Nothing done must score 0."""
    episode = desk.open(task, seed_of(n, "train"), "train")
    try:
        if episode.score() > 0:
            return 0.0, "solved before anything was done"
        assert episode.reader is not None
        result = run_episode(
            desk.name, task, n, episode, episode.teacher, episode.reader, NoTrace(), Elements(), MAX_STEPS
        )
    finally:
        episode.close()
    return result.reward or 0.0, f"{len(result.turns)} turns, {result.seconds:.1f} s: {result.text}"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("tasks", nargs="*", default=list(TRAINED))
    args = parser.parse_args(argv)
    desk = Desk()
    try:
        for task in args.tasks:
            seeds = range(args.first, args.first + args.seeds)
            results = [check(desk, task, n) for n in seeds]
            failed = [f"  seed {n}: {text}" for n, (score, text) in zip(seeds, results, strict=True) if score < 1]
            print(
                f"{task}: {args.seeds - len(failed)} of {args.seeds}; {results[-1][1]}", *failed, sep="\n", flush=True
            )
    finally:
        desk.close()


if __name__ == "__main__":
    main()
