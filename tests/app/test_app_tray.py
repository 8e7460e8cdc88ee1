"""The tray icon: added when a tray is there, also one that comes later; without one, closing never hides to nowhere."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app import pictures
from app.states import State
from app.tray import Tray
from tests.app.conftest import Start

pytestmark = [pytest.mark.desktop, pytest.mark.timeout(60)]


@pytest.mark.skipif(shutil.which("trayer") is None, reason="needs trayer")
def test_a_tray_that_comes_later_gets_the_icon(dressed: QApplication, qtbot: QtBot) -> None:
    tray = Tray()
    assert not tray.present
    host = subprocess.Popen(["trayer"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        qtbot.waitUntil(lambda: tray.present, timeout=10_000)
    finally:
        with qtbot.waitSignal(tray.lost, timeout=10_000):
            host.terminate()
        host.wait(timeout=10)
    assert not tray.present
    tray.close()


def test_one_state_drives_icon_and_menu(dressed: QApplication) -> None:
    tray = Tray(wanted=False)
    shown = {}
    for state in State:
        tray.show_state(state)
        assert tray.stop_action.isEnabled() == state.busy
        assert not pictures.icon(state).isNull()
        shown[state] = bytes(pictures.icon(state).pixmap(32, 32).toImage().constBits())
    assert len(set(shown.values())) == len(State)
    tray.close()


def test_closing_without_a_tray_quits_when_idle(start: Start, qtbot: QtBot) -> None:
    desk = start([])
    with qtbot.waitSignal(desk.quit, timeout=2000):
        desk.window.close()
    assert desk.window.isVisible()


def test_a_draft_outlives_the_program(start: Start, qtbot: QtBot) -> None:
    desk = start([])
    desk.window.input.setPlainText("half a task")
    desk.close()
    assert start([]).window.input.toPlainText() == "half a task"
