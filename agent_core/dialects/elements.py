"""The dialect of small text models: the screenshot is read into a list of elements with a place.

    user       Task: Log in as bob
               Past:
               1 Click the field "Username".
               Window: Login
               Screen:
               text Username 210 300
               field Username = bob 400 300
               check Remember me off 120 340
               button Submit 500 640
    assistant  Thought: Click "Submit".
               Action: click(point='<point>500 640</point>')

Each line is kind, words, state, and the place in thousandths of the screenshot, last because copying what follows
a label is what a small model does best. The newest screen comes last, so that everything before it stays the same
from step to step and need not be computed again. Replies are the point form of `uitars`.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_core.actions import Action, Point, Scroll, Terminal, Wait, in_words
from agent_core.dialects import uitars
from agent_core.step import Element, Intent, Message, Prompt, Screenshot, Turn

GRID = 1000
MAX_ELEMENTS = 90
MAX_LABEL = 48
MAX_PAST = 8
MAX_OUTPUT = 400


class Elements:
    """Renders element lists and reads replies in thousandths of the screenshot."""

    name = "elements"
    needs_elements = True

    def render(self, task: str, history: Sequence[Turn], shot: Screenshot, notes: Sequence[str] = ()) -> Prompt:
        """One user message: task, what was done, notes, window and screen."""
        lines = [f"Task: {_one_line(task, 4000)}"]
        past = [line for turn in history for line in _past(turn)]
        if past:
            numbered = [f"{i} {line}" for i, line in enumerate(past, start=1)]
            lines += ["Past:", *numbered[-MAX_PAST:]]
        lines += [f"Note: {_one_line(note, MAX_OUTPUT)}" for note in notes]
        if shot.window:
            lines.append(f"Window: {_one_line(shot.window, MAX_LABEL)}")
        lines.append("Screen:")
        lines += [line_of(element) for element in shot.elements[:MAX_ELEMENTS]]
        left_out = len(shot.elements) - MAX_ELEMENTS
        if left_out > 0:
            lines.append(f"({left_out} more)")
        return Prompt((Message("user", "\n".join(lines)),))

    def parse(self, text: str, shot: Screenshot) -> Intent:
        """Reads a reply; numbers are thousandths of the screenshot."""
        return uitars.read(text, to_point)

    def write(self, thought: str, actions: Sequence[Action], shot: Screenshot) -> str:
        """The reply in point form; places are rounded to thousandths."""
        return uitars.write_reply(thought, actions, from_point)


def to_point(x: float, y: float) -> Point | None:
    """Thousandths to fractions, None outside the screenshot."""
    return Point(x / GRID, y / GRID) if 0 <= x <= GRID and 0 <= y <= GRID else None


def from_point(point: Point) -> str:
    """Fractions to the quoted coordinate text of a call."""
    return f"<point>{round(point.x * GRID)} {round(point.y * GRID)}</point>"


def line_of(element: Element) -> str:
    """One element as the model reads it: kind, label, value or state, x, y."""
    words: list[str] = [element.kind]
    label = _one_line(element.text, MAX_LABEL)
    if label:
        words.append(label)
    if element.kind == "field":
        words.append(f"= {_one_line(element.value, MAX_LABEL)}" if element.value else "empty")
    if element.on is not None:
        words.append("on" if element.on else "off")
    return f"{' '.join(words)} {round(element.point.x * GRID)} {round(element.point.y * GRID)}"


def _past(turn: Turn) -> list[str]:
    """What a turn did, one line each: its thought, and what the model must know of how it went."""
    lines = []
    thought = _one_line(turn.intent.thought, 120)
    done = [s for s in turn.steps if s.outcome is not None]
    if thought or done:
        lines.append(thought or "; ".join(in_words(s.action) for s in done))
    for step in done:
        assert step.outcome is not None
        match step.action:
            case Terminal():
                lines.append(f"Terminal said: {_one_line(step.outcome.text, MAX_OUTPUT) or 'nothing'}")
            case _ if not step.outcome.ok:
                lines.append(f"It failed: {_one_line(step.outcome.text, 160)}")
            case Wait() | Scroll():
                pass
            case _ if step.outcome.changed is False:
                lines.append("Nothing changed.")
    lines += [_one_line(note, MAX_OUTPUT) for note in turn.notes]
    return lines


def _one_line(text: str, limit: int) -> str:
    """White space folded to single blanks, chat markers broken up, cut to `limit` characters."""
    flat = " ".join(text.replace("<|", "< |").split())
    return flat if len(flat) <= limit else flat[: limit - 3] + "..."
