"""From the detector's rough line cores to exact boxes of separate pieces of text.

Menu entries, table cells and links are separate things to click although they stand on one line: a line is cut at wide
gaps and where the colour of the letters changes, and joined where the detector cut at a mere space. Frames bound it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from agent_core.screen.frame import Frame
from agent_core.screen.ocr import Pixels

Boxes = NDArray[np.int32]
Mask = NDArray[np.bool_]
Core = tuple[int, int, int, int]  # left, top, right, bottom inside an area

WIDE_GAP = 1.4  # of the text height: a gap that separates things
JOIN_GAP = 1.35  # of the text height: pieces closer than this are one text
SPACE_GAP = 0.6  # of the text height: a gap that must be a space
LETTER_CONTRAST = 0.35  # of the line's strongest contrast: what counts as ink
LEAST_CONTRAST = 24  # of 255: fainter marks are no ink
PLAIN_PAPER = 0.3  # of the area in one colour: less is a gradient
OTHER_COLOUR = 90  # of 255 in one channel: letters of another colour


@dataclass(frozen=True, slots=True)
class Piece:
    """One text in pixels. `colour` is its ink's RGB, `letter` the height of its taller letters, `spaces` the middles of
    its wide gaps in pixels of the screen.
    """

    left: int
    top: int
    right: int
    bottom: int
    colour: tuple[int, int, int]
    letter: float
    spaces: tuple[float, ...] = ()

    @property
    def height(self) -> int:
        return self.bottom - self.top


def pieces(rgb: Pixels, cores: Boxes, boxes: Sequence[Frame] = ()) -> list[Piece]:
    """The separate texts on the given line cores; no text reaches out of the innermost frame around its core."""
    height, width = rgb.shape[:2]
    whole = (0, 0, width, height)
    by_room: dict[tuple[int, int, int, int], list[Piece]] = {}
    for left, top, right, bottom in cores.tolist():
        for core in _cut_at_frames((left, top, right, bottom), boxes):
            room = _room(core, boxes, whole)
            by_room.setdefault(room, []).extend(_pieces_of(rgb, core, room))
    found = [piece for inside in by_room.values() for piece in _joined(inside)]
    return sorted(found, key=lambda p: (p.top, p.left))


def _cut_at_frames(core: Core, boxes: Sequence[Frame]) -> Iterator[Core]:
    """The core in parts that lie wholly inside or outside of each frame it runs through; none in tiny ones.

    A label and the field beside it, or the cells of a table, stand on one line for the detector.
    """
    left, top, right, bottom = core
    tall = bottom - top
    if tall < 2 or right - left < 2:
        return
    middle = (top + bottom) / 2
    crossed = [
        b for b in boxes
        if b.left < right and b.right > left
        and ((b.tiny and b.top < middle < b.bottom) or (b.top < top and b.bottom > bottom and b.height >= 1.6 * tall))
    ]  # fmt: skip
    edges = sorted({x for b in crossed for x in (b.left, b.right) if left < x < right})
    tiny_sides = {x for b in crossed if b.tiny for x in (b.left, b.right)}
    for start, end in pairwise([left, *edges, right]):
        x = (start + end) / 2
        in_tiny = any(b.tiny and b.left <= x <= b.right for b in crossed)
        between = end - start < 1.2 * tall and {start, end} <= tiny_sides
        if end - start >= max(2, 0.3 * tall) and not in_tiny and not between:
            yield start, top, end, bottom


def _room(core: Core, boxes: Sequence[Frame], whole: Core) -> Core:
    """Where the text of a core may reach: the inside of the smallest frame around it, up to tiny frames beside it.

    The bowl of an o is a frame too, but holds no core.
    """
    left, top, right, bottom = core
    middle = (left + right) / 2
    around = [b for b in boxes if b.left <= left + 1 and b.right >= right - 1 and b.top < top and b.bottom > bottom]
    room = whole
    if around:
        box = min(around, key=lambda b: b.width * b.height)
        room = box.left + 2, box.top + 2, box.right - 2, box.bottom - 2
    beside = [b for b in boxes if b not in around and b.top < (top + bottom) / 2 < b.bottom and b.height > bottom - top]
    ends = [b.right for b in beside if b.right <= middle]
    begins = [b.left for b in beside if b.left >= middle]
    return max([room[0], *ends]), room[1], min([room[2], *begins]), room[3]


def _pieces_of(rgb: Pixels, line: Core, room: tuple[int, int, int, int]) -> Iterator[Piece]:
    left, top, right, bottom = line
    tall = bottom - top
    grow_y = max(3, round(tall * 1.3))
    grow_x = max(4, round(tall * 1.8))
    x0, y0 = max(room[0], left - grow_x), max(room[1], top - grow_y)
    area = rgb[y0 : min(room[3], bottom + grow_y), x0 : min(room[2], right + grow_x)]
    core = (left - x0, top - y0, right - x0, bottom - y0)
    if min(area.shape[:2]) < 3:
        return
    strength = _strength(area)
    most = int(strength[max(0, core[1]) : core[3], max(0, core[0]) : core[2]].max(initial=0))
    ink = _letters(strength > max(LEAST_CONTRAST, most * LETTER_CONTRAST), core)
    if not ink.any():
        return
    marks = _marks(ink)
    letter = max(float(np.percentile([_height(ink[:, a:b]) for a, b in marks], 75)), tall)
    for start, end, colour, gaps in _runs(area, ink, strength, marks, letter):
        inside = np.flatnonzero(ink[:, start:end].any(axis=1))
        spaces = tuple(x0 + gap for gap in gaps)
        yield Piece(x0 + start, y0 + int(inside[0]), x0 + end, y0 + int(inside[-1]) + 1, colour, letter, spaces)


def _marks(ink: Mask) -> list[tuple[int, int]]:
    """The runs of columns with ink: mostly single letters."""
    edges = np.flatnonzero(np.diff(ink.any(axis=0).astype(np.int8), prepend=0, append=0))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _height(ink: Mask) -> int:
    rows = np.flatnonzero(ink.any(axis=1))
    return int(rows[-1] - rows[0] + 1)


def _strength(area: Pixels) -> NDArray[np.int16]:
    """How much each pixel differs from the paper: the most common colour, or on a gradient each row's own."""
    flat = area.reshape(-1, 3)
    codes = (flat[:, 0].astype(np.int32) >> 3 << 10) | (flat[:, 1].astype(np.int32) >> 3 << 5) | (flat[:, 2] >> 3)
    counts = np.bincount(codes)
    paper: NDArray[np.float64]
    if counts.max() >= PLAIN_PAPER * len(codes):
        paper = np.median(flat[codes == counts.argmax()], axis=0)
    else:
        paper = np.median(area, axis=1, keepdims=True)
    out: NDArray[np.int16] = np.abs(area.astype(np.int16) - paper.astype(np.int16)).max(axis=2)
    return out


def _letters(ink: Mask, core: Core) -> Mask:
    """The ink that belongs to this line: marks on the core, without frames, carets and the lines above and below."""
    import cv2

    left, top, right, bottom = core
    tall = bottom - top
    _, labels, stats, centres = cv2.connectedComponentsWithStats(ink.astype(np.uint8), connectivity=8)
    x, y, w, h = stats[:, 0], stats[:, 1], stats[:, 2], stats[:, 3]
    height, width = ink.shape
    on_core = (y < bottom) & (y + h > top) & (x < right) & (x + w > left)
    beside = (x >= left - tall * 1.3) & (x + w <= right + tall * 1.3)
    off = np.abs(centres[:, 1] - (top + bottom) / 2)
    small = (w <= tall) & (h <= tall)  # commas, quotes, dots
    underline = (w > tall) & (h <= tall) & (y >= bottom)
    near = ((off < tall * 0.95) | ((small | underline) & (off < tall * 1.15))) & beside
    frame = ((x == 0) & (x + w == width) & (width > tall * 3)) | ((y == 0) & (y + h == height))
    cut_off = (x == 0) | (x + w == width) | (y == 0) | (y + h == height)
    keep = (on_core & ~frame) | (near & ~cut_off)
    keep[0] = False
    if not keep.any():
        keep = on_core
        keep[0] = False
    out: Mask = keep[labels]
    return _without_caret(out)


def _without_caret(ink: Mask) -> Mask:
    """The ink without a text cursor: a solid upright stroke that sticks out above and below all letters."""
    rows = np.flatnonzero(ink.any(axis=1))
    columns = np.flatnonzero(ink.any(axis=0))
    if len(columns) < 4:
        return ink
    height = int(rows[-1] - rows[0] + 1)
    tops = ink.argmax(axis=0)
    bottoms = len(ink) - 1 - ink[::-1].argmax(axis=0)
    solid = (ink.sum(axis=0) == bottoms - tops + 1) & ink.any(axis=0)
    caret = solid & (bottoms - tops + 1 >= 0.95 * height)
    others = ink.any(axis=0) & ~caret
    if not 1 <= caret.sum() <= max(2, 0.12 * height) or not others.any():
        return ink
    if tops[others].min() <= rows[0] or bottoms[others].max() >= rows[-1]:
        return ink
    out = ink.copy()
    out[:, caret] = False
    return out


def _runs(
    area: Pixels, ink: Mask, strength: NDArray[np.int16], marks: list[tuple[int, int]], letter: float
) -> Iterator[tuple[int, int, tuple[int, int, int], list[float]]]:
    """Separate texts as (first column, end column, colour, middles of wide gaps)."""
    colours = [_colour(area[:, a:b], ink[:, a:b], strength[:, a:b]) for a, b in marks]
    first = 0
    gaps: list[float] = []
    for i in range(1, len(marks) + 1):
        if i < len(marks):
            gap = marks[i][0] - marks[i - 1][1]
            if gap <= WIDE_GAP * letter and np.abs(colours[i] - colours[i - 1]).max() <= OTHER_COLOUR:
                if gap > SPACE_GAP * letter:
                    gaps.append(marks[i][0] - gap / 2)
                continue
        mean = np.mean(colours[first:i], axis=0)
        yield marks[first][0], marks[i - 1][1], (int(mean[0]), int(mean[1]), int(mean[2])), gaps
        first, gaps = i, []


def _colour(area: Pixels, ink: Mask, strength: NDArray[np.int16]) -> NDArray[np.float64]:
    """The colour of a mark: the mean of its strongest pixels, free of the mixed colours at letter edges."""
    strong = ink & (strength >= np.where(ink, strength, 0).max() * 0.85)
    mean: NDArray[np.float64] = area[strong].mean(axis=0)
    return mean


def _joined(found: list[Piece]) -> list[Piece]:
    """Pieces of one line put together again: same row, size and colour, and no wider gap than a space."""
    out: list[Piece] = []
    for piece in sorted(set(found), key=lambda p: (p.left, p.top)):
        for i in range(len(out) - 1, -1, -1):
            if _belong(out[i], piece):
                out[i] = _union(out[i], piece)
                break
        else:
            out.append(piece)
    return out


def _belong(a: Piece, b: Piece) -> bool:
    """Whether `b`, which begins further right, goes on with the text of `a`."""
    tall, low = max(a.height, b.height), min(a.height, b.height)
    overlap = min(a.bottom, b.bottom) - max(a.top, b.top)
    gap = b.left - a.right
    same_colour = max(abs(p - q) for p, q in zip(a.colour, b.colour, strict=True)) <= OTHER_COLOUR
    return overlap >= 0.6 * low and tall <= 1.8 * low and gap <= JOIN_GAP * max(a.letter, b.letter) and same_colour


def _union(a: Piece, b: Piece) -> Piece:
    gap = b.left - a.right
    between = ((a.right + b.left) / 2,) if gap > SPACE_GAP * max(a.letter, b.letter) else ()
    letter = max(a.letter, b.letter)
    spaces = a.spaces + between + b.spaces
    return Piece(a.left, min(a.top, b.top), max(a.right, b.right), max(a.bottom, b.bottom), a.colour, letter, spaces)
