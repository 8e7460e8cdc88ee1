"""The UI-TARS dialect: screenshots in, "Thought: ... Action: click(...)" out.

`read` and `write_reply` are the grammar without any screenshot; other dialects with the same grammar use them too.
`UiTars` adds the prompt, the window of pictures and the coordinate rule. How the grammar is read is in `layout.py`
(where things are), `calls.py` and `tagged.py` (calls) and `meaning.py` (what they mean).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from agent_core.actions import (
    Action,
    CallUser,
    Click,
    DoubleClick,
    Drag,
    Finished,
    Hotkey,
    Point,
    Press,
    Release,
    RightClick,
    Scroll,
    Terminal,
    Type,
    Wait,
)
from agent_core.dialects.calls import Call, quote
from agent_core.dialects.chords import write_keys
from agent_core.dialects.coordinates import GRID, Coordinates, PlaceForm, Scale, place_text
from agent_core.dialects.layout import Layout, take_apart
from agent_core.dialects.meaning import ToPoint, meaning
from agent_core.dialects.memory import BUDGET, folded
from agent_core.dialects.uitars_prompt import SYSTEM, first_message
from agent_core.dialects.window import conversation, plain
from agent_core.screen.shrink import FACTOR, MAX_PIXELS, MIN_PIXELS, smart_resize
from agent_core.step import Intent, Message, Prompt, Screenshot, Turn

MAX_TASK = 8000  # characters
ReplyForm = Literal["environment", "tools"]
Means = Callable[[Call, ToPoint], tuple[Action, ...] | str]
"""What a call means in a dialect: actions, or a sentence for the model."""
# What would read as markup inside a thought, and the plain form it is written in.
_LABELS = re.compile(r"(?<!\w)(Thought|Reflection|Action_Summary|Action)(\*{0,2}[ \t]{0,4})[:：]", re.IGNORECASE)
_TAGS = re.compile(r"<(?=\||/?(?:function|tool_call|seed:|answer|think))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class UiTarsRules:
    """What a model is like, from its manifest. Pixel caps of 0 mean the family's own.

    `memory` is in characters (memory.py). `form` is how `uitars2` is asked to answer; `browser` lets `qwen_vl` use the
    calls that act on a web browser as a whole.
    """

    coordinates: Coordinates = "thousand"
    places: PlaceForm = "point"
    factor: int = FACTOR
    min_pixels: int = 0
    max_pixels: int = 0
    images: int = 5
    language: str = "English"
    terminal: bool = True
    memory: int = BUDGET
    form: ReplyForm = "environment"
    browser: bool = False


class UiTars:
    """UI-TARS 1.0, 1.5 and the Doubao point form, told apart by the rules alone."""

    name = "uitars"
    needs_elements = False

    def __init__(self, rules: UiTarsRules | None = None) -> None:
        self.rules = rules or UiTarsRules()

    def render(self, task: str, history: Sequence[Turn], shot: Screenshot, notes: Sequence[str] = ()) -> Prompt:
        """System line, the prompt with the task and what was folded, then past replies and the newest screenshots."""
        summary, recent = folded(history, self._written, self.rules.memory)
        system, opening = self.opening(plain(task, MAX_TASK), shot)
        turns = conversation(recent, shot, notes, self.rules.images, self._written)
        first = Message("user", f"{opening}\n\n{summary}" if summary else opening)
        return Prompt((Message("system", system), first, *turns))

    def opening(self, task: str, shot: Screenshot) -> tuple[str, str]:
        """The system message, and the user message with the task that stands before the first screenshot."""
        rules = self.rules
        return SYSTEM, first_message(task, rules.places, rules.language, rules.terminal)

    def parse(self, text: str, shot: Screenshot) -> Intent:
        """Reads a reply whose numbers are counted in this screenshot."""
        return read(text, self.scale(shot).to_point)

    def write(self, thought: str, actions: Sequence[Action], shot: Screenshot) -> str:
        """The reply in this model's form; places are rounded to its whole numbers."""
        scale, form = self.scale(shot), self.rules.places
        return write_reply(thought, actions, lambda point: place_text(scale.numbers(point), form), form)

    def scale(self, shot: Screenshot) -> Scale:
        """How this model counts places in a screenshot. Raises ScreenError for a picture it cannot be shown."""
        rules = self.rules
        if rules.coordinates == "thousand":
            return Scale(GRID, GRID)
        height, width = smart_resize(
            shot.height, shot.width, rules.factor, rules.min_pixels or MIN_PIXELS, rules.max_pixels or MAX_PIXELS
        )
        return Scale(width, height)

    def other_rules(self) -> dict[str, UiTars]:
        """The other ways of counting places, in words, each with the dialect that reads replies by it."""
        ways = {
            "thousandths of the screenshot (0..1000)": replace(self.rules, coordinates="thousand"),
            "pixels of the resized screenshot": replace(self.rules, coordinates="pixels"),
            "pixels of the resized screenshot without a cap": replace(
                self.rules, coordinates="pixels", min_pixels=0, max_pixels=0
            ),
            "pixels of the screenshot as it is": replace(
                self.rules, coordinates="pixels", factor=1, min_pixels=1, max_pixels=2**40
            ),
        }
        return {words: type(self)(rules) for words, rules in ways.items() if rules != self.rules}

    def _written(self, turn: Turn) -> str:
        """A past reply as the model is shown it: without what was kept aside, and as it was where nothing was read."""
        if not turn.intent.actions:
            return plain(turn.reply.text)
        return self.write(turn.intent.thought, turn.intent.actions, turn.screenshot)


def read(text: str, to_point: ToPoint) -> Intent:
    """Reads a reply in any form this family writes. Total, linear; no action after a problem's place is kept."""
    return understood(take_apart(text), to_point)


def understood(layout: Layout, to_point: ToPoint, means: Means = meaning) -> Intent:
    """The intent of a reply taken apart, whose calls mean what `means` says."""
    actions: list[Action] = []
    problem = layout.problem
    for call in layout.calls:
        meant = means(call, to_point)
        if isinstance(meant, str):
            problem = meant
            break
        actions.extend(meant)
    return Intent(layout.thought, tuple(actions), (problem,) if problem else (), layout.reflection)


def write_reply(
    thought: str, actions: Sequence[Action], from_point: Callable[[Point], str], places: PlaceForm = "point"
) -> str:
    """The reply a model of this family would give; `read` gets the same actions back.

    `from_point` gives the text of a place without quotes, e.g. "<point>512 640</point>". Labels and tags inside the
    thought are blunted, so that nothing in it can be taken for an action.
    """
    said = blunt(thought).strip()
    calls = "\n\n".join(write_call(action, from_point, places) for action in actions)
    return f"Thought: {said}\nAction: {calls}" if said else f"Action: {calls}"


def write_call(action: Action, from_point: Callable[[Point], str], places: PlaceForm = "point") -> str:
    """One action as a call expression."""
    at, start, end = (
        ("point", "start_point", "end_point") if places == "point" else ("start_box", "start_box", "end_box")
    )
    match action:
        case Click(point):
            return f"click({at}='{from_point(point)}')"
        case DoubleClick(point):
            return f"left_double({at}='{from_point(point)}')"
        case RightClick(point):
            return f"right_single({at}='{from_point(point)}')"
        case Drag(first, last):
            return f"drag({start}='{from_point(first)}', {end}='{from_point(last)}')"
        case Scroll(direction, place, notches):
            where = f"{at}='{from_point(place)}', " if place is not None else ""
            amount = f", amount='{notches}'" if notches != Scroll("down").notches else ""
            return f"scroll({where}direction='{direction}'{amount})"
        case Hotkey(keys):
            return f"hotkey(key={quote(write_keys(keys))})"
        case Press(key):
            return f"press(key={quote(write_keys((key,)))})"
        case Release(key):
            return f"release(key={quote(write_keys((key,)))})"
        case Type(text):
            return f"type(content={quote(text)})"
        case Wait(seconds):
            return "wait()" if seconds == Wait().seconds else f"wait(time='{seconds!r}')"
        case Finished(answer):
            return f"finished(content={quote(answer)})" if answer else "finished()"
        case CallUser(question):
            return f"call_user(content={quote(question)})" if question else "call_user()"
        case Terminal(command):
            return f"terminal(command={quote(command)})"


def blunt(thought: str) -> str:
    """The thought without anything that could be taken for a label, a tag or a fence."""
    return _LABELS.sub(r"\1\2 -", _TAGS.sub("‹", thought.replace("```", '"')))
