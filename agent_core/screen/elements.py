"""Reads a screenshot into elements: words by OCR, widgets by their frames, each with the place a person would click.

Nothing but pixels goes in, so it works on any program, and a password field tells no more than a person can see.
Reading again costs little and cannot differ from reading afresh: every step depends on the frame alone, and what a
crop of the same pixels was read as is kept (see `ocr`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from agent_core.screen.detected import WidgetDetector, merged
from agent_core.screen.drawings import with_drawings
from agent_core.screen.frame import Frame, crowded, dots, ends_in_arrow
from agent_core.screen.heights import with_heights_told
from agent_core.screen.icons import blobs
from agent_core.screen.lines import Piece, pieces
from agent_core.screen.ocr import LineDetector, Pixels, WordReader, Words
from agent_core.screen.roles import Found, arranged
from agent_core.screen.signs import STROKES, Place, best_sign, sign_place, wide_place
from agent_core.screen.text_rows import Text, holds
from agent_core.screen.widgets import frames
from agent_core.step import Box, Element, Screenshot

LEAST_SCORE = 0.55  # mean probability of the characters: below it the marks are no text

SHARE_OF_FRAME = 0.4  # of a button's height: its letters
NO_SPACE_BEFORE = " .,;:!?)]"


class ElementReader:
    """Implements protocols.Reader. Any thread may call it; one read at a time. `threads` bounds its CPU use.

    `detector` adds what it sees where the rules find nothing; there is none by default.
    """

    def __init__(self, threads: int = 2, detector: WidgetDetector | None = None) -> None:
        self._detector = detector
        self._lines = LineDetector(threads)
        self._words = WordReader(threads)
        self._lock = threading.Lock()
        self._last: tuple[bytes, int, int] | None = None
        self._elements: tuple[Element, ...] = ()

    def read(self, shot: Screenshot) -> tuple[Element, ...]:
        """The elements in reading order: rows from top to bottom, left to right in a row."""
        with self._lock:
            frame = (shot.rgb, shot.width, shot.height)
            if frame != self._last:
                rgb = np.frombuffer(shot.rgb, np.uint8).reshape(shot.height, shot.width, 3)
                boxes = frames(rgb)
                texts = self._with_signs(rgb, boxes, self._read_texts(rgb, boxes))
                found = arranged(texts, _judged(rgb, boxes, texts))
                found += _icons(rgb, found, texts)
                found = with_drawings(rgb, found, texts, self._words)
                if self._detector is not None:
                    found = merged(found, self._detector.boxes(rgb))
                self._elements = tuple(_in_rows(found, shot.width, shot.height))
                self._last = frame
            return self._elements

    def _read_texts(self, rgb: Pixels, boxes: list[Frame]) -> list[Text]:
        found = pieces(rgb, self._lines.cores(rgb), boxes)
        crops = [_crop(rgb, piece) for piece in found]
        texts = []
        for piece, crop, words in zip(found, crops, self._words.read(crops), strict=True):
            words = replace(words, text=with_heights_told(crop, words))
            text = _spaced(words, piece).strip()
            if text and words.score >= LEAST_SCORE and not _is_noise(text, words.score):
                texts.append(Text(text, piece.left, piece.top, piece.right, piece.bottom))
        return texts

    def _with_signs(self, rgb: Pixels, boxes: list[Frame], texts: list[Text]) -> list[Text]:
        """The texts and single signs such as + / x in frames, which are too small for the line detector."""
        tall = _text_height(texts, boxes)
        if not tall:
            return texts
        doubtful: list[tuple[Frame, Text | None, Place]] = []
        for box in boxes:
            if box.tiny or not 1.1 * tall <= box.height <= 10 * tall or box.width > 8 * tall:
                continue
            if not texts and box.light:
                continue
            inside = [t for t in texts if holds(box, t)]
            place = sign_place(rgb, box, tall) if not inside or [t.text in STROKES for t in inside] == [True] else None
            if place is not None:
                doubtful.append((box, inside[0] if inside else None, place))
        near = self._words.read([_cut(rgb, place) for _, _, place in doubtful])
        far = self._words.read([_cut(rgb, wide_place(box, place, tall)) for box, _, place in doubtful])
        out = list(texts)
        for (_, old, place), close, wide in zip(doubtful, near, far, strict=True):
            text = best_sign(old.text if old else "", close, wide)
            if text and (old is None or text != old.text):
                if old is not None:
                    out.remove(old)
                out.append(Text(text, *place))
        return out


def _text_height(texts: list[Text], boxes: list[Frame]) -> float:
    """The usual height of the texts in pixels; without any, what would fit into the frames; 0 without those."""
    if texts:
        return float(np.median([t.height for t in texts]))
    rooms = [box.height for box in boxes if box.lined and not box.tiny]
    return SHARE_OF_FRAME * float(np.median(rooms)) if rooms else 0.0


def _icons(rgb: Pixels, found: list[Found], texts: list[Text]) -> list[Found]:
    """Marks that are neither words nor in anything found."""
    tall = float(np.median([t.height for t in texts])) if texts else 14.0
    taken = [(f.left, f.top, f.right, f.bottom) for f in found] + [(t.left, t.top, t.right, t.bottom) for t in texts]
    return [Found("icon", "", *place) for place in blobs(rgb, taken, tall)]


def _judged(rgb: Pixels, boxes: list[Frame], texts: list[Text]) -> list[Frame]:
    """The frames with what only the pixels tell: crowded panels, and bullets in what may be a password field."""
    out = []
    for box in boxes:
        inside = [(t.left, t.top, t.right, t.bottom) for t in texts if holds(box, t)]
        long = box.lined and box.width > 2 * box.height and len(inside) < 3
        bullets = dots(rgb, box) if long and box.light else 0
        arrow = bool(long and inside and ends_in_arrow(rgb, box))
        out.append(replace(box, crowded=len(inside) > 1 and crowded(rgb, box, inside), dots=bullets, arrow=arrow))
    return out


def _cut(rgb: Pixels, place: Place) -> Pixels:
    left, top, right, bottom = place
    return np.ascontiguousarray(rgb[top:bottom, left:right])


def _crop(rgb: Pixels, piece: Piece) -> Pixels:
    """The pixels of a line with a small margin, as the recogniser expects."""
    margin = max(2, round(piece.height * 0.12))
    rows = slice(max(0, piece.top - margin), piece.bottom + margin)
    return np.ascontiguousarray(rgb[rows, max(0, piece.left - margin) : piece.right + margin])


def _spaced(words: Words, piece: Piece) -> str:
    """The text with a space at every wide gap, where the recogniser sometimes leaves it out."""
    if not piece.spaces or not words.places:
        return words.text
    margin = max(2, round(piece.height * 0.12))
    width = words.width_share * (piece.right - piece.left + 2 * margin)
    left = piece.left - margin
    out = list(words.text)
    places = [left + place * width for place in words.places]
    for space in sorted(piece.spaces, reverse=True):
        after = next((i for i, place in enumerate(places) if place > space), None)
        if after and out[after] not in NO_SPACE_BEFORE and " " not in out[max(0, after - 2) : after + 2]:
            out.insert(after, " ")
            places.insert(after, space)
    return "".join(out)


def _is_noise(text: str, score: float) -> bool:
    """Single odd signs are icons read as letters."""
    return len(text) == 1 and not text.isascii() and score < 0.9


def _in_rows(found: Iterable[Found], width: int, height: int) -> list[Element]:
    """Elements as fractions, rows from top to bottom, each row from left to right."""
    rows: list[list[Found]] = []
    for item in sorted(found, key=lambda f: ((f.top + f.bottom) / 2, f.left)):
        if rows and _on_one_row(rows[-1][0], item):
            rows[-1].append(item)
        else:
            rows.append([item])
    return [
        Element(
            f.kind,
            f.text,
            Box(f.left / width, f.top / height, min(1.0, f.right / width), min(1.0, f.bottom / height)),
            f.value,
            f.on,
        )
        for row in rows
        for f in sorted(row, key=lambda f: (f.left, f.top))
    ]


def _on_one_row(a: Found, b: Found) -> bool:
    """Whether each one's middle lies beside the other, so that a tall thing is not a row with all that is beside it."""
    middle_a, middle_b = (a.top + a.bottom) / 2, (b.top + b.bottom) / 2
    return a.top <= middle_b <= a.bottom and b.top <= middle_a <= b.bottom
