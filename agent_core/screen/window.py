"""What the X server knows beside the pixels: the active window's title and where the monitors lie.

Empty where it is not known: never a reason to fail.
"""

from __future__ import annotations

import os
import sys
from typing import Any

LONGEST_TITLE = 300  # characters


class ActiveWindow:
    """Asks the X server; one connection, bound to the thread that made it. On other systems the title stays empty."""

    def __init__(self) -> None:
        self._display: Any = None
        if sys.platform.startswith("linux") and os.environ.get("DISPLAY"):
            from Xlib import display, error

            try:
                self._display = display.Display()
            except (error.DisplayError, OSError):
                self._display = None

    def title(self) -> str:
        """The active window's title, empty if unknown."""
        if self._display is None:
            return ""
        from Xlib import X, error

        try:
            root = self._display.screen().root
            active = root.get_full_property(self._atom("_NET_ACTIVE_WINDOW"), X.AnyPropertyType)
            if active is None or not len(active.value) or not active.value[0]:
                return ""
            window = self._display.create_resource_object("window", active.value[0])
            name = window.get_full_property(self._atom("_NET_WM_NAME"), X.AnyPropertyType)
            name = name or window.get_full_property(self._atom("WM_NAME"), X.AnyPropertyType)
        except error.XError:  # the window was closed between the two questions
            return ""
        except (error.ConnectionClosedError, OSError):
            self._display = None
            return ""
        value = name.value if name is not None else b""
        return (_decoded(value) if isinstance(value, bytes) else str(value))[:LONGEST_TITLE]

    def monitors(self) -> tuple[tuple[int, int, int, int], ...]:
        """(left, top, width, height) in pixels of every monitor that is on now, empty if unknown."""
        if self._display is None or not self._display.has_extension("RANDR"):
            return ()
        from Xlib import error

        try:
            found = self._display.screen().root.xrandr_get_monitors().monitors
        except error.XError:
            return ()
        except (error.ConnectionClosedError, OSError):
            self._display = None
            return ()
        return tuple((m.x, m.y, m.width_in_pixels, m.height_in_pixels) for m in found)

    def close(self) -> None:
        if self._display is not None:
            self._display.close()
            self._display = None

    def __del__(self) -> None:
        self.close()

    def _atom(self, name: str) -> int:
        return int(self._display.intern_atom(name))


def _decoded(value: bytes) -> str:
    """UTF-8 as _NET_WM_NAME has it, else Latin-1 as old WM_NAME has it."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")
