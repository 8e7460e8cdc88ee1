"""Runs one task without a window.

    python -m agent_core "TASK" [--operator desktop|terminal|browser|dry_run] [--model NAME]
                                [--approve ask|deny|all] [--mode ask_all|ask_risky|watch] [--json] [--replay PAGE.html]

With --json one JSON line per turn on standard output; the last line has `status`. Exit 0 only if the task finished,
1 if it did not, 2 if it could not be started or model, screen or disk broke down. --approve ask asks on the
terminal; without a terminal it denies. A mouse that the person moves pauses the run until they press Enter; without a
terminal it ends the run.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any, cast

from agent_core import __version__, loop, settings
from agent_core.actions import in_words, to_json
from agent_core.dialects import fitted
from agent_core.errors import DeskhandError
from agent_core.limits import limits_of
from agent_core.models import manifest as manifests
from agent_core.models import model
from agent_core.operators import OPERATORS, operator
from agent_core.operators.jail import jail_of
from agent_core.protocols import Approve, Operator, Reader
from agent_core.safety import approvers
from agent_core.safety.policy import Mode, Policy
from agent_core.step import Run, Status, Turn
from agent_core.traces.audit import AuditLog, Recorders
from agent_core.traces.replay import replay_of
from agent_core.traces.store import NoTrace, TraceStore

APPROVERS: dict[str, Approve] = {
    "ask": approvers.on_terminal,
    "deny": approvers.deny_all,
    "all": approvers.allow_all,
}


MODES = ("ask_all", "ask_risky", "watch")
SEEN = ("desktop", "browser")  # operators whose screens are read whatever the dialect: the gate judges by the elements


def main(argv: Sequence[str] | None = None) -> int:
    """Parses the arguments, runs the task, returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m agent_core", description=__doc__.split("\n", 1)[0] if __doc__ else ""
    )
    parser.add_argument("task", help="what should be done, in plain words")
    parser.add_argument("--operator", default="desktop", help=f"what is acted on: {', '.join(sorted(OPERATORS))}")
    parser.add_argument("--model", default="", help="name of a manifest; the one in the settings if not given")
    parser.add_argument("--approve", default="ask", choices=sorted(APPROVERS), help="who answers what the gate asks")
    parser.add_argument("--mode", default="", choices=MODES, help="when it asks; as in the settings if not given")
    parser.add_argument("--url", default="", help="the page that the browser operator starts on")
    parser.add_argument("--max-steps", type=int, default=0, help="most actions; the one in the settings if not given")
    parser.add_argument("--json", action="store_true", help="one JSON line per turn")
    parser.add_argument("--replay", type=Path, help="write a page that replays the run")
    args = parser.parse_args(argv)
    stop = Event()
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        return run(args, stop)
    except DeskhandError as error:
        if args.json:
            print(json.dumps({"status": "failed", "text": str(error)}), flush=True)
        print(error, file=sys.stderr)
        return 2


def run(args: argparse.Namespace, stop: Event) -> int:
    """Composes the parts named by the arguments and the settings, and runs the task."""
    wanted, notice = settings.load()
    if notice:
        print(notice, file=sys.stderr)
    task = loop.check_task(args.task)
    manifest = manifests.find(args.model or wanted.model.name)
    manifests.check_language(manifest, task)
    speaks = fitted(manifest.dialect, **manifest.screen())
    hand_back = approvers.HandBack(stop)
    with ExitStack() as opened:
        hands = make_operator(args, wanted, hand_back)
        opened.callback(hands.close)
        reader = make_reader() if speaks.needs_elements or args.operator in SEEN else None
        consent = "settings" if wanted.privacy.consent == "yes" else ""
        kept = TraceStore(never_keep=wanted.privacy.never_kept, reader=reader) if consent else NoTrace()
        recorder = Recorders(AuditLog(), kept)
        opened.callback(recorder.close)
        for notice in recorder.open():
            print(notice, file=sys.stderr)
        brain = model(manifest, wanted.model)
        opened.callback(brain.close)
        policy = Policy(cast(Mode, args.mode or wanted.safety.mode), folder=str(wanted.run.task_folder))
        within = limits_of(wanted)
        parts = loop.Parts(
            operator=hands,
            dialect=speaks,
            model=brain,
            decide=policy.decide,
            recorder=recorder,
            reader=reader,
            approve=APPROVERS[args.approve],
            answer=approvers.answer_on_terminal if sys.stdin.isatty() else None,
            caution=policy.note,
            heard=policy.heard,
            limits=replace(within, steps=args.max_steps or within.steps),
            pause=hand_back.paused,
            taken=hand_back.taken,
        )
        one = Run(
            id=uuid.uuid4().hex,
            task=task,
            started=time.time(),
            consent=consent,
            app_version=__version__,
            dialect=speaks.name,
            model=manifest.name,
            model_hash=manifest.sha256,
            adapter_hash=manifests.adapter_hash(manifest, wanted.model.adapter),
            mode=policy.mode,
            operator=hands.name,
        )
        turns, status, broke = follow(one, parts, stop, args.json)
    if args.replay and turns:
        write_page(one, turns, status, args.replay, wanted.privacy.never_kept)
    return 2 if broke else 0 if status is Status.FINISHED else 1


def follow(one: Run, parts: loop.Parts, stop: Event, as_json: bool) -> tuple[list[Turn], Status, bool]:
    """Runs the task and prints each turn as it ends. The last value tells whether model, screen or disk broke down."""
    turns: list[Turn] = []
    status, text, broke = Status.FAILED, "", False
    try:
        for turn in loop.run_task(one, parts, stop):
            turns.append(turn)
            status, text = turn.status, loop.ending(turn)
            print(json.dumps(turn_json(turn)) if as_json else turn_words(turn), flush=True)
    except DeskhandError as error:
        status, text, broke = Status.FAILED, str(error), True
        print(error, file=sys.stderr)
    if as_json:
        print(json.dumps({"run": one.id, "status": status.value, "text": text}), flush=True)
    elif not broke:
        print(text, flush=True)
    return turns, status, broke


def write_page(one: Run, turns: Sequence[Turn], status: Status, page: Path, never_keep: Sequence[str]) -> None:
    """The page that replays the run; one that cannot be written is a sentence, for the run itself went well."""
    try:
        print(f"replay page: {replay_of(one, turns, status, page, never_keep=never_keep)}", file=sys.stderr)
    except DeskhandError as error:
        print(error, file=sys.stderr)


def make_operator(args: argparse.Namespace, wanted: settings.Settings, on_person: Callable[[], None]) -> Operator:
    """The operator of that name with the options it takes. Raises ScreenError, InputError."""
    match args.operator:
        case "desktop":
            from agent_core.operators.terminal import TerminalSession

            shell = TerminalSession(wanted.run.task_folder, wanted.run.terminal_seconds, jail=jail_of(wanted))
            return operator(
                "desktop",
                monitor=wanted.run.monitor,
                settle_seconds=wanted.run.settle_seconds,
                terminal=shell,
                on_person=on_person if wanted.safety.pause_on_mouse else None,
            )
        case "terminal":
            return operator(
                "terminal", cwd=wanted.run.task_folder, seconds=wanted.run.terminal_seconds, jail=jail_of(wanted)
            )
        case "browser":
            from agent_core.operators.browser import BrowserOperator

            return BrowserOperator.launch(args.url or None)
        case name:
            return operator(name)


def make_reader() -> Reader:
    """The element reader; imported late because it loads its networks."""
    from agent_core.screen.elements import ElementReader

    return ElementReader()


def turn_json(turn: Turn) -> dict[str, Any]:
    """A turn for other programs."""
    return {
        "turn": turn.n,
        "thought": turn.intent.thought,
        "steps": [
            {
                "action": to_json(s.action),
                "verdict": s.verdict.decision,
                "tier": s.verdict.tier.value,
                "reason": s.verdict.reason,
                "who": s.verdict.who,
                "ok": s.outcome.ok if s.outcome else None,
                "text": s.outcome.text if s.outcome else "",
            }
            for s in turn.steps
        ],
        "problems": list(turn.intent.problems),
        "seconds": {
            "capture": round(turn.screenshot.capture_ms / 1000, 3),
            "read": round(turn.screenshot.read_ms / 1000, 3),
            "think": round(turn.reply.think_ms / 1000, 3),
        },
    }


def turn_words(turn: Turn) -> str:
    """A turn for people."""
    lines = [f"{turn.n}. {turn.intent.thought or '(no thought)'}"]
    for step in turn.steps:
        where = f' "{step.element.text}"' if step.element and step.element.text else ""
        word = step.verdict.decision if step.outcome is None or step.outcome.ok else f"failed: {step.outcome.text}"
        lines.append(f"   {in_words(step.action)}{where}   [{word}, {step.verdict.who}]")
    lines += [f"   problem: {problem}" for problem in turn.intent.problems]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
