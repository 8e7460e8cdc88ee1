"""A long day of the program, in short: `python -m tests.soak --steps 5000`. It takes about three quarters of an hour.

The real program on a virtual screen, with scripted replies; tasks are typed into its window one after the other and
done in a real editor. After each run what the program holds is noted. Exit code 1 where memory, open files or
processes have grown, a step is missing in the database, or the database is not consistent.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from agent_core import paths, settings
from agent_core.screen.virtual import VirtualDesktop
from tests.benches.measure import resident_megabytes

ROOT = Path(__file__).resolve().parents[1]
TITLE = "Deskhand"
STEPS_A_RUN = 40
PATIENCE_S = 300.0
MEMORY_MB = 12.0  # between the medians of the second and the last quarter: more is a leak of 5 kB a step
FILES = 2
FIRST = "Thought: Put the cursor into the text.\nAction: click(point='<point>400 300</point>')"
LAST = "Thought: It is written.\nAction: finished(content='The words are there.')"


@dataclass(frozen=True, slots=True)
class Held:
    """What the program holds between two runs: megabytes of memory, open files, processes it has started."""

    memory: float
    files: int
    children: int


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=5000, help="how many steps in all (5000)")
    runs = parser.parse_args(argv).steps // STEPS_A_RUN
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DESKHAND_HOME"] = folder
        held = play(runs, Path(folder))
        problems = [*grown(held), *inconsistent(runs)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def play(runs: int, folder: Path) -> list[Held]:
    """Types the tasks and waits for each; what was held after each run."""
    plain = settings.Settings()
    settings.save(
        replace(
            plain,
            privacy=replace(plain.privacy, consent="yes"),
            run=replace(plain.run, settle_seconds=0.2, actions_per_minute=600, max_steps=STEPS_A_RUN + 10),
        )
    )
    note, script = folder / "note.txt", folder / "replies.json"
    note.write_text("", encoding="utf-8")
    held: list[Held] = []
    with VirtualDesktop(1280, 800, maximized=False) as desktop:
        here = {**os.environ, "DISPLAY": desktop.display, "HOME": folder.as_posix()}

        def press(*words: str) -> str:
            done = subprocess.run(["xdotool", *words], env=here, capture_output=True, text=True, check=False)
            return done.stdout.strip()

        editor = subprocess.Popen(["mousepad", "--disable-server", str(note)], env=here, stderr=subprocess.DEVNULL)
        until(lambda: bool(press("search", "--onlyvisible", "--name", "note.txt")))
        command = [sys.executable, "-m", "app", "--no-tray", "--model", f"scripted:{script}"]
        program = subprocess.Popen(command, cwd=ROOT, env=here, stderr=subprocess.DEVNULL)
        try:
            for n in range(runs):
                script.write_text(json.dumps({"replies": replies(n), "dialect": "uitars", "read": False}))
                until(lambda: press("getactivewindow", "getwindowname") == TITLE)
                press("type", "--delay", "5", f"write the words of part {n}")
                press("key", "Return")
                until(lambda n=n: len(ends()) == n + 1)  # type: ignore[misc]
                held.append(held_by(program.pid))
                print(f"{n + 1}/{runs}: {held[-1]}", flush=True)
            written = note.read_text(encoding="utf-8")
            assert all(f"n{n}w{STEPS_A_RUN - 4} " in written for n in range(runs)), "the editor misses words"
        finally:
            program.terminate()
            editor.terminate()
            program.wait(timeout=PATIENCE_S)
            editor.wait(timeout=PATIENCE_S)
    return held


def replies(n: int) -> list[str]:
    """One run: into the text, words, save, finished. Every word is another, as in a run that gets somewhere."""
    words = [f"Thought: Write it.\nAction: type(content='n{n}w{k} ')" for k in range(STEPS_A_RUN - 3)]
    return [FIRST, *words, "Thought: Save.\nAction: hotkey(key='ctrl s')", LAST]


def grown(held: Sequence[Held]) -> list[str]:
    """What is more in the last quarter than in the second one; the first is for caches to fill."""
    quarter = len(held) // 4
    early, late = held[quarter : 2 * quarter], held[-quarter:]
    told = []
    for name, bound in (("memory", MEMORY_MB), ("files", FILES), ("children", 0)):
        before, after = (statistics.median(getattr(each, name) for each in part) for part in (early, late))
        print(f"{name}: {before:g} in the second quarter, {after:g} in the last")
        if after - before > bound:
            told.append(f"{name} has grown from {before:g} to {after:g}.")
    return told


def inconsistent(runs: int) -> list[str]:
    """What is wrong with the trace store."""
    with closing(sqlite3.connect(f"file:{paths.traces_file()}?mode=ro", uri=True)) as db:
        whole = db.execute("PRAGMA integrity_check").fetchall()
        loose = db.execute("PRAGMA foreign_key_check").fetchall()
        (steps,) = db.execute("SELECT COUNT(*) FROM outcomes").fetchone()
    told = [] if whole == [("ok",)] else [f"The database is damaged: {whole}."]
    told += [f"Rows point nowhere: {loose[:3]}."] if loose else []
    told += [f"A run ended as {end}." for end in set(ends()) - {"finished"}]
    print(f"{steps} steps with their outcomes, {runs} runs")
    return told + ([] if steps == runs * STEPS_A_RUN else [f"There are {steps} steps of {runs * STEPS_A_RUN}."])


def ends() -> list[str]:
    """How the runs ended that have ended; none before the first run has made the tables."""
    if not paths.traces_file().exists():
        return []
    with closing(sqlite3.connect(f"file:{paths.traces_file()}?mode=ro", uri=True)) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'run_ends'").fetchone():
            return []
        return [status for (status,) in db.execute("SELECT status FROM run_ends")]


def held_by(process: int) -> Held:
    threads = Path(f"/proc/{process}/task").iterdir()
    children = sum(len((each / "children").read_text(encoding="utf-8").split()) for each in threads)
    return Held(round(resident_megabytes(process), 1), len(os.listdir(f"/proc/{process}/fd")), children)


def until(holds: Callable[[], bool]) -> None:
    """Waits until it holds. Raises TimeoutError when it does not."""
    limit = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > limit:
            raise TimeoutError("The program did not come on; look at its log in the folder of its data.")
        time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
