"""What differs between two screenshots: a yes or no, a fraction, coarse boxes, and the patch under a target.

Frames of different sizes differ everywhere. All functions compare exact pixels; there is no tolerance for colour.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agent_core.actions import Point
from agent_core.step import Box, Screenshot

GRID = 32  # pixels of a cell of the coarse grid
CARET_LINE = (3, 40)  # width and height in pixels of the most that a caret is
TARGET_RADIUS = 24  # pixels around a target that must not have changed while a person thought


def pixels(shot: Screenshot) -> NDArray[np.uint8]:
    """The frame as height x width x 3, without a copy (read-only)."""
    return np.frombuffer(shot.rgb, np.uint8).reshape(shot.height, shot.width, 3)


def same_size(a: Screenshot, b: Screenshot) -> bool:
    return (a.width, a.height) == (b.width, b.height)


def difference(a: Screenshot, b: Screenshot) -> NDArray[np.bool_]:
    """Which pixels differ, height x width. Raises ValueError for different sizes."""
    if not same_size(a, b):
        raise ValueError("frames of different sizes cannot be compared pixel by pixel")
    if a.rgb == b.rgb:
        return np.zeros((a.height, a.width), bool)
    out: NDArray[np.bool_] = (pixels(a) != pixels(b)).any(axis=2)
    return out


def changed_fraction(a: Screenshot, b: Screenshot) -> float:
    """The fraction of pixels that differ, 0..1; 1.0 for different sizes."""
    return float(difference(a, b).mean()) if same_size(a, b) else 1.0


def changed(a: Screenshot, b: Screenshot) -> bool:
    """Whether anything differs."""
    return not same_size(a, b) or a.rgb != b.rgb


def changed_extent(a: Screenshot, b: Screenshot) -> tuple[int, int]:
    """Width and height in pixels of the box around everything that differs; (0, 0) when nothing does."""
    if not same_size(a, b):
        return max(a.width, b.width), max(a.height, b.height)
    if a.rgb == b.rgb:
        return 0, 0
    where = difference(a, b)
    columns, rows = np.flatnonzero(where.any(axis=0)), np.flatnonzero(where.any(axis=1))
    return int(columns[-1] - columns[0] + 1), int(rows[-1] - rows[0] + 1)


def changed_boxes(a: Screenshot, b: Screenshot, grid: int = GRID) -> tuple[Box, ...]:
    """The changed areas on a grid of `grid` pixels, joined where cells touch, top to bottom."""
    if not same_size(a, b):
        return (Box(0.0, 0.0, 1.0, 1.0),)
    if a.rgb == b.rgb:
        return ()
    import cv2

    where = difference(a, b)
    padded = np.pad(where, ((0, -a.height % grid), (0, -a.width % grid)))
    cells = padded.reshape(padded.shape[0] // grid, grid, padded.shape[1] // grid, grid).any(axis=(1, 3))
    _, _, stats, _ = cv2.connectedComponentsWithStats(cells.astype(np.uint8), connectivity=8)
    boxes = []
    for left, top, width, height, _ in stats[1:].tolist():
        right, bottom = min(a.width, (left + width) * grid), min(a.height, (top + height) * grid)
        boxes.append(Box(left * grid / a.width, top * grid / a.height, right / a.width, bottom / a.height))
    return tuple(sorted(boxes, key=lambda box: (box.top, box.left)))


def patch_equal(a: Screenshot, b: Screenshot, point: Point, radius_px: int = TARGET_RADIUS) -> bool:
    """Whether the square of `radius_px` around the point is the same in both frames: is the target still there?"""
    return same_size(a, b) and not _patch_difference(a, b, point, radius_px).any()


def patch_equal_but_caret(a: Screenshot, b: Screenshot, point: Point, radius_px: int = TARGET_RADIUS) -> bool:
    """The same, but a thin upright line may have come or gone: the caret of a field with the focus blinks."""
    if not same_size(a, b):
        return False
    where = _patch_difference(a, b, point, radius_px)
    columns, rows = np.flatnonzero(where.any(axis=0)), np.flatnonzero(where.any(axis=1))
    return not len(columns) or bool(np.ptp(columns) < CARET_LINE[0] and np.ptp(rows) < CARET_LINE[1])


def _patch_difference(a: Screenshot, b: Screenshot, point: Point, radius_px: int) -> NDArray[np.bool_]:
    x, y = int(point.x * a.width), int(point.y * a.height)
    rows = slice(max(0, y - radius_px), y + radius_px + 1)
    columns = slice(max(0, x - radius_px), x + radius_px + 1)
    out: NDArray[np.bool_] = (pixels(a)[rows, columns] != pixels(b)[rows, columns]).any(axis=2)
    return out
