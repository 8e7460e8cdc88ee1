"""One turn's screenshot at full size, with a ring at every place that was acted on."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QScrollArea, QVBoxLayout, QWidget

from agent_core.actions import target_of
from agent_core.step import Turn
from app import pictures, words
from app.text import label, one_line
from app.turn_card import action_words


class ScreenshotWindow(QWidget):
    """A picture and, under it, what was done in that turn."""

    def __init__(self, turn: Turn) -> None:
        super().__init__(None)
        self.setObjectName("window")
        self.setWindowTitle(words.say("shot.large", turn=turn.n))
        room = QGuiApplication.primaryScreen().availableGeometry().size() * 0.8
        room = room.boundedTo(QSize(turn.screenshot.width, turn.screenshot.height))
        at = next((p for s in turn.steps if (p := target_of(s.action)) is not None), None)
        picture = QLabel()
        picture.setPixmap(pictures.thumbnail(turn.screenshot, at, room))
        picture.setAccessibleName(self.windowTitle())
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setAccessibleName(self.windowTitle())
        scroll.setWidget(picture)
        rows = QVBoxLayout(self)
        rows.addWidget(scroll, 1)
        for step in turn.steps:
            rows.addWidget(label(one_line(action_words(step)), "secondary"))
        self.resize(picture.pixmap().deviceIndependentSize().toSize() + QSize(48, 80))
