"""The first run as a person meets it: nothing is chosen for them, and what they choose is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from agent_core import paths, settings
from agent_core.errors import InputError
from app import words
from app.first_run import FirstChoices, FirstRun
from app.phrases_first_run import TASKS
from tests.app.conftest import Person

pytestmark = [pytest.mark.desktop, pytest.mark.timeout(180)]
ROOT = Path(__file__).resolve().parents[2]
PATIENCE_MS = 60_000


@pytest.fixture
def window(dressed: QApplication, qtbot: QtBot) -> FirstRun:
    opened = FirstRun(lambda: 2)
    qtbot.addWidget(opened)
    opened.show()
    qtbot.waitActive(opened)
    return opened


def test_next_all_the_way_agrees_to_nothing(window: FirstRun, qtbot: QtBot, person: Person) -> None:
    def at(page: int) -> bool:
        return window.pages.currentIndex() == page and window.forth.hasFocus()

    with qtbot.waitSignal(window.finished, timeout=30_000) as told:
        for page in range(window.pages.count()):
            qtbot.waitUntil(partial(at, page))
            person.key("space")
    assert told.args == [FirstChoices(other_model=False, consent="unasked", task=TASKS[0])]
    assert not window.isVisible()


def test_choices_by_keyboard_are_told(window: FirstRun, qtbot: QtBot) -> None:
    window.forth.click()
    window.model.button(1).setFocus()
    QTest.keyClick(window.model.button(1), Qt.Key.Key_Space)
    window.forth.click()
    QTest.keyClick(window.consent.button(1), Qt.Key.Key_Space)
    window.forth.click()
    window.forth.click()
    QTest.keyClick(window.tasks.button(len(TASKS)), Qt.Key.Key_Space)
    with qtbot.waitSignal(window.finished, timeout=30_000) as told:
        window.forth.click()
    assert told.args == [FirstChoices(other_model=True, consent="no", task="")]


def test_what_cannot_be_seen_is_said_and_can_be_looked_at_again(dressed: QApplication, qtbot: QtBot) -> None:
    problems = ["The screen is black. Wake it."]

    def check() -> int:
        if problems:
            raise InputError(problems.pop())
        return 1

    window = FirstRun(check)
    qtbot.addWidget(window)
    window.show()
    for _ in range(3):
        window.forth.click()
    qtbot.waitUntil(lambda: window.verdict.text() == "The screen is black. Wake it.")
    window.again.click()
    one = words.say("first.checked", monitors=words.say("first.one_monitor"))
    qtbot.waitUntil(lambda: window.verdict.text() == one)
    window.forth.click()
    window.back.click()
    qtbot.waitUntil(lambda: window.verdict.text() == one and window.again.isEnabled())


def test_the_real_program_greets_once(person: Person, qtbot: QtBot, home: Path) -> None:
    """Closed half way it comes back at the next start; gone through, it does not. Nothing is kept meanwhile."""

    def until(holds: Callable[[], bool]) -> None:
        qtbot.waitUntil(holds, timeout=PATIENCE_MS)

    def started() -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", "app", "--no-tray"], cwd=ROOT, env=dict(os.environ))

    program = started()
    try:
        until(lambda: person.active_window() == words.say("first.title"))
        person.key("space")
        program.terminate()
        program.wait(PATIENCE_MS / 1000)
        assert not paths.traces_file().exists()
        program = started()
        until(lambda: person.active_window() == words.say("first.title"))
        person.do("key", "--delay", "300", "space", "space")
        person.do("key", "--delay", "100", "shift+Tab", "shift+Tab", "Up", "Up")  # Back, the choices, the first of them
        person.do("key", "--delay", "300", "Tab", "Tab", "space")
        person.do("key", "--delay", "500", "space", "space")
        until(lambda: person.active_window() == "Deskhand")
        until(lambda: settings.load()[0].privacy.consent == "yes")
        program.terminate()
        program.wait(PATIENCE_MS / 1000)
        program = started()
        until(lambda: person.active_window() == "Deskhand")
        assert words.say("first.title") not in person.do("search", "--onlyvisible", "--name", ".*", "getwindowname")
    finally:
        program.terminate()
        program.wait(PATIENCE_MS / 1000)
