"""The table of operators, and the one that only says what it would do."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Any

import pytest

from agent_core.actions import KINDS, Click, Drag, Point, Scroll, Terminal, Type, Wait, from_json, kind_of
from agent_core.errors import SettingsError
from agent_core.operators import OPERATORS, operator
from agent_core.operators.dry_run import DryRunOperator
from agent_core.operators.terminal import TerminalOperator

EXAMPLES: dict[str, dict[str, Any]] = {
    "click": {"at": [0.5, 0.5]},
    "double_click": {"at": [0.5, 0.5]},
    "right_click": {"at": [0.5, 0.5]},
    "drag": {"start": [0, 0], "end": [1, 1]},
    "scroll": {"direction": "down"},
    "hotkey": {"keys": ["ctrl", "c"]},
    "press": {"key": "ctrl"},
    "release": {"key": "ctrl"},
    "type": {"text": "hi"},
    "terminal": {"command": "touch went"},
}


def test_names_lead_to_operators(tmp_path: Path) -> None:
    made = operator("terminal", cwd=tmp_path)
    assert made.name == "terminal"
    made.close()
    assert operator("dry_run").name == "dry_run"
    assert set(OPERATORS) >= {"desktop", "terminal", "browser", "dry_run"}


def test_an_unknown_name_lists_the_names() -> None:
    with pytest.raises(SettingsError, match="desktop, terminal, browser, dry_run"):
        operator("toaster")


@pytest.mark.parametrize("kind", KINDS)
def test_dry_run_takes_every_action_and_does_none(kind: str, tmp_path: Path) -> None:
    real = TerminalOperator(tmp_path)
    watching = DryRunOperator(real)
    action = from_json({"kind": kind, **EXAMPLES.get(kind, {})})
    outcome = watching.do(action, watching.look(), Event())
    assert outcome.ok
    assert outcome.text.startswith("Not done")
    assert [kind_of(done) for done in watching.would_do] == [kind]
    assert list(tmp_path.iterdir()) == []
    watching.let_go()
    watching.close()


def test_dry_run_says_where() -> None:
    watching = DryRunOperator()
    shot = watching.look()
    assert (shot.width, shot.height) == (1280, 800)
    assert "click at (640, 400)" in watching.do(Click(Point(0.5, 0.5)), shot, Event()).text
    assert "from (0, 0) to (1279, 799)" in watching.do(Drag(Point(0, 0), Point(1, 1)), shot, Event()).text
    assert "at (640, 400)" in watching.do(Scroll("down"), shot, Event()).text
    assert "type 'hi'" in watching.do(Type("hi"), shot, Event()).text
    assert "ls" in watching.do(Terminal("ls"), shot, Event()).text


def test_dry_run_does_not_wait_and_minds_the_stop() -> None:
    watching = DryRunOperator()
    assert watching.do(Wait(1000), watching.look(), Event()).ok
    stop = Event()
    stop.set()
    assert not watching.do(Wait(1), watching.look(), stop).ok
