"""The windows that open beside the task window: one of each kind, gone when the program goes."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtWidgets import QWidget

from agent_core.settings import Settings
from app.consent import ConsentWindow
from app.crash import CrashWindow
from app.help_window import HelpWindow
from app.settings_window import SettingsWindow
from app.trace_window import Replay, TraceWindow

Window = TypeVar("Window", bound=QWidget)


class OtherWindows(dict[str, QWidget]):
    """The open ones by name. Each method opens one and gives it, to connect what it says."""

    def settings(self, settings: Settings) -> SettingsWindow:
        window = self._show("settings", SettingsWindow(settings))
        window.help_opened.connect(self.help)
        return window

    def history(self, replay: Replay, keeping: bool) -> TraceWindow:
        return self._show("history", TraceWindow(replay, keeping))

    def help(self) -> HelpWindow:
        return self._show("help", HelpWindow())

    def consent(self) -> ConsentWindow:
        return self._show("consent", ConsentWindow())

    def crash(self, file: str) -> CrashWindow:
        return self._show("crash", CrashWindow(file))

    def hide(self) -> None:
        for window in self.values():
            window.hide()

    def _show(self, name: str, window: Window) -> Window:
        """Shows a window in front; an older one of that name makes room for it."""
        old = self.pop(name, None)
        if old is not None:
            old.hide()
            old.deleteLater()
        self[name] = window
        window.show()
        window.raise_()
        window.activateWindow()
        return window
