"""Pieces of text in pixels, and how they lie in a frame: row by row, so far from its sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent_core.screen.frame import Frame


@dataclass(frozen=True, slots=True)
class Text:
    """One piece of text in pixels."""

    text: str
    left: int
    top: int
    right: int
    bottom: int

    @property
    def height(self) -> int:
        return self.bottom - self.top

    @property
    def middle(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2


def holds(box: Frame, text: Text) -> bool:
    """Whether the text's middle lies in the frame."""
    x, y = text.middle
    return box.left <= x <= box.right and box.top <= y <= box.bottom


def is_paragraph(rows: list[list[Text]], line: float) -> bool:
    """Whether some rows stand as close as lines of one text. Entries of a menu stand further apart."""
    middles = [row[0].middle[1] for row in rows]
    return len(rows) < 2 or min(b - a for a, b in pairwise(middles)) <= 1.6 * line


def margins(box: Frame, inside: Sequence[Text]) -> tuple[int, int, int, int]:
    """Pixels between the words and the frame: left, right, top, bottom."""
    return (
        min(t.left for t in inside) - box.left,
        box.right - max(t.right for t in inside),
        min(t.top for t in inside) - box.top,
        box.bottom - max(t.bottom for t in inside),
    )


def rows_of(inside: Sequence[Text]) -> list[list[Text]]:
    """The words of a frame line by line."""
    rows: list[list[Text]] = []
    for text in sorted(inside, key=lambda t: (t.middle[1], t.left)):
        if rows and rows[-1][0].top <= text.middle[1] <= rows[-1][0].bottom:
            rows[-1].append(text)
        else:
            rows.append([text])
    return [sorted(row, key=lambda t: t.left) for row in rows]


def joined(inside: Sequence[Text]) -> str:
    return " ".join(t.text for row in rows_of(inside) for t in row)
