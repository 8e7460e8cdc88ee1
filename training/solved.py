"""The rows that SFT learns: of solved runs in a trace store, of lessons beside it, or of a curated folder.

A row is what the model was asked and the reply that was right there. Rows whose step was refused or failed are left
out: a solved run may hold mistakes, and a mistake is not an example. What `training.curate` wrote has gone through
more than that, and is taken as it stands.
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
CURATED, CURATED_HELD = "sft.jsonl", "sft_held.jsonl"


def is_solved(reward: float | None) -> bool:
    """Only the whole reward counts: half of the boxes ticked is not the task. None, a failed sandbox, is not solved."""
    return reward is not None and reward >= 1


@dataclass(frozen=True, slots=True)
class Row:
    """One turn. `group` is "suite/task", `run` the run or episode that it is split by."""

    prompt: str
    reply: str
    group: str
    run: str


@dataclass(frozen=True, slots=True)
class Source:
    """A folder with a trace store and lessons, or a curated one; `per_task` is the most rows of one task, 0 for all."""

    folder: Path
    per_task: int = 0


def sources(text: str) -> list[Source]:
    """Sources as they are typed: folders separated by commas, each with an optional ":ROWS" for its `per_task`."""
    found = []
    for part in text.split(","):
        folder, _, rows = part.rpartition(":") if part.rpartition(":")[2].isdigit() else (part, "", "0")
        found.append(Source(Path(folder), int(rows)))
    return found


def read_rows(wanted: Sequence[Source], seed: int = 0) -> list[Row]:
    """Rows of all sources, without repeats, in a fixed order.

    Demonstrations beyond a source's `per_task` are left out, drawn by the seed; lessons are all kept, for they are the
    states that a policy came to by its own mistakes.
    """
    rng = random.Random(seed)
    found: list[Row] = []
    for source in wanted:
        of_task: dict[str, list[Row]] = defaultdict(list)
        for row in distinct(solved_rows(source.folder)):
            of_task[row.group].append(row)
        for task in sorted(of_task):
            rows = of_task[task]
            found += rng.sample(rows, min(source.per_task, len(rows))) if source.per_task else rows
        found += lesson_rows(source.folder)
    return distinct(found)


def held_rows(wanted: Sequence[Source]) -> list[Row]:
    """The rows that curated folders keep out of training; none of folders with traces."""
    return distinct([row for source in wanted for row in _of_file(source.folder / CURATED_HELD)])


def distinct(rows: Sequence[Row]) -> list[Row]:
    """Every prompt with its reply once, in a fixed order."""
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        found.setdefault((row.prompt, row.reply), row)
    return sorted(found.values(), key=lambda r: (r.group, r.run, r.prompt, r.reply))


def solved_rows(folder: Path) -> list[Row]:
    """The rows of a curated folder; of one with traces those of the runs that a verifier gave the whole reward."""
    if (folder / CURATED).exists():
        return _of_file(folder / CURATED)
    traces = Traces(folder / "traces.db", folder / "images")
    scores = {run: label for run, label in traces.scores().items() if is_solved(label.score)}
    rows = []
    for row in traces.training_rows():
        label = scores.get(row.run)
        if label is None or not row.allowed or not row.ok or not row.reply or "+" in row.model:
            continue  # a policy's own replies are not examples: the teacher's word on them is in the lessons
        rows.append(Row(row.prompt, row.reply, label.value.rpartition("/")[0], label.value))
    return rows


def lesson_rows(folder: Path) -> list[Row]:
    """What a teacher said in states that a policy came to (`training.rollouts --policy`)."""
    return _of_file(folder / LESSONS)


def split_rows(rows: Sequence[Row], share: float, seed: int) -> tuple[list[Row], list[Row]]:
    """(kept, held back): whole runs are held back, never single steps of a run that is trained on."""
    runs = sorted({row.run for row in rows})
    held = set(random.Random(seed).sample(runs, round(len(runs) * share)))
    return [r for r in rows if r.run not in held], [r for r in rows if r.run in held]


def _of_file(file: Path) -> list[Row]:
    """One row a line; none where the file is missing."""
    if not file.exists():
        return []
    return [Row(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]
