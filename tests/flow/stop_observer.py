"""What arrives at the X server, seen by a connection of its own, and what is down there."""

from __future__ import annotations

import threading
import time
from typing import Any

from Xlib import X, error
from Xlib.display import Display
from Xlib.ext import record
from Xlib.protocol import rq

NOTHING = (0, 0)


class Observer:
    """Every key, button and pointer event of a display with its time of arrival, by `time.monotonic`."""

    def __init__(self, name: str) -> None:
        self.times: list[tuple[float, int]] = []
        self._asking, self._recording = Display(name), Display(name)
        wanted = {
            "core_requests": NOTHING,
            "core_replies": NOTHING,
            "ext_requests": (0, 0, 0, 0),
            "ext_replies": (0, 0, 0, 0),
            "delivered_events": NOTHING,
            "device_events": (X.KeyPress, X.MotionNotify),
            "errors": NOTHING,
            "client_started": False,
            "client_died": False,
        }
        self._context = self._recording.record_create_context(0, [record.AllClients], [wanted])
        self._recording.sync()
        self._thread = threading.Thread(target=self._record, daemon=True)
        self._thread.start()

    def last_since(self, moment: float) -> float:
        """How long after the moment the last event came, in seconds; 0 if none did."""
        return max([at - moment for at, _ in self.times if at >= moment], default=0.0)

    def count_since(self, moment: float) -> int:
        return sum(at >= moment for at, _ in self.times)

    def down(self) -> list[str]:
        """The keys and buttons that are down."""
        keys = self._asking.query_keymap()
        mask = self._asking.screen().root.query_pointer().mask
        codes = [f"key {8 * n + bit}" for n, byte in enumerate(keys) for bit in range(8) if byte >> bit & 1]
        return codes + [f"button {n}" for n in range(1, 6) if mask >> (7 + n) & 1]

    def close(self) -> None:
        self._asking.record_disable_context(self._context)
        self._asking.sync()
        self._thread.join(timeout=5)
        self._asking.close()
        self._recording.close()

    def _record(self) -> None:
        try:
            self._recording.record_enable_context(self._context, self._came)
            self._recording.record_free_context(self._context)
        except error.ConnectionClosedError:
            pass  # the screen has gone

    def _came(self, reply: Any) -> None:
        now, data = time.monotonic(), reply.data
        if reply.category != record.FromServer:
            return
        while len(data):
            event, data = rq.EventField(None).parse_binary_value(data, self._recording.display, None, None)
            self.times.append((now, event.type))
