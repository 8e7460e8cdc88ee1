"""One widget in words: what it is, how it looks, where it lies and what it is for, as UI-TARS describes elements.

Type and function follow from the role, the look from the pixels, the position from the picture and the neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np

from agent_core.screen.colours import colour_name
from training.crawl_screen import Role, Seen, Widget

NOUNS: dict[Role, str] = {
    "text": "text", "button": "button", "link": "link", "field": "text field", "password": "password field",
    "check": "check box", "radio": "radio button", "switch": "switch", "choice": "drop-down list", "slider": "slider",
    "spin": "number field", "tab": "tab", "menu": "menu", "menu item": "menu item", "list item": "list entry",
    "image": "image",
}  # fmt: skip
_FUNCTIONS: dict[Role, tuple[str, ...]] = {
    "text": ("It is there to be read.", "It only tells something and does not react to a click."),
    "button": ("A click on it triggers {name}.", "It carries out {name} when it is clicked."),
    "link": ("A click on it leads to {name}.", "It opens {name}."),
    "field": ("It takes a line of text for {name}.", "Click it and type what {name} asks for."),
    "password": ("It takes a secret for {name}; what is typed shows as dots.",),
    "check": ("A click turns {name} on or off.", "It says whether {name} is wanted."),
    "radio": ("A click chooses {name} and gives up the other choice of its group.",),
    "switch": ("It turns {name} on or off.",),
    "choice": ("A click opens the list of what {name} can be.", "One entry of its list can be chosen for {name}."),
    "slider": ("Dragging its handle changes {name}.",),
    "spin": ("It takes a number for {name}, typed or stepped with its arrows.",),
    "tab": ("A click brings the page {name} to the front.",),
    "menu": ("A click opens the menu {name}.",),
    "menu item": ("A click chooses {name} from the menu.",),
    "list item": ("A click selects {name}.",),
    "image": ("It shows a picture.",),
}
_ROWS, _COLUMNS = ("top", "middle", "bottom"), ("left", "centre", "right")
STATES: dict[Role, tuple[str, str]] = {
    "check": ("ticked", "not ticked"),
    "radio": ("chosen", "not chosen"),
    "switch": ("switched on", "switched off"),
    "tab": ("in front", "not in front"),
    "list item": ("selected", "not selected"),
    "menu item": ("ticked", "not ticked"),
    "button": ("pressed in", "not pressed in"),
}


def called(widget: Widget) -> str:
    """The widget as one would speak of it: `the button “Save”`."""
    return f"the {NOUNS[widget.role]} “{widget.name}”" if widget.name else f"a {NOUNS[widget.role]} without a name"


def upper(text: str) -> str:
    """The text as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def state(widget: Widget) -> str:
    """Its state in a few words; empty where there is nothing to tell."""
    said = []
    if widget.on is not None:
        said.append(STATES.get(widget.role, ("on", "off"))[0 if widget.on else 1])
    if widget.value:
        said.append(f"holds “{widget.value}”")
    elif widget.role in ("field", "password"):
        said.append("empty")
    if widget.focused:
        said.append("has the keyboard focus")
    if not widget.enabled:
        said.append("greyed out")
    return ", ".join(said)


def region(seen: Seen, widget: Widget) -> str:
    """Which ninth of the picture its middle lies in: `top left`, `centre`."""
    x, y = widget.middle
    row = _ROWS[min(2, int(3 * y / seen.height))]
    column = _COLUMNS[min(2, int(3 * x / seen.width))]
    return "centre" if (row, column) == ("middle", "centre") else f"{row} {column}"


def neighbour(seen: Seen, widget: Widget) -> str:
    """Where it lies beside its nearest named neighbour, e.g. `below the text “City”`; empty without one."""
    near = min(_beside(seen, widget), default=None)
    return f"{near[2]} {near[3]}" if near else ""


def pointed_out(seen: Seen, widget: Widget) -> str:
    """By its name, or by what lies beside it where it has none."""
    beside = "" if widget.name else neighbour(seen, widget)
    return f"the {NOUNS[widget.role]} {beside}" if beside else called(widget)


def _beside(seen: Seen, widget: Widget) -> Iterator[tuple[int, int, str, str]]:
    """Gap and shift in pixels, the word for the side and the neighbour, for those straight above, below and beside."""
    left, top, right, bottom = widget.box
    for other in seen.widgets:
        if other is widget or not other.name or other.name == widget.name:
            continue
        a, b, c, d = other.box
        if a < right and left < c:
            if d <= top:
                yield top - d, abs(left - a), "below", called(other)
            elif b >= bottom:
                yield b - bottom, abs(left - a), "above", called(other)
        elif b < bottom and top < d:
            if c <= left:
                yield left - c, abs(top - b), "to the right of", called(other)
            elif a >= right:
                yield a - right, abs(top - b), "to the left of", called(other)


def look(seen: Seen, widget: Widget) -> str:
    """Its size and its two main colours: `a wide box, white on blue`."""
    left, top, right, bottom = widget.target
    rgb = np.frombuffer(seen.rgb, np.uint8).reshape(seen.height, seen.width, 3)[top:bottom, left:right]
    codes = (rgb.astype(np.uint32) >> 3) @ np.array([1 << 10, 1 << 5, 1], np.uint32)  # 32 steps a channel
    values, counts = np.unique(codes.ravel(), return_counts=True)
    ground = _middle_colour(rgb, codes, int(values[np.lexsort((values, -counts))[0]]))
    behind = colour_name(ground)
    far = np.abs(rgb.astype(int) - np.array(ground)).sum(axis=2)
    ink = colour_name(_tuple(rgb.reshape(-1, 3)[int(far.argmax())])) if int(far.max()) > 90 else behind
    wide, tall = right - left, bottom - top
    shape = "square" if 0.75 <= wide / tall <= 1.33 else "wide" if wide > tall else "tall"
    size = "small" if wide * tall < seen.width * seen.height / 600 else "large" if wide > seen.width / 2 else ""
    words = f"a {size + ', ' if size else ''}{shape} area"
    return f"{words}, {ink} on {behind}" if ink != behind else f"{words} in {behind}"


def description(seen: Seen, widget: Widget, rng: Random) -> str:
    """Two to four sentences: type and name, look, position, function, state."""
    kind = NOUNS[widget.role]
    name = f"“{widget.name}”" if widget.name else ""
    beside = neighbour(seen, widget)
    where = f"It lies at the {region(seen, widget)} of the picture{', ' + beside if beside else ''}."
    what = rng.choice(_FUNCTIONS[widget.role]).format(name=name or "what its neighbours say")
    article = "an" if kind[0] in "aeiou" else "a"
    first = f"This is {article} {kind}{' named ' + name if name else ' without a name'}: {look(seen, widget)}."
    told = state(widget)
    return " ".join([first, where, what, *([f"State: {told}."] if told else [])])


def _middle_colour(rgb: np.ndarray, codes: np.ndarray, code: int) -> tuple[int, int, int]:
    """The median of the pixels that fell into the most frequent step."""
    return _tuple(np.median(rgb[codes == code], axis=0))


def _tuple(values: np.ndarray) -> tuple[int, int, int]:
    red, green, blue = (int(v) for v in values)
    return red, green, blue
