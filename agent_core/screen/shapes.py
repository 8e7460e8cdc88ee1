"""Drawn shapes: circles, squares, triangles and other polygons of one flat colour, or empty within a thin line.

A shape is a region of even colour whose outline is one of a few known figures. It says what a person would say of it:
`red circle`, `light blue square`, `white pentagon`; `framed` when a line of another colour runs around its fill.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent_core.screen.colours import GREY_CHROMA, Colour, colour_name
from agent_core.screen.ocr import Pixels

Mask = NDArray[np.bool_]
Contour = NDArray[np.int32]

EDGE = 14  # of 255 between neighbours, as for frames
LEAST_SIDE = 9  # pixels of the even inside: smaller ones are dots and parts of letters
MOST_SIDE = 0.55  # of the picture's shorter side
LONGEST = 2.6  # times as long as wide: more is a bar, a row or a line
SOLID = 0.9  # of the outline's area in the one colour: less has words or pictures in it
MENDED = 0.8  # of it for a small shape with lines across
UNLIKE = 30  # of 255 in one channel: how much a fill differs from the paper around it
PLAIN_GREY = 60  # of 255: a grey fill nearer to the paper is shading
LINE_CONTRAST = 60  # of 255: how much an outline differs from the fill
THIN = 0.12  # of the shape's size: the line around an empty shape; a letter's stroke is thicker
LEAST_EMPTY = 36  # pixels: smaller empty shapes are the bowls of letters
REACH = (
    9,
    14,
    20,
)  # pixels from the inside to the paper, across the softened edge and a line; larger for larger shapes
LARGE = 60  # pixels: up to here the first reach holds, to its double the second
LIGHT = 200  # of 255: a lighter fill is paper, which is not mended
MEND = 12  # pixels around a small shape in which the rest of it is looked for
OTHERS = 0.4  # of the strip around a shape unlike its paper; more is a picture
MIXED = 50  # of 255: a soft edge's colour lies this near the straight way from the fill to the paper
CORNER = 0.08  # of the radius: how far an outline may stray from the straight way between two corners
REGULAR = 1.35  # longest to shortest side of a polygon with more than four; others are slices and scraps
NAMES = {3: "triangle", 5: "pentagon", 6: "hexagon", 7: "heptagon", 8: "octagon"}


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape in pixels. `figure` is its kind, `fill` its colour, `framed` whether a line of another colour is round
    it, `empty` that the fill is the paper's own colour.
    """

    left: int
    top: int
    right: int
    bottom: int
    figure: str
    fill: Colour
    framed: bool
    empty: bool

    @property
    def words(self) -> str:
        """What it is called: colour, figure, and `framed` for a fill with a line around."""
        return f"{colour_name(self.fill)} {self.figure}" + (" framed" if self.framed and not self.empty else "")


def shapes(rgb: Pixels) -> list[Shape]:
    """All shapes of a picture (height x width x 3), top to bottom, also those in buttons or other elements."""
    import cv2

    height, width = rgb.shape[:2]
    red, green, blue = cv2.split(cv2.morphologyEx(rgb, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)))
    flat = (cv2.max(cv2.max(red, green), blue) < EDGE).astype(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(flat, connectivity=4)
    x, y, w, h, area = stats.T
    long, short = np.maximum(w, h), np.minimum(w, h)
    usable = (
        (short >= LEAST_SIDE) & (long <= MOST_SIDE * min(height, width)) & (long <= LONGEST * short)
        & (x > 1) & (y > 1) & (x + w < width - 1) & (y + h < height - 1) & (area >= 0.4 * w * h)
    )  # fmt: skip
    usable[0] = False
    found = [_shape(rgb, labels, int(i), stats[i]) for i in np.flatnonzero(usable)]
    return sorted((s for s in found if s is not None), key=lambda s: (s.top, s.left))


def _shape(rgb: Pixels, labels: NDArray[np.int32], label: int, stats: NDArray[np.int32]) -> Shape | None:
    left, top, wide, tall, area = (int(v) for v in stats)
    own = (labels[top : top + tall, left : left + wide] == label).astype(np.uint8)
    fill = _median(rgb[top : top + tall, left : left + wide][own.astype(bool)])
    outline, whole = _outline(own)
    figure = figure_of(outline, wide, tall) if area >= SOLID * whole else ""
    if not figure and max(wide, tall) <= LARGE and min(fill) < LIGHT:
        own, left, top = _mended(rgb, own, fill, left, top)
        tall, wide = own.shape
        outline, whole = _outline(own)
        figure = figure_of(outline, wide, tall) if own.sum() >= MENDED * whole and _fits(wide, tall) else ""
    if not figure:
        return None
    around = _Around.of(rgb, own, left, top)
    if around is None:
        return None
    line = max(abs(a - b) for a, b in zip(around.line, fill, strict=True))
    apart = max(abs(a - b) for a, b in zip(around.paper, fill, strict=True))
    if apart < UNLIKE:
        size = max(wide, tall)
        if line < LINE_CONTRAST or size < LEAST_EMPTY or around.thickness > max(3.5, THIN * size):
            return None
    elif around.others > OTHERS or figure == "rectangle" or (_is_grey(fill) and apart < PLAIN_GREY):
        return None
    framed = line > LINE_CONTRAST and _off_the_way(around.line, fill, around.paper) > MIXED
    edge = 1 + (around.thickness if framed else 1)
    box = (max(0, left - edge), max(0, top - edge), left + wide + edge, top + tall + edge)
    return Shape(*box, figure, fill, framed, apart < UNLIKE)


def _outline(own: NDArray[np.uint8]) -> tuple[Contour, float]:
    """The outer contour of a region and the area within it."""
    import cv2

    outline = max(cv2.findContours(own, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[0], key=cv2.contourArea)
    return outline, cv2.contourArea(outline) + len(outline) / 2


def _fits(wide: int, tall: int) -> bool:
    return min(wide, tall) >= LEAST_SIDE and max(wide, tall) <= LONGEST * min(wide, tall)


def _mended(
    rgb: Pixels, own: NDArray[np.uint8], fill: Colour, left: int, top: int
) -> tuple[NDArray[np.uint8], int, int]:
    """A small region with all that has its colour across thin lines, and where that begins: lines may end in a dot."""
    import cv2

    tall, wide = own.shape
    x0, y0 = max(0, left - MEND), max(0, top - MEND)
    area = rgb[y0 : top + tall + MEND, x0 : left + wide + MEND].astype(np.int16)
    alike = (np.abs(area - np.array(fill, np.int16)).max(axis=2) <= UNLIKE).astype(np.uint8)
    closed = cv2.morphologyEx(alike, cv2.MORPH_CLOSE, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (9, 9)))
    _, labels, stats, _ = cv2.connectedComponentsWithStats(closed, connectivity=4)
    rows, columns = np.nonzero(own)
    label = int(labels[rows[0] + top - y0, columns[0] + left - x0])
    x, y, w, h = (int(v) for v in stats[label, :4])
    return (labels[y : y + h, x : x + w] == label).astype(np.uint8), x0 + x, y0 + y


@dataclass(frozen=True, slots=True)
class _Around:
    """What lies around a shape: the colour at its edge and that of the paper, what part of the paper is something else,
    and how many pixels wide the edge is.
    """

    line: Colour
    paper: Colour
    others: float
    thickness: int

    @classmethod
    def of(cls, rgb: Pixels, own: NDArray[np.uint8], left: int, top: int) -> _Around | None:
        """None when the shape lies too close to the picture's edge to tell."""
        import cv2

        tall, wide = own.shape
        full = REACH[min(2, (max(tall, wide) - 1) // LARGE)]
        margin = full + 1
        if left < margin or top < margin or left + wide + margin > rgb.shape[1] or top + tall + margin > rgb.shape[0]:
            margin = min(left, top, rgb.shape[1] - left - wide, rgb.shape[0] - top - tall)
        if margin < 3:
            return None
        area = rgb[top - margin : top + tall + margin, left - margin : left + wide + margin].astype(np.int16)
        mask = cv2.copyMakeBorder(own, margin, margin, margin, margin, cv2.BORDER_CONSTANT, value=0)
        far = cv2.distanceTransform(1 - mask, cv2.DIST_L2, 3)
        reach = min(full, margin - 1)
        outer = area[(far > reach - 1.5) & (far <= reach + 0.5)]
        paper = _median(outer)
        # A strip of one pixel on each distance: where it becomes paper the edge ends.
        line, strongest, thickness = paper, -1, 0
        fill = np.median(area[mask.astype(bool)], axis=0)
        for d in range(1, reach + 1):
            strip = np.median(area[(far > d - 0.5) & (far <= d + 0.5)], axis=0)
            off = min(int(np.abs(strip - paper).max()), int(np.abs(strip - fill).max()))
            if off > strongest:
                line, strongest = (int(strip[0]), int(strip[1]), int(strip[2])), off
            if np.abs(strip - paper).max() >= UNLIKE:
                thickness = d
            elif thickness:
                break
        others = float((np.abs(outer - np.array(paper)).max(axis=1) > UNLIKE).mean())
        return cls(line, paper, others, thickness)


def _is_grey(colour: Colour) -> bool:
    return max(colour) - min(colour) < GREY_CHROMA


def _off_the_way(colour: Colour, start: Colour, end: Colour) -> float:
    """How far a colour lies from all mixtures of two others."""
    a, b, c = (np.array(v, np.float64) for v in (start, end, colour))
    way = b - a
    part = float(np.clip(np.dot(c - a, way) / max(1.0, float(np.dot(way, way))), 0, 1))
    return float(np.abs(c - a - part * way).max())


def figure_of(outline: Contour, wide: int, tall: int) -> str:
    """The name of the figure that an outline draws, nothing for any other."""
    import cv2

    area = cv2.contourArea(outline)
    hull = cv2.convexHull(outline)
    if area < 0.93 * cv2.contourArea(hull):
        return ""
    share = (area + len(outline) / 2) / (wide * tall)
    square = 0.86 <= wide / tall <= 1.16
    if share > 0.93:
        return "square" if square else "rectangle"
    centre = outline.reshape(-1, 2).mean(axis=0)
    radii = np.linalg.norm(outline.reshape(-1, 2) - centre, axis=1)
    radius = float(radii.mean())
    if square and radii.std() / radius < (0.016 if radius > 30 else 0.06):
        return "circle"
    corners = cv2.approxPolyDP(hull, max(2.0, CORNER * radius), closed=True).reshape(-1, 2)
    if len(corners) == 4:
        return _four_sided(corners)
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1)
    if len(corners) != 3 and (radius < 20 or sides.max() > REGULAR * sides.min()):
        return ""
    return NAMES.get(len(corners), "")


def _four_sided(corners: Contour) -> str:
    """A square that stands on a corner, or nothing."""
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1)
    across = np.linalg.norm(corners[2:] - corners[:2], axis=1)
    return "square" if sides.max() < 1.25 * sides.min() and across.max() < 1.25 * across.min() else ""


def _median(pixels: NDArray[np.uint8] | NDArray[np.int16]) -> Colour:
    red, green, blue = np.median(pixels, axis=0)
    return int(red), int(green), int(blue)
