"""What a replay shows, one frame a step, from a kept run or from turns that are only in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_core.actions import CallUser
from agent_core.errors import StoreError
from agent_core.step import Screenshot, Step, Turn
from agent_core.traces.images import Pixels, hash_of
from agent_core.traces.reads import Traces

Pictures = dict[str, Pixels | Screenshot]


@dataclass(frozen=True, slots=True)
class Frame:
    """One step to show, or a turn without one. `picture` and `after` are keys of the pictures; empty for none.

    `spent_ms` says on what the time went, in order: capture, read, think, person, act.
    """

    turn: int
    picture: str
    after: str
    window: str
    thought: str
    reply: str
    problems: tuple[str, ...]
    step: Step | None
    spent_ms: tuple[tuple[str, float], ...]


def frames_of_kept(traces: Traces, run_id: str) -> tuple[list[Frame], Pictures]:
    """The frames of a kept run and its pictures; a picture that is missing is left out. Raises StoreError."""
    frames = [
        Frame(
            turn=turn.n,
            picture=turn.screenshot,
            after=turn.after.get(step.n, "") if step else "",
            window=turn.window,
            thought=turn.thought,
            reply=turn.reply.text,
            problems=turn.problems,
            step=step,
            spent_ms=_spent((turn.capture_ms, turn.read_ms, turn.reply.think_ms) if index == 0 else (), step),
        )
        for turn in traces.turns(run_id)
        for index, step in enumerate(turn.steps or (None,))
    ]
    pictures: Pictures = {}
    for key in {k for frame in frames for k in (frame.picture, frame.after) if k}:
        try:
            pictures[key] = traces.picture(key)
        except StoreError:
            continue  # the page says so in the picture's place
    return frames, pictures


def frames_of_turns(turns: Sequence[Turn]) -> tuple[list[Frame], Pictures]:
    """The frames of a run in memory. What came after a turn's last step is what the next turn saw."""
    keys = [hash_of(turn.screenshot) for turn in turns]
    pictures: Pictures = {key: turn.screenshot for key, turn in zip(keys, turns, strict=True)}
    frames = []
    for turn, key, following in zip(turns, keys, [*keys, ""][1:], strict=True):
        shot = turn.screenshot
        for index, step in enumerate(turn.steps or (None,)):
            last_done = step is not None and step.outcome is not None and index == len(turn.steps) - 1
            frames.append(
                Frame(
                    turn=turn.n,
                    picture=key,
                    after=following if last_done else "",
                    window=shot.window,
                    thought=turn.intent.thought,
                    reply=turn.reply.text,
                    problems=turn.intent.problems,
                    step=step,
                    spent_ms=_spent((shot.capture_ms, shot.read_ms, turn.reply.think_ms) if index == 0 else (), step),
                )
            )
    return frames, pictures


def _spent(before: tuple[float, ...], step: Step | None) -> tuple[tuple[str, float], ...]:
    """Looking, reading and thinking (`before`) count for the first step of a turn only."""
    parts = list(zip(("capture", "read", "think"), before, strict=False))
    if step is not None:
        parts.append(("person", step.verdict.waited_ms))
        if step.outcome is not None:
            parts.append(("person" if isinstance(step.action, CallUser) else "act", step.outcome.duration_ms))
    return tuple((name, ms) for name, ms in parts if ms > 0)
