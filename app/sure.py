"""A question in the window itself before something that cannot be taken back. Doing nothing is a no."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app import theme
from app.text import button, label


class Sure(QFrame):
    """Hidden until `ask`; goes away with either answer. The no has the keyboard."""

    def __init__(self, question: str, yes: str, no: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("warning")
        self._act: Callable[[], None] | None = None
        row = QHBoxLayout(self)
        row.setContentsMargins(12, theme.GRID, 12, theme.GRID)
        row.setSpacing(theme.GRID)
        self.question = label(question)
        self.no_button = button(no)
        self.yes_button = button(yes, "stop")
        self.no_button.clicked.connect(self.hide)
        self.yes_button.clicked.connect(self._yes)
        row.addWidget(self.question, 1)
        row.addWidget(self.no_button)
        row.addWidget(self.yes_button)
        self.hide()

    def ask(self, act: Callable[[], None]) -> None:
        """Asks; `act` is called once if the answer is yes."""
        self._act = act
        self.show()
        self.no_button.setFocus()

    def _yes(self) -> None:
        self.hide()
        act, self._act = self._act, None
        if act is not None:
            act()
