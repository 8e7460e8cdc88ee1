"""The help says the same in both languages, and the keys it names are those that the program listens for."""

from __future__ import annotations

import re

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from agent_core.settings import UiSettings
from app import words
from app.help_window import PAGES, HelpWindow, page_text
from app.task_input import TaskInput
from tests.app.every_window import WINDOWS

pytestmark = [pytest.mark.desktop, pytest.mark.timeout(120)]


def keys_of(language: str) -> list[str]:
    """What stands in the first column of the sheet's tables."""
    rows = [line.split("|")[1].strip() for line in page_text("keyboard", language).splitlines() if line.startswith("|")]
    return [row for row in rows if not set(row) <= set("-") and row not in ("keys", "按键")]


@pytest.mark.parametrize("page", PAGES)
def test_both_languages_have_the_same_headings_and_tables(page: str) -> None:
    def shape(language: str) -> list[str]:
        return re.findall(r"^(?:#+|\|)", page_text(page, language), re.MULTILINE)

    assert shape("en") == shape("zh")
    assert len(shape("en")) > 3


def test_the_sheet_names_the_same_keys_in_both_languages() -> None:
    assert keys_of("en") == keys_of("zh")
    assert UiSettings().open_key in keys_of("en")


def test_the_keys_of_a_runs_steps_are_bound(dressed: QApplication, qtbot: QtBot, home: object) -> None:
    window = WINDOWS["steps"]()
    qtbot.addWidget(window)
    bound = {each.key().toString() for each in window.findChildren(QShortcut)}
    assert {each for each in keys_of("en") if each.startswith("Alt+")} == bound


def test_enter_sends_as_the_sheet_says(dressed: QApplication, qtbot: QtBot) -> None:
    field = TaskInput(send_with_enter=True)
    qtbot.addWidget(field)
    sent: list[str] = []
    field.sent.connect(lambda: sent.append(field.toPlainText()))
    QTest.keyClicks(field, "a")
    QTest.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(field, "b")
    assert sent == []
    QTest.keyClick(field, Qt.Key.Key_Return)
    field.send_with_enter = False
    QTest.keyClick(field, Qt.Key.Key_Return)
    QTest.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert sent == ["a\nb", "a\nb\n"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_page_opens_in_the_windows_language(dressed: QApplication, qtbot: QtBot, language: str) -> None:
    words.choose(language)
    window = HelpWindow()
    qtbot.addWidget(window)
    window.show()
    for row, page in enumerate(PAGES):
        window.list.setCurrentRow(row)
        title = page_text(page, language).splitlines()[0].removeprefix("# ")
        assert window.page.toPlainText().startswith(title)
        assert window.page.verticalScrollBar().value() == 0
    words.choose("en")
