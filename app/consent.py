"""Asked once, in plain words, before anything is recorded. Closed unanswered, it keeps nothing and asks again."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from agent_core import paths
from app import theme, words
from app.text import button, fit_window, label, one_line


class ConsentWindow(QWidget):
    """`answered` gives "yes", "no", or "unasked" where it was closed."""

    answered = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("window")
        self.setWindowTitle(words.say("consent.title"))
        self.setFixedWidth(480)
        self._said = False
        rows = QVBoxLayout(self)
        rows.setContentsMargins(24, 24, 24, theme.MARGIN)
        rows.setSpacing(12)
        rows.addWidget(label(words.say("consent.title"), "heading"))
        rows.addWidget(label(words.say("consent.text")))
        rows.addWidget(label(words.say("consent.taken_out")))
        rows.addWidget(label(words.say("consent.without")))
        rows.addWidget(label(words.say("consent.folder", folder=one_line(str(paths.home()))), "secondary"))
        self.no_button = button(words.say("consent.no"))
        self.yes_button = button(words.say("consent.yes"))
        self.no_button.clicked.connect(self._no)
        self.yes_button.clicked.connect(self._yes)
        row = QHBoxLayout()
        row.addStretch(1)
        row.setSpacing(theme.GRID)
        row.addWidget(self.no_button)
        row.addWidget(self.yes_button)
        rows.addLayout(row)
        fit_window(self)

    def closeEvent(self, event: QCloseEvent) -> None:
        self._answer("unasked")
        super().closeEvent(event)

    def _yes(self) -> None:
        self._answer("yes")
        self.close()

    def _no(self) -> None:
        self._answer("no")
        self.close()

    def _answer(self, word: str) -> None:
        if not self._said:
            self._said = True
            self.answered.emit(word)
