"""The settings form, made from the declarations in `agent_core/settings.py`: a field more there is a row more here."""

from __future__ import annotations

from dataclasses import Field, fields, replace
from typing import Any, get_type_hints

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from agent_core.settings import Settings
from app import theme, words
from app.text import button, label


class SettingsWindow(QWidget):
    """`saved` gives the changed settings; nothing is written here."""

    saved = Signal(object)  # Settings
    help_opened = Signal()

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("window")
        self.setWindowTitle(words.say("settings.title"))
        self.resize(520, 640)
        self._settings = settings
        self.inputs: dict[str, QWidget] = {}
        page = QWidget()
        page.setObjectName("page")
        rows = QVBoxLayout(page)
        rows.setContentsMargins(theme.MARGIN, theme.MARGIN, theme.MARGIN, theme.MARGIN)
        rows.setSpacing(12)
        for group in fields(settings):
            rows.addWidget(label(words.say(f"settings.group.{group.name}"), "heading"))
            if group.name == "safety":
                rows.addWidget(self._help_button(), 0, Qt.AlignmentFlag.AlignLeft)
            values = getattr(settings, group.name)
            hints = get_type_hints(type(values))
            for field in fields(values):
                self._add_row(rows, f"{group.name}.{field.name}", field, hints[field.name], getattr(values, field.name))
        rows.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(page)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 12)
        outer.addWidget(scroll, 1)
        outer.addLayout(self._buttons())

    @staticmethod
    def names(settings: Settings) -> list[str]:
        """Every setting as group.name, in the order of the form."""
        return [f"{group.name}.{f.name}" for group in fields(settings) for f in fields(getattr(settings, group.name))]

    def chosen(self) -> Settings:
        """The settings as the form stands."""
        groups = {}
        for group in fields(self._settings):
            values = getattr(self._settings, group.name)
            groups[group.name] = replace(
                values, **{f.name: _value(self.inputs[f"{group.name}.{f.name}"]) for f in fields(values)}
            )
        return replace(self._settings, **groups)

    def _add_row(self, rows: QVBoxLayout, name: str, field: Field[Any], kind: type[Any], value: Any) -> None:
        made = _input(kind, value, field)
        self.inputs[name] = made
        help_text = words.setting(name, field.metadata["help"])
        made.setAccessibleName(help_text)
        box = QVBoxLayout()
        box.setSpacing(4)
        if isinstance(made, QCheckBox):
            rows.addLayout(_beside(made, help_text))
            return
        box.addWidget(label(help_text, "secondary"))
        box.addWidget(made)
        rows.addLayout(box)

    def _help_button(self) -> QPushButton:
        self.help_button = button(words.say("settings.help"))
        self.help_button.clicked.connect(self.help_opened)
        return self.help_button

    def _buttons(self) -> QHBoxLayout:
        self.save_button = button(words.say("settings.save"), "main")
        self.cancel_button = button(words.say("settings.cancel"))
        self.save_button.clicked.connect(self._save)
        self.cancel_button.clicked.connect(self.close)
        row = QHBoxLayout()
        row.setContentsMargins(theme.MARGIN, theme.GRID, theme.MARGIN, 0)
        row.addWidget(label(words.say("settings.note"), "secondary"), 1)
        row.addWidget(self.cancel_button)
        row.addWidget(self.save_button)
        return row

    def _save(self) -> None:
        self.saved.emit(self.chosen())
        self.close()


class _Words(QLabel):
    """The words of a check box, which wrap beside it and are as good to click as the box."""

    def __init__(self, text: str, check: QCheckBox) -> None:
        super().__init__(text)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self._check = check

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._check.toggle()
        super().mouseReleaseEvent(event)


def _beside(check: QCheckBox, text: str) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(theme.GRID)
    row.addWidget(check, 0, Qt.AlignmentFlag.AlignTop)
    row.addWidget(_Words(text, check), 1)
    return row


def _input(kind: type[Any], value: Any, field: Field[Any]) -> QWidget:
    """The input that fits a setting's type, with its choices and bounds."""
    choices, low, high = (field.metadata[key] for key in ("choices", "low", "high"))
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
    if kind is int:
        whole = QSpinBox()
        whole.setRange(int(low if low is not None else 0), int(high if high is not None else 2**31 - 1))
        whole.setValue(value)
        return whole
    if kind is float:
        number = QDoubleSpinBox()
        number.setDecimals(1)
        number.setRange(float(low if low is not None else 0), float(high if high is not None else 1e9))
        number.setValue(value)
        return number
    line = QLineEdit(value)
    line.setMaxLength(1000)
    return line


def _value(made: QWidget) -> Any:
    match made:
        case QComboBox():
            return made.currentData()
        case QCheckBox():
            return made.isChecked()
        case QSpinBox() | QDoubleSpinBox():
            return made.value()
        case QLineEdit():
            return made.text()
    raise TypeError(f"no setting has an input of type {type(made).__name__}")
