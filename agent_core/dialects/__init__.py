"""Dialects: how a model family is asked and answers. One table, resolved when a dialect is chosen."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from agent_core.errors import DeskhandError

if TYPE_CHECKING:
    from agent_core.dialects.uitars import UiTarsRules
    from agent_core.protocols import Dialect

DIALECTS = {
    "uitars": "agent_core.dialects.uitars:UiTars",
    "uitars2": "agent_core.dialects.uitars2:UiTars2",
    "qwen_vl": "agent_core.dialects.qwen_vl:QwenVl",
    "elements": "agent_core.dialects.elements:Elements",
}


def dialect(name: str, rules: UiTarsRules | None = None) -> Dialect:
    """The dialect of this name; `rules` are for those that see pictures, the others count in thousandths.

    Raises DeskhandError for an unknown name, and for pixel coordinates asked of a dialect that sees no picture.
    """
    if name not in DIALECTS:
        raise DeskhandError(f"There is no dialect {name!r}; choose one of {', '.join(DIALECTS)}.")
    module, attribute = DIALECTS[name].split(":")
    made: Any = getattr(importlib.import_module(module), attribute)
    if not made.needs_elements:
        seeing: Dialect = made(rules)
        return seeing
    if rules is not None and rules.coordinates != "thousand":
        raise DeskhandError(f"The dialect {name} counts in thousandths; choose the coordinates 0..1000.")
    reading: Dialect = made()
    return reading


def fitted(
    name: str,
    *,
    coordinates: str = "0..1000",
    images: int = 0,
    min_pixels: int = 0,
    max_pixels: int = 0,
    factor: int = 0,
    places: str = "",
    browser: bool = False,
) -> Dialect:
    """The dialect as a model's manifest fits it to the model; 0 and "" stand for the dialect's own value.

    Raises DeskhandError for a name, coordinate rule or form of places that does not exist.
    """
    from agent_core.dialects.coordinates import coordinate_rule, place_form
    from agent_core.dialects.uitars import UiTarsRules

    rules = UiTarsRules(
        coordinates=coordinate_rule(coordinates),
        places=place_form(places or UiTarsRules().places),
        factor=factor or UiTarsRules().factor,
        min_pixels=min_pixels,
        max_pixels=max_pixels,
        images=images or UiTarsRules().images,
        browser=browser,
    )
    return dialect(name, rules)
