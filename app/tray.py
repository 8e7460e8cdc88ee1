"""The icon in the tray: one picture a state, a menu with open, pause, stop, the mode and quit.

Where no tray exists nothing is ever hidden into it: `present` says so, and the icon is added when a tray appears later.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QMenu, QSystemTrayIcon

from agent_core.safety.policy import Mode
from app import modes, pictures, words
from app.modes import ModeMenu
from app.states import State

LOOK_AGAIN_MS = 2000


class Tray(QObject):
    """The tray icon. Signals say what the person chose."""

    opened = Signal()
    pause_toggled = Signal()
    stopped = Signal()
    history_opened = Signal()
    models_opened = Signal()
    training_opened = Signal()
    settings_opened = Signal()
    help_opened = Signal()
    mode_chosen = Signal(str)
    quit_chosen = Signal()
    lost = Signal()

    def __init__(self, wanted: bool = True, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._wanted = wanted
        self._icon = QSystemTrayIcon(pictures.icon(State.IDLE), self)
        self._icon.activated.connect(self._activated)
        self._state, self._mode = State.IDLE, modes.CHOICES[1]
        self.menu = QMenu()
        self.open_action = self.menu.addAction(words.say("tray.open"), self.opened.emit)
        self.pause_action = self.menu.addAction(words.say("tray.pause"), self.pause_toggled.emit)
        self.stop_action = self.menu.addAction(words.say("tray.stop"), self.stopped.emit)
        self.menu.addSeparator()
        self.mode_menu = ModeMenu(self.menu)
        self.mode_menu.chosen.connect(self.mode_chosen)
        self.menu.addMenu(self.mode_menu)
        self.menu.addSeparator()
        self.history_action = self.menu.addAction(words.say("tray.history"), self.history_opened.emit)
        self.models_action = self.menu.addAction(words.say("tray.models"), self.models_opened.emit)
        self.training_action = self.menu.addAction(words.say("tray.training"), self.training_opened.emit)
        self.settings_action = self.menu.addAction(words.say("tray.settings"), self.settings_opened.emit)
        self.help_action = self.menu.addAction(words.say("tray.help"), self.help_opened.emit)
        self.menu.addSeparator()
        self.quit_action = self.menu.addAction(words.say("tray.quit"), self.quit_chosen.emit)
        self._icon.setContextMenu(self.menu)
        self.show_state(State.IDLE)
        self.show_mode(self._mode, self._mode)
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
        self._state = state
        self._icon.setIcon(pictures.icon(state))
        self._name_icon()
        self.stop_action.setEnabled(state.busy)
        self.pause_action.setEnabled(state.busy)
        self.pause_action.setText(words.say("tray.resume" if state is State.PAUSED else "tray.pause"))

    def show_mode(self, now: Mode, chosen: Mode) -> None:
        """The mode that holds now, and the one in the settings, which holds from the next run on."""
        self._mode = now
        self.mode_menu.setTitle(words.say("mode.now", mode=modes.say(now)))
        self.mode_menu.tick(chosen)
        self._name_icon()

    @property
    def tip(self) -> str:
        return self._icon.toolTip()

    def close(self) -> None:
        self._look.stop()
        self._icon.hide()

    def _name_icon(self) -> None:
        mode = words.say("mode.now", mode=modes.say(self._mode))
        self._icon.setToolTip(f"Deskhand: {words.say(f'state.{self._state.value}')}\n{mode}")

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
