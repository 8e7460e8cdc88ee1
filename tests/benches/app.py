"""The program as a person meets it: how soon its window is there, what it takes while idle, how soon Enter shows.

A real process on a virtual screen of its own, with scripted replies, so that no model is loaded. Its goals are stated
floors: a ratio of 1 meets them.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from agent_core import paths, settings
from agent_core.errors import ScreenError
from agent_core.screen.virtual import VirtualDesktop
from tests.benches.measure import Result, resident_megabytes

ROOT = Path(__file__).resolve().parents[2]
TITLE = "Deskhand"
STRIP = "600x56"
START_S, MEMORY_MB, CPU_PERCENT, PROGRESS_S = 1.5, 150.0, 0.5, 0.3
TIMES = 3
CALM_S, WATCHED_S, PATIENCE_S = 4.0, 10.0, 60.0


def start() -> Result:
    """From the command to the window that takes keys. The best of a few: the first has to fetch files from the disk."""
    taken = []
    for _ in range(TIMES):
        with _program() as (_, _, seconds):
            taken.append(seconds)
    said = ", ".join(f"{each:.2f} s" for each in taken)
    return Result("app_start", START_S / min(taken), 1.0, f"the goal of {START_S} s", f"{said} to the active window")


def memory() -> Result:
    """What the idle program holds in memory, shared libraries included."""
    with _program() as (_, process, _):
        time.sleep(CALM_S)
        megabytes = resident_megabytes(process.pid)
    return Result("app_memory", MEMORY_MB / megabytes, 1.0, f"the goal of {MEMORY_MB:g} MB", f"{megabytes:.0f} MB idle")


def cpu() -> Result:
    """How much of one core the idle program takes. Less than half a percent counts as nothing."""
    with _program() as (_, process, _):
        time.sleep(CALM_S)
        before = _cpu_seconds(process.pid)
        time.sleep(WATCHED_S)
        percent = 100 * (_cpu_seconds(process.pid) - before) / WATCHED_S
    detail = f"{percent:.2f} % of a core over {WATCHED_S:g} s idle"
    return Result("app_cpu", CPU_PERCENT / max(percent, 0.01), 1.0, "the goal of 0 %, rounded", detail)


def progress() -> Result:
    """From Enter to the strip that says what goes on. What looking for it takes is counted as well."""
    with _program() as (desktop, _, _):
        _xdotool(desktop, "type", "--delay", "10", "say hello")
        time.sleep(1.0)
        if _strip_is_there(desktop):
            raise ScreenError("The program was at work before it was told to be.")
        began = time.monotonic()
        _xdotool(desktop, "key", "Return")
        seconds = _until(lambda: _strip_is_there(desktop), began)
    detail = f"{seconds:.2f} s from Enter to the strip"
    return Result("app_progress", PROGRESS_S / seconds, 1.0, f"the goal of {PROGRESS_S} s", detail)


def _strip_is_there(desktop: VirtualDesktop) -> bool:
    found = _xdotool(desktop, "search", "--onlyvisible", "--name", f"^{TITLE}$").split()
    return any(STRIP in _xdotool(desktop, "getwindowgeometry", each) for each in found)


@contextlib.contextmanager
def _program() -> Iterator[tuple[VirtualDesktop, subprocess.Popen[bytes], float]]:
    """The program on a screen of its own, and the seconds until its window took the keyboard."""
    chosen = settings.Settings(privacy=settings.PrivacySettings("no"))
    settings.save(chosen)
    script = paths.home() / "replies.json"
    replies = ["Thought: Done.\nAction: finished(content='hello')"]
    script.write_text(json.dumps({"replies": replies, "delay": 1, "dialect": "uitars", "read": False}))
    with VirtualDesktop(1280, 800, maximized=False) as desktop:
        command = [sys.executable, "-m", "app", "--no-tray", "--model", f"scripted:{script}"]
        on_it = {**os.environ, "DISPLAY": desktop.display}
        began = time.monotonic()
        process = subprocess.Popen(command, cwd=ROOT, env=on_it, stderr=subprocess.DEVNULL)
        try:
            seconds = _until(lambda: _xdotool(desktop, "getactivewindow", "getwindowname") == TITLE, began)
            yield desktop, process, seconds
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE_S)


def _until(holds: Callable[[], bool], began: float) -> float:
    """Seconds from `began` until it holds. Raises ScreenError if it does not for a minute."""
    while not holds():
        if time.monotonic() - began > PATIENCE_S:
            raise ScreenError("The program's window did not come up; run it again on a calmer machine.")
        time.sleep(0.01)
    return time.monotonic() - began


def _xdotool(desktop: VirtualDesktop, *words: str) -> str:
    done = subprocess.run(
        ["xdotool", *words],
        env={**os.environ, "DISPLAY": desktop.display},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def _cpu_seconds(process: int) -> float:
    parts = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")
