"""From traces to rows for training: solved runs only, split by run and never by step, the same for the same input.

A row is what the model was asked and the reply that was right there. Rows whose step was refused or failed are left
out: a solved run may hold mistakes, and a mistake is not an example.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_core.traces.reads import Traces

LESSONS = "lessons.jsonl"


@dataclass(frozen=True, slots=True)
class Row:
    """One turn. `group` is "suite/task", `run` the run or episode that it is split by."""

    prompt: str
    reply: str
    group: str
    run: str


def read_rows(folders: Sequence[Path], per_task: int = 0, seed: int = 0) -> list[Row]:
    """Rows of all stores, without repeats, in a fixed order.

    At most `per_task` rows of demonstrations of one task, drawn by the seed; lessons are all kept, for they are the
    states that a policy came to by its own mistakes.
    """
    shown = _distinct([row for folder in folders for row in solved_rows(folder)])
    lessons = _distinct([row for folder in folders for row in lesson_rows(folder)])
    if per_task:
        of_task: dict[str, list[Row]] = defaultdict(list)
        for row in shown:
            of_task[row.group].append(row)
        rng = random.Random(seed)
        shown = [r for task in sorted(of_task) for r in rng.sample(of_task[task], min(per_task, len(of_task[task])))]
    return _distinct(shown + lessons)


def _distinct(rows: Sequence[Row]) -> list[Row]:
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        found.setdefault((row.prompt, row.reply), row)
    return sorted(found.values(), key=lambda r: (r.group, r.run, r.prompt))


def solved_rows(folder: Path) -> list[Row]:
    """The rows of the runs that a verifier gave the whole reward."""
    traces = Traces(folder / "traces.db", folder / "images")
    scores = {run: label for run, label in traces.scores().items() if (label.score or 0) >= 1}
    rows = []
    for row in traces.training_rows():
        label = scores.get(row.run)
        if label is None or not row.allowed or not row.ok or not row.reply or "+" in row.model:
            continue  # a policy's own replies are not examples: the teacher's word on them is in the lessons
        rows.append(Row(row.prompt, row.reply, label.value.rpartition("/")[0], label.value))
    return rows


def lesson_rows(folder: Path) -> list[Row]:
    """What a teacher said in states that a policy came to (`training.rollouts --policy`)."""
    file = folder / LESSONS
    if not file.exists():
        return []
    return [Row(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def split_rows(rows: Sequence[Row], share: float, seed: int) -> tuple[list[Row], list[Row]]:
    """(kept, held back): whole runs are held back, never single steps of a run that is trained on."""
    runs = sorted({row.run for row in rows})
    held = set(random.Random(seed).sample(runs, round(len(runs) * share)))
    return [r for r in rows if r.run not in held], [r for r in rows if r.run in held]
