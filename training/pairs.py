"""Pairs for preference learning: two replies to one prompt, the better and the worse.

From a JSONL file, a curated folder, or the traces: a person's correction of a step, a teacher's word on a policy's step
(both are error-correction pairs, UI-TARS 2501.12326: wrong step against corrected step in the same state), what was
done on the same screen after a person had refused, and what a solved and an unsolved run of one task did where their
prompts were the same. A state after a mistake is a state like any other, so post-reflection pairs come the same way.
Replies that act alike are no pair: they would teach wording.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from agent_core.actions import Action, Point
from agent_core.dialects import uitars
from agent_core.traces.reads import Traces
from agent_core.traces.rows import KeptTurn, TrainingRow
from training.solved import is_solved, lesson_rows

CURATED = "pairs.jsonl"
Kind = Literal["given", "correction", "lesson", "outcome", "instead", "denial"]


@dataclass(frozen=True, slots=True)
class Pair:
    """`prompt` as the model got it; `chosen` and `rejected` without their stop token; `run` is what it is split by."""

    prompt: str
    chosen: str
    rejected: str
    kind: Kind = "given"
    run: str = ""


def read_pairs(data: str) -> list[Pair]:
    """Pairs of all sources, files (*.jsonl) and trace folders separated by commas; without repeats, in a fixed order.

    Raises ValueError, naming file and line, for a line that is no pair.
    """
    found: dict[tuple[str, str, str], Pair] = {}
    for source in data.split(","):
        path = Path(source)
        file = path / CURATED if (path / CURATED).exists() else path
        for pair in of_file(file) if file.suffix == ".jsonl" else of_traces(path):
            found.setdefault((pair.prompt, pair.chosen, pair.rejected), pair)
    return sorted(found.values(), key=lambda p: (p.kind, p.run, p.prompt, p.chosen, p.rejected))


def of_file(path: Path) -> Iterator[Pair]:
    """One JSON object a line with prompt, chosen and rejected; `kind` and `run` if they are known."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            given = json.loads(line)
            told = given.get("kind", "given"), given.get("run", str(number))
            pair = Pair(given["prompt"], given["chosen"], given["rejected"], *told)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}, line {number} is no pair of prompt, chosen and rejected: {error}") from error
        if pair.chosen == pair.rejected or not pair.chosen or not pair.rejected:
            raise ValueError(f"{path}, line {number}: chosen and rejected must be two different replies")
        yield pair


def of_traces(folder: Path) -> Iterator[Pair]:
    """Pairs from a folder with a trace store and lessons; turns with pictures in their prompt are left out."""
    traces = Traces(folder / "traces.db", folder / "images")
    rows = [row for row in traces.training_rows() if row.reply and not row.prompt_images]
    scores = traces.scores()
    yield from corrections(traces, rows)
    yield from lessons(folder, rows)
    judged = [(row, scores[row.run].score) for row in rows if row.run in scores]
    good = [row for row, score in judged if is_solved(score) and row.allowed and row.ok]
    bad = [row for row, score in judged if score is not None and not is_solved(score)]
    yield from outcomes(good, bad)
    for run in dict.fromkeys(row.run for row in rows):
        score = scores[run].score if run in scores else None
        yield from steered(run, traces.turns(run), is_solved(score))


def corrections(traces: Traces, rows: Sequence[TrainingRow]) -> Iterator[Pair]:
    """The label `correction` holds the reply that a person would have given instead of a step's."""
    by_turn = {(row.run, row.n): row for row in rows}
    for run in dict.fromkeys(row.run for row in rows):
        labels = [label for label in traces.labels(run) if label.kind == "correction" and label.value]
        turns = {step.n: turn.n for turn in traces.turns(run) for step in turn.steps} if labels else {}
        for label in labels:
            row = by_turn.get((run, turns.get(label.step, -1) if label.step is not None else -1))
            if row is not None and acts_otherwise(label.value, row.reply):
                yield Pair(row.prompt, label.value, row.reply, "correction", run)


def lessons(folder: Path, rows: Sequence[TrainingRow]) -> Iterator[Pair]:
    """What a teacher said, against what the policy did in the same state. Only a policy's rows, "+" in their model's
    name, have a teacher's word."""
    said: dict[str, list[TrainingRow]] = defaultdict(list)
    for row in rows:
        if "+" in row.model:
            said[row.prompt].append(row)
    for lesson in lesson_rows(folder):
        for row in said.get(lesson.prompt, ()):
            if acts_otherwise(lesson.reply, row.reply):
                yield Pair(row.prompt, lesson.reply, row.reply, "lesson", lesson.run)


def outcomes(good: Sequence[TrainingRow], bad: Sequence[TrainingRow]) -> Iterator[Pair]:
    """Steps of solved runs against steps of unsolved ones, where the prompts are the same to the letter."""
    solved: dict[str, dict[str, TrainingRow]] = defaultdict(dict)
    for row in good:
        solved[row.prompt].setdefault(row.reply, row)
    for row in bad:
        right = solved.get(row.prompt, {})
        if all(acts_otherwise(reply, row.reply) for reply in right):  # else the mistake lies elsewhere in the run
            for reply, one in right.items():
                yield Pair(row.prompt, reply, row.reply, "outcome", one.run)


def steered(run: str, turns: Sequence[KeptTurn], solved: bool) -> Iterator[Pair]:
    """What a person refused, against what was done on the same screen in its place and worked.

    Where they said what to do instead, the next reply follows that. A plain no only says that this was wrong: the next
    reply is a better one only if the run was `solved`.
    """
    for turn, after in pairwise(turns):
        denied = [s.verdict for s in turn.steps if s.verdict.decision == "deny" and s.verdict.who == "person"]
        worked = after.steps and all(s.verdict.decision == "allow" and s.outcome and s.outcome.ok for s in after.steps)
        if not denied or not worked or len(turn.steps) > 1:  # after a first action the screen is another one
            continue
        kind: Kind = "instead" if denied[0].instead else "denial"
        fit = turn.reply.text and not (turn.prompt_images or turn.withheld or after.withheld)
        if fit and (kind == "instead" or solved) and acts_otherwise(after.reply.text, turn.reply.text):
            yield Pair(turn.prompt, after.reply.text, turn.reply.text, kind, run)


def acts_otherwise(one: str, other: str) -> bool:
    """Whether the two replies do different things; a reply that cannot be read does nothing."""
    return actions_in(one) != actions_in(other)


def actions_in(reply: str) -> tuple[Action, ...]:
    """The actions of a reply, to compare with another's: their places are not those on a screen."""
    return uitars.read(reply, _place).actions


def _place(x: float, y: float) -> Point:
    """Any two places stay different, whatever the convention of the numbers is."""
    return Point(x / 2**16, y / 2**16)
