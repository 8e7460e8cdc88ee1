"""What there is to learn from mistakes: the step that should have been, and how to go on after one that was wrong.

    python -m training.reflect --data runs/rollouts --out runs/reflect

Two kinds (UI-TARS, 2501.12326, 4.4). Error correction: in the state of a wrong step, the right one, against the wrong
one. Post-reflection: the mistake stays in the past, and the next step owns up to it in its thought and puts it right,
against what was done there. Which step was wrong is told by a person's correction, refusal or take-over, or by a
teacher's word on a policy's steps; which step is right by the same, or by a run that was solved in spite of it.

`lessons.jsonl` in the out folder is for `training.sft --data OUT`: the loss is on the right step only, for the mistake
stands in the prompt. `pairs.jsonl` is for `training.dpo`. A thought that owns up is written here, from the words of the
mistake as they stand in the prompt. Rows without a known consent, and turns with pictures, are left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from agent_core.redaction import redact
from agent_core.traces.reads import Traces
from agent_core.traces.rows import KeptRun, KeptTurn, Label
from training.curate import CONSENTS
from training.curate_labels import value_of
from training.curate_rows import name_of
from training.curate_rules import is_redacted
from training.pairs import actions_in, acts_otherwise
from training.replies import same_place, thought_of, with_thought
from training.runs import knob, parse, write_text
from training.solved import LESSONS, Row, lesson_rows

Kind = Literal["error_correction", "post_reflection"]
PAIRS = "pairs.jsonl"
MAX_WORDS = 60  # characters of the mistake that its admission repeats: a past thought is cut at 120


@dataclass(frozen=True, slots=True)
class Args:
    """What to learn from."""

    data: str = knob("runs/rollouts", "folders with traces, comma separated")
    out: str = knob("runs/reflect", "folder for the rows and pairs; what lay there is replaced")


@dataclass(frozen=True, slots=True)
class Lesson:
    """One thing learnt: in this state `chosen`, and not `rejected`. Without a wrong step in the same state `rejected`
    is empty, and there is a row but no pair."""

    prompt: str
    chosen: str
    rejected: str
    kind: Kind
    group: str
    run: str


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong step. `right` is the reply that should have been, empty where it is not known."""

    turn: int
    right: str
    by: str


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Args, argv, "python -m training.reflect", __doc__)
    found = [lesson for folder in args.data.split(",") for lesson in reflect(Path(folder).expanduser())]
    written = write(found, Path(args.out))
    print(", ".join(f"{n} {what}" for what, n in sorted(written.items())) or "There is nothing to learn from mistakes.")


def reflect(folder: Path) -> list[Lesson]:
    """Every lesson of a folder with traces, and a teacher's words if there are any. Raises StoreError."""
    traces = Traces(folder / "traces.db", folder / "images")
    taught = {row.prompt: row.reply for row in lesson_rows(folder)}
    found = []
    for run in sorted(traces.runs(limit=max(1, traces.stats().runs)), key=lambda r: (r.run.started, r.run.id)):
        if run.run.consent in CONSENTS and run.ended is not None:
            labels, turns = traces.labels(run.run.id), traces.turns(run.run.id)
            found += of_run(run, turns, labels, taught if "+" in run.run.model else {})
    return found


def of_run(
    run: KeptRun, turns: Sequence[KeptTurn], labels: Sequence[Label], taught: dict[str, str] | None = None
) -> list[Lesson]:
    """The lessons of one run. `taught` are a teacher's replies by prompt."""
    name = name_of(run.run)
    group = name.rpartition("/")[0] or "app"
    private = run.run.consent != "sandbox"
    mistakes = {m.turn: m for m in mistakes_of(turns, labels, taught or {})}
    solved = value_of(labels, run.status, 1.0).good is True
    found = []
    for index, turn in enumerate(turns):
        after = turns[index + 1] if index + 1 < len(turns) else None
        mistake = mistakes.get(turn.n)
        if mistake is None:
            continue
        if mistake.right and _fit(turn):
            found.append(Lesson(turn.prompt, mistake.right, turn.reply.text, "error_correction", group, name))
        if after is not None and _fit(after):
            found += list(_put_right(turn, after, mistake, mistakes.get(after.n), solved, group, name))
    return [_redacted(lesson) for lesson in found] if private else found


def mistakes_of(turns: Sequence[KeptTurn], labels: Sequence[Label], taught: dict[str, str]) -> Iterator[Mistake]:
    """The wrong steps of a run, each once: by a person's word first, then by a teacher's."""
    turn_of = {step.n: turn.n for turn in turns for step in turn.steps}
    said: dict[int, Mistake] = {}
    for label in labels:
        n = turn_of.get(label.step) if label.step is not None else None
        if n is None:
            continue
        if label.kind == "correction" and actions_in(label.value) and not is_redacted(label.value):
            said[n] = Mistake(n, label.value, "correction")
        elif label.kind in ("wrong_step", "take_over", "instead", "deny"):
            said.setdefault(n, Mistake(n, "", label.kind))
    for turn in turns:
        right = taught.get(turn.prompt, "")
        if turn.n not in said and right and acts_otherwise(right, turn.reply.text):
            said[turn.n] = Mistake(turn.n, right, "lesson")
    for turn in turns:
        if (mistake := said.get(turn.n)) is None:
            continue
        differs = bool(mistake.right) and acts_otherwise(mistake.right, turn.reply.text)
        if differs or not mistake.right:
            yield mistake


def _put_right(
    wrong: KeptTurn, after: KeptTurn, first: Mistake, second: Mistake | None, solved: bool, group: str, name: str
) -> Iterator[Lesson]:
    """The step after a mistake: the one that should have been there, or the run's own if it came to its goal by it.

    A step that only repeats the mistake, or that failed itself, puts nothing right.
    """
    right, rejected = (second.right, after.reply.text) if second is not None and second.right else ("", "")
    if second is None and solved and _worked(after) and acts_otherwise(after.reply.text, wrong.reply.text):
        right = after.reply.text
    shown = bool(right) and _is_shown(first, wrong, right)
    owned = with_thought(right, admission(wrong, right)) if shown else None
    if owned is not None:
        yield Lesson(after.prompt, owned, rejected, "post_reflection", group, name)


def _is_shown(mistake: Mistake, wrong: KeptTurn, right: str) -> bool:
    """Whether the step can be called wrong. A teacher who says another step may only go in another order, so that its
    word alone is not enough: the step led nowhere, or what puts it right is done in the same place."""
    if mistake.by != "lesson" or not _worked(wrong):
        return True
    still = all(s.outcome is not None and s.outcome.changed is not True for s in wrong.steps)
    return still or same_place(wrong.reply.text, right, wrong.elements)


def admission(wrong: KeptTurn, right: str) -> str:
    """The thought that names the mistake, in its own words, and says what is done about it."""
    if " ".join(wrong.thought.split()) == thought_of(right):
        return f"That was wrong as I did it. {thought_of(right)}"
    mistake = " ".join((wrong.thought or "what I did").split()).rstrip(".")
    mistake = mistake if len(mistake) <= MAX_WORDS else f"{mistake[: MAX_WORDS - 3]}..."
    return f"That was wrong: {mistake}. {thought_of(right)}".strip()


def write(lessons: Sequence[Lesson], out: Path) -> Counter[str]:
    """The rows and the pairs, each once and in a fixed order; returns how many of each kind."""
    rows = {(one.prompt, one.chosen): one for one in reversed(lessons)}
    pairs = {(one.prompt, one.chosen, one.rejected): one for one in reversed(lessons) if one.rejected}
    ordered = sorted(rows.values(), key=lambda one: (one.group, one.run, one.kind, one.prompt, one.chosen))
    against = sorted(
        pairs.values(), key=lambda one: (one.group, one.run, one.kind, one.prompt, one.chosen, one.rejected)
    )
    out.mkdir(parents=True, exist_ok=True)
    _write_lines(out / LESSONS, [asdict(Row(one.prompt, one.chosen, one.group, one.run)) for one in ordered])
    kept = ("prompt", "chosen", "rejected", "kind", "run")
    _write_lines(out / PAIRS, [{key: getattr(one, key) for key in kept} for one in against])
    counts = Counter(f"rows of {one.kind}" for one in ordered)
    return counts + Counter(f"pairs of {one.kind}" for one in against)


def _write_lines(file: Path, rows: Sequence[dict[str, str]]) -> None:
    write_text(file, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _fit(turn: KeptTurn) -> bool:
    """Whether the turn can stand in a row of text."""
    return bool(turn.reply.text) and not (turn.withheld or turn.prompt_images or is_redacted(turn.reply.text))


def _worked(turn: KeptTurn) -> bool:
    steps = turn.steps
    return bool(steps) and all(s.verdict.decision == "allow" and s.outcome is not None and s.outcome.ok for s in steps)


def _redacted(one: Lesson) -> Lesson:
    """As it may go out: redacted once more, for rules get better."""
    return Lesson(redact(one.prompt), redact(one.chosen), redact(one.rejected), one.kind, one.group, one.run)


if __name__ == "__main__":
    main()
