"""The program's objects, made, connected and kept until the person quits."""

from __future__ import annotations

import argparse
import signal
import sys

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from agent_core import settings as settings_file
from agent_core.errors import DeskhandError
from app import pictures, theme, wiring, words
from app.agent_thread import Agent
from app.crash import CrashReports
from app.desk import Desk
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
    theme.apply(app, settings.ui.theme)

    hotkeys = Hotkeys()
    desk = Desk(
        Agent(wiring.Workbench(args.model), hotkeys.ours), settings, wiring.replay, Tray(wanted=not args.no_tray)
    )
    reports, bell = CrashReports(), Doorbell()
    reports.crashed.connect(desk.crashed)
    reports.install()
    bell.rung.connect(desk.rung)
    hotkeys.stop_pressed.connect(desk.stop)
    hotkeys.open_pressed.connect(desk.show_window)
    desk.quit.connect(app.quit)
    signal.signal(signal.SIGINT, lambda *_: app.quit())
    signal.signal(signal.SIGTERM, lambda *_: app.quit())
    wake = QTimer()  # Python sees a signal only when its own code runs
    wake.start(250)
    wake.timeout.connect(_let_python_run)
    desk.open()
    if notice:
        desk.window.complain(notice)
    try:
        bell.listen()
        hotkeys.start()
    except DeskhandError as error:
        desk.window.complain(str(error))
    if args.task:
        desk.start(args.task)
    code = app.exec()
    desk.close()
    hotkeys.stop()
    bell.close()
    reports.uninstall()
    return code


def _let_python_run() -> None:
    """Lets a pending SIGINT or SIGTERM be noticed."""
