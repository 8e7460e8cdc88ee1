"""Puts the shapes and lone letters of a picture among the elements that were found by their words and frames.

A shape names the icon that was found in its place, or becomes an icon of its own. It never takes the place of a button,
a field or a tick: what those are is known better from their words. Only a page without words is taken for a drawing,
on which every letter is a thing with a size and a colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agent_core.screen.blocks import Block, blocks, paper_of
from agent_core.screen.colours import Colour, colour_name
from agent_core.screen.letters import PLAIN, STRONG, Letter, Mark, letter_in, letters, marks, set_close
from agent_core.screen.ocr import Pixels, WordReader
from agent_core.screen.roles import Found
from agent_core.screen.shapes import Shape, shapes
from agent_core.screen.text_rows import Text

MOST = 64  # more shapes than this are a pattern or a picture
LARGER = 6  # times the shape's area: a field or button as large as this may hold it as a thing of its own
SHARED = 0.4  # of the area of two boxes together: more and they are about the same thing
SAME = 0.6  # of it: more and one is the other
COVERED = 0.5  # of a short text's area under a filled shape: then the shape was read as a letter
LARGE = 3 / 32  # of the picture's shorter side: things of this size and letters of this font size are large
LONGEST_LETTER = 0.135  # of it: longer grey marks among shapes are lines
LEAST_LETTER = 14  # pixels: lower marks that look like letters are dots and dashes
LARGEST_TICK = 1 / 8  # of the picture's shorter side: larger boxes without words are no check boxes


def with_drawings(rgb: Pixels, found: Sequence[Found], texts: Sequence[Text], words: WordReader) -> list[Found]:
    """The elements with every shape named or added; `texts` are all that were read, also those inside elements."""
    ground = paper_of(rgb, PLAIN)
    drawn = [s for s in shapes(rgb) if s.empty or s.fill != ground]  # no holes in letters
    if len(drawn) > MOST:
        drawn = []
    out = _with_chosen(_without_false_ticks(rgb, found, texts))
    wordless = _is_wordless(out)
    pictures = [b for b in blocks(rgb) if not _is_taken(b, out) and not any(_alike(b, s) for s in drawn)]
    pictures = [b for b in pictures if wordless or not b.signed]
    drawn = [s for s in drawn if not any(_is_within(s, b) for b in pictures)]
    out = [f for f in out if not any(_is_on(f, b) for b in pictures)]
    out += [_picture(rgb, b, words) for b in pictures]
    solid = [s for s in drawn if not s.empty]
    bare = [f for f in out if f.on is None or not any(_overlap(s, f) > SHARED for s in solid)]
    if _is_wordless(bare):
        return _with_letters(rgb, _with_shapes(bare, (), drawn), drawn, words, ground)
    return _with_shapes(out, texts, drawn)


def _picture(rgb: Pixels, block: Block, words: WordReader) -> Found:
    name = block.words
    if block.signed:
        margin = (block.right - block.left) // 12
        place = (block.left + margin, block.top + margin, block.right - margin, block.bottom - margin)
        sign = letter_in(rgb, place, words)
        name += f" {sign.sign.upper()}" if sign else ""
    return Found("icon", name, block.left, block.top, block.right, block.bottom)


def _is_taken(block: Block, found: Sequence[Found]) -> bool:
    """Whether the block is, or holds, something that has been found, single letters and nameless icons left aside."""
    return any(
        _is_within(f, block) and not (f.kind == "icon" and not f.text) and not (f.kind == "text" and len(f.text) <= 2)
        for f in found
    )


def _is_on(item: Found, block: Block) -> bool:
    """Whether a text or icon lies on the block at least in part."""
    wide = min(block.right, item.right) - max(block.left, item.left)
    tall = min(block.bottom, item.bottom) - max(block.top, item.top)
    return item.kind in ("text", "icon") and wide > 0 and tall > 0 and len(item.text) <= 2


def _alike(block: Block, shape: Shape) -> bool:
    if shape.figure not in ("square", "rectangle"):
        return False
    return _is_within(shape, block) and (shape.right - shape.left) > SAME * (block.right - block.left)


def _without_false_ticks(rgb: Pixels, found: Sequence[Found], texts: Sequence[Text]) -> list[Found]:
    """The elements without boxes too large to be ticked and without the bowl of a coloured letter; what was read
    beside them is a text again.
    """
    ticks = [f for f in found if f.on is not None]
    largest = LARGEST_TICK * min(rgb.shape[:2])
    false = [f for f in ticks if f.bottom - f.top > largest or (ticks == [f] and not f.text and _is_bowl(rgb, f))]
    labels = [f.text for f in false if f.text]
    free = [t for t in texts if t.text in labels]
    return [f for f in found if f not in false] + [
        Found("text", t.text, t.left, t.top, t.right, t.bottom) for t in free
    ]


def _is_bowl(rgb: Pixels, tick: Found) -> bool:
    """Whether an empty tick has a strong colour on its left and right."""
    y = (tick.top + tick.bottom) // 2
    sides = rgb[y, [max(0, tick.left - 2), min(rgb.shape[1] - 1, tick.right + 1)]]
    return not tick.on and bool((sides.max(axis=1).astype(int) - sides.min(axis=1) > STRONG).any())


def _is_wordless(found: Sequence[Found]) -> bool:
    """Whether nothing is on the page but single letters, digits and pictures, buttons left aside."""
    return all(
        f.kind in ("icon", "button")
        or (f.kind == "text" and all(len(word) <= 2 and word.isalnum() for word in f.text.split()))
        for f in found
    )


def _with_chosen(found: Sequence[Found]) -> list[Found]:
    """The elements where a nameless icon in line with empty radio buttons of its size is the chosen one of them."""
    rounds = [f for f in found if f.kind == "radio"]
    return [replace(f, kind="radio", on=True) if _is_one_of(f, rounds) else f for f in found]


def _is_one_of(item: Found, rounds: Sequence[Found]) -> bool:
    if item.kind != "icon" or item.text:
        return False
    size = item.bottom - item.top
    for other in rounds:
        alike = 0.8 <= size / (other.bottom - other.top) <= 1.3 and abs(item.right - item.left - size) <= 3
        in_row = abs(item.top + item.bottom - other.top - other.bottom) <= 6
        in_column = abs(item.left + item.right - other.left - other.right) <= 6
        if alike and (in_row or in_column):
            return True
    return False


def _with_shapes(found: Sequence[Found], texts: Sequence[Text], drawn: Sequence[Shape]) -> list[Found]:
    out = list(found)
    for shape in drawn:
        if _is_known(shape, found) or _is_in_words(shape, texts) or _is_room(shape, found, texts):
            continue
        name = shape.words
        same = [n for n, f in enumerate(out) if f.kind == "icon" and not f.text and _overlap(shape, f) > SAME]
        if same:
            best = max(same, key=lambda n: _overlap(shape, out[n]))
            out[best] = replace(out[best], text=name)
            continue
        out = [f for f in out if not _is_misread(shape, f)]
        out.append(Found("icon", name, shape.left, shape.top, shape.right, shape.bottom))
    return [f for f in out if not _is_group(f, out)]


def _is_room(shape: Shape, found: Sequence[Found], texts: Sequence[Text]) -> bool:
    """Whether the shape is only the ground that words or other things stand on, or the rest of a field beside them."""
    if any(len(t.text) > 2 and _is_within(t, shape) for t in texts):
        return True
    if not shape.empty:
        return False
    if any(_is_within(f, shape) and not (_is_nameless(f) and _overlap(shape, f) > SAME) for f in found):
        return True
    return any(
        min(abs(t.right - shape.left), abs(shape.right - t.left)) < 0.5 * t.height
        and shape.top < (t.top + t.bottom) / 2 < shape.bottom
        for t in texts
    )


def _is_within(item: Found | Text | Shape, shape: Shape | Block) -> bool:
    """Whether the item's middle lies in the shape."""
    x, y = (item.left + item.right) / 2, (item.top + item.bottom) / 2
    return shape.left <= x <= shape.right and shape.top <= y <= shape.bottom


def _with_letters(
    rgb: Pixels, found: list[Found], drawn: Sequence[Shape], words: WordReader, ground: Colour | None
) -> list[Found]:
    """The elements of a page without words where its letters and shapes have several colours or one that is no grey."""
    taken = [(f.left, f.top, f.right, f.bottom) for f in found if f.kind not in ("text", "icon")]
    taken += [(s.left, s.top, s.right, s.bottom) for s in drawn]
    lone = marks(rgb, taken)
    side = min(rgb.shape[:2])
    if ground is None:
        return _with_signs(found, letters(words, lone, (), side))
    if not any(m.coloured for m in lone) and not _is_mixed(lone, drawn, side):
        new = [m for m in lone if not any(f.text and _on_any(f, [m]) for f in found)]
        return _with_signs(found, letters(words, new, (), side))
    read = letters(words, lone, [float(max(s.right - s.left, s.bottom - s.top)) for s in drawn], side)
    if not read:
        return found
    out = [f for f in found if f.kind not in ("text", "icon") or (f.text and f.kind == "icon") or not _on_any(f, lone)]
    out = [_sized(f, side) if f.kind == "icon" and f.text else f for f in out]
    for letter in read:
        mark = letter.mark
        out.append(Found("icon", _words_of(letter, side), mark.left, mark.top, mark.right, mark.bottom))
    return out


def _is_mixed(lone: Sequence[Mark], drawn: Sequence[Shape], side: int) -> bool:
    """Whether grey letters stand among coloured shapes."""
    coloured = any(not s.empty and max(s.fill) - min(s.fill) > STRONG for s in drawn)
    return coloured and bool(lone) and all(max(m.width, m.height) < LONGEST_LETTER * side for m in lone)


def _with_signs(found: list[Found], read: Sequence[Letter]) -> list[Found]:
    """The elements with the letters as texts, where before were nameless icons or texts read otherwise."""
    numbers = [f for f in found if f.kind == "text" and len(f.text) > 1 and f.text.isdigit()]
    whole = [m for f in numbers if set_close(on := [x.mark for x in read if _on_any(f, [x.mark])]) for m in on]
    read = [x for x in read if x.mark.height >= LEAST_LETTER and not any(x.mark is m for m in whole)]
    places = [x.mark for x in read]
    out = [f for f in found if not (f.kind == "text" or (f.kind == "icon" and not f.text)) or not _on_any(f, places)]
    return out + [Found("text", x.sign, x.mark.left, x.mark.top, x.mark.right, x.mark.bottom) for x in read]


def _sized(item: Found, side: int) -> Found:
    size = max(item.right - item.left, item.bottom - item.top)
    return replace(item, text=f"{'large' if size > LARGE * side else 'small'} {item.text}")


def _words_of(letter: Letter, side: int) -> str:
    size = "large" if letter.size > LARGE * side else "small"
    kind = "digit" if letter.sign.isdigit() else "letter"
    return f"{size} {colour_name(letter.mark.colour)} {kind} {letter.sign}"


def _on_any(item: Found, lone: Sequence[Mark]) -> bool:
    """Whether the element covers the middle of a mark, or the other way round."""
    x, y = (item.left + item.right) / 2, (item.top + item.bottom) / 2
    for m in lone:
        mx, my = (m.left + m.right) / 2, (m.top + m.bottom) / 2
        if item.left <= mx <= item.right and item.top <= my <= item.bottom:
            return True
        if m.left <= x <= m.right and m.top <= y <= m.bottom:
            return True
    return False


def _is_group(item: Found, found: Sequence[Found]) -> bool:
    """Whether a nameless icon is nothing but several named ones side by side."""
    if item.kind != "icon" or item.text:
        return False
    parts = [f for f in found if f.kind == "icon" and f.text and _holds(item, f)]
    return len(parts) > 1


def _holds(item: Found, part: Found) -> bool:
    slack = 4
    return (
        item.left - slack <= part.left and part.right <= item.right + slack
        and item.top - slack <= part.top and part.bottom <= item.bottom + slack
    )  # fmt: skip


def _is_known(shape: Shape, found: Sequence[Found]) -> bool:
    """Whether the shape is, or is a part of, a thing that has been found."""
    area = (shape.right - shape.left) * (shape.bottom - shape.top)
    for item in found:
        if item.kind in ("text", "icon") or not _has_middle(shape, item):
            continue
        room = (item.right - item.left) * (item.bottom - item.top)
        if item.kind != "field" or item.value or shape.empty or room < LARGER * area:
            return True
    return any(f.kind == "icon" and f.text and _overlap(shape, f) > SHARED for f in found)


def _is_in_words(shape: Shape, texts: Sequence[Text]) -> bool:
    """Whether the shape is a part of letters."""
    if shape.figure == "circle" and not shape.empty and max(shape.fill) - min(shape.fill) > STRONG:
        return False  # a coloured dot among the numbers of a drawing
    return any(_has_middle(shape, t) and (len(t.text) > 2 or _cover(shape, t) < COVERED) for t in texts)


def _is_nameless(item: Found) -> bool:
    return item.kind == "icon" and not item.text


def _is_misread(shape: Shape, item: Found) -> bool:
    """Whether the element is the shape itself, read as a letter or two."""
    short = item.kind == "text" and len(item.text) <= 2
    return short and not shape.empty and _has_middle(shape, item) and _cover(shape, item) >= COVERED


def _has_middle(shape: Shape, item: Found | Text) -> bool:
    x, y = (shape.left + shape.right) / 2, (shape.top + shape.bottom) / 2
    return item.left <= x <= item.right and item.top <= y <= item.bottom


def _shared(shape: Shape, item: Found | Text) -> int:
    wide = min(shape.right, item.right) - max(shape.left, item.left)
    tall = min(shape.bottom, item.bottom) - max(shape.top, item.top)
    return max(0, wide) * max(0, tall)


def _cover(shape: Shape, item: Found | Text) -> float:
    """What part of the item lies under the shape."""
    return _shared(shape, item) / max(1, (item.right - item.left) * (item.bottom - item.top))


def _overlap(shape: Shape, item: Found | Text) -> float:
    """The shared area over the area of both together."""
    shared = _shared(shape, item)
    both = (shape.right - shape.left) * (shape.bottom - shape.top) + (item.right - item.left) * (item.bottom - item.top)
    return shared / max(1, both - shared)
