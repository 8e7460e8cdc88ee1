"""The input that fits a setting: by its type, its choices and bounds, and for a few settings by what they are about."""

from __future__ import annotations

from dataclasses import Field
from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QKeySequenceEdit,
    QLineEdit,
    QSpinBox,
    QToolButton,
    QWidget,
)

from agent_core.errors import ScreenError
from agent_core.screen.capture import Screen
from app import words

KEYS = ("ui.open_key", "ui.pause_key", "ui.stop_key")
MONITOR = "run.monitor"
HEIGHT = 30  # as high as the lines that text is typed into
PORTABLE = QKeySequence.SequenceFormat.PortableText


def make(name: str, kind: type[Any], value: Any, field: Field[Any]) -> QWidget:
    """An input that shows a value. It is called by the setting's help, for screen readers as well."""
    made = _fitting(name, kind, value, field)
    called = words.setting(name, field.metadata["help"])
    for part in (made, *made.findChildren(QLineEdit)):
        part.setAccessibleName(called)
    if isinstance(made, (QComboBox, QSpinBox, QDoubleSpinBox)):  # the wheel scrolls the form and changes nothing
        made.setMinimumHeight(HEIGHT)
        made.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        made.installEventFilter(_WheelForTheForm(made))
    return made


def can_be_cleared(line: QLineEdit) -> None:
    """Gives a line the small button that empties it, with a name."""
    line.setClearButtonEnabled(True)
    for part in line.findChildren(QToolButton):
        part.setAccessibleName(words.say("settings.clear"))


def value_of(made: QWidget) -> Any:
    """The setting as the input stands."""
    match made:
        case QComboBox():
            return made.currentData()
        case QCheckBox():
            return made.isChecked()
        case QSpinBox() | QDoubleSpinBox():
            return made.value()
        case QKeySequenceEdit():
            return made.keySequence().toString(PORTABLE)
        case QLineEdit():
            return made.text()
    raise TypeError(f"no setting has an input of type {type(made).__name__}")


def put(made: QWidget, value: Any) -> None:
    """Shows another value in an input."""
    match made:
        case QComboBox():
            made.setCurrentIndex(made.findData(value))
        case QCheckBox():
            made.setChecked(value)
        case QSpinBox() | QDoubleSpinBox():
            made.setValue(value)
        case QKeySequenceEdit():
            made.setKeySequence(QKeySequence(value, PORTABLE))
        case QLineEdit():
            made.setText(value)


def _fitting(name: str, kind: type[Any], value: Any, field: Field[Any]) -> QWidget:
    choices, low, high = (field.metadata[key] for key in ("choices", "low", "high"))
    if name == MONITOR:
        return _monitors(value, int(high))
    if name in KEYS:
        keys = QKeySequenceEdit(QKeySequence(value, PORTABLE))
        keys.setMaximumSequenceLength(1)
        for line in keys.findChildren(QLineEdit):
            can_be_cleared(line)
        return keys
    if choices:
        box = QComboBox()
        for choice in choices:
            box.addItem(words.choice(str(choice)), choice)
        box.setCurrentIndex(list(choices).index(value))
        return box
    if kind is bool:
        check = QCheckBox()
        check.setChecked(value)
        return check
    if kind in (int, float):
        return _number(kind, value, low, high)
    line = QLineEdit(value)
    line.setMaxLength(1000)
    return line


def _number(kind: type[Any], value: Any, low: float | None, high: float | None) -> QSpinBox | QDoubleSpinBox:
    if kind is int:
        whole = QSpinBox()
        whole.setRange(int(low or 0), int(high if high is not None else 2**31 - 1))
        whole.setValue(value)
        return whole
    number = QDoubleSpinBox()
    number.setDecimals(1)
    number.setRange(float(low or 0), float(high if high is not None else 1e9))
    number.setValue(value)
    return number


def _monitors(chosen: int, most: int) -> QComboBox:
    """The monitors that are there by name and size, and after them the other numbers that can be chosen."""
    screen = Screen()
    try:
        there = screen.monitors()
    except ScreenError:
        there = ()
    finally:
        screen.close()
    box = QComboBox()
    for number in range(1, most + 1):
        if number <= len(there):
            one = there[number - 1]
            name = "" if one.monitor == str(number) else f"{one.monitor}, "
            said = words.say("settings.monitor", number=number, name=name, width=one.width, height=one.height)
        else:
            said = words.say("settings.monitor_away", number=number)
        box.addItem(said, number)
    box.setCurrentIndex(chosen - 1)
    return box


class _WheelForTheForm(QObject):
    """Hands the wheel over an input on to the form behind it, so that scrolling changes no setting."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Wheel and isinstance(watched, QWidget) and not watched.hasFocus():
            event.ignore()
            return True
        return super().eventFilter(watched, event)
