"""Frames found in the pixels alone: closed boxes that may be buttons, fields, check boxes or radio buttons.

A frame is a flat region closed on all sides by an edge, with a rectangular or round outline. What kind of thing it is
depends on the words in it and beside it and is decided in `elements`. No network: screens are drawn, not photographed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agent_core.screen.frame import LIGHT, Frame
from agent_core.screen.ocr import Pixels
from agent_core.screen.outlines import outlined

EDGE = 14  # of 255 between neighbours: fainter steps are shading, not an outline
LEAST_SIDE, MOST_HEIGHT = 6, 0.45  # pixels; fraction of the screen's height
OWN_AREA = 0.3  # a frame's flat part as a fraction of its box; less is the ring of a thick outline
ROUND = (0.66, 0.86)  # outline area / box area of a circle, pi / 4 in theory
ON_DARK = 150  # of 255: a box lighter than its surroundings by this stands out without a line


def frames(rgb: Pixels) -> list[Frame]:
    """All closed boxes of the picture (height x width x 3), top to bottom, without those cut off by its edge."""
    import cv2

    height, width = rgb.shape[:2]
    red, green, blue = cv2.split(cv2.morphologyEx(rgb, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)))
    flat = (cv2.max(cv2.max(red, green), blue) < EDGE).astype(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(flat, connectivity=4)
    x, y, w, h, area = stats.T
    usable = (
        (w >= LEAST_SIDE) & (h >= LEAST_SIDE) & (h <= height * MOST_HEIGHT) & (w >= h * 0.6)
        & (x > 0) & (y > 0) & (x + w < width) & (y + h < height) & (area >= w * h * OWN_AREA)
    )  # fmt: skip
    usable[0] = False
    found = [_frame(rgb, labels, int(i), stats[i]) for i in np.flatnonzero(usable)]
    # A tiny flat area is the bowl of a letter; tiny boxes are known by their outline.
    flat_boxes = [frame for frame in found if frame is not None and not frame.tiny]
    return _without_doubles(flat_boxes + outlined(rgb))


def _frame(rgb: Pixels, labels: NDArray[np.int32], label: int, stats: NDArray[np.int32]) -> Frame | None:
    import cv2

    x, y, w, h = (int(v) for v in stats[:4])
    own = (labels[y : y + h, x : x + w] == label).astype(np.uint8)
    outline = max(cv2.findContours(own, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)[0], key=cv2.contourArea)
    extent = (cv2.contourArea(outline) + len(outline) / 2) / (w * h)
    square = 0.85 <= w / h <= 1.18
    is_round = square and ROUND[0] <= extent <= ROUND[1]
    if not is_round and extent < 0.9:
        return None
    inside = rgb[y : y + h, x : x + w]
    paper = np.median(inside[own.astype(bool)], axis=0).astype(np.int16)
    third_y, third_x = h // 4, w // 4
    middle = inside[third_y : h - third_y, third_x : w - third_x].astype(np.int16)
    ink = float((np.abs(middle - paper).max(axis=2) > 60).mean())
    return Frame(
        max(0, x - 2), max(0, y - 2), x + w + 2, y + h + 2, is_round,
        _lined(rgb, x, y, w, h, paper), bool(paper.min() >= LIGHT), ink,
    )  # fmt: skip


def _lined(rgb: Pixels, x: int, y: int, w: int, h: int, paper: NDArray[np.int16]) -> bool:
    """Whether the outline is a line: another colour than both the inside and what lies beyond it, on three sides.

    A light box on a dark ground needs no line.
    """
    height, width = rgb.shape[:2]
    reach = 7
    mid_x, mid_y = x + w // 2, y + h // 2
    walks = (
        rgb[mid_y, max(0, x - reach) : x][::-1],
        rgb[mid_y, x + w : min(width, x + w + reach)],
        rgb[max(0, y - reach) : y, mid_x][::-1],
        rgb[y + h : min(height, y + h + reach), mid_x],
    )
    sides = 0
    for walk in walks:
        away = np.abs(walk.astype(np.int16) - paper).max(axis=1)
        if len(away) and away.max() > EDGE:
            peak = int(away.argmax())
            line = np.abs(walk[peak:].astype(np.int16) - walk[peak].astype(np.int16)).max() > EDGE
            sides += bool(line or away.max() > ON_DARK)
    return sides >= 3


def _without_doubles(found: list[Frame]) -> list[Frame]:
    """Of boxes that lie on top of each other (outline and inside of one thing) the inner one."""
    out: list[Frame] = []
    for frame in sorted(found, key=lambda f: (f.width * f.height, f.top, f.left)):
        slack = max(3.0, min(8.0, 0.3 * frame.height))
        if not any(
            abs(frame.left - o.left) <= slack and abs(frame.top - o.top) <= slack
            and abs(frame.right - o.right) <= slack and abs(frame.bottom - o.bottom) <= slack
            for o in out
        ):  # fmt: skip
            out.append(frame)
    return sorted(out, key=lambda f: (f.top, f.left))
