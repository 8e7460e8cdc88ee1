"""The field a task is typed into. Enter sends, Shift+Enter makes a new line; or only Ctrl+Enter sends (a setting)."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QPlainTextEdit

from app import words

HEIGHT = 64


class TaskInput(QPlainTextEdit):
    """`sent` says that the person wants what stands here to be done."""

    sent = Signal()

    def __init__(self, send_with_enter: bool) -> None:
        super().__init__()
        self.send_with_enter = send_with_enter
        self.setAccessibleName(words.say("task.placeholder"))
        self.setTabChangesFocus(True)
        self.setFixedHeight(HEIGHT)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
            plain = held == Qt.KeyboardModifier.NoModifier
            if held == Qt.KeyboardModifier.ControlModifier or (plain and self.send_with_enter):
                self.sent.emit()
                return
        super().keyPressEvent(event)
