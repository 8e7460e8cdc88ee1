"""Plans for MiniWoB tasks of coloured shapes, letters and digits: named, counted, picked out among others.

These plans go by what was read from the screenshot alone: the words of an icon say its size, colour and figure.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from agent_core.actions import Click, Hotkey, Type
from agent_core.step import Element
from training.tasks.miniwob_drawn import PLANS as DRAWN
from training.tasks.miniwob_page import PageState
from training.tasks.miniwob_plans import button, quoted
from training.tasks.teacher import GaveUp, Move, click, place_of

SIDES = {"triangle": 3, "square": 4, "pentagon": 5, "hexagon": 6, "heptagon": 7}
OTHER_NAMES = {"aqua": "cyan", "rectangle": "square", "gray": "grey"}  # what the tasks call it: what is read
SHADES = {"red": ("red", "brown", "maroon"), "green": ("green", "lime"), "blue": ("blue", "navy")}
FIGURES = ("circle", "square", "triangle", "rectangle")
COLOUR_WORDS = ("red", "green", "blue", "cyan", "black", "magenta", "yellow")
HEX = {
    "black": "000000", "white": "FFFFFF", "aqua": "00FFFF", "blue": "0000FF", "gray": "808080", "green": "008000",
    "lime": "00FF00", "maroon": "800000", "navy": "000080", "olive": "808000", "purple": "800080", "red": "FF0000",
    "silver": "C0C0C0", "teal": "008080", "yellow": "FFFF00", "pink": "FFC0CB", "magenta": "FF00FF", "gold": "FFD700",
    "orange": "FFA500",
}  # fmt: skip


def press(element: Element | None, say: str, missing: str) -> Move:
    """Clicks an element that was read; `{label}` in the thought becomes its words. Raises GaveUp when there is none."""
    if element is None:
        raise GaveUp(f"{missing} was not read from the screen.")
    return Move(say.replace("{label}", f'"{element.text}"'), then=(Click(element.point),))


def icons(page: PageState) -> list[Element]:
    """The icons with words, in reading order."""
    return [e for e in page.elements if e.kind == "icon" and e.text]


def click_color(page: PageState) -> Move | None:
    asked = re.search(r"the (\w+) colored box", str(page.ask("core.getUtterance()")))
    colour = asked[1] if asked else ""
    box = next((e for e in icons(page) if e.text.startswith(f"{colour} square")), None)
    return press(box, "Click {label}.", f"a {colour} square")


def click_shades(page: PageState) -> Move | None:
    """All squares of one hue; what is selected has a frame."""
    asked = re.search(r"shades of (\w+)", page.query)
    colour = asked[1] if asked else ""
    shades = [e for e in icons(page) if set(e.text.split()) & set(SHADES[colour])]
    chosen = [e for e in shades if e.text.endswith("framed")]
    left = [e for e in shades if e not in chosen]
    if left:
        at = place_of(left[0].point)
        return press(left[0], f"{{label}} at {at} is a shade of {colour} without a frame; click it.", "a shade")
    return click(button(page, "Submit"), f"All {len(chosen)} shades of {colour} have a frame; click {{label}}.")


def matches(element: Element, wanted: str) -> bool:
    """Whether an icon fits a description of the kind `large yellow letter`, `small item`, `red circle`, `5`."""
    have = element.text.removesuffix(" framed").split()
    sign = have[-1] if have[-2:-1] and have[-2] in ("letter", "digit") else ""
    kind = have[-2] if sign else "shape"
    figure = sign or have[-1]
    *attributes, noun = wanted.split()
    noun = OTHER_NAMES.get(noun, noun)
    if not all(OTHER_NAMES.get(word, word) in have for word in attributes):
        return False
    return noun in ("item", kind, figure)


def click_shape(page: PageState) -> Move | None:
    wanted = page.query.removeprefix("Click on a ").strip()
    found = next((e for e in icons(page) if matches(e, wanted)), None)
    if found is None:
        found = next((e for e in page.elements if e.kind == "text" and e.text == wanted.split()[-1]), None)
    return press(found, "Click {label}.", f"a {wanted}")


def count_shape(page: PageState) -> Move | None:
    """Counts aloud, each with its place, so that the last number is the answer."""
    asked = re.fullmatch(r"How many (.+)s are there\?", page.query.strip())
    if asked is None:
        return None
    wanted = asked[1]
    found = [e for e in icons(page) if matches(e, wanted)]
    counted = ", ".join(f"{n} at {place_of(e.point)}" for n, e in enumerate(found, start=1)) or "none"
    key = next((e for e in page.elements if e.kind == "button" and e.text == str(len(found))), None)
    return press(key, f"{wanted}: {counted}; click {{label}}.", f"a button {len(found)}")


def count_sides(page: PageState) -> Move | None:
    figure = next((e for e in icons(page) if e.text.split()[-1] in SIDES), None)
    if figure is None:
        raise GaveUp("The polygon was not read from the screen.")
    name = figure.text.split()[-1]
    key = next((e for e in page.elements if e.kind == "button" and e.text == str(SIDES[name])), None)
    return press(key, f"A {name} has {SIDES[name]} sides; click {{label}}.", f"a button {SIDES[name]}")


def identify_shape(page: PageState) -> Move | None:
    names = {"circle": "Circle", "square": "Rectangle", "triangle": "Triangle", "letter": "Letter", "digit": "Number"}
    for element in page.elements:
        words = element.text.split()
        kind = next((w for w in words if w in names), "") if element.kind == "icon" else ""
        if element.kind == "text" and len(element.text) == 1:
            kind = "digit" if element.text.isdigit() else "letter"
        if kind:
            what = f'"{element.text}"' + (f" is a {kind}" if element.kind == "text" else "")
            return click(button(page, names[kind]), f"The figure is {what}; click {{label}}.".replace("is is", "is"))
    raise GaveUp("The figure was not read from the screen.")


def click_pie(page: PageState) -> Move | None:
    """Open the menu by its middle; its items are single letters and digits around it."""
    wanted = quoted(page)[0]
    items = [e for e in page.elements if e.kind == "text" and len(e.text) == 1 and e.text.isalnum()]
    if items:
        found = next((e for e in items if e.text == wanted), None)
        return press(found, "Click {label}.", f"the item {wanted!r}")
    middle = next((e for e in page.elements if e.kind in ("icon", "button")), None)
    return press(middle, "The menu is closed; click {label}.", "the middle of the menu")


def use_colorwheel(page: PageState) -> Move | None:
    """The picker's field takes the colour as six digits."""
    asked = re.search(r"Select (\w+) with", page.query)
    field, code = page.first(id="col"), HEX.get(asked[1] if asked else "", "")
    if field is None or not code or asked is None:
        return None
    if field.value.upper() != code:
        keys = (Hotkey(("ctrl", "a")), Type(code), Hotkey(("tab",)))
        return Move(f"{asked[1]} is {code}; type it into {{label}}.", field, ("text", "field"), keys, named=False)
    if not any(e.kind == "button" and e.text == "Submit" for e in page.elements):
        label = next((e for e in page.elements if e.text == "Color:"), None)
        return press(label, "The picker is in the way; click {label}.", "the words Color:")
    return click(button(page, "Submit"), f"{code} is in; click {{label}}.")


PLANS: dict[str, Callable[[PageState], Move | None]] = {
    "click-color": click_color,
    "click-shades": click_shades,
    "click-shape": click_shape,
    "count-shape": count_shape,
    "count-sides": count_sides,
    "identify-shape": identify_shape,
    "click-pie": click_pie,
    "click-pie-nodelay": click_pie,
    "use-colorwheel": use_colorwheel,
} | DRAWN
