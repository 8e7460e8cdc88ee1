"""The only place that turns fractions of a screenshot into pixels of the real screen, and back.

A fraction names a place in the picture; the screenshot's transform says where the picture lies on the virtual
desktop. Device pixels are what was captured; input units are what the input backend counts in (the same on X11).
The monitor's origin may be negative. The result always lies on the monitor: fraction 1 is its last pixel.
"""

from __future__ import annotations

import math

from agent_core.actions import Point
from agent_core.step import Transform


def to_device(point: Point, transform: Transform) -> tuple[int, int]:
    """The device pixel that holds the point, in virtual desktop coordinates."""
    return (
        transform.left + _inside(point.x, transform.width),
        transform.top + _inside(point.y, transform.height),
    )


def from_device(x: int, y: int, transform: Transform) -> Point:
    """The middle of a device pixel as fractions; a pixel beside the monitor counts as the nearest one on it."""
    column = min(max(x - transform.left, 0), transform.width - 1)
    row = min(max(y - transform.top, 0), transform.height - 1)
    return Point((column + 0.5) / transform.width, (row + 0.5) / transform.height)


def to_input(point: Point, transform: Transform) -> tuple[int, int]:
    """Where the input backend must put the pointer, in its own units."""
    left, top = _origin(transform)
    return (
        left + int(_inside(point.x, transform.width) / transform.scale),
        top + int(_inside(point.y, transform.height) / transform.scale),
    )


def from_input(x: int, y: int, transform: Transform) -> Point:
    """The place the pointer is at, from the input backend's units."""
    left, top = _origin(transform)
    scale = transform.scale
    across, down = math.floor((x - left + 0.5) * scale), math.floor((y - top + 0.5) * scale)
    return from_device(transform.left + across, transform.top + down, transform)


def _origin(transform: Transform) -> tuple[int, int]:
    """The monitor's corner in the input's units: from there on is counted, or rounding would lead to its neighbour."""
    return round(transform.left / transform.scale), round(transform.top / transform.scale)


def _inside(fraction: float, length: int) -> int:
    return min(int(fraction * length), length - 1)
