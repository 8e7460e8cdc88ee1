"""What a replay shows, one frame a step, from a kept run or from turns that are only in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agent_core.actions import CallUser, from_json
from agent_core.step import Screenshot, Step, Turn
from agent_core.traces.discretion import Keeping, Picture
from agent_core.traces.images import Pixels, hash_of
from agent_core.traces.outside import Outside
from agent_core.traces.texts import Texts

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


def frames_of_kept(run: Outside) -> tuple[list[Frame], Pictures]:
    """The frames of a kept run and its pictures; a picture that is missing or cannot be judged is left out."""
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
        for turn in run.turns
        for index, step in enumerate(turn.steps or (None,))
    ]
    found = {key: run.picture(key) for key in {k for frame in frames for k in (frame.picture, frame.after) if k}}
    return frames, {key: picture for key, picture in found.items() if picture is not None}


def frames_of_turns(turns: Sequence[Turn], keeping: Keeping) -> tuple[list[Frame], Pictures]:
    """The frames of a run in memory, with no more in them than `keeping` would let into the store.

    What came after a turn's last step is what the next turn saw.
    """
    frames: list[Frame] = []
    pictures: Pictures = {}
    for turn, following in zip(turns, [*turns, None][1:], strict=True):
        excluded = keeping.turn(turn)
        told = Said(turn, keeping.text) if not excluded else Said(turn, lambda text: "")
        picture = _add(pictures, keeping.picture(turn.screenshot))
        for index, step in enumerate(turn.steps or (None,)):
            last_done = step is not None and step.outcome is not None and index == len(turn.steps) - 1
            next_shot = following.screenshot if last_done and following is not None else None
            shown = None if step is None else _as_kept(step, keeping, told.text, excluded, next_shot)
            after = "" if next_shot is None else _add(pictures, keeping.picture(next_shot))
            shot = turn.screenshot
            spent = _spent((shot.capture_ms, shot.read_ms, turn.reply.think_ms) if index == 0 else (), step)
            frames.append(
                Frame(turn.n, picture, after, told.window, told.thought, told.reply, told.problems, shown, spent)
            )
    return frames, pictures


class Said:
    """The texts of a turn as they may be shown."""

    def __init__(self, turn: Turn, text: Callable[[str], str]) -> None:
        self.text = text
        self.window = text(turn.screenshot.window)
        self.thought = text(turn.intent.thought)
        self.reply = text(turn.reply.text)
        self.problems = tuple(text(problem) for problem in turn.intent.problems)


def _as_kept(
    step: Step, keeping: Keeping, text: Callable[[str], str], excluded: bool, after: Screenshot | None
) -> Step:
    """The step as the store would keep it; the focus moves on with it."""
    texts = Texts(text) if not excluded else Texts()
    action = from_json(json.loads(texts.action(keeping.action(step.action))[0]))
    element = None if step.element is None or excluded else keeping.element(step.element)
    verdict = replace(step.verdict, reason=text(step.verdict.reason), instead=text(step.verdict.instead))
    outcome = step.outcome
    if outcome is not None:
        outcome = keeping.happened(step, outcome, after)
        outcome = replace(outcome, text=text(outcome.text))
    return replace(step, action=action, element=element, verdict=verdict, outcome=outcome)


def _add(pictures: Pictures, picture: Picture | None) -> str:
    """Puts the picture among the others and gives its key, empty for none."""
    if picture is None:
        return ""
    key = hash_of(picture.shot)
    pictures[key] = picture.shot
    return key


def _spent(before: tuple[float, ...], step: Step | None) -> tuple[tuple[str, float], ...]:
    """Looking, reading and thinking (`before`) count for the first step of a turn only."""
    parts = list(zip(("capture", "read", "think"), before, strict=False))
    if step is not None:
        parts.append(("person", step.verdict.waited_ms))
        if step.outcome is not None:
            parts.append(("person" if isinstance(step.action, CallUser) else "act", step.outcome.duration_ms))
    return tuple((name, ms) for name, ms in parts if ms > 0)
