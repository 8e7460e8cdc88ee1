"""Typing into a real Qt window, beside xdotool. The time runs until the window holds the whole text."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from threading import Event
from typing import IO

from agent_core.actions import Type
from agent_core.errors import InputError
from agent_core.operators.desktop import DesktopOperator
from agent_core.screen.virtual import VirtualDesktop
from tests.benches.measure import Result, beside

TIMES = 5
TEXT = ("The quick brown Fox jumps over the lazy Dog; pack my box with 5 dozen (liquor) jugs, " * 3)[:199] + "."


def typing() -> Result:
    """200 characters of ASCII by our operator and by `xdotool type` with its default delay of 12 ms."""
    if shutil.which("xdotool") is None:
        raise InputError("The peer is not installed: install the package xdotool.")
    with VirtualDesktop() as desktop, desktop.as_display():
        window = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("edit_window.py"))],
            env=desktop.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert window.stdout
        hands = DesktopOperator(settle_seconds=0.5)
        try:
            _hear(window.stdout, "ready")
            shot = hands.look()

            def ours() -> float:
                began = time.monotonic()
                outcome = hands.do(Type(TEXT), shot, Event())
                assert outcome.ok, outcome.text
                _hear(window.stdout, TEXT)
                return time.monotonic() - began

            def xdotool() -> float:
                began = time.monotonic()
                subprocess.run(["xdotool", "type", TEXT], check=True, env=desktop.environment)
                _hear(window.stdout, TEXT)
                return time.monotonic() - began

            taken = beside(ours, xdotool, TIMES)
        finally:
            hands.close()
            window.kill()
            window.communicate()
    detail = f"{taken.ours:.2f} s ours, {taken.peer:.2f} s xdotool, until the window holds {len(TEXT)} characters"
    return Result("typing", taken.ratio, 1.0, "xdotool type, default delay", detail)


def _hear(window: IO[str] | None, expected: str) -> None:
    """Waits for the window's next text. Raises InputError when it is another one."""
    assert window
    text = json.loads(window.readline() or '""')
    if text != expected:
        raise InputError(f"The window holds {text!r} instead of what was typed; run it again on a calmer machine.")
