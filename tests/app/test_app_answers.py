"""Who may answer an approval: a person with a mouse, and nobody and nothing else. Whatever else happens is a deny."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from Xlib import X, display
from Xlib.protocol import event as xevent

from agent_core.actions import Click, Point, Terminal
from agent_core.protocols import Ask
from agent_core.step import Box, Element, Run, Screenshot, Tier, Transform, Verdict
from app.approval import ApprovalPanel
from app.asked import Asked
from app.call_user import CallPanel
from app.question import Approval, Call
from app.raw_input import Device, have_hands
from tests.app.conftest import Person

pytestmark = [pytest.mark.desktop, pytest.mark.timeout(60)]

SHOT = Screenshot(bytes(800 * 600 * 3), 800, 600, Transform("1", 0, 0, 800, 600), window="Settings - Firefox")
SETTLED_MS = 450


def approval(seconds: int = 120, granted: Callable[[], None] | None = None, **verdict: str) -> Approval:
    said = replace(Verdict("ask", Tier.R2, "This writes a file."), **verdict)  # type: ignore[arg-type]
    element = Element("button", "Delete account", Box(0, 0, 1, 1))
    ask = Ask(Run("r", "task", 0.0), Click(Point(0.5, 0.5)), SHOT, element, said, "I press it.")
    return Approval(ask, Future(), seconds, granted, 10)


@pytest.fixture
def panel(dressed: QApplication, qtbot: QtBot) -> Iterator[ApprovalPanel]:
    made = ApprovalPanel()
    qtbot.addWidget(made)
    yield made
    made.withdraw()


def shown(panel: QWidget, qtbot: QtBot) -> None:
    qtbot.waitExposed(panel)
    qtbot.wait(SETTLED_MS)


def send_press(panel: QWidget, to: QWidget, time: int = X.CurrentTime) -> None:
    """Sends a click to the panel's window as another program can, without any device."""
    server = display.Display()
    window = server.create_resource_object("window", int(panel.winId()))
    place = to.mapTo(panel, QPoint(to.width() // 2, to.height() // 2))
    for kind in (xevent.ButtonPress, xevent.ButtonRelease):
        sent = kind(
            time=time,
            root=server.screen().root,
            window=window,
            same_screen=1,
            child=X.NONE,
            root_x=panel.x() + place.x(),
            root_y=panel.y() + place.y(),
            event_x=place.x(),
            event_y=place.y(),
            state=X.Button1Mask if kind is xevent.ButtonRelease else 0,
            detail=1,
        )
        window.send_event(sent, propagate=True, event_mask=X.ButtonPressMask | X.ButtonReleaseMask)
    server.sync()
    server.close()


def test_a_person_allows(panel: ApprovalPanel, person: Person, qtbot: QtBot) -> None:
    question = approval()
    panel.ask(question)
    shown(panel, qtbot)
    person.click(panel.allow_button)
    assert question.answer.result(0).decision == "allow"
    assert question.answer.result(0).who == "person"
    assert not panel.isVisible()


def test_a_click_by_this_process_is_refused_and_said(panel: ApprovalPanel, qtbot: QtBot) -> None:
    question = approval(granted=lambda: None)
    panel.ask(question)
    shown(panel, qtbot)
    for button in (panel.allow_button, panel.grant_button, panel.deny_button):
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        QTest.mouseDClick(button, Qt.MouseButton.LeftButton)
        button.click()  # as an assistive interface does
        QTest.keyClick(button, Qt.Key.Key_Space)
    QTest.keyClicks(panel.instead, "do it")
    assert not question.answer.done()
    assert panel.instead.text() == ""
    assert panel.not_you.isVisible()
    assert panel.height() >= panel.not_you.geometry().bottom()


def test_events_that_another_program_sends_are_refused(panel: ApprovalPanel, person: Person, qtbot: QtBot) -> None:
    question = approval()
    panel.ask(question)
    shown(panel, qtbot)
    person.do("click", "--window", str(int(panel.winId())), "1")  # xdotool sends instead of pressing
    send_press(panel, panel.allow_button)
    qtbot.waitUntil(panel.not_you.isVisible, timeout=5000)
    qtbot.wait(200)
    assert not question.answer.done()


def test_what_is_injected_is_refused_where_there_is_a_mouse(
    dressed: QApplication, person: Person, qtbot: QtBot
) -> None:
    at_a_computer = ApprovalPanel(idle=frozenset())  # as if the virtual screen's mouse were one
    qtbot.addWidget(at_a_computer)
    question = approval()
    at_a_computer.ask(question)
    shown(at_a_computer, qtbot)
    person.click(at_a_computer.allow_button)
    person.click(at_a_computer.instead)
    person.type("yes")
    qtbot.wait(200)
    assert not question.answer.done()
    assert at_a_computer.instead.text() == ""
    assert at_a_computer.not_you.isVisible()
    at_a_computer.withdraw()

    at_a_computer.devices_only = False  # the setting for remote desktops
    question = approval()
    at_a_computer.ask(question)
    shown(at_a_computer, qtbot)
    QTest.mouseClick(at_a_computer.allow_button, Qt.MouseButton.LeftButton)
    assert not question.answer.done()
    person.click(at_a_computer.allow_button)
    assert question.answer.result(0).decision == "allow"


def test_which_devices_a_person_has_hands_on() -> None:
    xtest = [Device(4, "Virtual core XTEST pointer", "pointer"), Device(5, "Virtual core XTEST keyboard", "keyboard")]
    virtual = [*xtest, Device(6, "Xvfb mouse", "pointer"), Device(7, "Xvfb keyboard", "keyboard")]
    assert [d.is_injected for d in virtual] == [True, True, False, False]
    assert not have_hands(virtual, "pointer")
    assert not have_hands(virtual, "keyboard")
    headless = [*xtest, Device(6, "Power Button", "keyboard"), Device(7, "Video Bus", "keyboard")]
    assert not have_hands(headless, "keyboard")
    laptop = [*headless, Device(8, "SynPS/2 Synaptics TouchPad", "pointer"), Device(9, "AT keyboard", "keyboard")]
    assert have_hands(laptop, "pointer")
    assert have_hands(laptop, "keyboard")


def test_a_critical_act_needs_its_words_typed(panel: ApprovalPanel, person: Person, qtbot: QtBot) -> None:
    question = approval(tier=Tier.R4, confirm="Delete  account", warning='Text on the screen gives orders: "delete it"')
    panel.ask(question)
    shown(panel, qtbot)
    assert "delete it" in panel.warning_text.text()
    assert panel.warning.isVisible()
    assert not panel.allow_button.isEnabled()
    person.click(panel.allow_button)
    person.click(panel.confirm)
    person.type("delete accoun")
    qtbot.waitUntil(lambda: panel.confirm.text() == "delete accoun", timeout=5000)
    assert not panel.allow_button.isEnabled()
    person.key("Return")
    person.type("T")
    qtbot.waitUntil(panel.allow_button.isEnabled, timeout=5000)
    person.key("Return", "space")
    qtbot.wait(100)
    assert not question.answer.done()  # typing alone allows nothing
    person.click(panel.allow_button)
    assert question.answer.result(0).decision == "allow"


def test_a_critical_act_without_words_is_not_allowed_by_a_click(panel: ApprovalPanel, qtbot: QtBot) -> None:
    panel.ask(approval(tier=Tier.R4))
    assert not panel.allow_button.isEnabled()
    assert panel.confirm_words.toPlainText() == "click"
    panel.ask(approval(tier=Tier.R4, confirm="\u200b✕"))
    assert panel.confirm_words.toPlainText() == "click"


def test_a_grant_says_what_it_covers(panel: ApprovalPanel, person: Person, qtbot: QtBot) -> None:
    granted: list[bool] = []
    question = approval(granted=lambda: granted.append(True), resource="the window “Settings”")
    panel.ask(question)
    shown(panel, qtbot)
    assert panel.grant_button.text() == "Allow clicking for 10 min\nin the window “Settings”"
    person.click(panel.grant_button)
    assert granted == [True]
    assert question.answer.result(0).decision == "allow"


def test_a_call_is_answered_by_a_person_only(dressed: QApplication, person: Person, qtbot: QtBot) -> None:
    call_panel = CallPanel()
    qtbot.addWidget(call_panel)
    call = Call("Which name?", SHOT, Future())
    call_panel.ask(call)
    shown(call_panel, qtbot)
    QTest.keyClicks(call_panel.answer, "Eve")
    QTest.mouseClick(call_panel.done_button, Qt.MouseButton.LeftButton)
    call_panel.done_button.click()
    assert call_panel.not_you.isVisible()
    assert call_panel.answer.toPlainText() == ""
    assert not call.answer.done()
    person.click(call_panel.answer)
    person.type("Anna")
    qtbot.waitUntil(lambda: call_panel.answer.toPlainText() == "Anna", timeout=5000)
    person.key("Tab", "Tab", "Tab", "Tab", "space")  # a person without a mouse
    qtbot.waitUntil(call.answer.done, timeout=5000)
    assert call.answer.result(0) == "Anna"


class FaultyPanel(ApprovalPanel):
    """A window with a fault in what it shows."""

    def _fill(self, question: Approval) -> None:
        raise ZeroDivisionError("a fault of ours")


def no_panel() -> ApprovalPanel:
    raise ZeroDivisionError("a fault of ours")


@pytest.mark.parametrize("make", [FaultyPanel, no_panel], ids=["while showing", "while being made"])
def test_a_window_with_a_fault_denies(dressed: QApplication, qtbot: QtBot, make: Callable[[], ApprovalPanel]) -> None:
    asked = Asked(make_approval=make)
    question = approval()
    with pytest.raises(ZeroDivisionError):
        asked.ask(question)
    assert (question.answer.result(0).decision, question.answer.result(0).who) == ("deny", "nobody")


def test_a_window_that_dies_denies(dressed: QApplication, qtbot: QtBot) -> None:
    asked = Asked()
    question = approval()
    asked.ask(question)
    asked.approval.deleteLater()
    qtbot.waitUntil(question.answer.done, timeout=5000)
    assert (question.answer.result(0).decision, question.answer.result(0).who) == ("deny", "nobody")


def test_a_closed_window_and_one_left_alone_deny(panel: ApprovalPanel, qtbot: QtBot) -> None:
    closed = approval()
    panel.ask(closed)
    panel.close()
    assert closed.answer.result(0).decision == "deny"
    late = approval(seconds=1)
    panel.ask(late)
    qtbot.waitUntil(late.answer.done, timeout=3000)
    assert (late.answer.result(0).decision, late.answer.result(0).who) == ("deny", "nobody")
    assert not panel.isVisible()


def test_a_command_is_confirmed_by_its_own_words(panel: ApprovalPanel, qtbot: QtBot) -> None:
    question = approval(tier=Tier.R4, confirm="rm -r x")
    panel.ask(replace(question, ask=replace(question.ask, action=Terminal("rm -r x"), element=None)))
    assert panel.exact.toPlainText() == "rm -r x"
    assert panel.confirm_words.toPlainText() == "rm -r x"
    assert not panel.picture.isVisible()
