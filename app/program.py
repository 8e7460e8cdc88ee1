"""The program's objects, made, connected and kept until the person quits."""

from __future__ import annotations

import argparse
import signal
import sys
from dataclasses import replace

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from agent_core import settings as settings_file
from agent_core.errors import DeskhandError, SettingsError
from agent_core.settings import Settings
from app import autostart, pictures, qt_words, theme, wiring, words
from app.agent_thread import Agent
from app.crash import CrashReports
from app.desk import Desk
from app.first_run import FirstChoices
from app.hotkey import Hotkeys
from app.single_instance import Doorbell, hand_over
from app.tray import Tray


def run(args: argparse.Namespace) -> int:
    """Makes the program's objects, connects them and enters Qt's loop."""
    app = QApplication(sys.argv[:1])
    app.setApplicationName("Deskhand")
    app.setQuitOnLastWindowClosed(False)
    app.setWindowIcon(pictures.program_icon())
    if hand_over(args.task):
        return 0
    settings, notice = settings_file.load()
    words.choose(settings.ui.language)
    qt_words.install(app)
    theme.apply(app, settings.ui.theme)

    hotkeys = Hotkeys()
    hotkeys.use(settings.ui)
    desk = Desk(
        Agent(wiring.Workbench(args.model), hotkeys.ours), settings, wiring.replay, Tray(wanted=not args.no_tray)
    )
    reports, bell = CrashReports(), Doorbell()
    reports.crashed.connect(desk.crashed)
    reports.install()
    bell.rung.connect(desk.rung)
    hotkeys.stop_pressed.connect(desk.stop)
    hotkeys.open_pressed.connect(desk.show_window)
    hotkeys.pause_pressed.connect(desk.toggle_pause)
    desk.quit.connect(app.quit)
    follower = _Follower(desk, hotkeys)
    desk.settings_changed.connect(follower.follow)
    for each in (signal.SIGINT, signal.SIGTERM):  # queued: one that comes before the loop runs is not lost
        signal.signal(each, lambda *_: QTimer.singleShot(0, app.quit))
    wake = QTimer()  # Python sees a signal only when its own code runs
    wake.start(250)
    wake.timeout.connect(_let_python_run)
    desk.open(args.in_tray)
    if notice:
        desk.window.complain(notice)
    try:
        bell.listen()
        hotkeys.start()
    except DeskhandError as error:
        desk.window.complain(str(error))
    welcome = _Welcome(desk)
    if args.task:
        desk.start(args.task)
    elif not args.in_tray and welcome.due:
        welcome.begin()
    code = app.exec()
    desk.close()
    hotkeys.stop()
    bell.close()
    reports.uninstall()
    return code


class _Follower:
    """What changed settings change outside the windows: the keys that are listened for, and the start at login."""

    def __init__(self, desk: Desk, hotkeys: Hotkeys) -> None:
        self._desk, self._hotkeys = desk, hotkeys

    def follow(self, before: Settings, now: Settings) -> None:
        self._hotkeys.use(now.ui)
        if before.ui.autostart == now.ui.autostart:
            return
        try:
            autostart.switch(now.ui.autostart)
        except SettingsError as error:
            self._desk.window.complain(str(error))


class _Welcome:
    """The first run's window: until it was gone through, or the person has said whether runs may be kept."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    @property
    def due(self) -> bool:
        return self._desk.settings.privacy.consent == "unasked" and not self._desk.remembered.get("welcomed")

    def begin(self) -> None:
        self._desk.others.first_run(self._check).finished.connect(self._end)

    def _check(self) -> int:
        return wiring.check_screen(self._desk.settings.run.monitor)

    def _end(self, chosen: FirstChoices) -> None:
        desk = self._desk
        desk.remembered.set("welcomed", "yes")
        if chosen.consent != "unasked":
            desk.save(replace(desk.settings, privacy=replace(desk.settings.privacy, consent=chosen.consent)))
        if chosen.task:
            desk.window.input.setPlainText(chosen.task)
        desk.show_window()
        if chosen.other_model:
            desk.others.models()


def _let_python_run() -> None:
    """Lets a pending SIGINT or SIGTERM be noticed."""
