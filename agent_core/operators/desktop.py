"""The desktop operator: looks at a monitor of an X11 screen and moves its mouse and keyboard.

Looking is the work of `agent_core.screen`; pixels come from `geometry`, key names from `keys`, events from `xinput`
and `keyboard`. This file only says what each action means. It keeps nothing pressed: what fails or is stopped half
way, or broken off because a person took the mouse, is let go before `do` returns, and the rest by `let_go`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Event
from typing import Protocol, assert_never

from agent_core.actions import (
    Action,
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
from agent_core.errors import InputError, ScreenError, SecretError, Stopped, TakenOver
from agent_core.keys import chord, key_name
from agent_core.operators.geometry import to_input
from agent_core.operators.hand import HandWatch
from agent_core.operators.keyboard import Keyboard
from agent_core.operators.start_check import check_pointer
from agent_core.operators.xinput import X_ERRORS, XInput, pause
from agent_core.screen.capture import Screen, refuse_unusable_session
from agent_core.screen.settle import settled
from agent_core.secrets import VAULT
from agent_core.step import Outcome, Screenshot, Transform

LEFT, RIGHT = 1, 3
WHEEL: dict[Direction, int] = {"up": 4, "down": 5, "left": 6, "right": 7}
HOVER_SECONDS = 0.03  # between arriving and pressing: programs light up what is under the pointer first
PRESS_SECONDS = 0.02
BETWEEN_CLICKS_SECONDS = 0.06
DOUBLE_CLICK_SECONDS = 0.45  # two single clicks at one place closer than this would count as a double click
NOTCH_SECONDS = 0.015
FREE_SECONDS = 0.5
CLICK_SECONDS = 3.0
DRAG_MOVES = 16
DRAG_SECONDS = 0.25


class Shell(Protocol):
    """What the desktop operator needs of a terminal session."""

    def run(self, command: str, stop: Event) -> Outcome: ...

    def freeze(self) -> None: ...

    def thaw(self) -> None: ...

    def close(self) -> None: ...


class DesktopOperator:
    """Eyes and hands on one monitor of an X11 screen.

    `monitor` counts from 1; `settle_seconds` is how long `look` waits for the screen to come to rest. `screen` is where
    frames come from; when not given it is made here, with `hide` entered around each frame so that our own windows are
    not in it. `terminal` runs terminal actions. `on_person` is called, in any thread, when a person moves the mouse
    after the first action; what is being done then is broken off. None: they share the mouse. Raises ScreenError or
    InputError when the screen cannot be seen or moved.
    """

    name = "desktop"
    vault = VAULT  # fills the placeholders of secrets in what is typed

    def __init__(
        self,
        monitor: int = 1,
        settle_seconds: float = 1.5,
        screen: Screen | None = None,
        hide: Callable[[], AbstractContextManager[object]] | None = None,
        terminal: Shell | None = None,
        on_person: Callable[[], None] | None = None,
    ) -> None:
        refuse_unusable_session()  # before X is asked: XWayland would answer and show nothing
        self._x = XInput(mind_hand=on_person is not None)
        self._x.release_left_over()
        self._on_person = on_person or (lambda: None)
        self._watch = HandWatch(self._x, self._on_person)
        self._keyboard = Keyboard(self._x)
        self._screen = screen or Screen(monitor, hide or contextlib.nullcontext)
        self._settle_seconds = settle_seconds
        self._terminal = terminal
        self._last_click: tuple[int, int, float] | None = None

    def check(self) -> None:
        """Whether the pointer goes where it is sent on this monitor. Raises ScreenError or InputError when not."""
        check_pointer(self._screen.place())

    def monitors(self) -> tuple[Transform, ...]:
        """Every monitor that is on. Raises ScreenError: no display."""
        return self._screen.monitors()

    def look(self) -> Screenshot:
        """A settled frame of the monitor. Raises ScreenError when there is nothing usable to see."""
        return settled(self._screen.grab, self._settle_seconds, stop=self._watch.stop)

    def do(self, action: Action, shot: Screenshot, stop: Event) -> Outcome:
        """Carries one action out. Input that cannot be made, or a stop, comes back as Outcome(ok=False, text)."""
        started = time.monotonic()
        self._watch.stop = stop
        try:
            if stop.is_set():
                raise Stopped("Stopped.")
            if isinstance(action, Terminal):
                return self._in_terminal(action, stop)
            self._x.take_up()
            self._act(action, shot, stop)
        except TakenOver as taken:
            self._x.let_go()
            self._on_person()
            return Outcome(ok=False, text=str(taken), duration_ms=_since(started))
        except (InputError, ScreenError, SecretError, Stopped) as problem:
            return Outcome(ok=False, text=str(problem), duration_ms=_since(started))
        except X_ERRORS as lost:
            return Outcome(
                False, f"The X server did not take the input ({lost}); is it still running?", None, _since(started)
            )
        return Outcome(ok=True, duration_ms=_since(started))

    def let_go(self) -> None:
        """Releases every key and button that is still held, and the keycodes bound for typing. Safe to call twice."""
        self._x.let_go()
        self._watch.stop = Event()
        try:
            self._keyboard.free(FREE_SECONDS, Event())
        except X_ERRORS:
            pass  # the server has gone, and the bindings with it

    @contextmanager
    def hands_off(self) -> Iterator[None]:
        """While entered nothing is held, input is refused with InputError and background commands stand still."""
        with self._x.hands_off():
            if self._terminal is not None:
                self._terminal.freeze()
            try:
                yield
            finally:
                if self._terminal is not None:
                    self._terminal.thaw()

    def close(self) -> None:
        """Lets everything go and frees the display connections and the terminal."""
        self.let_go()
        self._watch.close()
        self._x.close()
        self._screen.close()
        if self._terminal is not None:
            self._terminal.close()

    def _act(self, action: Action, shot: Screenshot, stop: Event) -> None:
        match action:
            case Click(at):
                self._click(self._pixel(at, shot), LEFT, 1, stop)
            case DoubleClick(at):
                self._click(self._pixel(at, shot), LEFT, 2, stop)
            case RightClick(at):
                self._click(self._pixel(at, shot), RIGHT, 1, stop)
            case Drag(start, end):
                self._drag(self._pixel(start, shot), self._pixel(end, shot), stop)
            case Scroll(direction, at, notches):
                self._scroll(self._pixel(at or Point(0.5, 0.5), shot), WHEEL[direction], notches, stop)
            case Hotkey(keys):
                self._keyboard.press_chord(chord(keys), stop)
            case Press(key):
                self._keyboard.hold(key_name(key))
            case Release(key):
                self._keyboard.release(key_name(key))
            case Type(text):
                self._keyboard.type(self.vault.fill(text), stop)
            case Wait(seconds):
                pause(max(0.0, seconds), stop)
            case Finished() | CallUser() | Terminal():
                pass  # the loop's business; terminal actions are taken before
            case _:
                assert_never(action)

    def _pixel(self, at: Point, shot: Screenshot) -> tuple[int, int]:
        return to_input(at, shot.transform)

    def _click(self, at: tuple[int, int], button: int, times: int, stop: Event) -> None:
        self._keep_apart(at, stop)
        self._x.move(*at)
        pause(HOVER_SECONDS, stop)
        for n in range(times):
            if n:
                pause(BETWEEN_CLICKS_SECONDS, stop)
            self._x.button(button, True)
            try:
                pause(PRESS_SECONDS, stop)
            finally:
                self._x.button(button, False)
        # Window managers hold a click back until they have looked at it: only then has it happened.
        self._x.window_manager_caught_up(CLICK_SECONDS, stop)
        self._last_click = (*at, time.monotonic())

    def _keep_apart(self, at: tuple[int, int], stop: Event) -> None:
        """Waits until a click here can no longer be taken for the second half of a double click."""
        if self._last_click is None:
            return
        x, y, when = self._last_click
        if abs(x - at[0]) <= 8 and abs(y - at[1]) <= 8:
            pause(max(0.0, when + DOUBLE_CLICK_SECONDS - time.monotonic()), stop)

    def _drag(self, start: tuple[int, int], end: tuple[int, int], stop: Event) -> None:
        self._x.move(*start)
        pause(HOVER_SECONDS, stop)
        self._x.button(LEFT, True)
        try:
            pause(HOVER_SECONDS, stop)
            for n in range(1, DRAG_MOVES + 1):
                part = n / DRAG_MOVES
                x, y = (round(a + (b - a) * part) for a, b in zip(start, end, strict=True))
                self._x.move(x, y)
                pause(DRAG_SECONDS / DRAG_MOVES, stop)
            pause(HOVER_SECONDS, stop)
        finally:
            self._x.button(LEFT, False)

    def _scroll(self, at: tuple[int, int], button: int, notches: int, stop: Event) -> None:
        self._x.move(*at)
        pause(HOVER_SECONDS, stop)
        for _ in range(notches):
            self._x.button(button, True)
            self._x.button(button, False)
            pause(NOTCH_SECONDS, stop)

    def _in_terminal(self, action: Terminal, stop: Event) -> Outcome:
        if self._terminal is None:
            return Outcome(ok=False, text="There is no terminal in this run; use the windows on the screen instead.")
        return self._terminal.run(action.command, stop)


def _since(started: float) -> float:
    return (time.monotonic() - started) * 1000
