"""Everybody can use every window: each control has a name that a screen reader says, and Tab comes to all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QScrollArea,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app import words
from app.turn_card import TurnCard
from tests.app.conftest import Person
from tests.app.every_window import WINDOWS, task_window_at_the_end

pytestmark = [pytest.mark.desktop, pytest.mark.timeout(120)]

# They leave the keyboard to the program that is being used, until they are clicked into or the run is over.
WITHOUT_KEYBOARD = ("approval", "approval-critical", "call", "strip", "task-at-work")
ROW = 12  # pixels of difference in height that still count as one row


@pytest.fixture(params=["en", "zh"])
def language(request: pytest.FixtureRequest, dressed: QApplication) -> Iterator[str]:
    words.choose(request.param)
    yield request.param
    words.choose("en")


@pytest.mark.parametrize("name", WINDOWS)
def test_a_screen_reader_has_a_name_for_every_control(language: str, name: str, qtbot: QtBot) -> None:
    window = WINDOWS[name]()
    qtbot.addWidget(window)
    window.show()
    qtbot.waitExposed(window)
    nameless = [describe(each) for each in controls(window) if not said_name(each)]
    assert not nameless


@pytest.mark.parametrize("name", [each for each in WINDOWS if each not in WITHOUT_KEYBOARD])
def test_tab_comes_to_every_control_in_the_order_of_sight(
    dressed: QApplication, person: Person, name: str, qtbot: QtBot
) -> None:
    window = WINDOWS[name]()
    qtbot.addWidget(window)
    window.show()
    qtbot.waitActive(window)
    wanted = [each for each in controls(window) if reached_by_tab(each)]
    order: list[QWidget] = []
    dressed.focusChanged.connect(lambda _, now: order.append(now) if now is not None else None)
    places = {each: place(each, window) for each in wanted}
    if len(wanted) > 1:
        first = dressed.focusWidget()
        person.do("key", "--delay", "30", *["Tab"] * len(wanted))
        qtbot.waitUntil(lambda: len(order) >= len(wanted) - (first is None), timeout=20_000)
        missed = [describe(each) for each in wanted if each not in order and each is not first]
        assert not missed
        rows = [places[each] for each in _from_the_top(order, places)]
        told = [f"{places[each]} {describe(each)}" for each in _from_the_top(order, places)]
        assert rows == sorted(rows), "\n".join(told)


def test_a_turn_opens_its_picture_by_the_keyboard(dressed: QApplication, person: Person, qtbot: QtBot) -> None:
    window = task_window_at_the_end()
    qtbot.addWidget(window)
    window.show()
    qtbot.waitActive(window)
    card = window.findChildren(TurnCard)[0]
    card.setFocus()
    qtbot.waitUntil(card.hasFocus)
    with qtbot.waitSignal(card.opened, timeout=5000):
        person.key("Return")


# -- what a control is -------------------------------------------------------------------------------------------------


def controls(window: QWidget) -> list[QWidget]:
    """What a person presses, fills in, reads as a picture or comes to with Tab; not the parts Qt makes them of."""
    return [each for each in window.findChildren(QWidget) if each.isVisible() and _is_control(each)]


def said_name(control: QWidget) -> str:
    """The letters of what assistive programs are told."""
    if isinstance(control, QComboBox):  # what Qt tells as its name is its value; the label beside it is the name
        labels = (each.text() for each in control.window().findChildren(QLabel) if each.buddy() is control)
        return next(labels, control.accessibleName())
    interface = QAccessible.queryAccessibleInterface(control)
    said = interface.text(QAccessible.Text.Name) if interface is not None else ""
    return said if any(each.isalnum() for each in said) else ""


def reached_by_tab(control: QWidget) -> bool:
    return control.isEnabled() and bool(control.focusPolicy() & Qt.FocusPolicy.TabFocus)


def place(control: QWidget, window: QWidget) -> tuple[int, int, int]:
    """Row in the window, row in what scrolls there, and column, as the eye reads them."""
    corner = control.mapTo(window, QPoint(0, control.height() // 2))
    around = next((each for each in _around(control) if isinstance(each, QScrollArea)), None)
    if around is None or around is window:
        return corner.y() // ROW, 0, corner.x()
    return around.mapTo(window, QPoint(0, 0)).y() // ROW, corner.y() // ROW, corner.x()


def describe(control: QWidget) -> str:
    return f"{type(control).__name__} {control.objectName()} {said_name(control)} in {type(control.parent()).__name__}"


def _is_control(widget: QWidget) -> bool:
    if widget.objectName().startswith("qt_") or _is_part(widget):
        return False
    if isinstance(widget, QLabel):
        return not widget.pixmap().isNull()
    if isinstance(widget, QScrollArea) and widget.focusPolicy() == Qt.FocusPolicy.NoFocus:
        return False
    return isinstance(widget, (QAbstractButton, QLineEdit)) or bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)


def _around(control: QWidget) -> Iterator[QWidget]:
    parent = control.parentWidget()
    while parent is not None:
        yield parent
        parent = parent.parentWidget()


def _is_part(widget: QWidget) -> bool:
    """Whether Qt made it as a part of another control: the line of a spin box, the header of a table."""
    parent = widget.parent()
    whole = isinstance(parent, QAbstractScrollArea) and not isinstance(parent, QScrollArea)
    return whole or type(parent).__name__ in ("QComboBox", "QSpinBox", "QDoubleSpinBox", "QKeySequenceEdit")


def _from_the_top(order: list[QWidget], places: dict[QWidget, tuple[int, int, int]]) -> list[QWidget]:
    """The round as it goes from the topmost control on, each once."""
    once = [each for each in dict.fromkeys(order) if each in places]
    start = once.index(min(once, key=lambda each: places[each]))
    return once[start:] + once[:start]
