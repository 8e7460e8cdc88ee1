"""What a crawl sees: a picture and the widgets that the program itself says are in it, with places, names and states.

The boxes come from the program (its document, its widgets, its accessibility tree), never from reading the pixels: that
is what makes them labels. A `Scene` is one window or page that can be looked at, acted on and looked at again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, Protocol, get_args

from agent_core.actions import Action, Point
from agent_core.errors import ScreenError
from agent_core.step import Box, ElementKind, Screenshot, Transform


class Ended(ScreenError):
    """What was done has closed the window: nothing is wrong, and the scene is over."""


Role = Literal[
    "text", "button", "link", "field", "password", "check", "radio", "switch", "choice", "slider", "spin", "tab",
    "menu", "menu item", "list item", "image",
]  # fmt: skip
ROLES: tuple[Role, ...] = get_args(Role)
# What the program's own reader calls each of them: the classes of a detector that is to add to it.
KINDS: dict[Role, ElementKind] = {
    "text": "text", "button": "button", "link": "text", "field": "field", "password": "field", "check": "check",
    "radio": "radio", "switch": "check", "choice": "field", "slider": "icon", "spin": "field", "tab": "button",
    "menu": "button", "menu item": "text", "list item": "text", "image": "icon",
}  # fmt: skip
LEAST = 4  # pixels: thinner things are lines
SEEN = 0.5  # of a box: what is cut off more is not told of
LONGEST = 120  # characters of a name or value

Place = tuple[int, int, int, int]
"""left, top, right, bottom in pixels of the picture; right and bottom lie outside."""


@dataclass(frozen=True, slots=True)
class Widget:
    """One thing on the screen. `mark` is the tick box itself where `box` holds its label too and the program tells.

    `on` is the state of a tick, a switch, a chosen tab or item; `value` what a field, choice or slider holds; bullets
    for a password. `key` tells the same widget in two pictures of one scene, and is in no row.
    """

    role: Role
    name: str
    box: Place
    value: str = ""
    on: bool | None = None
    focused: bool = False
    enabled: bool = True
    mark: Place | None = None
    key: str = ""

    @property
    def target(self) -> Place:
        """Where a person would aim."""
        return self.mark or self.box

    @property
    def middle(self) -> tuple[float, float]:
        left, top, right, bottom = self.target
        return (left + right) / 2, (top + bottom) / 2

    def to_json(self) -> dict[str, Any]:
        """For a detector: its class, its place and its state."""
        return {
            "class": self.role,
            "kind": KINDS[self.role],
            "name": self.name,
            "box": list(self.box),
            "mark": list(self.mark) if self.mark else None,
            "value": self.value,
            "on": self.on,
            "focused": self.focused,
            "enabled": self.enabled,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """One picture, `rgb` row by row, and its widgets in reading order; `title` is empty where the picture lacks it."""

    rgb: bytes = field(repr=False)
    width: int
    height: int
    title: str
    widgets: tuple[Widget, ...]

    @property
    def sha256(self) -> str:
        return hashlib.sha256(b"%dx%d " % (self.width, self.height) + self.rgb).hexdigest()

    def shot(self) -> Screenshot:
        """The picture as a dialect wants it."""
        return Screenshot(self.rgb, self.width, self.height, Transform("picture", 0, 0, self.width, self.height))

    def point(self, widget: Widget) -> Point:
        """The place to aim at, as fractions of the picture."""
        x, y = widget.middle
        return Point(x / self.width, y / self.height)

    def fractions(self, place: Place) -> Box:
        left, top, right, bottom = place
        return Box(left / self.width, top / self.height, right / self.width, bottom / self.height)


@dataclass(frozen=True, slots=True)
class Change:
    """What was done between two pictures of one scene; no actions where the program changed by itself."""

    before: Seen
    actions: tuple[Action, ...]
    target: Widget | None
    after: Seen


class Scene(Protocol):
    """One program or page that is open. Everything raises ScreenError when it is gone: Ended when it was closed."""

    def look(self) -> Seen:
        """The picture at rest and what the program says is in it."""

    def do(self, action: Action) -> None:
        """Carries one action out, placed in the picture of the last look."""

    def happen(self) -> bool:
        """Lets something change without the user, if this scene can; whether it did."""

    def close(self) -> None: ...


class Source(Protocol):
    """Where scenes come from; the generator alone decides which."""

    def open(self, rng: Random) -> Scene: ...

    def close(self) -> None: ...


def tidy(widgets: Sequence[Widget], width: int, height: int) -> tuple[Widget, ...]:
    """The widgets clipped to the picture, without slivers and doubles, rows from top to bottom, left to right."""
    out: dict[tuple[Role, Place, str], Widget] = {}
    for widget in widgets:
        box = _clipped(widget.box, width, height)
        if box is None or (widget.role == "text" and not widget.name.strip()):
            continue
        mark = _clipped(widget.mark, width, height) if widget.mark else None
        kept = Widget(
            widget.role,
            _flat(widget.name),
            box,
            _flat(widget.value),
            widget.on,
            widget.focused,
            widget.enabled,
            mark,
            widget.key,
        )
        out.setdefault((kept.role, kept.box, kept.name), kept)
    return tuple(_in_rows(list(out.values())))


def _clipped(place: Place, width: int, height: int) -> Place | None:
    left, top, right, bottom = place
    whole = (right - left) * (bottom - top)
    left, top, right, bottom = max(0, left), max(0, top), min(width, right), min(height, bottom)
    wide, tall = right - left, bottom - top
    return (left, top, right, bottom) if min(wide, tall) >= LEAST and wide * tall >= SEEN * whole else None


def _flat(text: str) -> str:
    """On one line; the end of a long text is left out, and said so."""
    words = " ".join(text.split())
    return words if len(words) <= LONGEST else words[: LONGEST - 1].rstrip() + "…"


def _in_rows(widgets: list[Widget]) -> list[Widget]:
    rows: list[list[Widget]] = []
    for widget in sorted(widgets, key=lambda w: (w.middle[1], w.box[0], w.box[1], w.role, w.name)):
        first = rows[-1][0] if rows else None
        if first and first.box[1] <= widget.middle[1] < first.box[3] and widget.box[1] <= first.middle[1]:
            rows[-1].append(widget)
        else:
            rows.append([widget])
    return [widget for row in rows for widget in sorted(row, key=lambda w: (w.box[0], w.box[1], w.role, w.name))]
