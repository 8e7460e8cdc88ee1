"""Asks a model for one reply, or for several, and takes what most of them act on.

The first is the reply it gives anyway; the others are drawn at temperature 1. Two replies count as one when they do the
same to the same element, whatever they think and whichever of its pixels they name. Ties go to the first reply, and
drawing ends as soon as no other outcome is possible. Not here: what is done with the reply (the loop).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Event

from agent_core.actions import Action, Click, DoubleClick, Drag, Point, RightClick, Scroll
from agent_core.limits import same_action
from agent_core.parts import Parts
from agent_core.protocols import Draws
from agent_core.step import Element, Intent, Prompt, Reply, Screenshot


@dataclass(slots=True)
class _Choice:
    """What some replies agree on, the earliest of them for all. `votes` is 0 where nothing can be acted on."""

    reply: Reply
    intent: Intent
    votes: int


def asked(
    parts: Parts, prompt: Prompt, shot: Screenshot, stop: Event, on_text: Callable[[str], None] | None
) -> tuple[Reply, Intent]:
    """The reply to act on and what it is read as; its `think_ms` is the time of all that were asked for.

    A model that cannot draw (a script) is asked once. `on_text` hears the first reply only. Raises ModelError.
    """
    reply = parts.model.reply(prompt, stop, on_text)
    first = _choice(parts, reply, shot)
    choices, spent = [first], reply.think_ms
    if isinstance(parts.model, Draws):
        for left in range(parts.limits.replies - 1, 0, -1):
            if stop.is_set() or _decided(choices, left):
                break
            drawn = parts.model.draw(prompt, stop)
            spent += drawn.think_ms
            if drawn.stop_reason != "stopped":
                _count(choices, _choice(parts, drawn, shot), shot)
    chosen = max(choices, key=lambda choice: choice.votes)  # the earliest of equals
    return replace(chosen.reply, think_ms=spent), chosen.intent


def same_act(one: Action, other: Action, shot: Screenshot) -> bool:
    """Whether two actions do the same to the same element of the screenshot, or at the same place of it."""
    if same_action(one, other):
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, Scroll) and isinstance(other, Scroll) and one.direction != other.direction:
        return False
    there, here = _elements(one, shot), _elements(other, shot)
    inside_one = len(there) > 1 and there[0] == there[1]  # a slider or some letters: how far is what counts
    return bool(there) and None not in there and there == here and not inside_one


def _choice(parts: Parts, reply: Reply, shot: Screenshot) -> _Choice:
    intent = parts.dialect.parse(reply.text, shot)
    return _Choice(reply, intent, 1 if intent.actions and not intent.problems else 0)


def _count(choices: list[_Choice], drawn: _Choice, shot: Screenshot) -> None:
    """Adds a drawn reply to those it agrees with, or as a choice of its own."""
    if drawn.votes == 0:
        return
    for choice in choices:
        if choice.votes and _agree(choice.intent, drawn.intent, shot):
            choice.votes += 1
            return
    choices.append(drawn)


def _agree(one: Intent, other: Intent, shot: Screenshot) -> bool:
    pairs = zip(one.actions, other.actions, strict=False)
    return len(one.actions) == len(other.actions) and all(same_act(a, b, shot) for a, b in pairs)


def _decided(choices: list[_Choice], left: int) -> bool:
    """Whether the replies still to be drawn cannot change which choice wins."""
    leader = max(choices, key=lambda choice: choice.votes)
    if leader is not choices[0]:
        rivals = [choice.votes for choice in choices if choice is not leader]
        return leader.votes > max(rivals) + left
    return leader.votes >= max((choice.votes for choice in choices[1:]), default=0) + left


def _elements(action: Action, shot: Screenshot) -> list[Element | None]:
    """What an action points at, None where nothing was read; empty for one that points at nothing."""
    match action:
        case Click(at) | DoubleClick(at) | RightClick(at) | Scroll(at=Point() as at):
            return [shot.under(at)]
        case Drag(start, end):
            return [shot.under(start), shot.under(end)]
    return []
