"""Single signs on buttons: + - * / = . and x. Line networks see them too seldom, so they are read with care.

A sign is read twice, cut close and with room around it: alone, a slash looks like a one; with room it does not.
"""

from __future__ import annotations

import unicodedata

import numpy as np

from agent_core.screen.frame import Frame
from agent_core.screen.ocr import Pixels, Words

Place = tuple[int, int, int, int]  # left, top, right, bottom in pixels
LEAST_SCORE = 0.3  # inside a button something must be written
STROKES = frozenset("1lI|")  # what a slash is mistaken for
LOOKALIKES = {"十": "+", "一": "-", "三": "=", "二": "=", "×": "x", "X": "x", "✕": "x", "米": "*", "冰": "*", "÷": "/"}


def plain(text: str) -> str:
    """The sign on a button, where a lone character that looks like one was read."""
    return LOOKALIKES.get(text, unicodedata.normalize("NFKC", text) if len(text) == 1 else text)


def best_sign(before: str, close: Words, wide: Words) -> str:
    """What a sign is: `before` is what the line reader said; empty when neither reading is a single plain sign."""
    near, far = plain(close.text.strip()), plain(wide.text.strip())
    if far in ("/", "*") and (before or near) in STROKES | {"", "*"}:
        return far
    if before:
        return before
    if len(near) == 1 and near.isascii() and close.score >= LEAST_SCORE:
        return near
    return far if len(far) == 1 and far.isascii() and wide.score >= LEAST_SCORE else ""


def wide_place(box: Frame, place: Place, tall: float) -> Place:
    """The place of a sign with room to its left and right, as far as its frame goes."""
    left, top, right, bottom = place
    middle, half = (left + right) // 2, round(2.2 * tall)
    return max(box.left + 4, middle - half), top, min(box.right - 4, middle + half), bottom


def sign_place(rgb: Pixels, box: Frame, tall: float) -> Place | None:
    """Where in a frame a single sign stands, one text line high, so that a dot stays low and a dash in the middle."""
    inset = 4
    left, top, right, bottom = box.left + inset, box.top + inset, box.right - inset, box.bottom - inset
    inside = rgb[top:bottom, left:right].astype(np.int16)
    if min(inside.shape[:2]) < 4:
        return None
    ink = np.abs(inside - np.median(inside, axis=(0, 1))).max(axis=2) > 60
    if not ink.any():
        return None
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    if rows[-1] - rows[0] > 1.6 * tall or columns[-1] - columns[0] > 1.6 * tall:
        return None
    half = round(0.75 * tall)
    middle = (top + bottom) // 2
    margin = round(0.3 * tall)
    return (
        max(left, left + int(columns[0]) - margin),
        max(top, min(middle - half, top + int(rows[0]) - 1)),
        min(right, left + int(columns[-1]) + 1 + margin),
        min(bottom, max(middle + half, top + int(rows[-1]) + 2)),
    )
