"""How often the MiniWoB teachers succeed, through the same loop as any run; what they gave up on is the reader's gap.

python -m training.tasks.miniwob_check [TASK ...] [--seeds 20] [--first 0]
"""

from __future__ import annotations

import argparse
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event

from agent_core import loop
from agent_core.actions import Action
from agent_core.dialects.elements import Elements
from agent_core.errors import DeskhandError
from agent_core.step import Run, Screenshot, Status, Tier, Turn, Verdict
from agent_core.traces.store import NoTrace
from training.tasks.miniwob import MiniWob
from training.tasks.task import Episode, seed_of

MAX_STEPS = 24


@dataclass(slots=True)
class Tally:
    """What came of one task's episodes. Seconds are sums over all steps; `other` leaves out capture and reading."""

    solved: int = 0
    tried: int = 0
    turns: int = 0
    capture: float = 0.0
    read: float = 0.0
    seconds: float = 0.0
    failures: Counter[str] = field(default_factory=Counter)

    def line(self, task: str) -> str:
        n = max(1, self.turns)
        other = self.seconds - self.capture - self.read
        why = "; ".join(f"{count} x {text}" for text, count in self.failures.most_common(2))
        return (
            f"{task:26} {self.solved:3}/{self.tried:<3} turns {self.turns / max(1, self.tried):4.1f}  "
            f"capture {self.capture / n:.3f} read {self.read / n:.3f} other {other / n:.3f} s  {why}"
        )


def check(task: str, suite: MiniWob, seeds: Sequence[int]) -> Tally:
    """Lets the teacher do the task at each of the seeds."""
    tally = Tally()
    for n in seeds:
        begin = time.monotonic()
        episode = suite.open(task, seed_of(n, "train"), "train")
        turns: list[Turn] = []
        try:
            text = _run(episode, turns)
        finally:
            episode.close()
        tally.tried += 1
        tally.turns += len(turns)
        tally.seconds += time.monotonic() - begin
        tally.capture += sum(t.screenshot.capture_ms for t in turns) / 1000
        tally.read += sum(t.screenshot.read_ms for t in turns) / 1000
        if text:
            tally.failures[text] += 1
        else:
            tally.solved += 1
    return tally


def _run(episode: Episode, turns: list[Turn]) -> str:
    """Why the episode failed, nothing when it is solved."""
    parts = loop.Parts(
        operator=episode.operator,
        dialect=Elements(),
        model=episode.teacher,
        decide=_allow,
        recorder=NoTrace(),
        reader=episode.reader,
        limits=loop.Limits(steps=MAX_STEPS),
    )
    run = Run(id=uuid.uuid4().hex, task=episode.task, started=time.time())
    try:
        for turn in loop.run_task(run, parts, Event()):
            turns.append(turn)
            if turn.status is Status.RUNNING and episode.done():
                break
        reward = episode.score()
    except DeskhandError as error:
        return str(error)
    return "" if reward > 0 else f"reward {reward:g} after: {turns[-1].intent.thought}"


def _allow(action: Action, shot: Screenshot, task: str) -> Verdict:
    return Verdict("allow", Tier.R1, "The page is a sandbox.")


def main(argv: Sequence[str] | None = None) -> None:
    """Prints a line for each task."""
    parser = argparse.ArgumentParser(prog="python -m training.tasks.miniwob_check", description=__doc__)
    parser.add_argument("tasks", nargs="*", help="names of tasks; all if none is given")
    parser.add_argument("--seeds", type=int, default=20, help="episodes of each task")
    parser.add_argument("--first", type=int, default=0, help="number of the first training seed")
    args = parser.parse_args(argv)
    suite = MiniWob()
    try:
        for task in args.tasks or suite.tasks():
            print(check(task, suite, range(args.first, args.first + args.seeds)).line(task), flush=True)
    finally:
        suite.close()


if __name__ == "__main__":
    main()
