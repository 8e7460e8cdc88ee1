"""A person's hand on the mouse, and hands off while they are asked, seen from a real program and from the X server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread, Timer

import pytest
from Xlib import X
from Xlib.display import Display
from Xlib.ext import xtest

from agent_core.actions import Action, Click, Drag, Hotkey, Point, Press, Terminal, Type, Wait
from agent_core.operators.desktop import DesktopOperator
from agent_core.operators.hand import HAND_PIXELS
from agent_core.operators.terminal import TerminalSession
from agent_core.step import Outcome, Screenshot

from .conftest import EventWindow

pytestmark = pytest.mark.desktop
At = Callable[[tuple[int, int]], Point]
Pressed = Callable[..., list[str]]
BROKEN_OFF = "You moved the mouse, so the action was broken off."


class Person:
    """Somebody at the mouse, with a connection of their own. `seen` holds when the operator noticed them."""

    def __init__(self, display: str) -> None:
        self.display = Display(display)
        self.seen: list[float] = []

    def notice(self) -> None:
        self.seen.append(time.monotonic())

    def move(self, dx: int, dy: int = 0) -> None:
        there = self.display.screen().root.query_pointer()
        xtest.fake_input(self.display, X.MotionNotify, x=there.root_x + dx, y=there.root_y + dy)
        self.display.sync()

    def sees_something_pressed(self) -> None:
        limit = time.monotonic() + 10
        root = self.display.screen().root
        while not (any(self.display.query_keymap()) or root.query_pointer().mask & X.Button1Mask):
            assert time.monotonic() < limit

    def noticed(self, seconds: float = 0.3) -> bool:
        limit = time.monotonic() + seconds
        while not self.seen and time.monotonic() < limit:
            time.sleep(0.005)
        return bool(self.seen)


@pytest.fixture
def person(screen: str) -> Iterator[Person]:
    somebody = Person(screen)
    yield somebody
    somebody.display.close()


@pytest.fixture
def minding(screen: str, person: Person, pressed: Pressed) -> Iterator[DesktopOperator]:
    """A desktop operator that minds the person's hand; nothing is left pressed."""
    operator = DesktopOperator(settle_seconds=0.1, terminal=TerminalSession(), on_person=person.notice)
    yield operator
    operator.close()
    assert pressed() == []


@pytest.fixture
def log(window: EventWindow, hands: DesktopOperator, shot: Screenshot, at: At) -> EventWindow:
    """The event window with the focus in its field and nothing logged yet."""
    hands.do(Click(at(window.pixel("edit"))), shot, Event())
    window.clear()
    return window


def test_a_hand_between_two_actions_is_noticed_once_and_at_once(
    minding: DesktopOperator, person: Person, log: EventWindow, shot: Screenshot, at: At
) -> None:
    person.move(40)
    assert not person.noticed(0.2)  # nothing was done yet: the mouse was theirs
    assert minding.do(Click(at(log.pixel("pad"))), shot, Event()).ok
    assert not person.noticed(0.3)
    person.move(HAND_PIXELS)
    assert not person.noticed(0.3)  # a program may nudge it
    began = time.monotonic()
    person.move(HAND_PIXELS)
    assert person.noticed()
    print(f"noticed after {person.seen[0] - began:.3f} s")
    for _ in range(5):
        person.move(30)
        time.sleep(0.04)
    assert len(person.seen) == 1
    with minding.hands_off():  # the pause
        person.move(-50)
    assert minding.do(Click(at(log.pixel("pad"))), shot, Event()).ok
    assert len(person.seen) == 1


@pytest.mark.parametrize("kind", ["drag", "type", "chord"])
def test_a_hand_in_the_middle_breaks_the_action_off(
    minding: DesktopOperator, person: Person, log: EventWindow, shot: Screenshot, at: At, pressed: Pressed, kind: str
) -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 20
    actions: dict[str, Action] = {
        "drag": Drag(at(log.pixel("pad", 0.1, 0.1)), at(log.pixel("pad", 0.9, 0.9))),
        "type": Type(text),
        "chord": Hotkey(("ctrl", "shift", "alt", "F5")),
    }
    outcome: list[Outcome] = []
    doing = Thread(target=lambda: outcome.append(minding.do(actions[kind], shot, Event())))
    doing.start()
    if kind == "type":
        log.wait_for(lambda e: e["kind"] == "text")
    else:
        person.sees_something_pressed()
    person.move(60, 60)
    doing.join()
    assert (outcome[0].ok, outcome[0].text) == (False, BROKEN_OFF)
    assert person.seen
    assert pressed() == []
    if kind == "type":
        typed = [e["text"] for e in log.quiet() if e["kind"] == "text"][-1]
        assert typed != ""
        assert len(typed) < len(text)
    minding.let_go()


def test_a_slow_hand_in_a_drag_adds_up(
    minding: DesktopOperator, person: Person, log: EventWindow, shot: Screenshot, at: At
) -> None:
    outcome: list[Outcome] = []
    drag = Drag(at(log.pixel("pad", 0.1, 0.1)), at(log.pixel("pad", 0.9, 0.9)))
    doing = Thread(target=lambda: outcome.append(minding.do(drag, shot, Event())))
    doing.start()
    person.sees_something_pressed()
    while doing.is_alive():
        person.move(3)
        time.sleep(0.004)
    assert outcome[0].text == BROKEN_OFF


def test_without_anybody_to_tell_the_mouse_is_shared(
    hands: DesktopOperator, person: Person, log: EventWindow, shot: Screenshot, at: At
) -> None:
    assert hands.do(Click(at(log.pixel("pad"))), shot, Event()).ok
    person.move(50)
    assert hands.do(Type("shared"), shot, Event()).ok
    log.wait_for(lambda e: e["kind"] == "text" and e["text"].endswith("shared"))


def test_hands_off_lets_go_refuses_and_takes_up_again(
    minding: DesktopOperator, person: Person, log: EventWindow, shot: Screenshot, at: At, pressed: Pressed
) -> None:
    assert minding.do(Press("shift"), shot, Event()).ok
    assert len(pressed(0)) == 1
    log.clear()
    with minding.hands_off():
        assert pressed() == []
        for action in (Click(at(log.pixel("pad"))), Type("yes\n"), Hotkey(("enter",)), Press("enter")):
            outcome = minding.do(action, shot, Event())
            assert not outcome.ok
            assert "being asked" in outcome.text
        person.move(80)
        assert pressed() == []
    assert not person.noticed(0.2)
    assert [e for e in log.quiet() if e["kind"] in ("press", "text", "key_down")] == []
    assert minding.do(Wait(0), shot, Event()).ok
    assert len(pressed(0)) == 1  # held again for the next action
    minding.let_go()
    assert pressed() == []


def test_hands_off_holds_background_commands(minding: DesktopOperator, shot: Screenshot, tmp_path: Path) -> None:
    file = tmp_path / "ticks"
    script = "import sys, time\nwhile True:\n    print('x', file=open(sys.argv[1], 'a')); time.sleep(0.02)"
    (tmp_path / "tick.py").write_text(script)
    assert minding.do(Terminal(f"python3 {tmp_path}/tick.py {file} &"), shot, Event()).ok
    limit = time.monotonic() + 10
    while not file.exists() and time.monotonic() < limit:
        time.sleep(0.02)
    with minding.hands_off():
        time.sleep(0.1)
        before = file.stat().st_size
        time.sleep(0.3)
        assert file.stat().st_size == before
    limit = time.monotonic() + 10
    while file.stat().st_size == before and time.monotonic() < limit:
        time.sleep(0.02)
    assert file.stat().st_size > before


def test_a_held_key_is_released_at_the_stop_whatever_the_agent_does_meanwhile(
    minding: DesktopOperator, shot: Screenshot, pressed: Pressed
) -> None:
    stop = Event()
    assert minding.do(Press("shift"), shot, stop).ok
    Timer(0.05, stop.set).start()
    stop.wait()
    began = time.monotonic()
    assert pressed(0.2) == []
    assert time.monotonic() - began < 0.2
