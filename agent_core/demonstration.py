"""A task done in a real program on a virtual screen: what the program shows where there is no display.

    python -m agent_core.demonstration ["TASK"] [--out PAGE.html]

Starts a virtual screen of its own with the program that the task names (an editor if it names none), lets the bundled
agent do the task there, checks the default task from outside, and prints where the replay page lies. Nothing is asked:
the screen, its home folder and what is in it were made for this and are thrown away, and commands must stay inside.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from agent_core import __version__, loop, paths
from agent_core.actions import in_words
from agent_core.dialects import dialect
from agent_core.errors import DeskhandError
from agent_core.models import manifest as manifests
from agent_core.models import model
from agent_core.operators.desktop import DesktopOperator
from agent_core.operators.terminal import TerminalSession
from agent_core.protocols import Model
from agent_core.safety.policy import Policy
from agent_core.screen.elements import ElementReader
from agent_core.screen.virtual import VirtualDesktop
from agent_core.settings import ModelSettings
from agent_core.step import Run, Status, Turn
from agent_core.traces.audit import AuditLog, Recorders
from agent_core.traces.replay import replay_of
from agent_core.traces.store import NoTrace

TEXT = "Deskhand was here"
FILE = "notes.txt"
TASK = f'Type "{TEXT}" into the empty file and save it.'
MAX_STEPS = 15


@dataclass(frozen=True, slots=True)
class Program:
    """What a task says that needs it, how it is started (nothing to start: empty), what its window's title contains."""

    words: str
    argv: tuple[str, ...]
    title: str


PROGRAMS = (
    Program(r"terminal|command|shell|console|\bbash\b", (), ""),  # the agent has a terminal of its own
    Program(r"calculat|galculator|multipl|divide|subtract|\d\s*[-+*/x]\s*\d|add \d", ("galculator",), "galculator"),
    Program(r"folder|file manager|pcmanfm|rename|directory", ("pcmanfm", "."), "home"),
    Program(r"", ("mousepad", FILE), FILE),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Returns 0 if the task was done, 1 if not, 2 if it could not be started."""
    parser = argparse.ArgumentParser(prog="python -m agent_core.demonstration")
    parser.add_argument("task", nargs="?", default="", help=f"what should be done; by default: {TASK}")
    parser.add_argument("--out", type=Path, help="where the replay page is written")
    args = parser.parse_args(argv)
    try:
        return show(args.task or TASK, args.out)
    except DeskhandError as error:
        print(f"The demonstration could not be given. {error}", file=sys.stderr)
        return 2


def show(task: str, out: Path | None) -> int:
    """Runs the task and prints what happens."""
    task = loop.check_task(task)
    program = next(p for p in PROGRAMS if re.search(p.words, task, re.IGNORECASE))
    manifest = manifests.find("bundled")
    manifests.check_language(manifest, task)
    print(f"There is no display here, so a virtual screen is used.\nTask: {task}", flush=True)
    began = time.monotonic()
    brain = model(manifest, ModelSettings(), show_progress if sys.stdout.isatty() else None)
    print(f"The bundled agent is ready after {time.monotonic() - began:.1f} s.      ", flush=True)
    run = Run(
        id=uuid.uuid4().hex,
        task=task,
        started=time.time(),
        app_version=__version__,
        dialect=manifest.dialect,
        model=manifest.name,
        mode="sandbox",
        operator="desktop",
    )
    try:
        with VirtualDesktop() as desktop:
            turns = perform(run, program, desktop, manifest.dialect, brain)
            saved = desktop.home / FILE
            text = saved.read_text(encoding="utf-8").strip() if saved.is_file() else ""
    finally:
        brain.close()
    status = turns[-1].status
    page = out or paths.home() / "replays" / f"{time.strftime('%Y%m%d-%H%M%S')}.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    print(loop.ending(turns[-1]))
    if FILE in program.argv:
        print(f"{FILE} now holds: {text!r}")
    print(f"Replay page: {replay_of(run, turns, status, page, loop.ending(turns[-1]))}")
    done = status is Status.FINISHED and (task != TASK or text == TEXT)
    return 0 if done else 1


def show_progress(share: float, words: str) -> None:
    """One line that is written over and over."""
    print(f"  {words} {share:.0%}", end="\r", flush=True)


def perform(run: Run, program: Program, desktop: VirtualDesktop, speaks: str, brain: Model) -> list[Turn]:
    """The run itself, on the virtual screen."""
    os.environ["DISPLAY"] = desktop.display
    os.environ.pop("WAYLAND_DISPLAY", None)
    os.environ.pop("XDG_SESSION_TYPE", None)
    (desktop.home / FILE).write_text("", encoding="utf-8")
    if program.argv:
        desktop.start(program.argv)
        desktop.wait_window(program.title)
    turns = []
    with ExitStack() as opened:
        hands = DesktopOperator(settle_seconds=1.0, terminal=TerminalSession(desktop.home, env=desktop.environment))
        opened.callback(hands.close)
        recorder = Recorders(AuditLog(), NoTrace())
        opened.callback(recorder.close)
        parts = loop.Parts(
            operator=hands,
            dialect=dialect(speaks),
            model=brain,
            decide=Policy("sandbox").decide,
            recorder=recorder,
            reader=ElementReader(),
            limits=loop.Limits(steps=MAX_STEPS, seconds=600),
        )
        for turn in loop.run_task(run, parts, Event()):
            turns.append(turn)
            does = "; ".join(in_words(s.action) for s in turn.steps) or "nothing"
            print(f"{turn.n}. {turn.intent.thought or '(no thought)'}\n   {does}", flush=True)
    return turns


if __name__ == "__main__":
    sys.exit(main())
