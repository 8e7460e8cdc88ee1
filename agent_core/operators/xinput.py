"""Mouse and key events on an X11 display, through the XTEST extension.

Only primitives: move, button up or down, key up or down, and "has the focused program caught up". What is down is
kept in order, so that `let_go` can release all of it whatever happened in between. Which keycode makes which
character is the business of `keyboard.py`, whose hand is on the mouse that of `hand.py`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from Xlib import X, Xatom, error
from Xlib.display import Display
from Xlib.ext import xtest
from Xlib.protocol import event

from agent_core.errors import InputError, ScreenError, Stopped
from agent_core.operators import xkb
from agent_core.operators.hand import Hand

X_ERRORS = (error.XError, error.ConnectionClosedError, OSError)  # what any call to a server may raise
NEAR_PIXELS = 2  # a pointer further from where it was sent was taken elsewhere


class XInput:
    """One connection for input events, for use from any thread. Opening it raises ScreenError or InputError."""

    def __init__(self, display_name: str | None = None, mind_hand: bool = False) -> None:
        """`mind_hand`: whether a person's hand on the mouse breaks off what is done, with TakenOver."""
        self.display = _open(display_name)
        self.root = self.display.screen().root
        self.hand = Hand(mind_hand)
        self._lock = self.hand.lock
        self._keys: list[int] = []
        self._buttons: list[int] = []
        self._owed: list[int] = []
        self._gathering = False
        self._hands_off = False

    def move(self, x: int, y: int) -> None:
        """Puts the pointer at a pixel of the root window. Raises InputError when it does not get there."""
        self.check_hand()
        for _ in range(2):  # the person's own hand may be on the mouse: try once more
            there = self.put(x, y)
            if is_near(there, (x, y)):
                return
        raise InputError(
            f"The pointer was sent to ({x}, {y}) but is at {there}: someone or something else moves the mouse. "
            "Look again before clicking."
        )

    def put(self, x: int, y: int) -> tuple[int, int]:
        """Sends the pointer to a pixel of the root window; the pixel that it is at then."""
        with self._lock:
            self._refuse_while_asked()
            self._fake(X.MotionNotify, 0, x, y)
            there = self.pointer()
            self.hand.left(there)
        return there

    def button(self, number: int, down: bool) -> None:
        """Presses or releases a pointer button (1 left, 2 middle, 3 right, 4 to 7 the wheel). Raises TakenOver."""
        if down:
            self.check_hand()
        with self._lock:
            if down:
                self._refuse_while_asked()
            _remember(self._buttons, number, down)
            self._fake(X.ButtonPress if down else X.ButtonRelease, number)

    def key(self, keycode: int, down: bool) -> None:
        """Presses or releases a key by its keycode."""
        with self._lock:
            if down:
                self._refuse_while_asked()
            _remember(self._keys, keycode, down)
            self._fake(X.KeyPress if down else X.KeyRelease, keycode)

    def check_hand(self) -> None:
        """Raises TakenOver when a person moves the mouse."""
        self.hand.check(self.pointer)

    @contextmanager
    def hands_off(self) -> Iterator[None]:
        """While entered nothing is down and nothing can be pressed or moved: a key that is held would repeat itself
        into the dialog that asks the person. `take_up` presses it again."""
        with self._lock:
            owed = self._owed or self._keys.copy()
            self.let_go()
            self._hands_off = True
        try:
            yield
        finally:
            with self._lock:
                self._hands_off, self._owed = False, owed
                self.hand.given_back()

    def take_up(self) -> None:
        """Before an action: presses again the keys that were held when the person was asked."""
        with self._lock:
            owed, self._owed = self._owed, []
            for keycode in owed:
                self.key(keycode, True)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Sends the events made inside at once. A program killed between a press and its release would leave the key
        down, and the server repeating it."""
        with self._lock:
            self._gathering = True
            try:
                yield
            finally:
                self._gathering = False
                self.display.sync()

    def release_left_over(self) -> None:
        """Releases what an earlier run that was killed left down. What a person holds is not touched."""
        keys = self.display.query_keymap()
        mask = self.root.query_pointer().mask
        for keycode in (8 * n + bit for n, byte in enumerate(keys) for bit in range(8) if byte >> bit & 1):
            self._fake(X.KeyRelease, keycode)
        for number, bit in enumerate((X.Button1Mask, X.Button2Mask, X.Button3Mask), 1):
            if mask & bit:
                self._fake(X.ButtonRelease, number)

    def let_go(self) -> None:
        """Releases all keys and buttons this connection still holds, the newest first."""
        with self._lock:
            self._owed = []
            self.hand.left(None)
            try:
                for keycode in reversed(self._keys.copy()):
                    self.key(keycode, False)
                for number in reversed(self._buttons.copy()):
                    self.button(number, False)
            except X_ERRORS:  # the server has gone, and with it everything that was held
                self._keys.clear()
                self._buttons.clear()

    @property
    def holds(self) -> bool:
        """Whether anything is down, or to be pressed again."""
        return bool(self._keys or self._buttons or self._owed)

    def modifiers(self) -> int:
        """The X modifier mask in effect, with the keyboard group in bits 13 and 14."""
        return int(self.root.query_pointer().mask)

    def has_focus(self) -> bool:
        """Whether key events reach any window."""
        return bool(self.display.get_input_focus().focus != X.NONE)

    def caught_up(self, seconds: float, otherwise: float, stop: threading.Event) -> bool:
        """Waits until the focused program has handled the events sent so far, by pinging its window.

        True when it answered within `seconds` and before `stop`. One that takes no pings gets `otherwise` seconds.
        """
        window = self._focused_window()
        if window is None:
            stop.wait(otherwise)
            return False
        atom = self.display.intern_atom
        ping = event.ClientMessage(
            window=window,
            client_type=atom("WM_PROTOCOLS"),
            data=(32, [atom("_NET_WM_PING"), X.CurrentTime, window.id, 0, 0]),
        )
        # Answers go to whoever watches the root window's children; Qt's go to those who watch the root itself.
        self.root.change_attributes(event_mask=X.SubstructureNotifyMask | X.StructureNotifyMask)
        try:
            window.send_event(ping, onerror=error.CatchError())
            self.display.sync()
            return self._answered(window.id, time.monotonic() + seconds, stop)
        finally:
            self.root.change_attributes(event_mask=X.NoEventMask)
            self._drain()

    def window_manager_caught_up(self, seconds: float, stop: threading.Event) -> None:
        """Waits until the window manager has handled what came before, by asking it a question about a window of ours.

        Does nothing where there is none, or none that answers such questions.
        """
        atom = self.display.intern_atom
        supported = self.root.get_full_property(atom("_NET_SUPPORTED"), Xatom.ATOM)
        if supported is None or atom("_NET_REQUEST_FRAME_EXTENTS") not in supported.value:
            return
        own = self.root.create_window(0, 0, 1, 1, 0, X.CopyFromParent)
        ask = event.ClientMessage(window=own, client_type=atom("_NET_REQUEST_FRAME_EXTENTS"), data=(32, [0] * 5))
        self.root.send_event(ask, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
        limit = time.monotonic() + seconds
        while time.monotonic() < limit and not stop.is_set():
            if own.get_full_property(atom("_NET_FRAME_EXTENTS"), Xatom.CARDINAL) is not None:
                break
            time.sleep(0.005)
        own.destroy()
        self.display.sync()

    def close(self) -> None:
        """Lets everything go and closes the connection. Safe to call twice."""
        self.let_go()
        try:
            self.display.close()
        except X_ERRORS:
            pass  # closed already, by us or by the server

    def pointer(self) -> tuple[int, int]:
        """The pixel of the root window that the pointer is at."""
        there = self.root.query_pointer()
        return there.root_x, there.root_y

    def _refuse_while_asked(self) -> None:
        if self._hands_off:
            raise InputError("The user is being asked something, so nothing may be pressed or moved now.")

    def _fake(self, kind: int, detail: int, x: int = 0, y: int = 0) -> None:
        xtest.fake_input(self.display, kind, detail, X.CurrentTime, X.NONE, x, y)
        if not self._gathering:
            self.display.sync()

    def _answered(self, window_id: int, limit: float, stop: threading.Event) -> bool:
        """Reads events until the ping of the window comes back, time is up, or the person stops the run."""
        atom = self.display.intern_atom("_NET_WM_PING")
        while time.monotonic() < limit and not stop.is_set():
            while self.display.pending_events():
                seen = self.display.next_event()
                if seen.type == X.ClientMessage and list(seen.data[1][0:3:2]) == [atom, window_id]:
                    return True
            time.sleep(0.003)
        return False

    def _drain(self) -> None:
        while self.display.pending_events():
            self.display.next_event()

    def _focused_window(self) -> Any | None:
        """The window with the focus, or the parent of it that takes pings; None if there is none."""
        ping, protocols = self.display.intern_atom("_NET_WM_PING"), self.display.intern_atom("WM_PROTOCOLS")
        try:
            window = self.display.get_input_focus().focus
            while not isinstance(window, int) and window != self.root:
                taken = window.get_full_property(protocols, Xatom.ATOM)
                if taken is not None and ping in taken.value:
                    return window
                window = window.query_tree().parent
        except error.XError:
            return None  # the window closed meanwhile
        return None


def is_near(there: tuple[int, int], wanted: tuple[int, int]) -> bool:
    """Whether the pointer is where it was sent, but for what programs nudge it by."""
    return abs(there[0] - wanted[0]) <= NEAR_PIXELS and abs(there[1] - wanted[1]) <= NEAR_PIXELS


def pause(seconds: float, stop: threading.Event) -> None:
    """Sleeps; raises Stopped as soon as the person stops the run."""
    if stop.wait(seconds):
        raise Stopped("Stopped.")


def _remember(held: list[int], what: int, down: bool) -> None:
    if down and what not in held:
        held.append(what)
    elif not down and what in held:
        held.remove(what)


def _open(name: str | None) -> Display:
    """A connection to a real X server with XTEST, or one sentence that says what is missing."""
    if not (name or os.environ.get("DISPLAY")):
        if os.environ.get("WAYLAND_DISPLAY"):
            raise ScreenError(
                "This is a Wayland session, which lets no program move the mouse; log in to an X11 session."
            )
        raise ScreenError(
            "There is no screen: DISPLAY is not set. Log in to a desktop or start a virtual screen (Xvfb)."
        )
    try:
        display = Display(name)
    except (error.DisplayError, error.XauthError, OSError) as failed:
        shown = name or os.environ["DISPLAY"]
        raise ScreenError(
            f"The screen {shown} cannot be opened: is its X server running, and may you use it?"
        ) from failed
    display.set_error_handler(lambda *_: None)  # a late error about a window that closed meanwhile is no fault
    if display.query_extension("XWAYLAND"):
        display.close()
        raise ScreenError("This is a Wayland session, which lets no program move the mouse; log in to an X11 session.")
    if not display.has_extension("XTEST"):
        display.close()
        raise InputError("This X server has no XTEST extension, so mouse and keys cannot be moved; enable XTEST in it.")
    xkb.start(display)
    return display
