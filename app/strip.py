"""What stays in sight while a run acts and the task window is out of the way: state and mode in words, and Stop."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from agent_core.safety.policy import Mode
from app import modes, pictures, theme, words
from app.states import State
from app.text import button, label, visible

WIDTH = 600
HEIGHT = 56
ICON = 18
AROUND = 12 + 8 + ICON + 4 * theme.GRID + 4  # margins, icon, the gaps between the parts, the frame


class Strip(QWidget):
    """A bar in the bottom right corner, above the panel, that never takes the focus."""

    opened = Signal()
    paused = Signal(bool)
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
        self._state = State.IDLE
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
        self.mode = label(role="secondary", wrap=False)
        said = QVBoxLayout()
        said.setSpacing(0)
        said.addWidget(self.text)
        said.addWidget(self.mode)
        self.pause_button = button(words.say("task.pause"))
        self.open_button = button(words.say("strip.open"), "flat")
        self.stop_button = button(words.say("strip.stop"), "stop")
        self.pause_button.clicked.connect(self._pause)
        self.open_button.clicked.connect(self.opened)
        self.stop_button.clicked.connect(self.stopped)
        row.addWidget(self._icon)
        row.addLayout(said, 1)
        for part in (self.open_button, self.pause_button, self.stop_button):
            part.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            row.addWidget(part)

    def say(self, state: State, text: str) -> None:
        """The state's icon and words on one line, cut where there is no more room."""
        self._state = state
        self._icon.setPixmap(pictures.icon(state).pixmap(QSize(ICON, ICON)))
        self._icon.setAccessibleName(words.say(f"state.{state.value}"))
        self.pause_button.setText(words.say("strip.resume" if state is State.PAUSED else "task.pause"))
        buttons = (self.open_button, self.pause_button, self.stop_button)
        room = WIDTH - AROUND - sum(each.sizeHint().width() for each in buttons)
        whole = visible(" ".join(text.split()), 300)
        self.text.setText(QFontMetrics(self.text.font()).elidedText(whole, Qt.TextElideMode.ElideRight, room))
        self.setAccessibleName(whole)

    def show_mode(self, mode: Mode) -> None:
        self.mode.setText(words.say("mode.now", mode=modes.say(mode)))

    def show_in_corner(self) -> None:
        area = QGuiApplication.primaryScreen().availableGeometry()
        self.move(area.right() - WIDTH - theme.MARGIN, area.bottom() - HEIGHT - theme.MARGIN)
        self.show()
        self.raise_()

    def _pause(self) -> None:
        self.paused.emit(self._state is not State.PAUSED)
