"""The tasks that were given before: Up in the first line of the input brings the one before, Down the one after it."""

from __future__ import annotations

import json

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent, QTextCursor

from app.remembered import Remembered
from app.task_window import TaskWindow

MOST = 50
NAME = "past"


class PastTasks(QObject):
    """Kept over restarts, newest last. What was being typed comes back below the newest."""

    def __init__(self, window: TaskWindow, remembered: Remembered, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._input, self._remembered = window.input, remembered
        self._tasks = _read(remembered.get(NAME))
        self._place, self._draft = len(self._tasks), ""
        window.sent.connect(self.keep)
        self._input.installEventFilter(self)

    def keep(self, task: str) -> None:
        """Puts a task at the end, where it was before if at all."""
        self._tasks = [*(each for each in self._tasks if each != task), task][-MOST:]
        self._place, self._draft = len(self._tasks), ""
        self._remembered.set(NAME, json.dumps(self._tasks))

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


def _read(text: str) -> list[str]:
    """The kept tasks; none where they are damaged."""
    try:
        found = json.loads(text or "[]")
    except ValueError:
        return []
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []
