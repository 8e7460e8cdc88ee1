"""Episodic memory: when a run's text outgrows its budget, the oldest steps are folded into one line each.

Until then every past reply stays whole. Folding goes by whole chunks of turns, so that the beginning of the prompt
stays the same from step to step and need not be computed again. Pure: the same history always folds the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent_core.actions import Terminal, in_words
from agent_core.step import Turn

BUDGET = 24_000  # characters of past replies and outputs that stay whole, some 6000 tokens
CHUNK = 8  # turns that are folded at once
MAX_LINES = 64  # of the summary; the oldest are left out beyond it
_MAX_LINE = 160  # characters


def folded(history: Sequence[Turn], written: Callable[[Turn], str], budget: int = BUDGET) -> tuple[str, Sequence[Turn]]:
    """The summary of the oldest turns, "" if nothing had to be folded, and the turns that stay whole."""
    sizes = [len(written(turn)) + sum(len(s.outcome.text) for s in turn.steps if s.outcome) for turn in history]
    left, cut = sum(sizes), 0
    while left > budget and cut + CHUNK < len(history):
        left -= sum(sizes[cut : cut + CHUNK])
        cut += CHUNK
    return _summary(history[:cut]), history[cut:]


def _summary(turns: Sequence[Turn]) -> str:
    if not turns:
        return ""
    lines = [f"{number}. {_line(turn)}" for number, turn in enumerate(turns, start=1)]
    left_out = len(lines) - MAX_LINES
    if left_out > 0:
        lines = [f"(steps 1 to {left_out} are left out)", *lines[left_out:]]
    return "\n".join(["## Earlier Steps", *lines])


def _line(turn: Turn) -> str:
    """What a turn meant to do, and how it went where that was not as meant."""
    done = "; ".join(in_words(step.action) for step in turn.steps) or "nothing"
    line = _cut(turn.intent.thought or done)
    for step in turn.steps:
        if step.outcome is None:
            continue
        if not step.outcome.ok:
            return f"{line} It failed: {_cut(step.outcome.text)}"
        if isinstance(step.action, Terminal) and step.outcome.text:
            return f"{line} Output: {_cut(step.outcome.text)}"
        if step.outcome.changed is False:
            return f"{line} Nothing changed."
    return line


def _cut(text: str) -> str:
    """One line without chat or image markers."""
    flat = " ".join(text.replace("<|", "< |").replace("<image>", "< image>").split())
    return flat if len(flat) <= _MAX_LINE else flat[: _MAX_LINE - 3] + "..."
