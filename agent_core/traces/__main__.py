"""Command line of the trace store: stats, show, label, verify, export, delete.

Exit code 0 when done, 1 when something is wrong (a broken line, no such run, a full disk), 2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from agent_core import paths, settings
from agent_core.actions import in_words
from agent_core.errors import StoreError
from agent_core.step import Step
from agent_core.traces.audit import verify as verify_audit
from agent_core.traces.bundle_write import export_bundle
from agent_core.traces.erase import delete_all, delete_app, delete_run
from agent_core.traces.export import json_lines, label_json, run_json, turn_json
from agent_core.traces.markup import duration, verdict_words
from agent_core.traces.outside import Outside
from agent_core.traces.reads import Traces
from agent_core.traces.replay import write_replay
from agent_core.traces.review import WORDS, review


def main(argv: list[str] | None = None) -> int:
    """Runs one command. Prints what was done to standard output, what went wrong to standard error."""
    parser = _parser()
    args = parser.parse_args(argv)
    if args.command == "export" and args.bundle is None and len(args.run) != 1:
        parser.error("export: name one run, or write several with --bundle")
    try:
        match args.command:
            case "stats":
                return stats(args.json)
            case "show":
                return show(args.run, args.search, args.json)
            case "verify":
                return verify()
            case "label":
                return label(args.run, args.kind, args.value, args.step)
            case "export":
                return bundle(args.bundle, args.run) if args.bundle else export(args.run[0], args.format, args.out)
            case _:
                return delete(args.run or args.id, args.app, args.all)
    except StoreError as error:
        print(error, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m agent_core.traces", description="Read and manage the kept runs.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    one = commands.add_parser("stats", help="how much is kept")
    one.add_argument("--json", action="store_true", help="one JSON object")
    one = commands.add_parser("show", help="the kept runs, or one of them step by step")
    one.add_argument("run", nargs="?", metavar="RUN", help="id of a run; without it the newest runs are listed")
    one.add_argument("--search", default="", metavar="TEXT", help="only runs with this text")
    one.add_argument("--json", action="store_true", help="JSON instead of text")
    one = commands.add_parser("label", help="say about a kept run, or one step of it, what training is to learn from")
    one.add_argument("run", metavar="RUN")
    one.add_argument("kind", choices=tuple(WORDS), help="; ".join(f"{kind}: {what}" for kind, what in WORDS.items()))
    one.add_argument("value", nargs="?", default="", metavar="VALUE", help="up or down, or the better reply")
    one.add_argument("--step", type=int, metavar="N", help="the step it is about, as `show` numbers them")
    commands.add_parser("verify", help="check the audit's chain, the database and every picture")
    one = commands.add_parser("export", help="one run as a page or JSON lines, or runs as a bundle to train on")
    one.add_argument("run", nargs="*", metavar="RUN", help="id of a run; a bundle holds all of them if none is named")
    one.add_argument("--bundle", type=Path, metavar="PLACE", help="a folder, or one file if it ends in .zip")
    one.add_argument("--format", choices=("html", "jsonl"), default="html")
    one.add_argument("--out", type=Path, metavar="FILE", help="default: replay-RUN.html; JSON lines go to the output")
    one = commands.add_parser("delete", help="delete a run, the runs with an app, or all of them, for good")
    which = one.add_mutually_exclusive_group(required=True)
    which.add_argument("run", nargs="?", metavar="RUN")
    which.add_argument("--run", dest="id", metavar="RUN", help="the same as the bare id")
    which.add_argument("--app", metavar="WORD", help="every run in which a window had this word in its title")
    which.add_argument("--all", action="store_true", help="every kept run")
    return parser


def stats(as_json: bool) -> int:
    """Prints counts and sizes."""
    found = Traces().stats()
    if as_json:
        print(json.dumps(asdict(found)))
        return 0
    by_status = ", ".join(f"{n} {status}" for status, n in found.by_status.items())
    print(f"{paths.traces_file()}: {_size(found.database_bytes)}")
    print(f"  runs    {found.runs}" + (f" ({by_status})" if by_status else ""))
    print(f"  turns   {found.turns}")
    print(f"  steps   {found.steps} ({found.refused} refused)")
    print(f"  labels  {found.labels}")
    print(f"  images  {found.images}, {_size(found.image_bytes)}")
    if found.first is not None and found.last is not None:
        print(f"  from    {_when(found.first)} to {_when(found.last)}")
    return 0


def show(run_id: str | None, search: str, as_json: bool) -> int:
    """Prints the list of runs, or one run step by step."""
    traces = Traces()
    if run_id is None:
        runs = traces.runs(search)
        if as_json:
            print(json.dumps([run_json(kept) for kept in runs], ensure_ascii=False))
        else:
            for kept in runs:
                print(f"{kept.run.id}  {_when(kept.run.started)}  {kept.status.value:<8}  {_plain(kept.run.task)}")
            if not runs:
                print("No runs are kept. They appear here once keeping runs is allowed in the settings.")
        return 0
    one = Outside(traces, run_id)
    kept, turns = one.kept, one.turns
    if as_json:
        labels = [label_json(label, one) for label in traces.labels(run_id)]
        whole = {**run_json(kept), "turns": [turn_json(turn, traces, one) for turn in turns], "labels": labels}
        print(json.dumps(whole, ensure_ascii=False))
        return 0
    print(f"{_plain(kept.run.task)}\n{_when(kept.run.started)}, {kept.status.value}. {_plain(kept.text)}".rstrip())
    for turn in turns:
        print(f"\n{turn.n}  {_plain(turn.thought) or '(no thought)'}  [{duration(turn.reply.think_ms)}]")
        for problem in turn.problems:
            print(f"   ! {_plain(problem)}")
        for step in turn.steps:
            print(f"   {_step_line(step)}")
    return 0


def label(run_id: str, kind: str, value: str, step: int | None) -> int:
    """Keeps a person's word and says so."""
    print(review(run_id, kind, value, step))
    return 0


def verify() -> int:
    """Checks everything; one sentence a fault."""
    faults = list(Traces().faults())
    broken = verify_audit()
    if broken is not None:
        faults.append(f"{paths.audit_file()}: line {broken} was changed or taken out; from there on it proves nothing.")
    for aside in sorted(paths.home().glob(f"{paths.audit_file().name}.damaged-*")):
        faults.append(f"{aside}: this audit was damaged and set aside; the lines in it are not in the present one.")
    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults:
        print("Every audit line, row and picture is as it was written.")
    return 1 if faults else 0


def export(run_id: str, form: str, out: Path | None) -> int:
    """Writes one run to a file, or JSON lines to the output."""
    if form == "html":
        print(write_replay(run_id, out or Path(f"replay-{run_id}.html")))
        return 0
    text = "".join(f"{line}\n" for line in json_lines(run_id, Traces()))
    if out is None:
        sys.stdout.write(text)
        return 0
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"The run could not be written to {out}: {error.strerror}. Choose another place.") from error
    print(out)
    return 0


def bundle(out: Path, run_ids: list[str]) -> int:
    """Writes runs into a bundle for others to train on, and says what is in it."""
    if settings.load()[0].privacy.consent == "no":
        raise StoreError(
            "The settings say that nothing may be kept, so no run leaves this computer. Allow keeping runs first."
        )
    made = export_bundle(out, run_ids)
    left = f"; {made.images_left_out} image{_s(made.images_left_out)} left out" if made.images_left_out else ""
    print(f"{made.path}: {made.runs} run{_s(made.runs)}, {made.steps} steps, {made.images} images{left}")
    for run_id, why in made.left_out.items():
        print(f"  not in it: {run_id}, {why}")
    print(
        "Secrets that were recognised are taken out; names, letters and photos stay in. Look through the runs first, "
        "and give the bundle only to people who may see them."
    )
    return 0


def delete(run_id: str | None, app: str | None, everything: bool) -> int:
    """Deletes for good and says how much."""
    gone = delete_all() if everything else delete_app(app) if app else delete_run(run_id or "")
    print(f"Deleted for good: {gone.runs} run{_s(gone.runs)}, {gone.images} image{_s(gone.images)}.")
    if gone.left:
        print(f"Damaged files may still hold parts of it: {', '.join(gone.left)}. `delete --all` removes them too.")
    return 0


def _step_line(step: Step) -> str:
    where = f' on "{step.element.text}"' if step.element and step.element.text else ""
    line = f"{step.n:>3} {in_words(step.action)}{where}: {verdict_words(step.verdict)} ({step.verdict.reason})"
    outcome = step.outcome
    if outcome is None:
        return _plain(f"{line}, not done")
    done = "done" if outcome.ok else "failed"
    return _plain(f"{line}, {done} in {duration(outcome.duration_ms)}" + (f": {outcome.text}" if outcome.text else ""))


def _plain(text: str) -> str:
    """One line for a terminal: what could steer the terminal is written out."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


if __name__ == "__main__":
    sys.exit(main())
