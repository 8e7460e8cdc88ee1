"""Keys that work from anywhere: Esc twice stops the run, and what the settings name opens, pauses and stops.

It listens through the RECORD extension of X11 and grabs nothing, so every key still reaches the program it was meant
for. One thread of its own, one signal into the UI thread.

Holds: real keyboards, XTEST keyboards (remote desktops), any focused program, any Lock state; Esc with a modifier does
not count, a held Esc counts once. Esc presses that the agent makes itself are announced by `ours` and do not count; the
person's presses in the same moment still do. Does not hold: programs on the Wayland side of an Xwayland session, and
another text console.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

from PySide6.QtCore import QObject, Signal, SignalInstance
from Xlib import XK, X, display
from Xlib import error as xerror
from Xlib.ext import record
from Xlib.protocol import rq

from agent_core.errors import ScreenError
from agent_core.settings import UiSettings
from app.hotkey_keys import Keys, parse

TWICE_S = 0.5
OURS_S = 1.0
NO_STOP_KEY = "Esc Esc will not stop a run; use the Stop button."
MODIFIERS = X.ShiftMask | X.ControlMask | X.Mod1Mask | X.Mod4Mask  # Lock states do not count


class TwiceEscape:
    """Counts Esc presses: true on the second within half a second. Pure but for the clock that is handed in."""

    def __init__(self) -> None:
        self._last = float("-inf")
        self._down = False
        self._ours: list[float] = []
        self._lock = threading.Lock()

    def ours(self, presses: int, now: float) -> None:
        """The agent is about to press Esc this often; those presses do not count for the next second."""
        with self._lock:
            self._ours.extend([now + OURS_S] * presses)

    def pressed(self, now: float) -> bool:
        with self._lock:
            if self._down:  # the keyboard repeats a held key
                return False
            self._down = True
            self._ours = [until for until in self._ours if until >= now]
            if self._ours:
                self._ours.pop(0)
                return False
            twice = now - self._last <= TWICE_S
            self._last = float("-inf") if twice else now
            return twice

    def released(self) -> None:
        with self._lock:
            self._down = False


class Hotkeys(QObject):
    """The listening thread and its three signals."""

    stop_pressed = Signal()
    open_pressed = Signal()
    pause_pressed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._escape = TwiceEscape()
        self._chosen: dict[Keys, SignalInstance] = {}
        self.use(UiSettings())
        self._control: Any = None
        self._context: int | None = None
        self._thread: threading.Thread | None = None

    def use(self, chosen: UiSettings) -> None:
        """Listens for other keys from now on. Any thread; what cannot be listened for is left out."""
        named = (
            (chosen.open_key, self.open_pressed),
            (chosen.pause_key, self.pause_pressed),
            (chosen.stop_key, self.stop_pressed),
        )
        self._chosen = {keys: signal for text, signal in named if (keys := parse(text)) is not None}

    def start(self) -> None:
        """Begins to listen. Raises ScreenError where the display has no RECORD extension."""
        try:
            self._control, data = display.Display(), display.Display()
        except (xerror.DisplayError, OSError) as error:
            raise ScreenError(f"The keyboard cannot be listened to. {NO_STOP_KEY}") from error
        if not self._control.has_extension("RECORD"):
            raise ScreenError(f"This display has no RECORD extension. {NO_STOP_KEY}")
        ranges = {
            "core_requests": (0, 0),
            "core_replies": (0, 0),
            "ext_requests": (0, 0, 0, 0),
            "ext_replies": (0, 0, 0, 0),
            "delivered_events": (0, 0),
            "device_events": (X.KeyPress, X.KeyRelease),
            "errors": (0, 0),
            "client_started": False,
            "client_died": False,
        }
        self._context = data.record_create_context(0, [record.AllClients], [ranges])
        data.sync()
        self._thread = threading.Thread(target=self._listen, args=(data,), name="hotkeys", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        if self._context is None or self._thread is None:
            return
        with contextlib.suppress(xerror.XError, xerror.ConnectionClosedError, OSError):
            self._control.record_disable_context(self._context)
            self._control.flush()
        self._thread.join(timeout=2)
        with contextlib.suppress(xerror.ConnectionClosedError, OSError):
            self._control.close()
        self._context = None

    def ours(self, presses: int) -> None:
        """Called by the agent's thread before it presses Esc itself."""
        self._escape.ours(presses, time.monotonic())

    def _listen(self, data: Any) -> None:
        with contextlib.suppress(xerror.ConnectionClosedError, OSError):
            data.record_enable_context(self._context, lambda reply: self._heard(data, reply))
            data.record_free_context(self._context)
            data.close()

    def _heard(self, data: Any, reply: Any) -> None:
        if reply.category != record.FromServer or reply.client_swapped or not reply.data:
            return
        rest = reply.data
        while rest:
            event, rest = rq.EventField(None).parse_binary_value(rest, data.display, None, None)
            symbol = data.keycode_to_keysym(event.detail, 0)
            if event.type == X.KeyPress:
                self._key_down(symbol, event.state & MODIFIERS)
            elif event.type == X.KeyRelease and symbol == XK.XK_Escape:
                self._escape.released()

    def _key_down(self, symbol: int, modifiers: int) -> None:
        if symbol == XK.XK_Escape:  # whatever else is held or typed meanwhile: the agent's own keys are heard here too
            if self._escape.pressed(time.monotonic()):
                self.stop_pressed.emit()
        elif (signal := self._chosen.get(Keys(symbol, modifiers))) is not None:
            signal.emit()
