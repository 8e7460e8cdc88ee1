"""The two ways this model family counts places, and how big a picture it really sees.

"thousand": thousandths of the screenshot (UI-TARS 1.0, Doubao and Seed, UI-TARS-2). "pixels": pixels of the resized
picture (Qwen2.5-VL and so UI-TARS-1.5-7B). Numbers do not tell which it is: the rule belongs to the model and travels
in its manifest. Written places are rounded to whole numbers, so a place survives exactly if it lies on that grid,
and within half a step otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_core.actions import Point
from agent_core.errors import DeskhandError

Coordinates = Literal["thousand", "pixels"]
PlaceForm = Literal["point", "box"]
"""How places are written: point='<point>x y</point>', or start_box='<|box_start|>(x,y)<|box_end|>'."""

GRID = 1000
_RULES: dict[str, Coordinates] = {"thousand": "thousand", "0..1000": "thousand", "pixels": "pixels"}


def coordinate_rule(name: str) -> Coordinates:
    """The rule of this name, as manifests and the command line write it. Raises DeskhandError that lists the names."""
    if name not in _RULES:
        raise DeskhandError(f"There is no coordinate rule {name!r}; choose one of {', '.join(_RULES)}.")
    return _RULES[name]


def place_form(name: str) -> PlaceForm:
    """The way of writing places of this name. Raises DeskhandError that lists the names."""
    forms: dict[str, PlaceForm] = {"point": "point", "box": "box"}
    if name not in forms:
        raise DeskhandError(f"There is no form of places {name!r}; choose one of {', '.join(forms)}.")
    return forms[name]


@dataclass(frozen=True, slots=True)
class Scale:
    """The model's numbers for one screenshot: 0..`width` across and 0..`height` down, both ends included."""

    width: int
    height: int

    def to_point(self, x: float, y: float) -> Point | None:
        """The model's numbers as fractions, None outside the screenshot."""
        return Point(x / self.width, y / self.height) if 0 <= x <= self.width and 0 <= y <= self.height else None

    def numbers(self, point: Point) -> tuple[int, int]:
        """Fractions as the model's whole numbers."""
        return round(point.x * self.width), round(point.y * self.height)


def place_text(numbers: tuple[int, int], form: PlaceForm) -> str:
    """The quoted part of a place in a call."""
    x, y = numbers
    return f"<point>{x} {y}</point>" if form == "point" else f"<|box_start|>({x},{y})<|box_end|>"
