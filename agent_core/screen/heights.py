"""Tells apart letters that differ by height alone: capital I and small l, and c C, o O, s S, u U, v V, w W, x X, z Z.

The recogniser sees one line at one height and guesses them from the word, which is no help in passwords and codes. The
letters beside them say how high capitals, ascenders and small letters reach. Where they do not say, or the text is too
small to measure, it is left as it was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from agent_core.screen.ocr import Pixels, Words

BARS = frozenset("Il1|")
CAPITALS = frozenset("BDEFHKLMNPRTUXYZ")  # flat tops only: round ones reach a little higher
DIGITS = frozenset("0123456789")
ASCENDERS = frozenset("bdhkl")
SMALL = frozenset("aegmnpqry")
TWINS = frozenset("CcOoSsUuVvWwXxZz")
LEAST_HEIGHT = 20  # pixels of a line's crop
SURE = 0.3  # pixels: a smaller difference says nothing
NEAR = 0.2  # of the crop's height: how far from its place a character's mark may be
ONE_SIZE = 1.5  # pixels: small letters of one font size are as high as each other
CASE_STEP = 0.12  # of the crop's height: capitals stand out above small letters by more


@dataclass(frozen=True, slots=True)
class Mark:
    """One run of ink columns: middle and width in pixels, its top with a fraction, and whether it is a plain bar."""

    middle: float
    width: int
    top: float
    bar: bool


@dataclass(frozen=True, slots=True)
class _Tops:
    """How high three kinds of letters reach in a text, None for those that are not in it. Pixels from above."""

    capital: float | None
    ascender: float | None
    small: float | None

    @classmethod
    def of(cls, text: str, marks: list[Mark | None]) -> _Tops:
        capital = _usual_top(text, marks, CAPITALS) or _usual_top(text, marks, DIGITS)
        ascender = _usual_top(text, marks, ASCENDERS) or _highest_bar(marks)
        return cls(capital, ascender, _usual_top(text, marks, SMALL))


def with_heights_told(crop: Pixels, words: Words) -> str:
    """The text with each plain bar written as I or l, and each of the TWINS in the case that its height says."""
    if len(crop) < LEAST_HEIGHT or not (BARS | TWINS) & set(words.text):
        return words.text
    marks = list(_marks(crop))
    width = crop.shape[1] * words.width_share
    of = _in_order(words.text, marks) or _alone([_nearest(marks, p * width, len(crop)) for p in words.places])
    small = [mark.top for letter, mark in zip(words.text, of, strict=True) if letter in SMALL and mark]
    one_size = not small or max(small) - min(small) <= ONE_SIZE
    out = list(words.text)
    for word in re.finditer(r"\S+", words.text):
        part = slice(*(word.span() if not one_size else (0, len(out))))
        ends = _Tops.of(words.text[part], of[part])
        for i in range(*word.span()):
            mark = of[i]
            if mark is not None and out[i] in BARS and mark.bar:
                out[i] = _bar(out[i], mark.top, ends)
            elif mark is not None and out[i] in TWINS:
                out[i] = _twin(out[i], mark.top, ends, len(crop))
    return "".join(out)


def _bar(read: str, top: float, ends: _Tops) -> str:
    """The letter whose height the bar has; what was read when the neighbours do not tell.

    Standing above the capitals proves an l. An I needs an ascender to stand below: in many fonts all are equal.
    """
    if ends.capital is not None and top < ends.capital - SURE:
        return "l"
    if ends.ascender is not None and top > ends.ascender + SURE:
        return "I"
    return "I" if read == "1" else read


def _twin(read: str, top: float, ends: _Tops, height: int) -> str:
    """The case of a letter: as high as capitals, or as the small letters. One of the two heights will do."""
    high, small = ends.capital or ends.ascender, ends.small
    if high is not None and small is not None and small - high > CASE_STEP * height / 2:
        return read.upper() if top < (high + small) / 2 else read.lower()
    if small is not None and top < small - CASE_STEP * height:
        return read.upper()
    if high is not None and top > high + CASE_STEP * height:
        return read.lower()
    return read


def _in_order(text: str, marks: list[Mark]) -> list[Mark | None]:
    """The mark of each character when there are as many as letters (two for a double quote), else nothing."""
    counts = [0 if letter == " " else 2 if letter == '"' else 1 for letter in text]
    if sum(counts) != len(marks):
        return []
    firsts = accumulate(counts, initial=0)
    return [marks[first] if count else None for first, count in zip(firsts, counts, strict=False)]


def _alone(of: list[Mark | None]) -> list[Mark | None]:
    """The marks that stand for one character each; where letters touch, heights say nothing."""
    return [mark if mark is not None and sum(mark is other for other in of) == 1 else None for mark in of]


def _usual_top(text: str, of: list[Mark | None], letters: frozenset[str]) -> float | None:
    tops = [mark.top for letter, mark in zip(text, of, strict=True) if letter in letters and mark and not mark.bar]
    return float(np.median(tops)) if tops else None


def _highest_bar(of: list[Mark | None]) -> float | None:
    """Where bars differ in height, the higher ones are ascenders."""
    return min((mark.top for mark in of if mark and mark.bar), default=None)


def _nearest(marks: list[Mark], x: float, height: int) -> Mark | None:
    near = [mark for mark in marks if mark.width <= 1.3 * height and abs(mark.middle - x) < NEAR * height]
    return min(near, key=lambda mark: abs(mark.middle - x)) if near else None


def _marks(crop: Pixels) -> Iterator[Mark]:
    """The letters of a line that stand free of each other."""
    strength = np.abs(crop.astype(np.int16) - np.median(crop, axis=(0, 1)).astype(np.int16)).max(axis=2)
    most = float(strength.max())
    ink = strength > 0.35 * most
    edges = np.flatnonzero(np.diff(ink.any(axis=0).astype(np.int8), prepend=0, append=0))
    for left, right in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        own = ink[:, left:right]
        rows = np.flatnonzero(own.any(axis=1))
        height = int(rows[-1] - rows[0] + 1)
        bar = own[rows[0] : rows[-1] + 1].mean() > 0.9 and right - left < 0.35 * height and height > 0.5 * len(crop)
        own_strength = strength[:, left:right] / strength[:, left:right].max()
        yield Mark((left + right) / 2, right - left, _top(own_strength, int(rows[0])), bool(bar))


def _top(strength: NDArray[np.float64], row: int) -> float:
    """The upper end with the fraction that the half-covered pixel row tells."""
    profile = strength.max(axis=1)
    above = profile[row - 1] if row else 0.0
    return float(row + 1 - min(1.0, profile[row]) - min(1.0, above))
