"""The windows that open beside the task window: one of each kind, gone when the program goes."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtWidgets import QWidget

from agent_core import settings as settings_file
from agent_core.settings import Settings
from app.consent import ConsentWindow
from app.crash import CrashWindow
from app.first_run import Check, FirstRun
from app.help_window import HelpWindow
from app.models_window import ModelsWindow
from app.run_window import RunWindow
from app.settings_window import SettingsWindow
from app.trace_window import Replay, TraceWindow
from app.training_process import TrainingProcess
from app.training_window import TrainingWindow
from app.tray import Tray

Window = TypeVar("Window", bound=QWidget)


class OtherWindows(dict[str, QWidget]):
    """The open ones by name. Each method opens one and gives it, to connect what it says."""

    def __init__(self) -> None:
        super().__init__()
        self.flywheel = TrainingProcess()  # outlives its window

    def open_from(self, tray: Tray) -> None:
        """The lines of the tray's menu that need nothing but a window."""
        tray.models_opened.connect(self.models)
        tray.training_opened.connect(self.training)
        tray.help_opened.connect(self.help)

    def settings(self, settings: Settings) -> SettingsWindow:
        window = self._show("settings", SettingsWindow(settings))
        window.help_opened.connect(self.what_it_asks)
        return window

    def history(self, replay: Replay, keeping: bool) -> TraceWindow:
        window = self._show("history", TraceWindow(replay, keeping))
        window.opened.connect(self.steps)
        window.training_opened.connect(self.training)
        return window

    def steps(self, run_id: str) -> RunWindow:
        window = self._show("steps", RunWindow(run_id))
        if isinstance(history := self.get("history"), TraceWindow):
            window.reviewed.connect(history.refresh)
        return window

    def training(self) -> TrainingWindow:
        keeping = settings_file.load()[0].privacy.consent == "yes"
        window = self._show("training", TrainingWindow(self.flywheel, keeping))
        if isinstance(history := self.get("history"), TraceWindow):
            window.removed.connect(history.refresh)
        window.models_opened.connect(self.models)
        return window

    def models(self) -> ModelsWindow:
        return self._show("models", ModelsWindow())

    def help(self) -> HelpWindow:
        return self._show("help", HelpWindow())

    def what_it_asks(self) -> HelpWindow:
        return self._show("help", HelpWindow("what-deskhand-asks"))

    def first_run(self, check: Check) -> FirstRun:
        return self._show("first-run", FirstRun(check))

    def consent(self) -> ConsentWindow:
        return self._show("consent", ConsentWindow())

    def crash(self, file: str) -> CrashWindow:
        return self._show("crash", CrashWindow(file))

    def hide(self) -> None:
        """All of them go, and training stops: it goes on when the person says so."""
        self.flywheel.stop()
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
