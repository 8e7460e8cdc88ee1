"""Set of marks: numbered boxes drawn on a picture, so that a model can name an element by its number.

Boxes that overlap another marked one are left unmarked; a number stands where it covers no element, if there is such a
place beside its box. Colours take turns so that neighbours differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from PIL import Image, ImageDraw, ImageFont

from training.crawl_screen import Place, Seen, Widget

COLOURS = ("#d81b1b", "#1668d8", "#0b7d34", "#8a1fc2", "#b35900", "#00757f")
MOST = 40


def chosen(widgets: Sequence[Widget], rng: Random, most: int = MOST) -> list[Widget]:
    """At most so many widgets whose boxes do not overlap, in reading order: their numbers are 1, 2, 3."""
    order = [w for w in widgets if w.role != "text"] + rng.sample(
        texts := [w for w in widgets if w.role == "text"], k=min(len(texts), most // 3)
    )
    taken: list[Widget] = []
    for widget in order:
        if len(taken) < most and not any(_overlap(widget.box, other.box) for other in taken):
            taken.append(widget)
    return [widget for widget in widgets if any(widget is other for other in taken)]


def drawn(seen: Seen, marked: Sequence[Widget]) -> Image.Image:
    """The picture with the boxes and their numbers."""
    image = Image.frombytes("RGB", (seen.width, seen.height), seen.rgb)
    pen = ImageDraw.Draw(image)
    size = max(11, round(seen.height / 55))
    font = ImageFont.load_default(size)
    labels: list[Place] = []
    for number, widget in enumerate(marked, start=1):
        colour = COLOURS[number % len(COLOURS)]
        left, top, right, bottom = widget.box
        pen.rectangle((left, top, right - 1, bottom - 1), outline=colour, width=2)
        text = str(number)
        label = _free_place(seen, widget, round(pen.textlength(text, font=font)) + 4, size + 2, labels)
        labels.append(label)
        pen.rectangle((label[0], label[1], label[2] - 1, label[3] - 1), fill=colour)
        pen.text((label[0] + 2, label[1]), text, fill="white", font=font)
    return image


def _free_place(seen: Seen, widget: Widget, wide: int, tall: int, labels: Sequence[Place]) -> Place:
    """Where a label of this size covers no other element or label: left of the box, above, right, below; or inside."""
    left, top, right, bottom = widget.box
    corners = ((left - wide, top), (left, top - tall), (right, top), (left, bottom), (right - wide, top), (left, top))
    places = [(x, y, x + wide, y + tall) for x, y in corners]
    inside = [p for p in places if min(p[:2]) >= 0 and p[2] <= seen.width and p[3] <= seen.height]
    taken = [w.box for w in seen.widgets if w is not widget] + list(labels)
    return next((p for p in inside if not any(_overlap(p, other) for other in taken)), (inside or places)[-1])


def _overlap(a: Place, b: Place) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
