"""Lays a run out as chat messages: every past reply stays as text, only the newest few screenshots stay as pictures.

What the program has to tell (terminal output, a failure, a note) goes into the user message after the reply that
caused it, so that the order of the conversation is the order of events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent_core.actions import Terminal, Wait
from agent_core.step import Message, Screenshot, Turn

IMAGE = "<image>"
MAX_TOLD = 2000  # characters of one sentence or output that go back to the model


def conversation(
    history: Sequence[Turn], shot: Screenshot, notes: Sequence[str], images: int, written: Callable[[Turn], str]
) -> tuple[Message, ...]:
    """The turns and the newest screenshot, with at most `images` pictures; `written` gives a past turn's reply."""
    messages: list[Message] = []
    told: list[str] = []
    first_shown = len(history) + 1 - max(1, images)
    for n, turn in enumerate(history):
        messages += _seen(turn.screenshot if n >= first_shown else None, told)
        messages.append(Message("assistant", written(turn)))
        told = _told(turn)
    return (*messages, *_seen(shot, [*told, *notes]))


def _seen(shot: Screenshot | None, told: Sequence[str]) -> list[Message]:
    text = "\n".join(([IMAGE] if shot else []) + [plain(line) for line in told])
    return [Message("user", text, (shot,) if shot else ())] if text else []


def _told(turn: Turn) -> list[str]:
    """What came of a turn, as far as a screenshot does not show it."""
    lines = []
    for step in turn.steps:
        if step.outcome is None:
            continue
        if isinstance(step.action, Terminal):
            lines.append(f"Terminal output:\n{step.outcome.text or '(nothing)'}")
        elif not step.outcome.ok:
            lines.append(f"The action failed: {step.outcome.text}")
        elif step.outcome.changed is False and not isinstance(step.action, Wait):
            lines.append("Nothing changed on the screen.")
    return lines + list(turn.notes)


def plain(text: str, limit: int = MAX_TOLD) -> str:
    """Text from outside, cut to `limit` characters, with chat and image markers broken up."""
    whole = text if len(text) <= limit else text[: limit - 3] + "..."
    return whole.replace("<|", "< |").replace(IMAGE, "< image>")
