"""Kept prompts and replies taken apart and put together again, for those who write thoughts anew.

A prompt is kept as the text that the model got, a reply as the text that it gave. What is changed here is the thought
alone: the action's own letters stay as they were given. What replies mean is told by the dialects.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from agent_core.actions import Action, Click, DoubleClick, Drag, Finished, Point, RightClick, Scroll, target_of
from agent_core.dialects import uitars
from agent_core.dialects.elements import to_point
from agent_core.step import Element, Message, Prompt, Role
from training.pairs import acts_otherwise

MAX_PAST = 120  # characters of a thought in the past of an elements prompt
_TURN = re.compile(r"<\|im_start\|>(system|user|assistant)\n(.*?)<\|im_end\|>\n", re.DOTALL)
_ACTION = re.compile(r"^Action[ \t]*:", re.MULTILINE)
_PAST_LINE = re.compile(r"(\d+ )(.*)")
_PLACE = re.compile(r"(.*?) ?(\d{1,4}) (\d{1,4})")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the screen in an elements prompt: its words, and its place in thousandths."""

    words: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Parts:
    """An elements prompt: the task, what was done, and the screen. `shown` is all of it that can be read as words."""

    task: str
    past: tuple[str, ...]
    window: str
    screen: tuple[Line, ...]

    @property
    def shown(self) -> str:
        return "\n".join((self.task, *self.past, self.window, *(line.words for line in self.screen)))

    def at(self, point: Point) -> str:
        """The words of the line nearest to a point, if one is near; empty otherwise."""
        x, y = point.x * 1000, point.y * 1000
        near = min(self.screen, key=lambda line: abs(line.x - x) + abs(line.y - y), default=None)
        return near.words if near is not None and abs(near.x - x) + abs(near.y - y) <= 20 else ""


def prompt_of(chatml: str) -> Prompt:
    """The inverse of `Prompt.chatml`, without pictures. Raises ValueError for a text that is none."""
    found = [Message(cast(Role, role), text) for role, text in _TURN.findall(chatml)]
    prompt = Prompt(tuple(found))
    if not found or prompt.chatml() != chatml:
        raise ValueError("this is no prompt in ChatML with an open turn at its end")
    return prompt


def parts_of(chatml: str) -> Parts:
    """An elements prompt taken apart; what is missing is empty."""
    text = prompt_of(chatml).messages[-1].text
    head, _, screen = text.partition("\nScreen:\n")
    lines = head.splitlines()
    task = lines[0].removeprefix("Task: ") if lines else ""
    window = next((line.removeprefix("Window: ") for line in reversed(lines) if line.startswith("Window: ")), "")
    past = tuple(line for line in lines[1:] if line != "Past:" and not line.startswith("Window: "))
    found = [_PLACE.fullmatch(line) for line in screen.splitlines()]
    return Parts(task, past, window, tuple(Line(m[1], int(m[2]), int(m[3])) for m in found if m))


def with_past(chatml: str, new: Mapping[str, str]) -> str:
    """The prompt with thoughts of the past replaced, old -> new, as they stand there: on one line, cut to length."""
    swaps = {_cut(old): _cut(thought) for old, thought in new.items()}
    head, sep, screen = chatml.partition("\nScreen:\n")
    lines = []
    for line in head.split("\n"):
        numbered = _PAST_LINE.fullmatch(line)
        known = numbered is not None and numbered[2] in swaps
        lines.append(f"{numbered[1]}{swaps[numbered[2]]}" if numbered and known else line)
    return "\n".join(lines) + sep + screen


def thought_of(reply: str) -> str:
    """What was thought in a reply."""
    return uitars.read(reply, to_point).thought


def with_thought(reply: str, thought: str) -> str | None:
    """The reply with another thought and its own action; None for one in another form than Thought and Action lines."""
    action = _ACTION.search(reply)
    if action is None:
        return None
    made = f"Thought: {' '.join(thought.split())}\n{reply[action.start() :]}"
    return None if acts_otherwise(made, reply) else made


def same_act(one: str, other: str, elements: Sequence[Element]) -> bool:
    """Whether two replies do the same, where clicks on one and the same element are the same wherever they hit it.

    Replies are in the elements dialect; one without any action does nothing, and is the same as none.
    """
    ours, theirs = uitars.read(one, to_point).actions, uitars.read(other, to_point).actions
    return (
        bool(ours)
        and len(ours) == len(theirs)
        and all(_alike(a, b, elements) for a, b in zip(ours, theirs, strict=True))
    )


def same_place(one: str, other: str, elements: Sequence[Element]) -> bool:
    """Whether some act of each reply lands on one and the same element."""
    ours, theirs = ([target_of(act) for act in uitars.read(text, to_point).actions] for text in (one, other))
    return any(a is not None and _same_place(a, b, elements) for a in ours for b in theirs)


def _alike(one: Action, other: Action, elements: Sequence[Element]) -> bool:
    match one, other:
        case (Click(), Click()) | (DoubleClick(), DoubleClick()) | (RightClick(), RightClick()):
            return _same_place(target_of(one), target_of(other), elements)
        case Drag(start, end), Drag(begin, stop):
            return _same_place(start, begin, elements) and _same_place(end, stop, elements)
        case Scroll(way, at, _), Scroll(their_way, there, _):
            return way == their_way and (at is None or there is None or _same_place(at, there, elements))
        case Finished(said), Finished(answer):
            return said.casefold().split() == answer.casefold().split()
        case _:
            return one == other


def _same_place(one: Point | None, other: Point | None, elements: Sequence[Element]) -> bool:
    """The same point, or two points in the smallest element that holds either."""
    if one is None or other is None:
        return False
    return one == other or ((on := _under(one, elements)) is not None and on == _under(other, elements))


def _under(point: Point, elements: Sequence[Element]) -> Element | None:
    return min((e for e in elements if e.box.holds(point)), key=lambda e: e.box.area, default=None)


def _cut(thought: str) -> str:
    flat = " ".join(thought.replace("<|", "< |").split())
    return flat if len(flat) <= MAX_PAST else f"{flat[: MAX_PAST - 3]}..."
