"""Pictures to training rows: description, dense caption, state transition, questions, set of marks, grounding.

The five perception tasks of UI-TARS (2501.12326, section 4.2) and grounding both ways. A row is one chat with the loss
on its answer; places are written by the dialect that serves the model, so training and serving cannot drift apart.
Everything asked about has a name that tells it apart in its picture: a question without one answer is not asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

from PIL import Image

from agent_core.actions import Click
from agent_core.dialects.coordinates import place_text
from agent_core.dialects.uitars import UiTars
from training import crawl_marks, crawl_questions
from training.crawl_changes import caption
from training.crawl_screen import Change, Seen, Widget
from training.crawl_words import NOUNS, called, description, neighbour, region, state, upper

SCHEMA = 1
Kind = Literal["description", "caption", "transition", "question", "marks", "grounding", "point"]
PER_PICTURE: dict[Kind, int] = {"description": 3, "question": 3, "marks": 2, "grounding": 5, "point": 3}
MOST_TOLD = 60  # widgets in a dense caption

_CAPTION = ("Describe this screenshot in full.", "What is on this screen? Name everything, from top to bottom.")
_DESCRIBE = ("Describe {what}.", "What is {what}, what does it look like, where is it and what is it for?")
_CHANGE = (
    "The first picture was taken before, the second after. What was done and what changed?",
    "Compare both screenshots: tell what happened in between.",
)
_GROUND = ("Click {what}.", "Where is {what}? Answer with a click on it.", "Point at {what}.")
_NAME = ("What is at {place}?", "Name the element at {place}.")
_GROUNDING_PROMPT = (
    "You are shown a screenshot and told one element. Answer with the click on it alone, as\n"
    "Action: click({at})\n\n## User Instruction\n{task}"
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A row before its pictures are stored. `pictures` are in the order of the <image> places in the question."""

    kind: Kind
    pictures: tuple[Seen | Image.Image, ...]
    question: str
    answer: str
    size: tuple[int, int]
    coordinate_size: tuple[int, int] | None = None
    about: dict[str, Any] = field(default_factory=dict)


class Writer:
    """Makes the rows of pictures and changes in the numbers of one dialect."""

    def __init__(self, dialect: UiTars) -> None:
        self._dialect = dialect

    def of_picture(self, seen: Seen, rng: Random) -> Iterator[Draft]:
        """All rows of one picture; none of a picture without widgets."""
        if not seen.widgets:
            return
        alone = told_apart(seen)
        size = (seen.width, seen.height)
        yield Draft("caption", (seen,), f"<image>\n{rng.choice(_CAPTION)}", dense_caption(seen), size)
        for widget in _some(alone, rng, PER_PICTURE["description"]):
            question = rng.choice(_DESCRIBE).format(what=called(widget))
            answer = description(seen, widget, rng)
            yield Draft("description", (seen,), f"<image>\n{question}", answer, size, about=widget.to_json())
        for question, answer in crawl_questions.questions(seen, alone, rng, PER_PICTURE["question"]):
            yield Draft("question", (seen,), f"<image>\n{question}", answer, size)
        yield from self._marks(seen, rng)
        yield from self._grounding(seen, alone, rng)

    def of_change(self, change: Change, rng: Random) -> Draft:
        """The row of a state transition; the picture before comes first."""
        question = f"<image>\n<image>\n{rng.choice(_CHANGE)}"
        after = change.after
        pictures = (change.before, after)
        return Draft("transition", pictures, question, caption(change), (after.width, after.height))

    def _marks(self, seen: Seen, rng: Random) -> Iterator[Draft]:
        marked = crawl_marks.chosen(seen.widgets, rng)
        if len(marked) < 2:
            return
        image, size = crawl_marks.drawn(seen, marked), (seen.width, seen.height)
        about = {str(number): widget.to_json() for number, widget in enumerate(marked, start=1)}
        listed = "\n".join(f"{number}: {_short(widget)}" for number, widget in enumerate(marked, start=1))
        question = "<image>\nElements are marked with numbers. Say what each one is."
        yield Draft("marks", (image,), question, listed, size, about=about)
        names = Counter((w.role, w.name) for w in seen.widgets)
        able = [(n, w) for n, w in enumerate(marked, start=1) if w.name and names[w.role, w.name] == 1]
        if able:
            number, widget = rng.choice(able)
            question = f"<image>\nWhich number marks {called(widget)}?"
            yield Draft("marks", (image,), question, f"{number}", size, about={str(number): widget.to_json()})

    def _grounding(self, seen: Seen, alone: list[Widget], rng: Random) -> Iterator[Draft]:
        """A name to its point and back."""
        shot, size = seen.shot(), (seen.width, seen.height)
        scale, form = self._dialect.scale(shot), self._dialect.rules.places
        numbers = (scale.width, scale.height)
        shown = "point='<point>x1 y1</point>'" if form == "point" else "start_box='<|box_start|>(x1,y1)<|box_end|>'"
        for widget in _some(alone, rng, PER_PICTURE["grounding"]):
            task = rng.choice(_GROUND).format(what=_meant(seen, widget, rng))
            question = _GROUNDING_PROMPT.format(at=shown, task=task) + "\n<image>"
            answer = self._dialect.write("", (Click(seen.point(widget)),), shot)
            yield Draft("grounding", (seen,), question, answer, size, numbers, widget.to_json())
        for widget in _some(alone, rng, PER_PICTURE["point"]):
            place = place_text(scale.numbers(seen.point(widget)), form)
            question = f"<image>\n{rng.choice(_NAME).format(place=place)}"
            answer = f"{upper(called(widget))}."
            yield Draft("point", (seen,), question, answer, size, numbers, widget.to_json())


def told_apart(seen: Seen) -> list[Widget]:
    """The widgets that a name and a role tell apart, and on whose middle nothing smaller lies."""
    names = Counter((w.role, w.name) for w in seen.widgets)
    return [w for w in seen.widgets if w.name and names[w.role, w.name] == 1 and _is_on_top(seen, w)]


def dense_caption(seen: Seen) -> str:
    """The picture in words: the title, then its rows from top to bottom."""
    kinds = Counter(NOUNS[w.role] for w in seen.widgets)
    counted = ", ".join(f"{count} × {noun}" for noun, count in sorted(kinds.items()))
    lines = [f"A window or page titled “{seen.title}” with {counted}." if seen.title else f"A screen with {counted}."]
    for widget in seen.widgets[:MOST_TOLD]:
        lines.append(f"- {region(seen, widget)}: {_short(widget)}")
    if len(seen.widgets) > MOST_TOLD:
        lines.append(f"- and {len(seen.widgets) - MOST_TOLD} more")
    return "\n".join(lines)


def _short(widget: Widget) -> str:
    told = state(widget)
    name = f" “{widget.name}”" if widget.name else ""
    return f"{NOUNS[widget.role]}{name}{' (' + told + ')' if told else ''}"


def _meant(seen: Seen, widget: Widget, rng: Random) -> str:
    """The widget by its name or, where that tells it apart, by its neighbour."""
    beside = neighbour(seen, widget)
    if (
        beside
        and rng.random() < 0.3
        and not any(w is not widget and w.role == widget.role and neighbour(seen, w) == beside for w in seen.widgets)
    ):
        return f"the {NOUNS[widget.role]} {beside}"
    return called(widget)


def _is_on_top(seen: Seen, widget: Widget) -> bool:
    x, y = widget.middle
    area = (widget.box[2] - widget.box[0]) * (widget.box[3] - widget.box[1])
    return not any(
        w is not widget
        and w.box[0] <= x < w.box[2]
        and w.box[1] <= y < w.box[3]
        and (w.box[2] - w.box[0]) * (w.box[3] - w.box[1]) <= area
        for w in seen.widgets
    )


def _some(widgets: list[Widget], rng: Random, count: int) -> list[Widget]:
    """A few of them, one role after the other so that texts do not crowd out the rest, in reading order."""
    left = widgets[:]
    rng.shuffle(left)
    out: list[Widget] = []
    while left and len(out) < count:
        fewest = min(left, key=lambda w: (sum(o.role == w.role for o in out), w.role == "text"))
        out.append(fewest)
        left = [w for w in left if w is not fewest]
    return [w for w in widgets if any(w is o for o in out)]
