"""Starting and ending: one instance, no display, faults with a report, and the whole program as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from agent_core import paths
from agent_core.actions import Click, Hotkey, Point, Press, Type
from agent_core.settings import Settings
from agent_core.step import Status
from app.agent_thread import Agent, Fitted, Job, Line, Word
from app.crash import CrashReports
from app.hotkey import Hotkeys, TwiceEscape
from app.single_instance import Doorbell
from app.unseen import escapes_in
from tests.app.conftest import Editor, Person

pytestmark = [pytest.mark.desktop, pytest.mark.timeout(120)]


def test_escape_counts_twice_within_half_a_second() -> None:
    def presses(*times: float, ours: int = 0) -> list[bool]:
        keys = TwiceEscape()
        keys.ours(ours, 0.0)
        out = []
        for each in times:
            out.append(keys.pressed(each))
            keys.released()
        return out

    assert presses(0.0, 0.4) == [False, True]
    assert presses(0.0, 0.6) == [False, False]
    assert presses(0.0, 0.4, 0.5) == [False, True, False]
    assert presses(0.1, 0.3, ours=2) == [False, False]
    assert presses(0.1, 0.2, 0.4, ours=1) == [False, False, True]
    assert presses(1.5, 1.8, ours=2) == [False, True]  # an announcement that came to nothing runs out
    held = TwiceEscape()
    assert [held.pressed(0.0), held.pressed(0.1), held.pressed(0.2)] == [False, False, False]


def test_the_agents_own_escapes_are_known() -> None:
    assert [escapes_in(a) for a in (Hotkey(("ctrl", "esc")), Press("Escape"), Type("esc"), Click(Point(0, 0)))] == [
        1,
        1,
        0,
        0,
    ]


@pytest.fixture
def hotkeys(person: Person) -> Iterator[Hotkeys]:
    made = Hotkeys()
    made.start()
    yield made
    made.stop()


def test_global_keys_reach_us_and_the_program_in_use(
    hotkeys: Hotkeys, person: Person, editor: Editor, qtbot: QtBot
) -> None:
    person.do("windowactivate", "--sync", editor.window)
    person.key("ctrl+f")  # the editor's search bar, which Esc closes
    qtbot.wait(300)
    with qtbot.waitSignal(hotkeys.stop_pressed, timeout=3000):
        person.key("Escape", "Escape")
    person.type("typed after escape ")
    person.key("ctrl+s")
    qtbot.waitUntil(lambda: "typed after escape" in editor.text, timeout=5000)
    with qtbot.waitSignal(hotkeys.open_pressed, timeout=3000):
        person.key("ctrl+shift+space")
    hotkeys.ours(2)
    with qtbot.assertNotEmitted(hotkeys.stop_pressed, wait=500):
        person.key("Escape", "Escape")


def test_a_second_start_brings_its_task_to_the_first(dressed: QApplication, qtbot: QtBot, home: Path) -> None:
    bell = Doorbell()
    bell.listen()
    with qtbot.waitSignal(bell.rung, timeout=20_000) as rung:
        second = subprocess.Popen(
            [sys.executable, "-m", "app", "Sort my photos"], env=os.environ | {"DESKHAND_HOME": str(home)}
        )
    assert rung.args == ["Sort my photos"]
    qtbot.waitUntil(lambda: second.poll() is not None, timeout=10_000)
    assert second.returncode == 0
    bell.close()


@pytest.mark.parametrize(
    ("display", "said"), [({}, "There is no display"), ({"WAYLAND_DISPLAY": "wayland-0"}, "Wayland")]
)
def test_without_a_display_it_says_so_in_one_sentence(display: dict[str, str], said: str) -> None:
    env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")} | display
    done = subprocess.run(
        [sys.executable, "-m", "app"], env=env, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_faults_in_any_thread_are_reported_in_a_file(dressed: QApplication, qtbot: QtBot) -> None:
    before = sys.excepthook, threading.excepthook
    reports = CrashReports()
    reports.install()
    try:
        with qtbot.waitSignal(reports.crashed, timeout=5000) as crashed:
            threading.Thread(target=lambda: 1 / 0, name="worker").start()
        with qtbot.waitSignal(reports.crashed, timeout=5000):
            sys.excepthook(ValueError, ValueError("in a slot"), None)
    finally:
        sys.excepthook, threading.excepthook = before
    assert crashed.args is not None
    text = Path(crashed.args[0]).read_text()
    assert "ZeroDivisionError" in text
    assert "worker" in text
    assert len(list(paths.logs_folder().glob("crash-*.txt"))) == 2


class Broken:
    """A bench with a fault in it."""

    def fit(self, job: Job, line: Line) -> Fitted:
        raise ZeroDivisionError("a fault of ours")

    def put_away(self) -> None:
        """Nothing was taken out."""

    def tidy(self, settings: Settings, line: Line) -> None:
        """Nothing is kept."""

    def rate(self, word: Word, line: Line) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is open."""


def test_a_fault_in_a_run_ends_the_run_and_not_the_thread(dressed: QApplication, qtbot: QtBot) -> None:
    agent = Agent(Broken())
    agent.open(Settings())
    for _ in range(2):
        with qtbot.waitSignal(agent.ended, timeout=5000) as ended:
            agent.start(Job("anything", Settings()))
        assert ended.args is not None
        end = ended.args[0]
        assert end.status is Status.FAILED
        assert "a fault of ours" in Path(end.crash).read_text()
    agent.close()


def test_the_whole_program_runs_a_task_given_at_the_start(
    person: Person, editor: Editor, home: Path, tmp_path: Path
) -> None:
    replies = [
        "Thought: Cursor.\nAction: click(point='<point>250 400</point>')",
        "Thought: Write.\nAction: type(content='from a process ')",
        "Thought: Save.\nAction: hotkey(key='ctrl s')",
        "Thought: Done.\nAction: finished(content='Done.')",
    ]
    script = tmp_path / "replies.json"
    script.write_text(json.dumps({"replies": replies, "dialect": "uitars", "read": False}))
    home.mkdir()
    paths.settings_file().write_text('[privacy]\nconsent = "no"\n')
    command = [sys.executable, "-m", "app", "--no-tray", "--model", f"scripted:{script}", "Write it"]
    program = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        limit = time.monotonic() + 40
        while "from a process" not in editor.text and time.monotonic() < limit:
            person.qtbot.wait(200)
        assert "from a process" in editor.text
    finally:
        program.terminate()
        errors = program.communicate(timeout=20)[1]
    assert program.returncode == 0, errors
    assert errors == ""
