"""Plans for MiniWoB tasks in which something is dragged to where something else is."""

from __future__ import annotations

import re

from training.tasks.miniwob_page import Node, PageState
from training.tasks.miniwob_plans import button
from training.tasks.teacher import Move, click

GRID_PLACES = (
    "top left", "top center", "top right", "center left", "center", "center right", "bottom left", "bottom center",
    "bottom right",
)  # fmt: skip
PART = 100  # thousandths of the screenshot, rather more than half an entry's height
STEPS = {"up": -3, "down": 3, "left": -1, "right": 1}


def drag_sort_numbers(page: PageState) -> Move | None:
    """The first number that is out of order goes to where a greater one is; the others make room."""
    items = _items(page)
    numbers = [int(n.text) for n in items]
    order = sorted(numbers)
    listed = ", ".join(map(str, order))
    for i, (is_there, wanted) in enumerate(zip(numbers, order, strict=True)):
        if is_there != wanted:
            item = items[numbers.index(wanted, i)]
            return _drag(item, items[i], f"The order is {listed}")
    return click(button(page, "Submit"), f"{listed} are in order; click {{label}}.")


def drag_items(page: PageState) -> Move | None:
    """A name in a list of five, to a place that is counted from the top or from where it is."""
    match = re.fullmatch(
        r"Drag (.+) (?:to the (top|bottom|\d)\w* ?(?:position)?|(up|down) by one position)\.", page.query
    )
    items = _items(page)
    if match is None or not items:
        return None
    start = next(i for i, n in enumerate(items) if n.text == match[1])
    if match[3]:
        end = start + (1 if match[3] == "down" else -1)
    else:
        end = {"top": 0, "bottom": len(items) - 1}.get(match[2], -1)
        end = int(match[2]) - 1 if end < 0 else end
    return _drag(items[start], items[end], f"Number {start + 1} goes to number {end + 1}")


def drag_items_grid(page: PageState) -> Move | None:
    """The same with nine names in three rows.

    A name makes room when the pointer goes over its farther half, and before or after it depends on the way it goes.
    """
    match = re.fullmatch(r"Drag (.+?) (?:to the ([a-z ]+)|(up|down|left|right) by one)\.", page.query)
    items = _items(page)
    if match is None or not items:
        return None
    start = next(i for i, n in enumerate(items) if n.text == match[1])
    end = start + STEPS[match[3]] if match[3] else GRID_PLACES.index(match[2])
    right, down = end % 3 - start % 3, end // 3 - start // 3
    if down < 0 < right:
        over, side = end - 1, "right"
    else:
        over, side = end, "right" if right > 0 or (right == 0 and down > 0) else "left"
    say = f"From the {GRID_PLACES[start]} to the {GRID_PLACES[end]}: drag {{label}} to the {side} of {{drop}}."
    return Move(say, items[start], ("text",), drop=items[over], shift=(PART if side == "right" else -PART // 2, 0))


def drag_box(page: PageState) -> Move | None:
    """The middle of the small box to that of the large one; or else the letter in its upper left corner to a place
    below and to the right of the other letter."""
    small, large = page.first(id="draggableSmall"), page.first(id="draggableLarge")
    if small is None or large is None:
        return None
    inside = small.left > large.left and small.top > large.top
    if inside and small.right < large.right and small.bottom < large.bottom:
        return click(button(page, "Submit"), "The small box is inside; click {label}.")
    say = "Drag the small box, {label}, into the large one, {drop}."
    by_letter = Move(say, small, ("text", "icon"), named=False, drop=large, shift=(PART, PART))
    boxes = ("red square", "blue square")
    return Move(say, small, ("icon",), shown=boxes, named=False, drop=large, unread=by_letter)


def _items(page: PageState) -> list[Node]:
    """The entries of the list, in the order of reading."""
    return [n for n in page.all("li") if "ui-sortable-helper" not in n.cls]


def _drag(start: Node, end: Node, why: str) -> Move:
    """Beyond the middle of the entry at the wanted place, which then makes room."""
    way = "below" if end.top > start.top else "above"
    shift = (0, PART if way == "below" else -PART)
    return Move(f"{why}: drag {{label}} {way} {{drop}}.", start, ("text",), drop=end, shift=shift)


PLANS = {
    "drag-sort-numbers": drag_sort_numbers,
    "drag-items": drag_items,
    "drag-items-grid": drag_items_grid,
    "drag-box": drag_box,
}
