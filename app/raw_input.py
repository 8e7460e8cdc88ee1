"""Which device a press came from, asked of the X server itself: Qt names the master device only, XInput 2 the source.

One X connection hears the raw presses and releases of all devices while it is open; a Qt event is looked up by kind
and by the server's time, which both carry. Kept of a press: kind, time and device. No key, no place, no text.

Holds: XTEST (xdotool, remote desktops) is told from a mouse or keyboard; what never came from a device (an event that
another program sent to the window, or that was made inside this process) is not found at all. Does not hold: a device
that a program made in the kernel (uinput) is a real one to the X server.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from Xlib import display
from Xlib import error as xerror
from Xlib.ext import ge, xinput

from agent_core.errors import ScreenError

Kind = Literal["press", "release", "key down", "key up"]
Use = Literal["pointer", "keyboard"]

KINDS: dict[int, Kind] = {13: "key down", 14: "key up", 15: "press", 16: "release", 22: "press", 24: "release"}
"""XInput 2's raw events: keys, buttons, and the beginning and end of a touch."""
IDLE = frozenset({"Xvfb mouse", "Xvfb keyboard"})
"""Devices that a virtual screen only pretends to have: nothing ever comes from them."""
NO_KEYBOARD = ("Power Button", "Sleep Button", "Video Bus", "Lid Switch")
REMEMBERED = 256
NOT_HERE = "This display cannot tell which device a press came from (it has no XInput 2.2)."
RAW_EVENT = struct.Struct("=HIIH")  # master device, time, detail, source device


@dataclass(frozen=True, slots=True)
class Device:
    """A slave device of the X server."""

    id: int
    name: str
    use: Use

    @property
    def is_injected(self) -> bool:
        """Whether programs, and not hands, act through it."""
        return " XTEST " in f" {self.name} "


def have_hands(devices: Iterable[Device], use: Use, idle: frozenset[str] = IDLE) -> bool:
    """Whether this screen has a mouse, or a keyboard, that a person could touch."""
    return any(
        d.use == use and not d.is_injected and d.name not in idle and not d.name.startswith(NO_KEYBOARD)
        for d in devices
    )


class RawInput:
    """Hears the raw presses from `open` to `close`; used in one thread. `idle` names devices that count for nothing."""

    def __init__(self, idle: frozenset[str] = IDLE) -> None:
        self._idle = idle
        self._x: Any = None
        self._devices: dict[int, Device] = {}
        self._heard: deque[tuple[Kind, int, int]] = deque(maxlen=REMEMBERED)

    def open(self) -> None:
        """Begins to hear, with the devices that there are now; a second call only looks them up again.

        Raises ScreenError where there is no XInput 2.2.
        """
        try:
            if self._x is None:
                self._x = display.Display()
                self._select()
            self._devices = self._look_up()
        except (xerror.DisplayError, xerror.XError, xerror.ConnectionClosedError, OSError) as error:
            self.close()
            raise ScreenError(NOT_HERE) from error

    def close(self) -> None:
        if self._x is not None:
            self._x.close()
        self._x = None
        self._heard.clear()

    def from_hands(self, kind: Kind, time: int) -> bool:
        """Whether an event of this kind and server time came from a device that a person may be at.

        Injected ones count only on a screen that has no such device of its own.
        """
        self.drain()
        sources = {self._devices.get(source) for k, t, source in self._heard if (k, t) == (kind, time)}
        use: Use = "keyboard" if kind in ("key down", "key up") else "pointer"
        alone = not have_hands(self._devices.values(), use, self._idle)
        return bool(sources) and all(d is not None and (alone or not d.is_injected) for d in sources)

    def from_any(self, kind: Kind, time: int) -> bool:
        """Whether any device at all made such an event, XTEST included."""
        self.drain()
        return any((k, t) == (kind, time) for k, t, _ in self._heard)

    def drain(self) -> None:
        """Takes in what the server has told. What Qt has seen was sent before the answer to the round trip."""
        if self._x is None:
            return
        try:
            self._x.sync()
            while self._x.pending_events():
                event = self._x.next_event()
                if event.type == ge.GenericEventCode and event.evtype in KINDS and isinstance(event.data, bytes):
                    _, time, _, source = RAW_EVENT.unpack_from(event.data)
                    self._heard.append((KINDS[event.evtype], time, source))
        except (xerror.ConnectionClosedError, OSError):
            self.close()  # nothing is heard any more, so nothing is vouched for

    def _select(self) -> None:
        if not self._x.has_extension(xinput.extname):
            raise ScreenError(NOT_HERE)
        told = xinput.XIQueryVersion(
            display=self._x.display,
            opcode=self._x.display.get_extension_major(xinput.extname),
            major_version=2,
            minor_version=2,  # from 2.1 on raw events are heard while another program has grabbed the device
        )
        if (told.major_version, told.minor_version) < (2, 2):
            raise ScreenError(NOT_HERE)
        mask = sum(1 << event for event in KINDS)
        self._x.screen().root.xinput_select_events([(xinput.AllMasterDevices, mask)])
        self._x.sync()

    def _look_up(self) -> dict[int, Device]:
        uses: dict[int, Use] = {xinput.SlavePointer: "pointer", xinput.SlaveKeyboard: "keyboard"}
        told = self._x.xinput_query_device(xinput.AllDevices).devices
        return {d.deviceid: Device(d.deviceid, str(d.name), uses[d.use]) for d in told if d.use in uses}
