"""What a closed box on the screen is, before anyone knows what it is for, and what its pixels say about its inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent_core.screen.ocr import Pixels

TINY = (9, 24)  # pixels: sides of boxes too small for words
LIGHT = 250  # of 255: paper that is written on
MARKED = 60  # of 255: how much a mark differs from its paper
CROWDED = 0.01  # of a frame covered with marks that are no words; a caret, a grip or an arrow is less


@dataclass(frozen=True, slots=True)
class Frame:
    """One closed box in pixels. `lined`: drawn as a thin line, not just a step of colour, or light on dark. `light`:
    paper-like inside.

    `ink` is the fraction of the middle that differs from the frame's own colour; `cross` that the ink is an x,
    `crowded` that it holds more than words, `dots` how many bullets stand in it, `arrow` that a list's arrow ends it.
    """

    left: int
    top: int
    right: int
    bottom: int
    round: bool
    lined: bool
    light: bool
    ink: float
    cross: bool = False
    crowded: bool = False
    dots: int = 0
    arrow: bool = False

    @property
    def tiny(self) -> bool:
        """Too small for words: a box to tick or a window's own button."""
        return self.height <= TINY[1] and 0.8 <= self.width / self.height <= 1.25

    @property
    def width(self) -> int:
        return self.right - self.left

    @property
    def height(self) -> int:
        return self.bottom - self.top


def is_cross(marks: NDArray[np.bool_]) -> bool:
    """Whether the marks lie on both diagonals and leave the middles of all four sides free."""
    rows, columns = np.flatnonzero(marks.any(axis=1)), np.flatnonzero(marks.any(axis=0))
    if len(rows) < 5 or len(columns) < 5:
        return False
    glyph = marks[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    h, w = glyph.shape
    if not 0.75 <= w / h <= 1.34:
        return False
    down = glyph[np.arange(h), np.arange(h) * (w - 1) // (h - 1)]
    up = glyph[np.arange(h), (h - 1 - np.arange(h)) * (w - 1) // (h - 1)]
    sides = [glyph[0, w // 2], glyph[-1, w // 2], glyph[h // 2, 0], glyph[h // 2, -1]]
    return bool(down.mean() > 0.8 and up.mean() > 0.8 and not any(sides))


def crowded(rgb: Pixels, box: Frame, words: Sequence[tuple[int, int, int, int]]) -> bool:
    """Whether the frame holds pictures beside its words (their boxes in pixels): then it is a panel, not a field."""
    inset = 6
    left, top = box.left + inset, box.top + inset
    ink = _inside_ink(rgb, box, inset, 40)
    for x0, y0, x1, y1 in words:
        ink[max(0, y0 - top - 4) : max(0, y1 - top + 4), max(0, x0 - left - 4) : max(0, x1 - left + 4)] = False
    return bool(ink.size and ink.mean() > CROWDED)


def dots(rgb: Pixels, box: Frame) -> int:
    """How many bullets of a password stand in the frame; 0 when there is anything else, but for a caret."""
    ink = _inside_ink(rgb, box, 3, 100)
    if min(ink.shape) < 4:
        return 0
    sizes = [(b - a, int(ink[:, a:b].any(axis=1).sum())) for a, b in _column_runs(ink)]
    sizes = [(w, h) for w, h in sizes if w * 4 > h]  # without a caret
    if not sizes or not 0.1 * box.height <= sizes[0][0] <= 0.55 * box.height:
        return 0
    alike = all(abs(w - h) <= 2 and abs(w - sizes[0][0]) <= 1 for w, h in sizes)
    return len(sizes) if alike and (len(sizes) > 1 or sizes[0][0] < 0.3 * box.height) else 0


def ends_in_arrow(rgb: Pixels, box: Frame) -> bool:
    """Whether the last thing in the frame is a small mark by itself, wider than high: the arrow of a list."""
    ink = _inside_ink(rgb, box, 4, MARKED)[:, -round(1.5 * box.height) :]
    runs = _column_runs(ink)
    if not runs or min(ink.shape) < 4:
        return False
    first, end = runs[-1]
    tall = int(ink[:, first:end].any(axis=1).sum())
    alone = first - (runs[-2][1] if len(runs) > 1 else 0) > 0.15 * box.height
    return alone and 0.15 * box.height < end - first < 0.8 * box.height and 2 <= tall < 0.8 * (end - first)


def _inside_ink(rgb: Pixels, box: Frame, inset: int, contrast: int) -> NDArray[np.bool_]:
    """The marks in a frame: pixels unlike the usual colour of their row, which allows for a shaded face."""
    inside = rgb[box.top + inset : box.bottom - inset, box.left + inset : box.right - inset].astype(np.int16)
    if min(inside.shape[:2]) < 1:
        return np.zeros((0, 0), bool)
    ink: NDArray[np.bool_] = np.abs(inside - np.median(inside, axis=(0, 1))).max(axis=2) > contrast
    return ink


def _column_runs(ink: NDArray[np.bool_]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(ink.any(axis=0).astype(np.int8), prepend=0, append=0))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
