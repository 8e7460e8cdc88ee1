"""The question under a run that was kept: was the task done? The answer is the label that training goes by first."""

from __future__ import annotations

from PySide6.QtCore import SignalInstance
from PySide6.QtWidgets import QFrame, QHBoxLayout

from app import theme, words
from app.text import button, label


class RatingCard(QFrame):
    """`rated` is told the answer. Another answer may follow; the newest counts."""

    def __init__(self, rated: SignalInstance) -> None:
        super().__init__()
        self._rated = rated
        self.setObjectName("card")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, theme.GRID, 12, theme.GRID)
        row.setSpacing(theme.GRID)
        self.question = label(words.say("rating.question"), "secondary")
        self.yes_button = button(words.say("rating.yes"))
        self.no_button = button(words.say("rating.no"))
        self.yes_button.clicked.connect(self._yes)
        self.no_button.clicked.connect(self._no)
        row.addWidget(self.question, 1)
        row.addWidget(self.yes_button)
        row.addWidget(self.no_button)

    def _yes(self) -> None:
        self._rate(True)

    def _no(self) -> None:
        self._rate(False)

    def show_kept(self, good: bool) -> None:
        """The answer that holds; only the other one can still be given."""
        self.question.setText(words.say("rating.kept_yes" if good else "rating.kept_no"))
        self.yes_button.setEnabled(not good)
        self.no_button.setEnabled(good)

    def _rate(self, good: bool) -> None:
        self.show_kept(good)
        self._rated.emit(good)
