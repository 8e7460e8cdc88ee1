"""Single windows: what they show of hostile text, that nothing is clipped, and that closing is never a yes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from agent_core.actions import Action, Click, Point, Terminal, Type
from agent_core.protocols import Ask
from agent_core.settings import Settings
from agent_core.step import (
    Box,
    Element,
    Intent,
    Outcome,
    Prompt,
    Reply,
    Run,
    Screenshot,
    Step,
    Tier,
    Transform,
    Turn,
    Verdict,
)
from agent_core.traces.reads import Traces
from app import theme, words
from app.approval import ApprovalPanel
from app.call_user import CallPanel
from app.consent import ConsentWindow
from app.crash import CrashWindow
from app.help_window import HelpWindow
from app.question import Approval, Call
from app.settings_window import SettingsWindow
from app.states import State
from app.strip import Strip
from app.task_window import TaskWindow
from app.text import visible
from app.trace_window import TraceWindow
from app.turn_card import TurnCard
from tests.app.conftest import Person

pytestmark = pytest.mark.desktop

HOSTILE = [
    "<b>x</b><img src='file:///etc/passwd'>",
    "safe\u202egnp.exe\u202c",
    "pass\u200bword\u2066\u0007",
    "word " * 4000,
    "x" * 20_000,
    "line\n" * 300,
]
SHOT = Screenshot(bytes(800 * 600 * 3), 800, 600, Transform("1", 0, 0, 800, 600), window="Settings - Firefox")


def turn_of(text: str) -> Turn:
    verdict = Verdict("deny", Tier.R3, text, "person")
    step = Step(1, 1, Terminal(text), verdict, Element("button", text, Box(0, 0, 1, 1)), Outcome(False, text))
    return Turn(1, SHOT, Prompt(()), Reply(text, think_ms=1432), Intent(text, (step.action,)), (step,), (text,))


def approval(action: Action, tier: Tier = Tier.R2, text: str = "This writes a file.", grant: bool = True) -> Approval:
    verdict = Verdict("ask", tier, text, warning=text, resource=text, confirm="" if grant else text)
    element = Element("button", text, Box(0, 0, 1, 1))
    ask = Ask(Run("r", "task", 0.0), action, replace(SHOT, window=text), element, verdict, text)
    return Approval(ask, Future(), 120, (lambda: None) if grant else None, 10)


def unclipped(window: QWidget) -> None:
    """Every visible button shows its whole text inside the window and the window fits the screen."""
    area = window.screen().availableGeometry()
    assert window.width() <= area.width()
    assert window.height() <= area.height()
    for each in window.findChildren(QPushButton):
        if each.isVisible() and each.text():
            corner = each.mapTo(window, QPoint(each.width(), each.height()))
            assert corner.x() <= window.width(), each.text()
            assert corner.y() <= window.height(), each.text()
            assert each.width() >= each.minimumSizeHint().width(), each.text()


@pytest.fixture
def panel(dressed: QApplication, qtbot: QtBot) -> Iterator[ApprovalPanel]:
    made = ApprovalPanel()
    qtbot.addWidget(made)
    yield made
    made.withdraw()


@pytest.mark.parametrize("text", HOSTILE, ids=["markup", "rtl", "zero_width", "long", "unbroken", "lines"])
def test_hostile_text_hides_nothing_and_no_button(panel: ApprovalPanel, qtbot: QtBot, text: str) -> None:
    for action in (Type(text), Terminal(text), Click(Point(0.5, 0.5))):
        panel.ask(approval(action, text=text))
        qtbot.waitExposed(panel)
        unclipped(panel)
        for button in (panel.deny_button, panel.allow_button, panel.grant_button):
            assert button.isVisible()
        for label in panel.findChildren(QLabel):
            assert label.textFormat() is Qt.TextFormat.PlainText or not label.text()
            assert "\u202e" not in label.text()
        assert "\u202e" not in panel.exact.toPlainText()
    panel.ask(approval(Click(Point(0.5, 0.5)), text=text, grant=False))  # with words to type, the tallest there is
    panel._not_you()
    unclipped(panel)
    panel.ask(approval(Type(text)))
    assert panel.exact.toPlainText() == visible(text)


def test_hostile_text_in_cards_and_calls_is_plain(dressed: QApplication, qtbot: QtBot) -> None:
    call = CallPanel()
    qtbot.addWidget(call)
    for text in HOSTILE:
        card = TurnCard(turn_of(text))
        qtbot.addWidget(card)
        assert all(each.textFormat() is Qt.TextFormat.PlainText for each in card.findChildren(QLabel))
        assert all("<img" not in each.toolTip() for each in card.findChildren(QLabel))
        assert card.minimumSizeHint().width() <= 380
        call.ask(Call(text, SHOT, Future()))
        qtbot.waitExposed(call)
        unclipped(call)
    call.withdraw()


def test_hidden_characters_are_shown_as_what_they_are() -> None:
    assert visible("a\u202eb\u200bc") == "a⟨U+202E⟩b⟨U+200B⟩c"
    assert visible("x" * 30, 10) == "x" * 10 + " … (+20)"


def test_critical_actions_have_no_allow_for_this_run(panel: ApprovalPanel, qtbot: QtBot) -> None:
    panel.ask(approval(Click(Point(0.5, 0.5)), Tier.R4, grant=False))
    qtbot.waitExposed(panel)
    assert not panel.grant_button.isVisible()
    assert panel.allow_button.isVisible()


@pytest.mark.parametrize("end", ["close", "withdraw", "another"])
def test_going_away_is_a_deny(panel: ApprovalPanel, qtbot: QtBot, end: str) -> None:
    question = approval(Terminal("rm -r x"))
    panel.ask(question)
    match end:
        case "close":
            panel.close()
        case "withdraw":
            panel.withdraw()
        case _:
            panel.ask(approval(Terminal("ls")))
    assert question.answer.result(0).decision == "deny"


def test_an_allow_meant_for_what_was_there_before_is_not_taken(
    panel: ApprovalPanel, person: Person, qtbot: QtBot
) -> None:
    panel.ask(approval(Terminal("rm -r x")))  # where the pointer waits
    qtbot.waitExposed(panel)
    qtbot.wait(200)
    person.move_to(panel.allow_button)
    question = approval(Terminal("rm -r y"))
    panel.ask(question)
    person.do("click", "1")
    assert not question.answer.done()
    qtbot.wait(450)
    person.do("click", "1")
    assert question.answer.result(0).decision == "allow"


def test_a_stopped_run_withdraws_and_no_click_can_answer_it(panel: ApprovalPanel, qtbot: QtBot) -> None:
    question = approval(Terminal("rm -r x"))
    panel.ask(question)
    assert question.answer.cancel()
    qtbot.waitUntil(lambda: not panel.isVisible(), timeout=2000)
    assert question.answer.cancelled()
    assert not panel.isVisible()


@pytest.mark.parametrize("corner", [Point(0.95, 0.95), Point(0.05, 0.95), Point(0.95, 0.05), Point(0.5, 0.5)])
def test_the_panel_stays_away_from_the_place_it_asks_about(panel: ApprovalPanel, qtbot: QtBot, corner: Point) -> None:
    area = panel.screen().geometry()
    shot = Screenshot(
        bytes(area.width() * area.height() * 3),
        area.width(),
        area.height(),
        Transform("1", 0, 0, area.width(), area.height()),
    )
    question = approval(Click(corner))
    panel.ask(replace(question, ask=replace(question.ask, screenshot=shot)))
    qtbot.waitExposed(panel)
    place = QPoint(round(corner.x * area.width()), round(corner.y * area.height()))
    assert not panel.frameGeometry().contains(place)


@pytest.mark.parametrize("choice", ["light", "dark"])
def test_text_can_be_read_in_both_themes(choice: str) -> None:
    colours = theme.tokens(choice)
    for ground in (colours.background, colours.card):
        for name in ("text", "secondary", "allowed", "asking", "refused"):
            assert theme.contrast(getattr(colours, name), ground) >= 4.5, (name, ground)
    assert theme.contrast(colours.on_accent, colours.accent) >= 4.5
    assert "@" not in theme.style_sheet(colours).split("*/", 1)[1]


def test_both_languages_have_every_sentence_with_the_same_values() -> None:
    from string import Formatter

    from app.phrases import PHRASES
    from app.setting_phrases import CHOICES, SETTINGS

    for key, (english, chinese) in PHRASES.items():
        assert english, key
        assert chinese, key
        names = [{name for _, name, _, _ in Formatter().parse(text) if name} for text in (english, chinese)]
        assert names[0] == names[1], key
    declared = set(SettingsWindow.names(Settings()))
    assert set(SETTINGS) == declared
    assert all(english and chinese for english, chinese in CHOICES.values())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_is_clipped_in_either_language(dressed: QApplication, qtbot: QtBot, language: str, home: Path) -> None:
    words.choose(language)
    task = TaskWindow(Settings())
    task.show_state(State.WAITING)
    windows = [
        task,
        ConsentWindow(),
        SettingsWindow(Settings()),
        TraceWindow(lambda run: Path(), False),
        CrashWindow("/x/y"),
        HelpWindow(),
        Strip(),
    ]
    for window in windows:
        qtbot.addWidget(window)
        window.show()
        qtbot.waitExposed(window)
        unclipped(window)
    assert task.status.width() >= task.status.sizeHint().width()


def test_the_settings_form_gives_back_what_it_was_given_and_what_was_changed(
    dressed: QApplication, qtbot: QtBot
) -> None:
    window = SettingsWindow(Settings())
    qtbot.addWidget(window)
    assert window.chosen() == Settings()
    window.inputs["run.max_steps"].setValue(7)  # type: ignore[attr-defined]
    window.inputs["ui.theme"].setCurrentIndex(2)  # type: ignore[attr-defined]
    with qtbot.waitSignal(window.saved) as saved:
        window.save_button.click()
    assert saved.args is not None
    assert (saved.args[0].run.max_steps, saved.args[0].ui.theme) == (7, "dark")


def test_an_empty_history_teaches(dressed: QApplication, qtbot: QtBot, home: Path) -> None:
    window = TraceWindow(lambda run: Path(), keeping=True)
    qtbot.addWidget(window)
    window.show()
    assert window.empty.isVisible()
    assert not window.replay_button.isEnabled()
    assert Traces().runs() == ()
