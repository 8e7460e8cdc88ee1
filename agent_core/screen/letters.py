"""Lone letters and digits in a drawing: each with its colour, its size and its own place.

Where a page is drawn on plain paper and says nothing in words, every mark on it is a thing of its own. The line
networks are made for words: they miss single letters, join neighbours, and guess the case. Here each mark is cut out,
read by itself, and its case is told by its height among the sizes that occur on the page.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent_core.screen.blocks import paper_of
from agent_core.screen.colours import Colour
from agent_core.screen.ocr import Pixels, WordReader

Place = tuple[int, int, int, int]  # left, top, right, bottom in pixels

INK = 60  # of 255: how much a mark differs from the paper
PLAIN = 0.6  # of the picture in one colour: then it is the paper
GROUND = 71  # pixels: without paper, what is usual in a square of this size is the ground
MOST = 48  # marks; more are a text or a picture
LONG = 0.3  # of the picture's shorter side: longer marks are lines and frames
LEAST = 6  # pixels: smaller marks are dots
STRONG = 80  # of 255 between the channels: a colour rather than a grey
WIDEST = 1.6  # times its height: wider marks are dashes
ROOM = 3.0  # times a mark's height: the width of the strip it is read in
SMALL_LETTER, CAPITAL, TALL_LETTER = 0.547, 0.729, 0.76  # heights in units of the letter size, for screen fonts
USUAL = (1 / 16, 1 / 8)  # letter sizes as parts of the picture's shorter side where a page gives no other hint
TWINS = frozenset("cosuvwxz")  # small letters that look like their capitals
NARROW = 0.82  # width to height: a nought is narrower, an O is not
GAP = 0.3  # of their height: the most paper between the digits of one number
HANGING = frozenset("gpqy")
RISING = frozenset("bdfhklt")


@dataclass(frozen=True, slots=True)
class Mark:
    """One connected mark in pixels, with a dot above it if it has one. `mask` is its own ink in its box."""

    left: int
    top: int
    right: int
    bottom: int
    colour: Colour
    dotted: bool
    mask: NDArray[np.bool_]

    @property
    def height(self) -> int:
        return self.bottom - self.top

    @property
    def width(self) -> int:
        return self.right - self.left

    @property
    def coloured(self) -> bool:
        return max(self.colour) - min(self.colour) > STRONG


@dataclass(frozen=True, slots=True)
class Letter:
    """A mark that was read as `sign`, one letter or digit of `size` pixels."""

    mark: Mark
    sign: str
    size: float


def marks(rgb: Pixels, taken: Sequence[Place]) -> list[Mark]:
    """The marks outside of all `taken` places, on plain paper or on areas of several colours; none when the picture is
    no drawing.
    """
    import cv2

    paper = paper_of(rgb, PLAIN)
    ground = np.array(paper, np.int16) if paper is not None else cv2.medianBlur(rgb, GROUND).astype(np.int16)
    away = np.abs(rgb.astype(np.int16) - ground).max(axis=2)
    for left, top, right, bottom in taken:
        away[max(0, top - 4) : bottom + 4, max(0, left - 4) : right + 4] = 0
    _, labels, stats, _ = cv2.connectedComponentsWithStats((away > INK).astype(np.uint8), connectivity=8)
    sizes = stats[1:, 2:4].max(axis=1, initial=0)
    if paper is None:  # the borders between the areas are no marks
        kept = 1 + np.flatnonzero((sizes >= LEAST // 2) & (sizes <= LONG / 2 * min(away.shape)))
    elif (sizes > LONG * min(away.shape)).any():
        return []
    else:
        kept = np.arange(1, len(stats))
    if len(kept) > 2 * MOST:
        return []
    found = [_mark(rgb, away, labels, group) for group in _with_dots(stats, kept)]
    return [m for m in found if max(m.width, m.height) >= LEAST]


def _with_dots(stats: NDArray[np.int32], kept: NDArray[np.int64]) -> list[list[int]]:
    """The labels of the components that belong together: a dot right above a stem of about its width."""
    groups: list[list[int]] = []
    order = sorted(kept.tolist(), key=lambda n: -int(stats[n, 1]))
    for n in order:
        x, y, w, h = (int(v) for v in stats[n, :4])
        for group in groups:
            sx, sy, sw, sh = (int(v) for v in stats[group[0], :4])
            over = min(x + w, sx + sw) - max(x, sx)
            if over >= 0.7 * w and 0 <= sy - (y + h) <= 0.4 * sh and h < 0.4 * sh and w <= 0.6 * sh:
                group.append(n)
                break
        else:
            groups.append([n])
    return groups


def _mark(rgb: Pixels, away: NDArray[np.int16], labels: NDArray[np.int32], group: Sequence[int]) -> Mark:
    rows, columns = np.nonzero(np.isin(labels, group))
    left, right, top, bottom = int(columns.min()), int(columns.max()) + 1, int(rows.min()), int(rows.max()) + 1
    mask = np.isin(labels[top:bottom, left:right], group)
    off = np.where(mask, away[top:bottom, left:right], 0)
    red, green, blue = np.median(rgb[top:bottom, left:right][off >= 0.95 * off.max()], axis=0)
    return Mark(left, top, right, bottom, (int(red), int(green), int(blue)), len(group) > 1, mask)


def letters(words: WordReader, found: Sequence[Mark], sizes: Sequence[float], side: int) -> list[Letter]:
    """The marks that are letters or digits. `sizes` are known sizes of other things on a page whose shorter side is
    `side` pixels.
    """
    found = [m for m in found if m.width <= WIDEST * m.height]
    near = words.read([_strip(m, 1.4) for m in found])
    far = words.read([_strip(m, ROOM) for m in found])
    read = []
    for mark, close, wide in zip(found, near, far, strict=True):
        options = [(w.score, w.text.strip()) for w in (close, wide) if _is_sign(w.text.strip())]
        if options:
            read.append((mark, _by_form(mark, max(options)[1])))
    hints = [_size(sign, mark.height) for mark, sign in read if sign.lower() not in TWINS | set("il01")]
    known = [*hints, *sizes] or [share * side for share in USUAL]
    return [Letter(mark, *_cased(mark, sign, known)) for mark, sign in read]


def letter_in(rgb: Pixels, place: Place, words: WordReader) -> Letter | None:
    """The letter or digit that stands alone in a place on even ground, None when there is none."""
    left, top, right, bottom = place
    inside = rgb[top:bottom, left:right].astype(np.int16)
    ink = np.abs(inside - np.median(inside, axis=(0, 1))).max(axis=2) > INK
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    if len(rows) < LEAST or len(columns) < 2:
        return None
    x, y = int(columns[0]), int(rows[0])
    mask = ink[y : rows[-1] + 1, x : columns[-1] + 1]
    mark = Mark(left + x, top + y, left + x + mask.shape[1], top + y + mask.shape[0], (0, 0, 0), False, mask)
    read = letters(words, [mark], (), min(rgb.shape[:2]))
    return read[0] if read else None


def set_close(digits: Sequence[Mark]) -> bool:
    """Whether they stand as close together as the digits of one number, not as things of their own."""
    row = sorted(digits, key=lambda m: m.left)
    return len(row) > 1 and all(b.left - a.right < GAP * a.height for a, b in itertools.pairwise(row))


def _is_sign(text: str) -> bool:
    return len(text) == 1 and text.isascii() and text.isalnum()


def _by_form(mark: Mark, sign: str) -> str:
    """The sign where its form says more than the network does: dots, bars, holes, and on which side it is open."""
    mask = mark.mask
    if mark.dotted:
        return "j" if mark.width > 0.18 * mark.height else "i"
    if sign in "1lIi" and mark.width < 0.25 * mark.height and mask.mean() > 0.85:
        return "I"
    if sign in "pPkK":
        right = np.flatnonzero(mask[:, mark.width * 2 // 3 :].any(axis=1))
        small = right[-1] > 0.65 * mark.height if sign in "pP" else right[0] > 0.15 * mark.height
        return sign.lower() if small else sign.upper()
    if sign in "dq":
        return "q" if np.flatnonzero(mask[:, : mark.width // 3].any(axis=1))[0] < 0.15 * mark.height else "d"
    if sign in "0OoD8B":
        if _holes(mask) == 2:
            return "B" if mask[:, : max(1, mark.width // 8)].mean() > 0.6 else "8"
        if sign != "D":
            return "0" if mark.width < NARROW * mark.height else "O"
    return sign


def _holes(mask: NDArray[np.bool_]) -> int:
    """How many closed areas a mark has inside."""
    import cv2

    around = np.pad(~mask, 1, constant_values=True).astype(np.uint8)
    _, _, stats, _ = cv2.connectedComponentsWithStats(around, connectivity=4)
    return int((stats[1:, 4] >= max(3, 0.01 * mask.size)).sum()) - 1


def _strip(mark: Mark, room: float) -> Pixels:
    """The mark in black on white with free paper around it, as wide as `room` times its height."""
    margin = round(0.25 * mark.height)
    side = max(margin, round((room * mark.height - mark.width) / 2))
    paper = np.full((mark.height + 2 * margin, mark.width + 2 * side, 3), 255, np.uint8)
    paper[margin : margin + mark.height, side : side + mark.width][mark.mask] = 0
    return paper


def _size(sign: str, height: int) -> float:
    """The letter size in pixels of a sign that is so many pixels high, one of them soft edge."""
    height -= 1
    if sign in HANGING:
        return height / (SMALL_LETTER + 0.21)
    if sign in RISING or sign == "i":
        return height / TALL_LETTER
    if sign == "j":
        return height / (TALL_LETTER + 0.21)
    return height / (SMALL_LETTER if sign.islower() else CAPITAL)


def _cased(mark: Mark, sign: str, known: Sequence[float]) -> tuple[str, float]:
    """The sign in the case that fits the sizes on the page, and its size."""
    options = [sign]
    if sign.lower() in TWINS:
        options = [sign.lower(), sign.upper()]
    elif sign in "lI":
        options = ["l", "I"]

    def misfit(option: str) -> float:
        size = _size(option, mark.height)
        return min(abs(size - other) / other for other in known)

    best = min(options, key=misfit)
    return best, _size(best, mark.height)
