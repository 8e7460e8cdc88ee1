"""What stays in sight while a run acts and the task window is out of the way: the state in words, Open and Stop."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from app import pictures, theme, words
from app.states import State
from app.text import button, label, visible

WIDTH = 420
HEIGHT = 48


class Strip(QWidget):
    """A bar in the bottom right corner, above the panel, that never takes the focus."""

    opened = Signal()
    stopped = Signal()

    def __init__(self) -> None:
        super().__init__(None)
        self.setWindowFlags(
            Qt.WindowType.ToolTip
            | Qt.WindowType.FramelessWindowHint
            | Qt.WindowType.WindowStaysOnTopHint
            | Qt.WindowType.WindowDoesNotAcceptFocus
        )
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        self.setWindowTitle(words.say("task.title"))
        self.setFixedSize(WIDTH, HEIGHT)
        outer = QHBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        frame = QFrame()
        frame.setObjectName("strip")
        outer.addWidget(frame)
        row = QHBoxLayout(frame)
        row.setContentsMargins(12, 4, 8, 4)
        row.setSpacing(theme.GRID)
        self._icon = QLabel()
        self.text = label(wrap=False)
        self.open_button = button(words.say("strip.open"), "flat")
        self.stop_button = button(words.say("strip.stop"), "stop")
        self.open_button.clicked.connect(self.opened)
        self.stop_button.clicked.connect(self.stopped)
        for part in (self.open_button, self.stop_button):
            part.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        row.addWidget(self._icon)
        row.addWidget(self.text, 1)
        row.addWidget(self.open_button)
        row.addWidget(self.stop_button)

    def say(self, state: State, text: str) -> None:
        """The state's icon and words on one line, cut where there is no more room."""
        self._icon.setPixmap(pictures.icon(state).pixmap(QSize(18, 18)))
        room = WIDTH - 60 - self.open_button.sizeHint().width() - self.stop_button.sizeHint().width()
        whole = visible(" ".join(text.split()), 300)
        self.text.setText(QFontMetrics(self.text.font()).elidedText(whole, Qt.TextElideMode.ElideRight, room))
        self.setAccessibleName(whole)

    def show_in_corner(self) -> None:
        area = QGuiApplication.primaryScreen().availableGeometry()
        self.move(area.right() - WIDTH - theme.MARGIN, area.bottom() - HEIGHT - theme.MARGIN)
        self.show()
        self.raise_()
