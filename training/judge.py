"""Whether a run's task is done: by the suite's verifier, by a known answer, or by a model that reads what was kept.

    python -m training.judge --data runs/rollouts --judge model --model bundled
    python -m training.judge --measure --judge model --model bundled --adapter none --json judge.json

The first writes a label `score` of "judge:NAME" for every ended run that has none of a verifier or of this judge yet;
a score without a number says that the judge could not tell. The second runs a judge over a labelled set and prints how
often it is wrong, with 95 % intervals: a judge whose errors are not known must not give rewards. `--rows` writes what a
judging model learns from (`training.sft --data FOLDER`): runs that a verifier knows, with its word as the reply.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from agent_core.errors import DeskhandError, StoreError
from agent_core.protocols import Model
from agent_core.screen.elements import ElementReader
from agent_core.step import Element, Screenshot, Status, Transform
from agent_core.traces.images import Pixels
from agent_core.traces.reads import Traces
from agent_core.traces.rows import KeptRun, KeptTurn, Label
from agent_core.traces.store import TraceStore
from training.judge_model import SCREENS, Generative, View
from training.judge_rates import Rates, measure
from training.judge_reference import Reference
from training.judged_runs import Pictures, read_set
from training.runs import write_json
from training.serving import questioned
from training.solved import LESSONS, Row, is_solved
from training.verdicts import Judge, Verdict

__all__ = [
    "Claimed", "Generative", "Judge", "Rates", "Reference", "Verdict", "Verified", "View", "measure", "write_labels",
]  # fmt: skip

LABELLED_SET = Path(__file__).parents[1] / "tests" / "data" / "judged_runs.jsonl"
VERIFIER = "verifier"
KINDS = ("verifier", "reference", "model", "claimed")
WORDS = 80  # most tokens of a judge's answer


class Verified:
    """The Judge that passes on what a verifier read from the program itself, as `labels` tell it by the run's id."""

    name = VERIFIER

    def __init__(self, labels: Mapping[str, Label]) -> None:
        self._labels = labels

    def judge(self, run: KeptRun, turns: Sequence[KeptTurn]) -> Verdict:
        label = self._labels.get(run.run.id)
        if label is None:
            return Verdict(None, "No verifier has looked at this run.", self.name)
        return Verdict(label.score, "The verifier's own score.", self.name)


class Claimed:
    """The Judge that believes the agent: what every other judge has to be better than."""

    name = "claimed"

    def judge(self, run: KeptRun, turns: Sequence[KeptTurn]) -> Verdict:
        done = run.status is Status.FINISHED
        return Verdict(float(done), f"The run is {run.status.value}.", self.name)


def write_labels(folder: Path, judge: Judge) -> Counter[str]:
    """Labels the ended runs of a trace folder; returns how many were done, not done, undecided, or left as they were.

    A verifier's word stands: it saw the program, and no judge did. So does an earlier word of the same judge.
    """
    traces = Traces(folder / "traces.db", folder / "images")
    who = f"judge:{judge.name}"
    counts: Counter[str] = Counter()
    with TraceStore(folder / "traces.db", folder / "images") as store:
        for run in ended_runs(traces):
            known = {label.who for label in traces.labels(run.run.id) if label.kind == "score" and label.step is None}
            if known & {VERIFIER, who}:
                counts["left as they were"] += 1
                continue
            verdict = judge.judge(run, traces.turns(run.run.id))
            store.label(run.run.id, None, "score", verdict.score, verdict.reason, who)
            counts[_word(verdict.score)] += 1
    return counts


def write_rows(folder: Path, view: View, to: Path) -> int:
    """What a judging model learns: what it is asked and the verifier's word, for the runs of a folder that have one."""
    traces = Traces(folder / "traces.db", folder / "images")
    known = verified(traces)
    lines = []
    for run in ended_runs(traces):
        label = known.get(run.run.id)
        turns = traces.turns(run.run.id)
        if label is None or label.score is None or not turns:
            continue
        reply = f"Verdict: {'success' if is_solved(label.score) else 'failure'}"
        row = Row(view.prompt(run, turns).chatml(), reply, f"judge/{label.value.rpartition('/')[0]}", run.run.id)
        lines.append(json.dumps(asdict(row), ensure_ascii=False) + "\n")
    to.mkdir(parents=True, exist_ok=True)
    with (to / LESSONS).open("a", encoding="utf-8") as file:
        file.writelines(lines)
    return len(lines)


def ended_runs(traces: Traces) -> list[KeptRun]:
    """Every run that has ended, oldest first."""
    count = traces.stats().runs
    return [run for run in reversed(traces.runs(limit=count)) if run.ended is not None]


def verified(traces: Traces) -> dict[str, Label]:
    """The newest score of a verifier, by run."""
    found = {}
    for run in ended_runs(traces):
        for label in traces.labels(run.run.id):
            if label.kind == "score" and label.step is None and label.who == VERIFIER:
                found[run.run.id] = label
    return found


def read_answers(file: Path) -> dict[str, tuple[str, ...]]:
    """Known answers: JSON lines with `run` or `task`, and `answers`. Raises StoreError, naming the line."""
    found = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            told = json.loads(line)
            found[str(told.get("run") or told["task"])] = tuple(map(str, told["answers"]))
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{file}, line {number} holds no run or task with its answers: mend it.") from error
    return found


def end_reader(picture: Callable[[str], Pixels], threads: int) -> Callable[[str], Sequence[Element]]:
    """Reads a kept picture with the program's own element reader; nothing where the picture is gone."""
    reader = ElementReader(threads)

    def read(sha256: str) -> Sequence[Element]:
        try:
            pixels = picture(sha256)
        except StoreError:
            return ()
        place = Transform("kept", 0, 0, pixels.width, pixels.height)
        return reader.read(Screenshot(pixels.rgb, pixels.width, pixels.height, place))

    return read


def main(argv: Sequence[str] | None = None) -> int:
    """Labels, measures or writes rows; returns the exit code."""
    args = _parser().parse_args(argv)
    try:
        with ExitStack() as opened:
            if args.measure:
                _measure(args, opened)
            elif not args.data:
                raise StoreError("Name a folder with a trace store with --data, or use --measure.")
            for part in args.data.split(",") if args.data else ():
                _go_through(Path(part).expanduser(), args, opened)
    except DeskhandError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _go_through(folder: Path, args: argparse.Namespace, opened: ExitStack) -> None:
    traces = Traces(folder / "traces.db", folder / "images")
    view = View(traces.picture, sees=bool(args.pictures), read=end_reader(traces.picture, args.threads))
    if args.rows:
        print(f"{folder}: {write_rows(folder, view, args.rows)} rows in {args.rows / LESSONS}")
        return
    judge: Judge
    match args.judge:
        case "verifier":
            judge = Verified(verified(traces))
        case "reference" if args.answers:
            judge = Reference(read_answers(args.answers))
        case "reference":
            raise StoreError("Name the file of known answers with --answers.")
        case "claimed":
            judge = Claimed()
        case _:
            judge = Generative(_model(args, opened), args.samples, view, args.model)
    counts = write_labels(folder, judge)
    print(f"{folder}: " + (", ".join(f"{n} {word}" for word, n in sorted(counts.items())) or "no run has ended"))


def _measure(args: argparse.Namespace, opened: ExitStack) -> None:
    labelled = read_set(args.measure)
    judge: Judge
    match args.judge:
        case "verifier":
            judge = Verified({o.run.run.id: Label(None, "score", float(o.solved), "", VERIFIER, 0.0) for o in labelled})
        case "reference":
            labelled = [one for one in labelled if one.answers]
            judge = Reference({one.run.run.id: one.answers for one in labelled})
        case "claimed":
            judge = Claimed()
        case _:
            read = {sha256: elements for one in labelled for sha256, elements in one.read.items()}
            view = View(Pictures(args.measure), sees=bool(args.pictures), read=lambda sha256: read.get(sha256, ()))
            judge = Generative(_model(args, opened), args.samples, view, args.model)
    rates = measure(judge, labelled, lambda line: print(line, file=sys.stderr, flush=True))
    print(rates.in_words())
    if args.json:
        write_json(args.json, asdict(rates))


def _model(args: argparse.Namespace, opened: ExitStack) -> Model:
    """The judging model, closed at the end."""
    temperature = 1.0 if args.samples > 1 else 0.0
    options = {"temperature": temperature, "seed": args.seed, "max_new_tokens": WORDS}
    model = questioned(args.model, args.adapter, args.threads, **options)
    opened.callback(model.close)
    return model


def _word(score: float | None) -> str:
    return "undecided" if score is None else "done" if is_solved(score) else "not done"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training.judge", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="", help="folders with trace stores, comma separated")
    parser.add_argument("--judge", choices=KINDS, default="model", help="which judge (default: model)")
    parser.add_argument("--model", default="bundled", help="a manifest's name, or a folder with weights")
    parser.add_argument("--adapter", default="", help='adapter folder of the judging model, "none" for the bare base')
    parser.add_argument("--samples", type=int, default=3, help="how often a model is asked (default: 3)")
    parser.add_argument("--pictures", type=int, choices=(0, 1), default=0, help=f"1: show the last {SCREENS} pictures")
    parser.add_argument("--answers", type=Path, help="JSON lines with run or task, and answers: for --judge reference")
    parser.add_argument(
        "--measure", type=Path, nargs="?", const=LABELLED_SET, help="a labelled set instead of --data (default: ours)"
    )
    parser.add_argument("--json", type=Path, help="file for the measured rates")
    parser.add_argument("--rows", type=Path, help="folder for what a judging model learns from")
    parser.add_argument("--seed", type=int, default=0, help="seed of the samples")
    parser.add_argument("--threads", type=int, default=1, help="threads of model and reader")
    return parser


if __name__ == "__main__":
    sys.exit(main())
