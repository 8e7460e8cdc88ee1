"""Covers what is secret in a screenshot, for good: solid boxes over elements, or nothing but grey instead of the frame.

Works on the elements that were read: an element whose words hold anything secret is covered whole, and a field for a
password always, dots too (they tell its length). What was not read cannot be covered; such a frame has to be withheld.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from agent_core.redaction import Redactor, token
from agent_core.secret_words import asks_for_secret, is_secret_label, labels_a_secret
from agent_core.step import Box, Element, Screenshot

Reason = Literal["secure", "unread", "window"]
COVER = 96  # of 255: the grey of a box
GREY: dict[Reason, int] = {"secure": 128, "unread": 144, "window": 160}  # of a whole frame; one picture a reason
LEAST_PAD = 3  # pixels beyond the words
PAD = 0.25  # of the element's height
FAR_LABEL = 0.25  # of the frame's width
_LOCAL = re.compile(r"[\w.%+-]{2,}$")
_DOMAIN = re.compile(r"(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,24}\b")
DOTS = frozenset("•●*∙")
WHOLE = Box(0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Cover:
    """One covered place and the name of the rule that asked for it."""

    rule: str
    box: Box


@dataclass(frozen=True, slots=True)
class Review:
    """A screenshot's elements as they may be kept, in their order; what has to be covered; secrets met by the way.

    The secrets are pairs of rule and value: without their neighbours nothing would tell them elsewhere.
    """

    elements: tuple[Element, ...]
    covers: tuple[Cover, ...]
    secrets: tuple[tuple[str, str], ...]


def review(elements: Sequence[Element], redactor: Redactor) -> Review:
    """Judges all elements of one frame together: a label tells what stands beside it, a key may go over many lines."""
    found = iter(redactor.lines([words for e in elements for words in (e.text, e.value) if words]))
    rules = [(next(found) if e.text else "", next(found) if e.value else "") for e in elements]
    beside = {id(_value_beside(label, elements)) for label in elements}
    torn = {id(piece): words for at in elements for piece, words in _torn_address(at, elements)}
    kept, covers = [], []
    secrets: list[tuple[str, str]] = []
    for element, (in_text, in_value) in zip(elements, rules, strict=True):
        rule = in_text or in_value
        text = _without(element.text, in_text, redactor)
        value = _without(element.value, in_value, redactor)
        secrets += [(rule, old) for rule, old, new in ((in_text, element.text, text), (in_value, element.value, value))
                    if rule and new == token(rule) != old]  # fmt: skip
        if is_secret_field(element, elements):
            rule = rule or "password"
            if element.value and not _is_dots(element.value) and not labels_a_secret(element.value):
                secrets.append(("password", element.value))
                value = token("password")
        elif id(element) in beside:
            rule = rule or "password"
            secrets.append(("password", element.text))
            text = token("password")
        elif id(element) in torn and not rule:
            rule = "email"
            secrets.append((rule, torn[id(element)]))
            text = element.text.replace(torn[id(element)], token(rule))
        kept.append(replace(element, text=text, value=value))
        if rule:
            covers.append(Cover(rule, element.box))
    return Review(tuple(kept), tuple(covers), tuple(secrets))


def is_secret_field(element: Element, elements: Sequence[Element]) -> bool:
    """Whether the element is a field for a password, by its label, by what stands in it before typing, or by dots.

    `elements` are all of the frame: a label far to the left belongs to a field that has no other.
    """
    if element.kind != "field":
        return False
    if is_secret_label(element.text) or _is_dots(element.value) or labels_a_secret(element.value):
        return True
    before = [e for e in elements if e.kind in ("text", "field") and _is_right_of(e, element, FAR_LABEL)]
    label = max(before, key=lambda e: e.box.right, default=None)
    return not element.text and label is not None and label.kind == "text" and labels_a_secret(label.text)


def has_secret_field(elements: Sequence[Element]) -> bool:
    """Whether a field for a password is in sight."""
    return any(is_secret_field(e, elements) for e in elements)


def is_secret_place(element: Element, elements: Sequence[Element]) -> bool:
    """Whether a click on it gives a password field the focus. A frame that was not recognised shows only its words."""
    return is_secret_field(element, elements) or (element.kind == "text" and labels_a_secret(element.text))


def prompts_for_secret(elements: Sequence[Element]) -> bool:
    """Whether a line with nothing after it asks for a password, as in a terminal."""
    return any(
        asks_for_secret(e.text) and not any(_follows(e, other) for other in elements)
        for e in elements
        if e.kind == "text"
    )


def covered(shot: Screenshot, covers: Sequence[Cover]) -> Screenshot:
    """The frame with solid boxes over these places. The pixels below are gone."""
    if not covers:
        return shot
    rgb = np.frombuffer(shot.rgb, np.uint8).reshape(shot.height, shot.width, 3).copy()
    for box in (cover.box for cover in covers):
        pad = max(LEAST_PAD, round(PAD * (box.bottom - box.top) * shot.height))
        left, right = round(box.left * shot.width) - pad, round(box.right * shot.width) + pad
        top, bottom = round(box.top * shot.height) - pad, round(box.bottom * shot.height) + pad
        rgb[max(0, top) : max(0, bottom), max(0, left) : max(0, right)] = COVER
    return replace(shot, rgb=rgb.tobytes())


def withheld(shot: Screenshot, reason: Reason) -> Screenshot:
    """A grey frame of the same size, without elements."""
    return replace(shot, rgb=bytes([GREY[reason]]) * len(shot.rgb), elements=())


def _without(text: str, rule: str, redactor: Redactor) -> str:
    """The words without what was found in them; all of them where the rule needed other lines to see it."""
    if not rule:
        return text
    clean = redactor.redact(text)
    return clean if clean != text else token(rule)


def _is_dots(value: str) -> bool:
    return bool(value) and set(value) <= DOTS


def _value_beside(label: Element, elements: Sequence[Element]) -> Element | None:
    """What stands to the right of "Password:" in the same row, if it looks like its value."""
    if label.kind != "text" or not labels_a_secret(label.text):
        return None
    row = [e for e in elements if e.kind == "text" and _is_right_of(label, e)]
    value = min(row, key=lambda e: e.box.left, default=None)
    if value is None or len(value.text) < 4 or is_secret_label(value.text):
        return None
    word = value.text.strip()
    odd = any(not c.isalpha() and not c.isspace() for c in word)
    return value if odd or (label.text.rstrip().endswith((":", "：")) and " " not in word) else None


def _torn_address(ring: Element, elements: Sequence[Element]) -> Iterator[tuple[Element, str]]:
    """The two halves of an e-mail address whose @ was taken for a round button, and what of each belongs to it."""
    if ring.kind not in ("radio", "icon"):
        return
    near = 1.5 * (ring.box.right - ring.box.left)
    row = [e for e in elements if e.kind == "text" and len(e.text) > 1]
    before = [e for e in row if _is_right_of(e, ring, near) and _LOCAL.search(e.text)]
    after = [e for e in row if _is_right_of(ring, e, near) and _DOMAIN.match(e.text)]
    if before and after:
        for piece, pattern in ((before[-1], _LOCAL), (after[0], _DOMAIN)):
            found = pattern.search(piece.text)
            if found is not None:
                yield piece, found[0]


def _is_right_of(a: Element, b: Element, within: float = 0.25) -> bool:
    """Whether b begins behind a in the same row, at most so far away. Boxes may touch."""
    middle = (b.box.top + b.box.bottom) / 2
    return a.box.top <= middle <= a.box.bottom and -0.004 <= b.box.left - a.box.right < within


def _follows(a: Element, b: Element) -> bool:
    """Whether b stands after a on its line or on the next one."""
    if b is a:
        return False
    height = a.box.bottom - a.box.top
    below = 0 < b.box.top - a.box.top < 2.5 * height and b.box.top >= a.box.bottom - 0.5 * height
    return _is_right_of(a, b) or (below and b.box.left < a.box.right and a.box.left < b.box.right)
