"""Boxes found by a thin outline or a strong colour, whatever is in them: the small widgets of ordinary screens.

At ordinary sizes words nearly touch the line around them, so that no flat area is left for `widgets` to find. Here the
line itself is followed. Letters are outlines as well: a box needs four straight sides, a circle must stand alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from agent_core.screen.frame import LIGHT, MARKED, TINY, Frame, is_cross
from agent_core.screen.ocr import Pixels

LINE = 18  # of 255: how much a thin line stands out from both its sides
STRONG = 90  # of 255 between the channels: the colour of ticked boxes
STRAIGHT = 0.8  # of a side covered by the line; the rest are rounded corners
MOST_HEIGHT = 0.45  # of the screen
ROUNDED = 1.35  # times the outline in pixels: a thin line with round corners has no more; an o has
LEAST_CIRCLE = 11  # pixels
THICK = 0.14  # of a circle's width: the stroke of an O is wider than the line of a radio button
SOLID = 0.75  # of a circle filled: not a ring at all
ALONE = 0.25  # of a box's height: free paper beside it; letters stand closer


def outlined(rgb: Pixels) -> list[Frame]:
    """All boxes and small circles drawn with lines of at most two pixels or filled with a strong colour."""
    import cv2

    grey = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
    kernel = np.ones((3, 3), np.uint8)
    dark = cv2.morphologyEx(grey, cv2.MORPH_BLACKHAT, kernel) > LINE
    light = cv2.morphologyEx(grey, cv2.MORPH_TOPHAT, kernel) > LINE
    red, green, blue = cv2.split(rgb)
    strong = cv2.max(cv2.max(red, green), blue) - cv2.min(cv2.min(red, green), blue) > STRONG
    out = [frame for mask in (dark, light) for frame in _of(rgb, mask) if frame]
    out += [frame for frame in _of(rgb, strong) if frame and frame.tiny]
    return [frame for frame in out if not frame.tiny or _stands_alone(rgb, frame)]


def _of(rgb: Pixels, mask: NDArray[np.bool_]) -> Iterator[Frame | None]:
    import cv2

    _, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    x, y, w, h = stats[:, 0], stats[:, 1], stats[:, 2], stats[:, 3]
    usable = (w >= TINY[0]) & (h >= TINY[0]) & (h <= len(rgb) * MOST_HEIGHT) & (w >= h * 0.6)
    usable[0] = False
    for i in np.flatnonzero(usable):
        left, top, wide, tall = int(x[i]), int(y[i]), int(w[i]), int(h[i])
        own = labels[top : top + tall, left : left + wide] == i
        if _is_box(own):
            yield _framed(rgb, left, top, wide, tall, False)
        elif _is_circle(own) and _stroke(rgb, left, top, wide, tall) <= max(1.6, THICK * wide):
            yield _framed(rgb, left, top, wide, tall, True)


def _is_box(own: NDArray[np.bool_]) -> bool:
    sides = (own[:2].any(axis=0), own[-2:].any(axis=0), own[:, :2].any(axis=1), own[:, -2:].any(axis=1))
    if any(side.mean() < STRAIGHT for side in sides) or own[0].mean() <= 0.5 or own[-1].mean() <= 0.5:
        return False
    corners = (own[:2, :2], own[:2, -2:], own[-2:, :2], own[-2:, -2:])
    if max(own.shape) > TINY[1] or all(corner.sum() >= 3 for corner in corners):
        return True
    line = 2 * (own.shape[0] + own.shape[1]) - 4
    solid = own.mean() >= SOLID
    return all(corner.any() for corner in corners) and bool(solid or own.sum() <= ROUNDED * line)


def is_dot(marks: NDArray[np.bool_]) -> bool:
    """Whether the marks in a circle are the dot of a radio button, about as wide as high, or nothing."""
    if not marks.any():
        return True
    tall, wide = np.ptp(np.flatnonzero(marks.any(axis=1))) + 1, np.ptp(np.flatnonzero(marks.any(axis=0))) + 1
    return bool(0.7 <= wide / tall <= 1.4)


def _is_circle(own: NDArray[np.bool_]) -> bool:
    """Whether a ring or disc fills a square as a circle does: corners free, four sides touched in the middle."""
    h, w = own.shape
    if not (LEAST_CIRCLE <= w <= TINY[1] and abs(w - h) <= 1):
        return False
    y, x = np.mgrid[:h, :w]
    far = np.hypot((x + 0.5) / w - 0.5, (y + 0.5) / h - 0.5)
    ring = (far > 0.5 - 1.7 / w) & (far <= 0.5)
    angles = np.round(np.arctan2(y - h / 2 + 0.5, x - w / 2 + 0.5) * 8 / np.pi).astype(int) % 16
    covered = {int(a) for a in np.unique(angles[ring & own])}
    return bool(len(covered) == 16 and own[far > 0.58].sum() == 0)


def _stroke(rgb: Pixels, x: int, y: int, w: int, h: int) -> float:
    """How many pixels wide the outline is at the left end of the middle row, shaded pixels in part; 0 for a disc."""
    walk = rgb[y + h // 2, max(0, x - 2) : x + w // 2].astype(np.int16)
    away = np.abs(walk - walk[0]).max(axis=1).astype(float)
    marks = away > LINE
    first = int(marks.argmax())
    ends = np.flatnonzero(~marks[first:])
    if not marks.any() or not len(ends):
        return 0.0
    return float(away[first : first + int(ends[0])].sum() / away.max())


def _stands_alone(rgb: Pixels, box: Frame) -> bool:
    """Whether plain paper lies on both sides of the box: letters have neighbours close by."""
    reach = max(3, round(ALONE * box.height))
    rows = rgb[box.top : box.bottom]
    left, right = rows[:, max(0, box.left - reach) : max(1, box.left - 1)], rows[:, box.right + 1 : box.right + reach]
    sides = np.concatenate([left, right], axis=1).astype(np.int16)
    return bool(np.abs(sides - sides[:, :1]).max() <= LINE and np.abs(sides - np.median(sides, axis=0)).max() <= MARKED)


def _framed(rgb: Pixels, x: int, y: int, w: int, h: int, is_round: bool) -> Frame | None:
    inset = 3 if is_round else 2
    inside = rgb[y + inset : y + h - inset, x + inset : x + w - inset].astype(np.int16)
    paper = np.median(inside, axis=(0, 1)) if not is_round else inside[0, inside.shape[1] // 2]
    marks = np.abs(inside - paper).max(axis=2) > MARKED
    if is_round and not is_dot(marks):
        return None
    light = bool(paper.min() >= LIGHT)
    return Frame(x, y, x + w, y + h, is_round, True, light, float(marks.mean()), cross=is_cross(marks))
