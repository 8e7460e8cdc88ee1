"""When a run is held back, warned, handed to the person or ended, because it goes on too long or leads nowhere.

Pure but for the clock, which is handed in. Doing something about it is the loop's part. What counts as "nothing new" is
that a screen was there before, pixel by pixel; one caret that blinks is allowed for, by taking two screens for one.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Literal

from agent_core.actions import (
    Action,
    CallUser,
    Click,
    DoubleClick,
    Drag,
    Finished,
    Point,
    Press,
    Release,
    RightClick,
    Scroll,
    Terminal,
    Wait,
    in_words,
)
from agent_core.settings import Settings
from agent_core.step import Screenshot, Step, Turn

NEAR = 0.006  # fraction of the screen: places closer than this (8 px of 1280) are the same place
TELL_AFTER, CALL_AFTER = 3, 5  # the same so often, and nothing new came of it
END_AFTER = 2  # scrolled so often without a change: that is the end
ROUNDS = 3  # of going back and forth between two things
NO_EFFECT = 6  # different things in a row that changed nothing
BLINK = 2  # screens that one screen with a blinking caret looks like
MAX_WORDS = 80  # characters of one action in a sentence
MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use up. `seconds` leaves out the time a person took.

    `refusals` and `problems` (replies that cannot be read) are those in a row that end a run or go to the person;
    `per_minute` is the most actions in any minute, more are held back; 0 sets no limit. An approval not given within
    `approval_seconds` is a deny, whatever the window that asks is doing. `replies` is how many a model that can draw is
    asked for each time, of which the majority counts.
    """

    steps: int = 40
    seconds: float = 1800.0
    refusals: int = 3
    problems: int = 2
    per_minute: int = 90
    approval_seconds: float = 3600.0
    replies: int = 1


def limits_of(wanted: Settings) -> Limits:
    """What the settings say."""
    return Limits(
        steps=wanted.run.max_steps,
        seconds=wanted.run.max_minutes * 60,
        per_minute=wanted.run.actions_per_minute,
        approval_seconds=wanted.safety.approval_seconds,
        replies=wanted.run.best_of,
    )


@dataclass(frozen=True, slots=True)
class Beat:
    """What one reply did. `words` say it; `before` and `after` stand for the screens, equal numbers for equal ones.

    Where commands were run, both numbers stand for what they printed as well.
    """

    actions: tuple[Action, ...]
    words: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Guarded:
    """What the guard makes of the last replies: nothing, something to tell the model, or a question for the person."""

    word: Literal["", "tell", "call"]
    text: str = ""


def guard(beats: Sequence[Beat]) -> Guarded:
    """Whether the newest of these replies in a row still lead anywhere. `text` says what was tried."""
    if not beats:
        return Guarded("")
    last = beats[-1]
    times = _times(beats)
    if times >= CALL_AFTER:
        return Guarded("call", f"I have tried this {times} times and nothing new came of it: {last.words}.")
    if _back_and_forth(beats):
        tried = f"{beats[-2].words}, then {last.words}"
        return Guarded("call", f"I keep going back and forth and get no further: {tried}.")
    if _without_effect(beats):
        tried = "; ".join(beat.words for beat in _weighty(beats)[-NO_EFFECT:])
        return Guarded("call", f"The last {NO_EFFECT} things I did changed nothing on the screen: {tried}.")
    if times >= END_AFTER and _only(last, Scroll):
        return Guarded("tell", f"Nothing moves any more, so this is the end of it: {last.words}.")
    if times >= TELL_AFTER:
        return Guarded("tell", f"This was tried {times} times and nothing changed: {last.words}. Do something else.")
    return Guarded("")


def beat_of(turn: Turn, after: Screenshot) -> Beat | None:
    """What a turn did, seen from the screen after it; None if nothing was carried out."""
    done = [step for step in turn.steps if not isinstance(step.action, Finished | CallUser)]
    outcomes = [step.outcome for step in done if step.outcome is not None]
    if not outcomes:
        return None
    printed = tuple(o.text for step, o in zip(done, outcomes, strict=False) if isinstance(step.action, Terminal))
    now = hash((after.window, after.rgb, printed))
    before = now if printed else hash((turn.screenshot.window, turn.screenshot.rgb, printed))
    words = "; ".join(_words(step) for step in done[: len(outcomes)])
    return Beat(tuple(step.action for step in done[: len(outcomes)]), words, before, now)


def _words(step: Step) -> str:
    where = f' on "{step.element.text}"' if step.element is not None and step.element.text else ""
    words = in_words(step.action) + where
    return words if len(words) <= MAX_WORDS else words[: MAX_WORDS - 3] + "..."


def same_action(a: Action, b: Action) -> bool:
    """Whether two actions try the same: the same kind at the same place or with the same text.

    How far was scrolled and how long was waited makes no difference.
    """
    match a, b:
        case (Click(p), Click(q)) | (DoubleClick(p), DoubleClick(q)) | (RightClick(p), RightClick(q)):
            return _near(p, q)
        case Drag(p, p_end), Drag(q, q_end):
            return _near(p, q) and _near(p_end, q_end)
        case Scroll(one, p_at, _), Scroll(other, q_at, _):
            return one == other and (p_at is None or q_at is None or _near(p_at, q_at))
        case Wait(), Wait():
            return True
        case _:
            return a == b


def _near(p: Point, q: Point) -> bool:
    return abs(p.x - q.x) <= NEAR and abs(p.y - q.y) <= NEAR


def _same(a: Beat, b: Beat) -> bool:
    return len(a.actions) == len(b.actions) and all(map(same_action, a.actions, b.actions))


def _only(beat: Beat, *kinds: type[Action]) -> bool:
    return all(isinstance(action, kinds) for action in beat.actions)


def _times(beats: Sequence[Beat]) -> int:
    """How many times in a row the last thing was done while no more was to be seen than a blinking caret."""
    last = beats[-1]
    allowed = 1 if _only(last, Scroll) else BLINK
    seen: set[int] = set()
    times = 0
    for beat in reversed(beats):
        seen |= {beat.before, beat.after}
        if len(seen) > allowed or not _same(beat, last):
            break
        times += 1
    return times


def _back_and_forth(beats: Sequence[Beat]) -> bool:
    """Whether the last rounds were the same two things in turn, each of which led to the same screen again."""
    last = beats[-2 * ROUNDS :]
    if len(last) < 2 * ROUNDS or _same(last[0], last[1]):
        return False
    again = all(_same(a, b) for a, b in zip(last, last[2:], strict=False))
    return again and all(len({beat.after for beat in last[n::2]}) <= BLINK for n in (0, 1))


def _without_effect(beats: Sequence[Beat]) -> bool:
    last = _weighty(beats)[-NO_EFFECT:]
    if len(last) < NO_EFFECT or any(isinstance(action, Terminal) for beat in last for action in beat.actions):
        return False  # what a command does need not show on the screen
    return len({screen for beat in last for screen in (beat.before, beat.after)}) <= BLINK


def _weighty(beats: Sequence[Beat]) -> list[Beat]:
    """Without what is not meant to change anything by itself."""
    return [beat for beat in beats if not _only(beat, Wait, Press, Release)]


class Pace:
    """Holds a run back to so many actions in any minute."""

    def __init__(self, per_minute: int, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._now = per_minute, now
        self._times: deque[float] = deque()

    def delay(self) -> float:
        """Seconds until the next action may be done; 0 when it may be done now."""
        if self._most <= 0 or len(self._times) < self._most:
            return 0.0
        return max(0.0, self._times[0] + MINUTE_S - self._now())

    def count(self) -> None:
        """An action is being done now."""
        self._times.append(self._now())
        while len(self._times) > max(1, self._most):
            self._times.popleft()


class Until(Event):
    """The stop of a run, which is also set once the run's time is up: for a reply or an action that may take long."""

    def __init__(self, stop: Event, left: Callable[[], float]) -> None:
        """`left` gives the seconds left to the run."""
        super().__init__()
        self._stop, self._left = stop, left

    def is_set(self) -> bool:
        return self._stop.is_set() or self._left() <= 0

    def wait(self, timeout: float | None = None) -> bool:
        self._stop.wait(max(0.0, min(math.inf if timeout is None else timeout, self._left())))
        return self.is_set()

    def set(self) -> None:
        self._stop.set()
