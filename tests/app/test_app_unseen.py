"""Our own windows: never in what the model sees, never under its clicks, never holding the focus."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import mss
import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QWidget
from pytestqt.qtbot import QtBot

from agent_core.traces.reads import Traces
from app.overlay import Overlay
from app.own_windows import OwnWindows
from tests.app.conftest import Editor, Person, Start, send, wait_for_end

pytestmark = [pytest.mark.desktop, pytest.mark.timeout(120)]

OURS = (255, 0, 254)


def our_pixels() -> int:
    with mss.MSS() as camera:
        grab = np.asarray(camera.grab(camera.monitors[0]))[:, :, 2::-1]
    return int((grab == OURS).all(axis=-1).sum())


@pytest.fixture
def loud(dressed: QApplication) -> Iterator[None]:
    """Every widget of ours in a colour that nothing else has."""
    before = dressed.styleSheet()
    dressed.setStyleSheet("* { background: rgb(255, 0, 254); }")
    yield
    dressed.setStyleSheet(before)


@pytest.fixture
def own(screen: str) -> Iterator[OwnWindows]:
    made = OwnWindows()
    yield made
    made.close()


def in_thread(qtbot: QtBot, work: threading.Thread) -> None:
    work.start()
    qtbot.waitUntil(lambda: not work.is_alive(), timeout=10_000)


def test_every_kind_of_window_disappears_and_comes_back(loud: None, own: OwnWindows, qtbot: QtBot) -> None:
    framed, tip, menu, ring = QWidget(), QLabel("tip", None, Qt.WindowType.ToolTip), QMenu(), Overlay()
    menu.addAction("one")
    framed.setGeometry(100, 100, 200, 150)
    tip.setGeometry(500, 300, 80, 40)
    for each in (framed, tip):
        qtbot.addWidget(each)
        each.show()
    ring.show_at(QPoint(700, 500))
    menu.popup(QPoint(800, 200))
    qtbot.waitUntil(lambda: our_pixels() > 200 * 150, timeout=5000)
    before, shaped = our_pixels(), ring.mask().boundingRect()

    with own.hidden() as count:
        assert count == 4
        assert our_pixels() == 0
        assert not own.any_visible()
    qtbot.waitUntil(lambda: our_pixels() >= before - 50, timeout=5000)
    assert ring.mask().boundingRect() == shaped
    menu.close()
    ring.hide()


def test_a_window_that_opens_meanwhile_is_noticed(loud: None, own: OwnWindows, qtbot: QtBot) -> None:
    late = QWidget()
    qtbot.addWidget(late)
    with own.hidden():
        assert not own.any_visible()
        late.show()
        qtbot.waitUntil(own.any_visible, timeout=5000)


def test_the_focus_goes_back_to_the_program_in_use(
    loud: None, own: OwnWindows, person: Person, editor: Editor, qtbot: QtBot
) -> None:
    person.do("windowactivate", "--sync", editor.window)
    with own.hidden():
        pass
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=5000)

    def hide() -> None:
        with own.hidden():
            pass

    in_thread(qtbot, threading.Thread(target=hide))
    assert "note.txt" in person.active_window()


def test_a_run_never_sees_us_even_with_every_window_open(
    loud: None, start: Start, person: Person, editor: Editor, qtbot: QtBot
) -> None:
    click = "Thought: Put the cursor.\nAction: click(point='<point>300 400</point>')"
    write = "Thought: Write.\nAction: type(content='seen ')"
    save = "Thought: Save.\nAction: hotkey(key='ctrl s')"
    done = "Thought: Done.\nAction: finished(content='Done.')"
    desk = start([click, write, save, done], mode="ask_all", delay=0.3, read=True)
    send(desk, person, "Write seen")
    qtbot.waitUntil(desk.strip.isVisible, timeout=5000)
    person.key("ctrl+shift+space")  # the window stands over the editor and is clicked into
    qtbot.waitUntil(desk.window.isVisible, timeout=5000)
    desk.window.move(300, 150)
    visible = 0
    for _ in range(3):
        qtbot.waitUntil(desk.asked.approval.isVisible, timeout=20_000)
        qtbot.wait(500)
        person.click(desk.window.input)
        assert "note.txt" in person.active_window()
        visible = max(visible, our_pixels())
        person.click(desk.asked.approval.allow_button)
    wait_for_end(desk, qtbot)

    assert visible > 10_000  # we were really there
    assert "seen" in editor.text  # clicks and keys reached the program below
    traces = Traces()
    (kept,) = traces.runs()
    turns = traces.turns(kept.run.id)
    hashes = {turn.screenshot for turn in turns} | {h for turn in turns for h in turn.after.values()}
    assert len(hashes) >= 2
    for each in hashes:
        picture = traces.picture(each)
        pixels = np.frombuffer(picture.rgb, np.uint8).reshape(picture.height, picture.width, 3)
        assert int((pixels == OURS).all(axis=-1).sum()) == 0
    assert all("Deskhand" not in turn.window for turn in turns)
