"""Up and Down bring back the tasks that were given, and lose nothing that is being typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.app.conftest import Person, Start, send, wait_for_end

pytestmark = [pytest.mark.desktop, pytest.mark.timeout(120)]

DONE = "Thought: Nothing to do.\nAction: finished(content='Done.')"


def test_tasks_come_back_by_the_arrow_keys(start: Start, person: Person, qtbot: QtBot, home: Path) -> None:
    desk = start([DONE])
    for task in ("first one", "second one", "first one"):
        send(desk, person, task)
        qtbot.waitUntil(lambda: desk.state.busy, timeout=10_000)
        wait_for_end(desk, qtbot)
    field = desk.window.input
    person.click(field)
    person.type("half of a th")

    def shows(text: str, key: str) -> None:
        person.key(key)
        qtbot.waitUntil(lambda: field.toPlainText() == text, timeout=10_000)

    shows("first one", "Up")
    shows("second one", "Up")
    shows("second one", "Up")  # there is none before it: it had been given again
    shows("first one", "Down")
    shows("half of a th", "Down")
    person.key("shift+Return")
    person.type("ought")
    person.key("Up")  # inside the text it moves the caret
    person.type("!")
    qtbot.waitUntil(lambda: "!" in field.toPlainText(), timeout=10_000)
    first, second = field.toPlainText().splitlines()
    assert (first.replace("!", ""), second) == ("half of a th", "ought")

    written = [file.read_text(encoding="utf-8", errors="replace") for file in home.glob("*.json")]
    assert not any("second one" in text for text in written)  # nobody agreed to have tasks kept by the way
