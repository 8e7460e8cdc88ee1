"""The icon in the tray: one picture a state, a menu with open, pause, stop and quit.

Where no tray exists nothing is ever hidden into it: `present` says so, and the icon is added when a tray appears later.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from app import pictures, words
from app.states import State

LOOK_AGAIN_MS = 2000


class Tray(QObject):
    """The tray icon. Signals say what the person chose."""

    opened = Signal()
    pause_toggled = Signal()
    stopped = Signal()
    history_opened = Signal()
    settings_opened = Signal()
    quit_chosen = Signal()
    lost = Signal()

    def __init__(self, wanted: bool = True, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._wanted = wanted
        self._icon = QSystemTrayIcon(pictures.icon(State.IDLE), self)
        self._icon.activated.connect(self._activated)
        self.menu = QMenu()
        self.open_action = self.menu.addAction(words.say("tray.open"), self.opened.emit)
        self.pause_action = self.menu.addAction(words.say("tray.pause"), self.pause_toggled.emit)
        self.stop_action = self.menu.addAction(words.say("tray.stop"), self.stopped.emit)
        self.menu.addSeparator()
        self.history_action = self.menu.addAction(words.say("tray.history"), self.history_opened.emit)
        self.settings_action = self.menu.addAction(words.say("tray.settings"), self.settings_opened.emit)
        self.menu.addSeparator()
        self.quit_action = self.menu.addAction(words.say("tray.quit"), self.quit_chosen.emit)
        self._icon.setContextMenu(self.menu)
        self.show_state(State.IDLE)
        self._look = QTimer(self)
        self._look.setInterval(LOOK_AGAIN_MS)
        self._look.timeout.connect(self._look_for_tray)
        self._look_for_tray()
        if wanted:
            self._look.start()

    @property
    def present(self) -> bool:
        """Whether the icon is really shown somewhere."""
        return self._wanted and QSystemTrayIcon.isSystemTrayAvailable() and self._icon.isVisible()

    def show_state(self, state: State) -> None:
        self._icon.setIcon(pictures.icon(state))
        self._icon.setToolTip(f"Deskhand: {words.say(f'state.{state.value}')}")
        self.stop_action.setEnabled(state.busy)
        self.pause_action.setEnabled(state.busy)
        self.pause_action.setText(words.say("tray.resume" if state is State.PAUSED else "tray.pause"))

    def close(self) -> None:
        self._look.stop()
        self._icon.hide()

    def _look_for_tray(self) -> None:
        there = self._wanted and QSystemTrayIcon.isSystemTrayAvailable()
        if there and not self._icon.isVisible():
            self._icon.show()
        elif not there and self._icon.isVisible():
            self._icon.hide()  # the panel went away; shown anew when one comes back
            self.lost.emit()

    def _activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason in (QSystemTrayIcon.ActivationReason.Trigger, QSystemTrayIcon.ActivationReason.DoubleClick):
            self.opened.emit()
