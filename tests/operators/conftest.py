"""The desktop operator on the virtual screen, and a real program that tells what arrived."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from Xlib.display import Display

from agent_core.actions import Action, Point
from agent_core.operators.desktop import DesktopOperator
from agent_core.operators.geometry import from_input
from agent_core.step import Outcome, Screenshot

WAIT_SECONDS = 10.0


class EventWindow:
    """The running event window: `events` since the last `clear`, and points in its parts."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("event_window.py")
        self.process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
        self._lines: queue.Queue[dict[str, Any]] = queue.Queue()
        self.events: list[dict[str, Any]] = []
        threading.Thread(target=self._read, daemon=True).start()
        self.places: dict[str, list[int]] = self.wait_for(lambda e: e["kind"] == "places")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(json.loads(line))

    def wait_for(self, wanted: Callable[[dict[str, Any]], bool], seconds: float = WAIT_SECONDS) -> dict[str, Any]:
        """The first event from now on that is wanted; those before are kept in `events`."""
        limit = time.monotonic() + seconds
        while True:
            try:
                event = self._lines.get(timeout=max(0.0, limit - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"did not come; last events: {self.events[-10:]}") from None
            self.events.append(event)
            if wanted(event):
                return event

    def text_becomes(self, text: str) -> None:
        """Waits until the field holds exactly this text."""
        self.wait_for(lambda e: e["kind"] == "text" and e["text"] == text)

    def quiet(self, seconds: float = 0.3) -> list[dict[str, Any]]:
        """All events since the last `clear`, after nothing came for a while."""
        while True:
            try:
                self.events.append(self._lines.get(timeout=seconds))
            except queue.Empty:
                return self.events

    def clear(self) -> None:
        self.quiet(0.05)
        self.events = []

    def pixel(self, part: str, x: float = 0.5, y: float = 0.5) -> tuple[int, int]:
        left, top, width, height = self.places[part]
        return left + int(width * x), top + int(height * y)


@pytest.fixture(scope="session")
def hands(screen: str) -> Iterator[DesktopOperator]:
    """The desktop operator on the virtual screen."""
    operator = DesktopOperator(settle_seconds=0.3)
    yield operator
    operator.close()


@pytest.fixture(scope="session")
def shot(hands: DesktopOperator) -> Screenshot:
    """A frame of the virtual screen, for its transform."""
    return hands.look()


@pytest.fixture
def do(hands: DesktopOperator, shot: Screenshot, pressed: Callable[..., list[str]]) -> Iterator[Callable[..., Outcome]]:
    """Carries an action out; afterwards nothing may be left pressed."""

    def act(action: Action, stop: Event | None = None) -> Outcome:
        return hands.do(action, shot, stop or Event())

    yield act
    hands.let_go()
    assert pressed() == []


@pytest.fixture
def at(shot: Screenshot) -> Callable[[tuple[int, int]], Point]:
    """A pixel of the screen as the point an action takes."""
    return lambda pixel: from_input(*pixel, shot.transform)


@pytest.fixture
def pressed(screen: str) -> Iterator[Callable[..., list[str]]]:
    """Asks the X server itself which keys and buttons stay down.

    A release may take effect late, while the window manager still looks at the press: it gets some time.
    """
    display = Display(screen)

    def down() -> list[str]:
        keys = display.query_keymap()
        codes = [f"key {8 * n + bit}" for n, byte in enumerate(keys) for bit in range(8) if byte >> bit & 1]
        mask = display.screen().root.query_pointer().mask
        return codes + [f"button {n}" for n in range(1, 6) if mask >> (7 + n) & 1]

    def stays_down(seconds: float = 3) -> list[str]:
        limit = time.monotonic() + seconds
        while down() and time.monotonic() < limit:
            time.sleep(0.02)
        return down()

    yield stays_down
    display.close()


@pytest.fixture(scope="module")
def window(screen: str) -> Iterator[EventWindow]:
    """The event window, with the focus in its text field."""
    program = EventWindow()
    yield program
    program.process.kill()
    program.process.wait()
    assert program.process.stdout is not None
    program.process.stdout.close()


@pytest.fixture
def layout(screen: str) -> Iterator[Callable[..., None]]:
    """Sets the keyboard layout of the screen; the US layout comes back afterwards."""

    def use(name: str, variant: str = "") -> None:
        subprocess.run(["setxkbmap", name, "-variant", variant], check=True, env=os.environ)

    yield use
    use("us")
