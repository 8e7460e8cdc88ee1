"""The windows on an X screen as its window manager lists them, seen through one connection of our own.

Only what a sandbox needs: which windows there are, whether they are shown, and a screen that starts out calm.
"""

from __future__ import annotations

import contextlib
from typing import Any

from Xlib.display import Display
from Xlib.error import BadDrawable, BadWindow, ConnectionClosedError, DisplayError
from Xlib.X import AnyPropertyType, IsViewable

from agent_core.errors import ScreenError


class Windows:
    """A connection to the display `name`. Raises ScreenError when there is no such display."""

    def __init__(self, name: str) -> None:
        try:
            self._connection = Display(name)
        except (DisplayError, OSError) as error:
            raise ScreenError(f"The virtual screen {name} cannot be reached ({error}); try again.") from error
        self._root = self._connection.screen().root

    def titles(self) -> tuple[str, ...]:
        """The titles of the managed windows, oldest first; empty for those that have none."""
        return tuple(self._title(window) for window in self._all())

    def shown(self) -> tuple[str, ...]:
        """The titles of those that are on the screen now."""
        return tuple(self._title(window) for window in self._all() if _is_viewable(window))

    def are_managed(self) -> bool:
        """Whether a window manager has taken over."""
        return self._property("_NET_SUPPORTING_WM_CHECK") is not None

    def paint_background(self, colour: str) -> None:
        """Fills the root window with a colour named as in "#d8dce4"."""
        pixel = self._connection.screen().default_colormap.alloc_named_color(colour).pixel
        self._root.change_attributes(background_pixel=pixel)
        self._root.clear_area()
        self._connection.sync()

    def park_pointer(self) -> None:
        """Moves the pointer into the last corner, where it raises no tooltip."""
        size = self._root.get_geometry()
        self._root.warp_pointer(size.width - 1, size.height - 1)
        self._connection.sync()

    def close(self) -> None:
        """Ends the connection; the display may be gone already."""
        with contextlib.suppress(OSError, ConnectionClosedError):
            self._connection.close()

    def _all(self) -> list[Any]:
        listed = self._property("_NET_CLIENT_LIST")
        return [self._connection.create_resource_object("window", n) for n in listed.value] if listed else []

    def _property(self, name: str) -> Any:
        return self._root.get_full_property(self._connection.intern_atom(name), AnyPropertyType)

    def _title(self, window: Any) -> str:
        try:
            text = window.get_full_text_property(self._connection.intern_atom("_NET_WM_NAME"))
            return str(text or window.get_wm_name() or "")
        except BadWindow:  # closed a moment ago
            return ""


def _is_viewable(window: Any) -> bool:
    try:
        return bool(window.get_attributes().map_state == IsViewable)
    except (BadDrawable, BadWindow):
        return False
