"""The real program on a real screen, with xdotool as the person. Only the model's replies are scripted."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from agent_core.settings import Settings
from app import theme, wiring, words
from app.agent_thread import Agent
from app.desk import Desk
from app.hotkey import Hotkeys
from app.tray import Tray

WAIT_MS = 20_000


@dataclass
class Person:
    """Hands on the real mouse and keyboard. Qt's loop goes on while they move."""

    qtbot: QtBot

    def do(self, *words: str) -> str:
        process = subprocess.Popen(["xdotool", *words], stdout=subprocess.PIPE, text=True)
        self.qtbot.waitUntil(lambda: process.poll() is not None, timeout=WAIT_MS)
        out = process.stdout.read() if process.stdout else ""
        process.wait()
        if process.stdout:
            process.stdout.close()
        return out.strip()

    def click(self, widget: QWidget) -> None:
        """A click on the middle of a widget that has come to rest."""
        self.qtbot.waitUntil(widget.isVisible, timeout=WAIT_MS)
        self.qtbot.wait(150)
        self.move_to(widget)
        self.do("click", "1")
        self.qtbot.wait(100)

    def move_to(self, widget: QWidget) -> None:
        place = widget.mapToGlobal(QPoint(widget.width() // 2, widget.height() // 2))
        self.do("mousemove", str(place.x()), str(place.y()))

    def choose(self, menu: QMenu, action: QAction) -> None:
        """A click on one line of a menu that is open."""
        self.qtbot.waitUntil(menu.isVisible, timeout=WAIT_MS)
        place = menu.mapToGlobal(menu.actionGeometry(action).center())
        self.do("mousemove", str(place.x()), str(place.y()), "click", "1")
        self.qtbot.wait(100)

    def type(self, text: str) -> None:
        self.do("type", "--delay", "4", text)

    def key(self, *names: str) -> None:
        self.do("key", *names)

    def active_window(self) -> str:
        return self.do("getactivewindow", "getwindowname")


@pytest.fixture(scope="session")
def application(screen: str, qapp: QApplication) -> Iterator[QApplication]:
    """The application on the real screen, closed before the screen goes away: Qt ends the process otherwise."""
    yield qapp
    if isValid(qapp):  # tests elsewhere that ask for the same application have a fixture of their own
        qapp.shutdown()


@pytest.fixture
def person(application: QApplication, qtbot: QtBot) -> Person:
    return Person(qtbot)


@pytest.fixture
def dressed(application: QApplication) -> Iterator[QApplication]:
    """The application in the light theme and in English."""
    words.choose("en")
    theme.apply(application, "light")
    yield application
    words.choose("en")


Start = Callable[..., Desk]


@pytest.fixture
def start(dressed: QApplication, qtbot: QtBot, tmp_path: Path, home: Path) -> Iterator[Start]:
    """Starts the program with scripted replies: start([...], mode="ask_all", consent="yes", delay=0, seconds=120)."""
    opened: list[tuple[Desk, Hotkeys]] = []

    def begin(replies: list[str], mode: str = "ask_risky", consent: str = "yes", delay: float = 0, **more: Any) -> Desk:
        script = tmp_path / "replies.json"
        script.write_text(
            json.dumps({"replies": replies, "delay": delay, "dialect": "uitars", "read": more.get("read", False)})
        )
        plain = Settings()
        settings = replace(
            plain,
            safety=replace(
                plain.safety,
                mode=mode,
                approval_seconds=more.get("seconds", 120),
                pause_on_mouse=more.get("pause_on_mouse", True),
            ),
            privacy=replace(plain.privacy, consent=consent),
            run=replace(plain.run, settle_seconds=0.4),
        )
        hotkeys = Hotkeys()
        desk = Desk(
            Agent(wiring.Workbench(more.get("model", f"scripted:{script}")), hotkeys.ours),
            settings,
            wiring.replay,
            Tray(wanted=False),
        )
        hotkeys.stop_pressed.connect(desk.stop)
        hotkeys.open_pressed.connect(desk.show_window)
        hotkeys.start()
        desk.open()
        opened.append((desk, hotkeys))
        qtbot.waitUntil(desk.window.isActiveWindow, timeout=WAIT_MS)
        return desk

    yield begin
    for desk, hotkeys in opened:
        desk.close()
        hotkeys.stop()
        qtbot.wait(50)


@dataclass
class Editor:
    """A real text editor with one file, at the left of the screen."""

    file: Path
    window: str

    @property
    def text(self) -> str:
        return self.file.read_text(encoding="utf-8")


@pytest.fixture
def editor(person: Person, tmp_path: Path) -> Iterator[Editor]:
    file = tmp_path / "note.txt"
    file.write_text("first line\n", encoding="utf-8")
    # A place of its own for its state: one that was killed with something unsaved asks about that at every start.
    places = {name: str(tmp_path / name.lower()) for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")}
    process = subprocess.Popen(
        ["mousepad", "--disable-server", str(file)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | places,
    )
    try:
        window = _window_named(person, "note.txt")
        person.do("windowmove", "--sync", window, "20", "40", "windowsize", "--sync", window, "700", "500")
        yield Editor(file, window)
    finally:
        process.terminate()
        process.wait(timeout=10)


def _window_named(person: Person, name: str) -> str:
    limit = time.monotonic() + 20
    while time.monotonic() < limit:
        found = person.do("search", "--onlyvisible", "--name", name).split()
        if found:
            return found[-1]
        person.qtbot.wait(100)
    raise AssertionError(f"no window named {name} came up")


def send(desk: Desk, person: Person, task: str) -> None:
    """Types a task into the chat window and presses Enter."""
    person.click(desk.window.input)
    person.type(task)
    person.key("Return")


def wait_for_end(desk: Desk, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not desk.state.busy, timeout=60_000)
