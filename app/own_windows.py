"""Our own windows out of the way while the agent looks or acts: not in its screenshots, under its clicks or focused.

On X11 every window of this process gets an empty outline (SHAPE extension) on its frame: its pixels are gone at once
and clicks fall through, yet it stays mapped, so the window manager moves no focus and nothing is laid out again. If one
of our windows is the active one, the window that was active before it gets the focus back.

Covered: X11 with and without a compositor (under one the window is made fully transparent as well), window-manager
frames, pop-up menus and tooltips; windows mapped meanwhile are noticed by `any_visible`, which the caller asks last.
Not covered: Windows and macOS, where the program has to exclude its windows at capture; the tray icon, which belongs
to the panel.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from Xlib import X, Xatom, display
from Xlib import error as xerror
from Xlib.ext import shape
from Xlib.protocol import event as xevent

from agent_core.errors import ScreenError

FOCUS_WAIT_S = 0.3
COMPOSITOR_WAIT_S = 0.08
OPACITY = "_NET_WM_WINDOW_OPACITY"


@dataclass(frozen=True, slots=True)
class _Own:
    """One of our windows: the client, the frame around it (the same where there is none), its outline before."""

    client: Any
    frame: Any
    outline: tuple[Any, ...] | None


class OwnWindows:
    """Finds and hides the windows of this process. Made and used in one thread; has its own X connection."""

    def __init__(self) -> None:
        try:
            self._x = display.Display()
        except (xerror.DisplayError, OSError) as error:
            raise ScreenError("The display cannot be opened. Start Deskhand inside a desktop session.") from error
        self._x.set_error_handler(_ignore)  # windows vanish between two requests; that is not a fault
        self._root = self._x.screen().root
        self._pid = os.getpid()
        self._pid_atom = self._x.intern_atom("_NET_WM_PID")
        self._active_atom = self._x.intern_atom("_NET_ACTIVE_WINDOW")
        self._opacity_atom = self._x.intern_atom(OPACITY)
        self._target: int | None = None

    def close(self) -> None:
        self._x.close()

    @contextlib.contextmanager
    def hidden(self) -> Iterator[int]:
        """While this holds, none of our windows can be seen or clicked, and none is active. Gives their number."""
        gone = self._hide()
        try:
            self.give_focus_back()
            yield len(gone)
        finally:
            for own in gone:
                self._bring_back(own)
            self._x.sync()

    def any_visible(self) -> bool:
        """Whether one of our windows shows pixels now: true inside `hidden` if one was opened meanwhile."""
        return any(not _is_empty(own.outline) for own in self._own())

    def give_focus_back(self) -> None:
        """If one of our windows is active, activates the one that was active before. Waits for it, but not for long."""
        active = self._active()
        if not self._is_ours_by_id(active):
            self._target = active or self._target
            return
        if self._target is not None:
            self._activate(self._target)
        until = time.monotonic() + FOCUS_WAIT_S
        while self._is_ours_by_id(self._active()) and time.monotonic() < until:
            time.sleep(0.01)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _activate(self, window: int) -> None:
        target = self._x.create_resource_object("window", window)
        data = (32, [2, X.CurrentTime, 0, 0, 0])  # 2: asked for by the person's own tool, as a pager would
        message = xevent.ClientMessage(window=target, client_type=self._active_atom, data=data)
        self._root.send_event(message, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
        self._x.flush()

    def _is_ours_by_id(self, window: int | None) -> bool:
        return bool(window) and self._is_ours(self._x.create_resource_object("window", window))

    def _hide(self) -> list[_Own]:
        gone = [own for own in self._own() if not _is_empty(own.outline)]
        composited = self._composited()
        for own in gone:
            own.frame.shape_rectangles(shape.SO.Set, shape.SK.Bounding, X.Unsorted, 0, 0, [])
            if composited:
                own.client.change_property(self._opacity_atom, Xatom.CARDINAL, 32, [0])
        self._x.sync()
        if gone and composited:
            time.sleep(COMPOSITOR_WAIT_S)
        return gone

    def _bring_back(self, own: _Own) -> None:
        if own.outline is None:
            own.frame.shape_mask(shape.SO.Set, shape.SK.Bounding, 0, 0, X.NONE)
        else:
            own.frame.shape_rectangles(shape.SO.Set, shape.SK.Bounding, X.Unsorted, 0, 0, list(own.outline))
        own.client.delete_property(self._opacity_atom)

    def _own(self) -> list[_Own]:
        """Our mapped top-level windows with their frames."""
        found = []
        for frame in self._children(self._root):
            with contextlib.suppress(xerror.XError):
                if frame.get_attributes().map_state != X.IsViewable:
                    continue
                client = next((w for w in (frame, *self._children(frame)) if self._is_ours(w)), None)
                if client is None:
                    client = next(
                        (w for c in self._children(frame) for w in self._children(c) if self._is_ours(w)), None
                    )
                if client is not None:
                    found.append(_Own(client, frame, _outline(frame)))
        return found

    def _children(self, window: Any) -> list[Any]:
        with contextlib.suppress(xerror.XError):
            return list(window.query_tree().children)
        return []

    def _is_ours(self, window: Any) -> bool:
        with contextlib.suppress(xerror.XError):
            value = window.get_full_property(self._pid_atom, Xatom.CARDINAL)
            return value is not None and list(value.value) == [self._pid]
        return False

    def _active(self) -> int | None:
        value = self._root.get_full_property(self._active_atom, Xatom.WINDOW)
        return int(value.value[0]) if value is not None and len(value.value) else None

    def _composited(self) -> bool:
        owner = self._x.get_selection_owner(self._x.intern_atom(f"_NET_WM_CM_S{self._x.get_default_screen()}"))
        return bool(owner != X.NONE)


def _outline(window: Any) -> tuple[Any, ...] | None:
    """The window's own outline as rectangles, None for a plain rectangle, () for an empty one."""
    if not window.shape_query_extents().bounding_shaped:
        return None
    return tuple((r.x, r.y, r.width, r.height) for r in window.shape_get_rectangles(shape.SK.Bounding).rectangles)


def _is_empty(outline: tuple[Any, ...] | None) -> bool:
    return outline is not None and not outline


def _ignore(error: Any, request: Any) -> None:
    return None
