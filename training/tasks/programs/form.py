"""A form window to practise on: `form.py SPEC RESULT` shows what the JSON file SPEC lists and writes RESULT on OK.

SPEC: {"title", "fields": [label], "checks": [label], "radios": [label], "choices": {label: [item]},
"buttons": [label]}.
RESULT: {"button", "fields": {label: text}, "checks": [label], "radio": label or "", "choices": {label: item}}; written
whole when any button is pressed, and the window closes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

FIELD_WIDTH = 360  # pixels
SPACING = 14


class Form(QWidget):
    """The window; `result_file` is where the answer goes."""

    def __init__(self, spec: dict[str, Any], result_file: Path) -> None:
        super().__init__()
        self._result_file = result_file
        self.setWindowTitle(spec["title"])
        self._fields = {label: QLineEdit() for label in spec.get("fields", [])}
        self._checks = [QCheckBox(label) for label in spec.get("checks", [])]
        self._radios = [QRadioButton(label) for label in spec.get("radios", [])]
        self._choices = {label: _combo(items) for label, items in spec.get("choices", {}).items()}
        self._lay_out(spec["buttons"])

    def _lay_out(self, buttons: list[str]) -> None:
        rows = QFormLayout()
        rows.setVerticalSpacing(SPACING)
        rows.setHorizontalSpacing(SPACING)
        for label, field in self._fields.items():
            field.setFixedWidth(FIELD_WIDTH)
            rows.addRow(QLabel(label), field)
        for label, combo in self._choices.items():
            combo.setFixedWidth(FIELD_WIDTH)
            rows.addRow(QLabel(label), combo)
        column = QVBoxLayout(self)
        column.setContentsMargins(40, 30, 40, 30)
        column.setSpacing(SPACING)
        column.addLayout(rows)
        for button in (*self._checks, *self._radios):
            column.addWidget(button)
        line = QHBoxLayout()
        line.setSpacing(SPACING)
        for text in buttons:
            pressed = QPushButton(text)
            pressed.setFixedSize(120, 34)
            pressed.clicked.connect(lambda _=False, name=text: self._answer(name))
            line.addWidget(pressed)
        line.addStretch(1)
        column.addSpacing(SPACING)
        column.addLayout(line)
        column.addStretch(1)

    def _answer(self, button: str) -> None:
        """Writes the result in one piece, so that nobody reads half of it, and closes the window."""
        result = {
            "button": button,
            "fields": {label: field.text() for label, field in self._fields.items()},
            "checks": [box.text() for box in self._checks if box.isChecked()],
            "radio": next((radio.text() for radio in self._radios if radio.isChecked()), ""),
            "choices": {label: combo.currentText() for label, combo in self._choices.items()},
        }
        part = self._result_file.with_suffix(".part")
        part.write_text(json.dumps(result), encoding="utf-8")
        part.replace(self._result_file)
        self.close()


def _combo(items: list[str]) -> QComboBox:
    combo = QComboBox()
    combo.addItems(items)
    return combo


def main(spec_file: str, result_file: str) -> int:
    """Shows the form until it is answered or closed."""
    app = QApplication([])
    app.setCursorFlashTime(0)
    font = app.font()
    font.setPointSize(12)
    app.setFont(font)
    form = Form(json.loads(Path(spec_file).read_text(encoding="utf-8")), Path(result_file))
    form.showMaximized()
    return app.exec()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
