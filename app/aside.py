"""How the task window gives the keyboard back before a paused run goes on, so that nothing is typed into it."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QWidget

from app.agent_thread import Agent

AWAY_MS = 150  # the window manager gives the focus to the window below before the agent looks


class Aside(QObject):
    """Pauses the agent at once, and lets it go on when the window is out of the way, if it had the keyboard."""

    def __init__(self, window: QWidget, agent: Agent, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._window, self._agent = window, agent
        self._wait = QTimer(self)
        self._wait.setSingleShot(True)
        self._wait.setInterval(AWAY_MS)
        self._wait.timeout.connect(self._go_on)

    def pause(self, wanted: bool) -> None:
        self._wait.stop()
        if wanted or not self._window.isActiveWindow():
            self._agent.pause(wanted)
            return
        self._window.hide()
        self._wait.start()

    def _go_on(self) -> None:
        self._agent.pause(False)
