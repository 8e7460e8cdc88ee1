"""The tasks that were given before: Up in the first line of the input brings the one before, Down the one after it.

In memory alone: a task may hold what its person never agreed to have kept.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent, QTextCursor

from app.task_window import TaskWindow

MOST = 50


class PastTasks(QObject):
    """Of this start of the program, newest last. What was being typed comes back below the newest."""

    def __init__(self, window: TaskWindow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._input = window.input
        self._tasks: list[str] = []
        self._place, self._draft = 0, ""
        window.sent.connect(self.keep)
        self._input.installEventFilter(self)

    def keep(self, task: str) -> None:
        """Puts a task at the end, where it was before if at all."""
        self._tasks = [*(each for each in self._tasks if each != task), task][-MOST:]
        self._place, self._draft = len(self._tasks), ""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress and not self._input.isReadOnly():
            by = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()), 0)
            if by and event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier):
                return self._at_edge(by) and self._go(by)
        return super().eventFilter(watched, event)

    def _at_edge(self, by: int) -> bool:
        """Whether the caret cannot go further that way inside the text, which may be wrapped."""
        cursor = QTextCursor(self._input.textCursor())
        way = QTextCursor.MoveOperation.Up if by < 0 else QTextCursor.MoveOperation.Down
        return not cursor.movePosition(way)

    def _go(self, by: int) -> bool:
        place = self._place + by
        if not 0 <= place <= len(self._tasks):
            return False
        if self._place == len(self._tasks):
            self._draft = self._input.toPlainText()
        self._place = place
        self._input.setPlainText(self._tasks[place] if place < len(self._tasks) else self._draft)
        self._input.moveCursor(QTextCursor.MoveOperation.End)
        return True
