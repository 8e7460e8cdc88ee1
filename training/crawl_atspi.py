"""What a program's accessibility tree says is on the screen: AT-SPI over D-Bus, without any system library.

The bus of a sandbox runs in a user namespace, where our user has another number than we think: so we let the bus say
who we are, as the D-Bus specification allows (an EXTERNAL login with an empty name). Reads only; nothing is pressed
through this, for a person would not either.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any

from jeepney import DBusAddress, MessageType, new_method_call  # type: ignore[import-untyped]
from jeepney.io.blocking import DBusConnection  # type: ignore[import-untyped]

from agent_core.errors import ScreenError
from training.crawl_screen import Place, Role, Widget

WAIT_SECONDS = 10.0
ANSWER_SECONDS = 5.0
DEEPEST, MOST = 24, 1500  # of a tree: more is a document and not a window
_ATSPI = "org.a11y.atspi"
_ROOT = "/org/a11y/atspi/accessible/root"
_SCREEN = 0  # coordinates of the screen
# Bits of the state, as AT-SPI numbers them.
_CHECKED, _ENABLED, _FOCUSED, _PRESSED, _SELECTED, _SENSITIVE, _SHOWING = 4, 8, 12, 20, 23, 24, 25
_LABELLED_BY = 2  # a relation
_ROLES: dict[str, Role] = {
    "push button": "button", "button": "button", "toggle button": "button", "check box": "check",
    "radio button": "radio", "text": "field", "entry": "field", "password text": "password", "combo box": "choice",
    "spin button": "spin", "slider": "slider", "page tab": "tab", "menu": "menu", "menu item": "menu item",
    "check menu item": "menu item", "radio menu item": "menu item", "label": "text", "static": "text", "link": "link",
    "list item": "list item", "table cell": "list item", "tree item": "list item", "icon": "list item",
    "image": "image",
}  # fmt: skip
_WHOLE = ("choice", "spin", "button", "check", "radio", "slider")  # what is in them is part of them
_WINDOWS = ("window", "frame", "dialog", "file chooser", "alert", "color chooser", "font chooser")
Ref = tuple[str, str]
"""An accessible object: the name of its program on the bus, and its path there."""


class Accessibility:
    """The accessibility bus of the session bus at an address. Raises ScreenError when there is none."""

    def __init__(self, session_bus: str) -> None:
        session = _connected(session_bus)
        try:
            address = _asked(session, "org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress")[0]
        finally:
            session.close()
        self._bus = _connected(address)

    def windows(self) -> list[Ref]:
        """The windows of all programs, once there is one; popped up menus are among them."""
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            programs = self._children((f"{_ATSPI}.Registry", _ROOT))
            found = [window for program in programs for window in self._children(program)]
            if found:
                return found
            time.sleep(0.05)
        raise ScreenError("No program tells what is in its window; install at-spi2-core and try again.")

    def widgets(self) -> list[Widget]:
        """Everything that is shown, without what lies under an open menu or dialog."""
        out: list[Widget] = []
        for window in self.windows():
            if not self._has(window, _SHOWING):
                continue
            found = list(self._below(window, 0, None))
            cover = self._place(window)
            if cover is not None:
                out = [w for w in out if not _holds(cover, w)]
            popped = [w for w in found if w.role == "menu item"]
            if popped:
                out = [w for w in out if not _holds(_around(popped), w)]
                found = popped + [w for w in found if w.role != "menu item" and not _holds(_around(popped), w)]
            out += found
        return out

    def close(self) -> None:
        self._bus.close()

    def _below(self, ref: Ref, depth: int, inside: Role | None) -> Iterator[Widget]:
        for child in self._children(ref):
            bits = self._bits(child)
            place = self._place(child) if bits >> _SHOWING & 1 else None
            role = _ROLES.get(self._role(child))
            if role == "menu" and inside in ("menu", "menu item"):
                role = "menu item"  # one that opens another menu
            if role is None and place is None and depth:
                continue
            if role is not None and place is not None and (role != inside or role == "menu item"):
                yield self._widget(child, role, place, bits)
            if role not in _WHOLE and depth < DEEPEST:
                yield from self._below(child, depth + 1, role)

    def _widget(self, ref: Ref, role: Role, place: Place, bits: int) -> Widget:
        name = str(self._property(ref, "Name"))
        on, value = None, ""
        if not name and role in ("field", "password", "spin", "slider"):
            name = self._label(ref)
        if role in ("check", "radio", "menu item"):
            on = bool(bits >> _CHECKED & 1) if role != "menu item" or "check" in self._role(ref) else None
        elif role in ("tab", "list item"):
            on = bool(bits >> _SELECTED & 1)
        elif role in ("field", "spin"):
            value = self._text(ref)
        elif role == "password":
            value = "•" * len(self._text(ref))
        elif role == "choice":
            name, value = self._label(ref), self._chosen(ref) or name
        return Widget(
            role,
            name,
            place,
            value,
            on,
            focused=bool(bits >> _FOCUSED & 1),
            enabled=bool(bits >> _SENSITIVE & 1 or bits >> _ENABLED & 1),
            key=ref[1],
        )

    def _label(self, ref: Ref) -> str:
        """What the program says labels it."""
        body = self._ask(ref, "Accessible", "GetRelationSet")
        labels = [target for kind, targets in body[0] for target in targets if kind == _LABELLED_BY] if body else []
        return str(self._property((labels[0][0], labels[0][1]), "Name")) if labels else ""

    def _chosen(self, ref: Ref) -> str:
        """The chosen entry of a drop-down list, or what is written in it."""
        for child in self._children(ref):
            if _ROLES.get(self._role(child)) == "field":
                return self._text(child)
            for entry in (child, *self._children(child)):
                if self._has(entry, _SELECTED):
                    return str(self._property(entry, "Name"))
        return ""

    def _has(self, ref: Ref, bit: int) -> bool:
        return bool(self._bits(ref) >> bit & 1)

    def _children(self, ref: Ref) -> list[Ref]:
        body = self._ask(ref, "Accessible", "GetChildren")
        return [(name, path) for name, path in body[0][:MOST]] if body else []

    def _role(self, ref: Ref) -> str:
        body = self._ask(ref, "Accessible", "GetRoleName")
        return str(body[0]) if body else ""

    def _bits(self, ref: Ref) -> int:
        body = self._ask(ref, "Accessible", "GetState")
        return body[0][0] | body[0][1] << 32 if body and len(body[0]) == 2 else 0

    def _place(self, ref: Ref) -> Place | None:
        """In pixels of the screen; None for what has no place."""
        body = self._ask(ref, "Component", "GetExtents", "u", (_SCREEN,))
        if not body:
            return None
        left, top, width, height = body[0]
        return (left, top, left + width, top + height) if width > 1 and height > 1 and left > -10000 else None

    def _text(self, ref: Ref) -> str:
        body = self._ask(ref, "Text", "GetText", "ii", (0, -1))
        return str(body[0]) if body else ""

    def _property(self, ref: Ref, name: str) -> Any:
        asked = (f"{_ATSPI}.Accessible", name)
        body = _asked(self._bus, *ref, "org.freedesktop.DBus.Properties", "Get", "ss", asked)
        return body[0][1] if body else ""

    def _ask(self, ref: Ref, part: str, method: str, signature: str | None = None, body: tuple[Any, ...] = ()) -> Any:
        return _asked(self._bus, *ref, f"{_ATSPI}.{part}", method, signature, body)


def _asked(
    bus: DBusConnection,
    name: str,
    path: str,
    interface: str,
    method: str,
    signature: str | None = None,
    body: tuple[Any, ...] = (),
) -> tuple[Any, ...]:
    """The answer; empty where the object has no such thing or is gone. Raises ScreenError when the bus is gone."""
    message = new_method_call(DBusAddress(path, name, interface), method, signature, body)
    try:
        reply = bus.send_and_get_reply(message, timeout=ANSWER_SECONDS)
    except (OSError, TimeoutError) as error:
        raise ScreenError(f"The accessibility bus does not answer ({error}). Start the crawl again.") from error
    if reply.header.message_type is MessageType.error:
        return ()
    answer: tuple[Any, ...] = reply.body
    return answer


def _connected(address: str) -> DBusConnection:
    """A connection to the bus at `unix:path=...`."""
    parts = dict(part.partition("=")[::2] for part in address.partition(":")[2].split(","))
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(ANSWER_SECONDS)
    try:
        link.connect(parts["path"])
        for said, wanted in ((b"\0AUTH EXTERNAL\r\n", b"DATA"), (b"DATA\r\n", b"OK ")):
            link.sendall(said)
            if not (heard := link.recv(4096)).startswith(wanted):
                raise ScreenError(f"The message bus refused the connection ({heard!r}); start the crawl again.")
        link.sendall(b"BEGIN\r\n")
    except (OSError, KeyError) as error:
        link.close()
        raise ScreenError(f"The message bus cannot be reached ({error}); install at-spi2-core.") from error
    return DBusConnection(link)


def _around(widgets: list[Widget]) -> Place:
    """The smallest place that holds them all."""
    boxes = [w.box for w in widgets]
    return min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)


def _holds(place: Place, widget: Widget) -> bool:
    x, y = widget.middle
    return place[0] <= x < place[2] and place[1] <= y < place[3]
