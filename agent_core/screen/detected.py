"""Boxes that a trained detector saw, merged into what was found by outlines and words.

The outline rules are exact where they apply, so a detected box only adds what they missed: it never moves, renames or
removes an element. A detector is anything that gives scored boxes for a picture; none is needed to read a screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_core.screen.ocr import Pixels
from agent_core.screen.roles import Found
from agent_core.step import ElementKind

LEAST_SCORE = 0.6
SHARED = 0.3  # of the area of two boxes together: more and they are the same thing


@dataclass(frozen=True, slots=True)
class Detected:
    """One box in pixels with the kind of thing it is taken for and a score of 0..1. `on` is the state of a tick."""

    kind: ElementKind
    left: int
    top: int
    right: int
    bottom: int
    score: float
    on: bool | None = None


class WidgetDetector(Protocol):
    """Finds widgets in a picture (height x width x 3, RGB) by their looks. Must give the same for the same pixels."""

    def boxes(self, rgb: Pixels) -> Sequence[Detected]: ...


def merged(found: Sequence[Found], detected: Sequence[Detected]) -> list[Found]:
    """The found elements and after them, best first, the detected boxes in whose place nothing was found."""
    out = list(found)
    for box in sorted(detected, key=lambda d: (-d.score, d.top, d.left)):
        if box.score >= LEAST_SCORE and not any(_overlap(box, f) > SHARED or _lies_in(box, f) for f in out):
            out.append(Found(box.kind, "", box.left, box.top, box.right, box.bottom, on=box.on))
    return out


def _lies_in(box: Detected, item: Found) -> bool:
    """Whether the middle of the box lies in a widget that was found, or in a word."""
    x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
    return item.left <= x <= item.right and item.top <= y <= item.bottom


def _overlap(box: Detected, item: Found) -> float:
    """The shared area over the area of both together."""
    wide = max(0, min(box.right, item.right) - max(box.left, item.left))
    tall = max(0, min(box.bottom, item.bottom) - max(box.top, item.top))
    both = (box.right - box.left) * (box.bottom - box.top) + (item.right - item.left) * (item.bottom - item.top)
    return wide * tall / max(1, both - wide * tall)
