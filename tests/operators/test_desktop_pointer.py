"""Mouse, chords and stopping, seen from a real program and from the X server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import pairwise
from threading import Event

import pytest
from Xlib import X
from Xlib.display import Display
from Xlib.ext import xtest

from agent_core.actions import (
    CallUser,
    Click,
    Direction,
    DoubleClick,
    Drag,
    Finished,
    Hotkey,
    Point,
    Press,
    Release,
    RightClick,
    Scroll,
    Terminal,
    Type,
    Wait,
)
from agent_core.errors import ScreenError
from agent_core.operators.desktop import DesktopOperator
from agent_core.operators.terminal import TerminalSession
from agent_core.step import Outcome, Screenshot

from .conftest import EventWindow

pytestmark = pytest.mark.desktop
Do = Callable[..., Outcome]
At = Callable[[tuple[int, int]], Point]
MOUSE = ("press", "release", "double")


@pytest.fixture
def log(window: EventWindow, do: Do, at: At) -> EventWindow:
    """The event window with the focus in its field and nothing logged yet."""
    do(Click(at(window.pixel("edit"))))
    window.clear()
    return window


def mouse(log: EventWindow) -> list[tuple[str, int]]:
    return [(e["kind"], e["button"]) for e in log.quiet() if e["kind"] in MOUSE]


def keys(log: EventWindow) -> list[str]:
    return [("+" if e["kind"] == "key_down" else "-") + e["key"] for e in log.quiet() if e["kind"].startswith("key_")]


def test_click_lands_on_the_pixel(log: EventWindow, do: Do, at: At) -> None:
    pixel = log.pixel("pad", 0.3, 0.7)
    assert do(Click(at(pixel))).ok
    event = log.wait_for(lambda e: e["kind"] == "press")
    assert (event["x"], event["y"], event["button"]) == (*pixel, 1)
    assert mouse(log) == [("press", 1), ("release", 1)]


def test_click_starts_anywhere_even_in_the_corner(log: EventWindow, do: Do, at: At, screen: str) -> None:
    display = Display(screen)
    xtest.fake_input(display, X.MotionNotify, x=0, y=0)
    display.sync()
    display.close()
    assert do(Click(at(log.pixel("pad")))).ok
    assert mouse(log) == [("press", 1), ("release", 1)]


def test_right_and_double_click(log: EventWindow, do: Do, at: At) -> None:
    assert do(RightClick(at(log.pixel("pad")))).ok
    assert mouse(log) == [("press", 2), ("release", 2)]  # Qt's number for the right button
    log.clear()
    assert do(DoubleClick(at(log.pixel("pad")))).ok
    assert mouse(log) == [("press", 1), ("release", 1), ("double", 1), ("release", 1)]


def test_two_clicks_are_no_double_click(log: EventWindow, do: Do, at: At) -> None:
    for _ in range(2):
        assert do(Click(at(log.pixel("pad")))).ok
    assert mouse(log) == [("press", 1), ("release", 1)] * 2


@pytest.mark.parametrize(
    ("start", "end"), [((0.5, 0.2), (0.6, 0.9)), ((0.0, 0.0), (0.9, 0.9)), ((0.9, 0.5), (0.0, 0.5))]
)
def test_drag(log: EventWindow, do: Do, at: At, start: tuple[float, float], end: tuple[float, float]) -> None:
    first, last = log.pixel("pad", *start), log.pixel("pad", *end)
    assert do(Drag(at(first), at(last))).ok
    events = [e for e in log.quiet() if e["kind"] in (*MOUSE, "move")]
    events = events[next(n for n, e in enumerate(events) if e["kind"] == "press") :]
    press, *moves, release = events
    assert (press["x"], press["y"]) == first
    assert len(moves) >= 8
    assert all(move["kind"] == "move" and move["held"] == 1 for move in moves)
    assert (release["kind"], release["x"], release["y"]) == ("release", *last)


@pytest.mark.parametrize(
    ("direction", "bar", "sign"),
    [("up", "down", -1), ("down", "down", 1), ("left", "across", -1), ("right", "across", 1)],
)
def test_scroll_four_ways_at_the_point(
    log: EventWindow, do: Do, at: At, direction: Direction, bar: str, sign: int
) -> None:
    assert do(Scroll(direction, at(log.pixel("area")), notches=3)).ok
    events = log.quiet()
    turned = [e[bar] for e in events if e["kind"] == "wheel"]
    assert turned == [-sign * 120] * 3
    values = [e["value"] for e in events if e["kind"] == "scrolled" and e["bar"] == bar]
    assert values
    assert all((b - a) * sign > 0 for a, b in pairwise(values))


def test_scroll_without_a_point_is_at_the_centre(log: EventWindow, do: Do, screen: str, shot: Screenshot) -> None:
    assert do(Scroll("down")).ok
    display = Display(screen)
    there = display.screen().root.query_pointer()
    display.close()
    assert (there.root_x, there.root_y) == (shot.width // 2, shot.height // 2)


def test_chord_order(log: EventWindow, do: Do) -> None:
    assert do(Hotkey(("ctrl", "shift", "F5"))).ok
    names = ["+Key_Control", "+Key_Shift", "+Key_F5", "-Key_F5", "-Key_Shift", "-Key_Control"]
    assert keys(log) == names


def test_a_key_that_needs_shift(log: EventWindow, do: Do) -> None:
    assert do(Hotkey(("ctrl", "+"))).ok
    assert "+Key_Plus" in keys(log)


def test_unknown_key_presses_nothing(log: EventWindow, do: Do) -> None:
    outcome = do(Hotkey(("ctrl", "florp")))
    assert not outcome.ok
    assert "florp" in outcome.text
    assert keys(log) == []


def test_press_holds_until_release(log: EventWindow, do: Do, pressed: Callable[..., list[str]]) -> None:
    assert do(Press("shift")).ok
    assert len(pressed(0)) == 1
    assert do(Release("shift")).ok
    assert pressed() == []


def test_let_go_releases_what_is_held(
    log: EventWindow, do: Do, hands: DesktopOperator, pressed: Callable[..., list[str]]
) -> None:
    for key in ("ctrl", "alt", "a"):
        assert do(Press(key)).ok
    assert len(pressed(0)) == 3
    hands.let_go()
    hands.let_go()
    assert pressed() == []


class StopsAfter(Event):
    """A stop that comes at the nth look of this thread at it: in the middle of whatever asks."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self._left = times
        self._thread = threading.get_ident()

    def _count(self) -> None:
        self._left -= threading.get_ident() == self._thread
        if self._left <= 0 and threading.get_ident() == self._thread:
            self.set()

    def is_set(self) -> bool:
        self._count()
        return super().is_set()

    def wait(self, timeout: float | None = None) -> bool:
        self._count()
        return super().wait(timeout)


class BreaksAfter(StopsAfter):
    """Raises instead, as a bug in the middle of an action would."""

    def set(self) -> None:
        raise RuntimeError("broken")


@pytest.mark.parametrize("times", [2, 4, 6])
@pytest.mark.parametrize("kind", ["chord", "drag", "double", "type"])
def test_stop_or_a_fault_in_between_leaves_nothing_pressed(
    log: EventWindow, do: Do, at: At, pressed: Callable[..., list[str]], kind: str, times: int
) -> None:
    action = {
        "chord": Hotkey(("ctrl", "alt", "shift", "F5")),
        "drag": Drag(at(log.pixel("pad", 0.2, 0.2)), at(log.pixel("pad", 0.8, 0.8))),
        "double": DoubleClick(at(log.pixel("pad"))),
        "type": Type("ABCDEFGH"),
    }[kind]
    outcome = do(action, StopsAfter(times))
    assert (outcome.ok, outcome.text) in [(False, "Stopped."), (True, "")]
    assert pressed() == []
    try:
        do(action, BreaksAfter(times))
    except RuntimeError:
        pass
    assert pressed() == []


def test_wait_is_stopped_at_once(do: Do) -> None:
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    started = time.monotonic()
    outcome = do(Wait(30), stop)
    assert not outcome.ok
    assert time.monotonic() - started < 1


def test_nothing_is_done_after_a_stop(log: EventWindow, do: Do, at: At) -> None:
    stop = threading.Event()
    stop.set()
    for action in (Click(at(log.pixel("pad"))), Type("x"), Hotkey(("a",)), Terminal("echo hi")):
        assert not do(action, stop).ok
    assert [e for e in log.quiet() if e["kind"] in (*MOUSE, "key_down")] == []


def test_finished_and_call_user_do_nothing(log: EventWindow, do: Do) -> None:
    assert do(Finished("done")).ok
    assert do(CallUser("who?")).ok
    assert log.quiet() == []


def test_terminal_actions_go_to_the_terminal(hands: DesktopOperator, shot: Screenshot, do: Do) -> None:
    without = do(Terminal("echo hi"))
    assert not without.ok
    assert "terminal" in without.text
    with_one = DesktopOperator(terminal=TerminalSession())
    assert with_one.do(Terminal("echo $((6*7))"), shot, Event()).text == "42"
    with_one.close()
    with_one.close()


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")  # python-xlib's, after a failed connection
def test_no_display_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with pytest.raises(ScreenError, match="DISPLAY is not set"):
        DesktopOperator()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    with pytest.raises(ScreenError, match="Wayland"):
        DesktopOperator()
    monkeypatch.setenv("DISPLAY", ":4711")
    with pytest.raises(ScreenError, match="cannot be opened"):
        DesktopOperator()
