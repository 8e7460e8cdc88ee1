"""Rectangular pictures on plain paper: a framed cell with a sign in it, a card, a photograph.

A block is one connected mark whose outline is a rectangle. What is in it is not understood, but it can be pointed at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent_core.screen.colours import Colour, colour_name
from agent_core.screen.ocr import Pixels

INK = 60  # of 255: how much a mark differs from the paper
PLAIN = 0.4  # of the picture in one colour: less is no paper
LEAST = 1 / 8  # of the picture's shorter side
MOST_SIDE = 0.55  # of it
LONGEST = 2.6  # times as long as wide
STRAIGHT = 0.93  # of the box within the outline
INSET = 0.08  # of its size: the frame
SIGN = (0.03, 0.45)  # of the inside covered with black or grey: a sign on paper; all else is a picture
GREY = 60  # of 255 between the channels of it at the most


@dataclass(frozen=True, slots=True)
class Block:
    """One block in pixels. `signed`: it is paper with a sign on it; else it is a picture, mainly in `colour`."""

    left: int
    top: int
    right: int
    bottom: int
    signed: bool
    colour: Colour

    @property
    def words(self) -> str:
        """What it is called: the cell's shape, or the picture's colour."""
        square = 0.86 <= (self.right - self.left) / (self.bottom - self.top) <= 1.16
        return f"white {'square' if square else 'rectangle'}" if self.signed else f"{colour_name(self.colour)} picture"


def blocks(rgb: Pixels) -> list[Block]:
    """All blocks of a picture (height x width x 3) that is mostly plain paper, top to bottom."""
    import cv2

    paper = paper_of(rgb, PLAIN)
    if paper is None:
        return []
    ink = np.abs(rgb.astype(np.int16) - np.array(paper, np.int16)).max(axis=2) > INK
    _, labels, stats, _ = cv2.connectedComponentsWithStats(ink.astype(np.uint8), connectivity=8)
    height, width = ink.shape
    side = min(height, width)
    x, y, w, h, _ = stats.T
    long, short = np.maximum(w, h), np.minimum(w, h)
    usable = (
        (short >= LEAST * side) & (long <= MOST_SIDE * side) & (long <= LONGEST * short)
        & (x > 1) & (y > 1) & (x + w < width - 1) & (y + h < height - 1)
    )  # fmt: skip
    usable[0] = False
    found = [_block(rgb, ink, labels, int(i), stats[i]) for i in np.flatnonzero(usable)]
    return sorted((b for b in found if b is not None), key=lambda b: (b.top, b.left))


def _block(
    rgb: Pixels, ink: NDArray[np.bool_], labels: NDArray[np.int32], label: int, stats: NDArray[np.int32]
) -> Block | None:
    import cv2

    x, y, w, h = (int(v) for v in stats[:4])
    own = (labels[y : y + h, x : x + w] == label).astype(np.uint8)
    outline = max(cv2.findContours(own, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[0], key=cv2.contourArea)
    if cv2.contourArea(outline) + len(outline) / 2 < STRAIGHT * w * h:
        return None
    dx, dy = max(4, round(INSET * w)), max(4, round(INSET * h))
    inside = (slice(y + dy, y + h - dy), slice(x + dx, x + w - dx))
    share = float(ink[inside].mean())
    pixels = rgb[inside][ink[inside]]
    if share < SIGN[0] or not len(pixels):
        return None
    values, counts = np.unique(pixels >> 3, axis=0, return_counts=True)
    most = pixels[(pixels >> 3 == values[counts.argmax()]).all(axis=1)]
    red, green, blue = np.median(most, axis=0)
    colour = (int(red), int(green), int(blue))
    signed = share <= SIGN[1] and max(colour) - min(colour) <= GREY
    return Block(x, y, x + w, y + h, signed, colour)


def paper_of(rgb: Pixels, least: float) -> Colour | None:
    """The colour of the ground, None when no colour covers `least` of the picture."""
    codes = (rgb[::3, ::3, 0].astype(np.int32) << 16) | (rgb[::3, ::3, 1].astype(np.int32) << 8) | rgb[::3, ::3, 2]
    values, counts = np.unique(codes, return_counts=True)
    code = int(values[counts.argmax()])
    return (code >> 16, code >> 8 & 255, code & 255) if counts.max() >= least * codes.size else None
