"""Draws lines of terminal text, black on white, into a screenshot whose elements are those lines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from PIL import Image, ImageDraw, ImageFont

from agent_core.step import Box, Element, Screenshot, Transform

WIDTH, HEIGHT = 960, 720
LINE_HEIGHT = 18
MARGIN = 8
FONT_SIZE = 13
SHOWN_CHARACTERS = 118
_FONTS = ("NotoSansMonoCJK-Regular.ttc", "NotoSansCJK-Regular.ttc", "DejaVuSansMono.ttf", "LiberationMono-Regular.ttf")


def picture(lines: Sequence[str]) -> Screenshot:
    """The last lines that fit, the newest at the bottom. Long lines are cut in the picture, whole in the elements."""
    shown = list(lines)[-((HEIGHT - 2 * MARGIN) // LINE_HEIGHT) :]
    image = Image.new("RGB", (WIDTH, HEIGHT), "white")
    draw = ImageDraw.Draw(image)
    elements: list[Element] = []
    for n, line in enumerate(shown):
        top = MARGIN + n * LINE_HEIGHT
        draw.text((MARGIN, top), line[:SHOWN_CHARACTERS], fill="black", font=_font())
        if line.strip():
            right = min(WIDTH - 1, MARGIN + draw.textlength(line[:SHOWN_CHARACTERS], font=_font()))
            box = Box(MARGIN / WIDTH, top / HEIGHT, right / WIDTH, (top + LINE_HEIGHT) / HEIGHT)
            elements.append(Element("text", line, box))
    place = Transform("terminal", 0, 0, WIDTH, HEIGHT)
    return Screenshot(image.tobytes(), WIDTH, HEIGHT, place, window="terminal", elements=tuple(elements))


@cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """A font that many systems have, for as many scripts as possible; Pillow's own otherwise."""
    for name in _FONTS:
        try:
            return ImageFont.truetype(name, FONT_SIZE)
        except OSError:
            continue
    return ImageFont.load_default(FONT_SIZE)
