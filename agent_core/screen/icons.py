"""Pictures to click that have neither a frame nor words: stars, bins, arrows, toolbar signs. They get no name."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from agent_core.screen.ocr import Pixels

Place = tuple[int, int, int, int]  # left, top, right, bottom in pixels
EDGE = 24  # of 255 between neighbours
MOST = 24  # more small marks than this are a drawing or a photograph
SIZES = (0.7, 2.8)  # of the usual text height: the longer side
THIN = 0.2  # of the usual text height: the shorter side
LEAST_FILLED = 0.16  # of the box; less is the corner of something


def blobs(rgb: Pixels, taken: Iterable[Place], tall: float) -> list[Place]:
    """Compact marks about as large as `tall` pixels outside of all `taken` places; none when there are many."""
    import cv2

    red, green, blue = cv2.split(cv2.morphologyEx(rgb, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)))
    marks = (cv2.max(cv2.max(red, green), blue) >= EDGE).astype(np.uint8)
    for left, top, right, bottom in taken:
        marks[max(0, top - 4) : bottom + 4, max(0, left - 4) : right + 4] = 0
    near = max(2, round(0.2 * tall))
    closed = cv2.morphologyEx(marks, cv2.MORPH_CLOSE, np.ones((near, near), np.uint8))
    _, _, stats, _ = cv2.connectedComponentsWithStats(closed, connectivity=8)
    x, y, w, h, area = stats[1:].T
    long, short = np.maximum(w, h), np.minimum(w, h)
    height, width = rgb.shape[:2]
    usable = (
        (long >= SIZES[0] * tall) & (long <= SIZES[1] * tall) & (short >= THIN * tall) & (long <= 4 * short)
        & (w * 1.6 >= h) & (area >= LEAST_FILLED * w * h)
        & (x > 0) & (y > 0) & (x + w < width) & (y + h < height)
    )  # fmt: skip
    found = [(int(x[i]), int(y[i]), int(x[i] + w[i]), int(y[i] + h[i])) for i in np.flatnonzero(usable)]
    return found if len(found) <= MOST else []
