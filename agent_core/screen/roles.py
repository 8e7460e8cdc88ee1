"""Decides what the frames on a screen are, from the words in them and beside them: button, field, check, radio, icon.

Rules a person would give: a box with centred short text is a button; an empty light box drawn as a line is a field, its
label stands to the left or above; a small square or circle with words to its right is a check box or radio button.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agent_core.screen.frame import Frame
from agent_core.screen.signs import plain
from agent_core.screen.text_rows import Text, holds, is_paragraph, joined, margins, rows_of
from agent_core.step import ElementKind

LONGEST_BUTTON = 40  # characters
MOST_ICONS = 24  # more closed boxes with marks in them are a drawing, not buttons
ARROWS = frozenset("vV∨ⅴ▼▾~Y")  # what the arrow of a list is read as
ICONS = frozenset("个口回囗凸冈中山四田日目因国图皿")  # what pictures are read as, when they stand alone
BULLET = "•"
KEYS = 5  # so many boxes of one width with numbers in them are keys or the days of a month
KEY = 4.5  # times the text height: no larger is a key
TICKED = 0.12  # of the middle of a check box or radio button


@dataclass(frozen=True, slots=True)
class Found:
    """An element in pixels, before it becomes fractions."""

    kind: ElementKind
    text: str
    left: int
    top: int
    right: int
    bottom: int
    value: str = ""
    on: bool | None = None


def arranged(texts: Sequence[Text], boxes: Sequence[Frame]) -> list[Found]:
    """Gives every frame its words and every word at most one frame; words that stay free are text elements.

    Marks first, then buttons, then fields, so that a field's label is never the text of a button beside it.
    """
    tall = float(np.median([t.height for t in texts])) if texts else 14.0
    boxes = [box for box in boxes if not any(_is_bowl(box, t) for t in texts)]
    keys = _keys(texts, boxes)
    texts = [t for t in texts if not any(_is_grip(box, t) for box in boxes if box not in keys)]
    inside = {box: [t for t in texts if holds(box, t)] for box in boxes}
    found: list[Found] = []
    free = list(texts)
    left = sorted(boxes, key=lambda b: -b.width * b.height)
    for make in (_mark, _button, _field):
        for box in list(left):
            if make is _field and (_is_cell(box, boxes) or _is_panel(box, boxes) or _is_part(box, found)):
                continue
            mine = [t for t in inside[box] if t in free]
            others = [t for t in free if t not in mine]
            widget = keys.get(box) if make is _button else None
            widget = widget or make(box, mine, others, tall)
            if widget is not None:
                found.append(widget)
                free = [t for t in free if t not in mine]
                left.remove(box)
    icons = [f for box in left if (f := _icon(box, inside[box], tall)) is not None and not _covered(f, found)]
    if len(icons) <= MOST_ICONS:
        found.extend(icons)
    found.extend(_free(t) for t in free)
    return found


def _keys(texts: Sequence[Text], boxes: Sequence[Frame]) -> dict[Frame, Found]:
    """Keys with digits and the cells of a calendar: several grey boxes of one width with a lone number in each, which
    may stand at its side.
    """
    cells: dict[Frame, Found] = {}
    for box in boxes:
        inside = [t for t in texts if holds(box, t)]
        if len(inside) != 1 or not inside[0].text.isdigit() or len(inside[0].text) > 2 or box.light or not box.lined:
            continue
        _, _, top, below = margins(box, inside)
        tall = inside[0].height
        if max(box.width, box.height) < KEY * tall and abs(top - below) <= 0.8 * tall + 2:
            cells[box] = Found("button", inside[0].text, box.left, box.top, box.right, box.bottom)
    widths = [box.width for box in cells]
    return {box: cell for box, cell in cells.items() if sum(abs(w - box.width) <= 3 for w in widths) >= KEYS}


def _free(text: Text) -> Found:
    """A text that belongs to no frame. A lone sign read as one of ICONS is a picture."""
    is_icon = text.text in ICONS
    return Found(
        "icon" if is_icon else "text", "" if is_icon else text.text, text.left, text.top, text.right, text.bottom
    )


def _is_bowl(box: Frame, text: Text) -> bool:
    """Whether the frame is the inside of a letter, as in o or d, of a longer text."""
    long = text.right - text.left > 2 * text.height
    return long and box.height < text.height and _holds_box(text, box)


def _is_grip(box: Frame, text: Text) -> bool:
    """Whether the text is no text but the grip in the corner of a large field or the arrow at the end of a list."""
    if len(text.text) != 1 or not box.lined or not 0 <= box.right - text.right <= max(text.height, 0.4 * box.height):
        return False
    in_corner = box.height > 2 * text.height and 0 <= box.bottom - text.bottom <= text.height
    return in_corner or (text.text in ARROWS and box.width > 2 * box.height and holds(box, text))


def _holds_box(text: Text, box: Frame) -> bool:
    return (
        text.left - 2 <= box.left
        and box.right <= text.right + 2
        and text.top - 2 <= box.top
        and box.bottom <= text.bottom + 2
    )


def _mark(box: Frame, inside: Sequence[Text], free: Sequence[Text], tall: float) -> Found | None:
    """A check box or radio button: about as tall as text, with its label to the right."""
    square = 0.8 <= box.width / box.height <= 1.25
    if not box.light and len(inside) == 1 and inside[0].text.isdigit():
        return None  # a key with a number on it
    if not square or not 0.6 * tall <= box.height <= 2.2 * tall:
        return None
    row = [
        t for t in free
        if box.right - 2 <= t.left <= box.right + 2.2 * box.height
        and abs(t.middle[1] - (box.top + box.bottom) / 2) < 0.6 * box.height
    ]  # fmt: skip
    if not row and not (box.light and box.lined and not box.ink):
        return None
    label = min(row, key=lambda t: t.left).text if row else ""
    on = box.ink > TICKED if box.light else True
    return Found("radio" if box.round else "check", label, box.left, box.top, box.right, box.bottom, on=on)


def _button(box: Frame, inside: Sequence[Text], free: Sequence[Text], tall: float) -> Found | None:
    """A box around short centred text."""
    if (
        not inside
        or box.dots
        or len(rows_of(inside)) > 2
        or (len(rows_of(inside)) == 2 and not is_paragraph(rows_of(inside), tall))
    ):
        return None
    left, right, top, below = margins(box, inside)
    line = max(t.height for t in inside)
    words = joined(inside)
    centred = abs(left - right) <= 0.6 * max(line, tall) + 2 and abs(top - below) <= 0.8 * max(line, tall) + 2
    too_tall = box.height > (5 if box.width > 8 * tall else 10) * max(line, tall)
    if not centred or too_tall or len(words) > LONGEST_BUTTON:
        return None
    if box.light and left < 0.4 * line:  # a field filled from end to end
        return None
    return Found("button", plain(words), box.left, box.top, box.right, box.bottom)


def _field(box: Frame, inside: Sequence[Text], free: Sequence[Text], tall: float) -> Found | None:
    """A light box drawn as a line: empty, or with text that begins at its left end."""
    if not ((box.light and box.lined) or box.arrow) or box.round or box.crowded or box.height < 1.1 * tall:
        return None
    value = BULLET * box.dots
    if inside and not value:
        rows = rows_of(inside)
        left, _, top, below = margins(box, inside)
        line = max(t.height for t in inside)
        at_start = left <= 0.9 * line + 4 and (top <= 0.8 * line + 4 or abs(top - below) <= 0.6 * line)
        if not at_start or box.width < 1.2 * box.height or not _is_written(rows, line, box):
            return None
        value = "\n".join(" ".join(t.text for t in row) for row in rows)
    elif not value and (box.width < 1.6 * box.height or box.ink > 0.05 or box.height > 6 * tall):
        return None
    return Found("field", _label(box, free), box.left, box.top, box.right, box.bottom, value)


def _icon(box: Frame, inside: Sequence[Text], tall: float) -> Found | None:
    """A small closed box with a mark but no words in it, or a single x, which closes something."""
    square = 0.6 <= box.width / box.height <= 1.8
    if inside or not square or not 0.8 * tall <= box.height <= 4 * tall or not 0.02 < box.ink < 0.9:
        return None
    return Found("icon", "x" if box.cross else "", box.left, box.top, box.right, box.bottom)


def _label(box: Frame, free: Sequence[Text]) -> str:
    """The nearest text to the left on the same row, else the nearest one above that begins where the box begins."""
    y = (box.top + box.bottom) / 2
    row = [
        t for t in free
        if t.right <= box.left + 4 and t.top - 4 <= y <= t.bottom + 4 and box.left - t.right < 8 * t.height
    ]  # fmt: skip
    if row:
        return max(row, key=lambda t: t.right).text
    begins = [t for t in free if abs(t.left - box.left) <= 2.5 * t.height]
    above = [t for t in begins if t.bottom <= box.top + 4 and box.top - t.bottom <= 1.8 * t.height]
    below = [t for t in begins if t.top >= box.bottom - 4 and t.top - box.bottom <= 0.6 * t.height]
    over = max(above, key=lambda t: (t.bottom, -t.left), default=None)
    under = min(below, key=lambda t: (t.top, t.left), default=None)
    if over is None or under is None:
        return (over or under or Text("", 0, 0, 0, 0)).text
    gap = box.top - over.bottom
    return over.text if gap <= 0.5 * over.height or gap <= 2 * (under.top - box.bottom) else under.text


def _is_panel(box: Frame, boxes: Sequence[Frame]) -> bool:
    """Whether the frame holds another thing to write or click in: then it only groups them."""
    return any(
        o.lined and o.height < 0.7 * box.height and o.width > 1.6 * o.height
        and o.left > box.left and o.right < box.right and o.top > box.top and o.bottom < box.bottom
        for o in boxes
    )  # fmt: skip


def _is_part(box: Frame, found: Sequence[Found]) -> bool:
    """Whether the frame lies in a field already found: the part of it behind the caret, or its inner outline."""
    x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
    return any(f.kind == "field" and f.left <= x <= f.right and f.top <= y <= f.bottom for f in found)


def _is_cell(box: Frame, boxes: Sequence[Frame]) -> bool:
    """Whether the frame is one of a table's: others of its size adjoin it both beside and above or below."""
    near = 8
    beside = any(
        abs(o.top - box.top) <= 3 and abs(o.bottom - box.bottom) <= 3
        and min(abs(o.left - box.right), abs(o.right - box.left)) <= near
        for o in boxes
    )  # fmt: skip
    stacked = any(
        abs(o.left - box.left) <= 3 and abs(o.right - box.right) <= 3
        and min(abs(o.top - box.bottom), abs(o.bottom - box.top)) <= near
        for o in boxes
    )  # fmt: skip
    return beside and stacked


def _is_written(rows: list[list[Text]], line: int, box: Frame) -> bool:
    """Whether the rows look typed in: one text each, begun at the same place, close below each other."""
    if len(rows) == 1:  # an address bar has a sign or two beside its text
        return len(rows[0]) == 1 or (len(rows[0]) <= 3 and box.width > 8 * box.height)
    lefts = [row[0].left for row in rows]
    return all(len(row) == 1 for row in rows) and max(lefts) - min(lefts) <= line and is_paragraph(rows, line)


def _covered(item: Found, others: Sequence[Found]) -> bool:
    """Whether the item's middle lies in something already found."""
    x, y = (item.left + item.right) / 2, (item.top + item.bottom) / 2
    return any(o.left <= x <= o.right and o.top <= y <= o.bottom for o in others)
