"""Waiting for the person: for a yes, for an answer, for the end of a pause. Their time is counted apart from the run's.

While the run waits, the machine is the person's: nothing stays pressed and nothing can be injected, so that nothing
of ours can answer a question of ours. Whatever goes wrong with a question is a no: no approver, a dialog that was
closed or crashed, an answer that does not come. Not here: whether to ask (the policy), what follows (the loop).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import TypeVar

from agent_core.actions import Action, in_words, target_of
from agent_core.parts import Parts, Progress
from agent_core.protocols import Ask
from agent_core.step import Outcome, Run, Screenshot, Status, Verdict

T = TypeVar("T")
POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Pause:
    """What a pause was: not at all, the person's word, or the person's hand on the mouse (`taken`)."""

    waited: bool = False
    taken: bool = False

    def __bool__(self) -> bool:
        return self.waited or self.taken


class Asking:
    """The person's side of one run. `seconds` is the time that they took so far, `heard` counts their answers to
    questions and their pauses: what was tried before one of these was tried in another situation."""

    def __init__(self, run: Run, parts: Parts, stop: Event) -> None:
        self._run, self._parts, self._stop = run, parts, stop
        self.seconds = 0.0
        self.heard = 0

    def decide(self, action: Action, shot: Screenshot, thought: str, turn: int) -> Verdict:
        """The policy's word, and the person's where the policy says ask. Everything that goes wrong is a deny."""
        verdict = self._parts.decide(action, shot, self._run.task)
        approve = self._parts.approve
        if verdict.decision != "ask":
            return verdict
        if approve is None:
            return _denied(verdict, "Nobody was there to allow it.")
        self._parts.watch(Progress("asking", turn, in_words(action)))
        element = shot.under(at) if (at := target_of(action)) else None
        ask = Ask(self._run, action, shot, element, verdict, thought)
        given, waited = self._wait_for(partial(approve, ask), self._parts.limits.approval_seconds)
        word = verdict if given is None else given.result()
        if word.decision == "ask":
            word = _denied(verdict, "It was not allowed in time.")
        elif word.instead:  # something else is wanted: not this
            word = replace(word, decision="deny")
        return replace(word, tier=verdict.tier, waited_ms=waited * 1000)

    def question(self, question: str, shot: Screenshot, turn: int) -> tuple[Outcome, Status]:
        """Puts a question to the person. RUNNING with their answer as the outcome's text, STOPPED when they ended the
        run, FAILED when nobody was there."""
        answer = self._parts.answer
        if answer is None:
            return Outcome(ok=False, text="Nobody was there to answer."), Status.FAILED
        self._parts.watch(Progress("asking", turn, question))
        given, waited = self._wait_for(partial(answer, question, shot))
        said = None if given is None else given.result()
        if said is None:
            return Outcome(ok=False, text="The user ended the run.", duration_ms=waited * 1000), Status.STOPPED
        self.heard += 1
        return Outcome(ok=True, text=said, duration_ms=waited * 1000), Status.RUNNING

    def while_paused(self, step: int | None) -> Pause:
        """Waits as long as the run is paused. A take-over is labelled, on the step with that number if there is one."""
        pause, taken = self._parts.pause, self._parts.taken
        waited = pause is not None and pause.is_set() and not self._stop.is_set()
        if pause is not None and waited:
            began = time.monotonic()
            with self._parts.operator.hands_off():
                while pause.is_set() and not self._stop.wait(POLL_S):
                    pass
            self.seconds += time.monotonic() - began
            self.heard += 1
        if taken is None or not taken.is_set():
            return Pause(waited)
        taken.clear()
        self._parts.recorder.labelled(self._run, step, "take_over", "")
        return Pause(waited, taken=True)

    @property
    def taken(self) -> bool:
        """Whether the person has the mouse now."""
        return self._parts.taken is not None and self._parts.taken.is_set()

    def _wait_for(self, ask: Callable[[], Future[T]], longest: float = math.inf) -> tuple[Future[T] | None, float]:
        """Asks, and gives the Future once it holds an answer, and how long that took. None when the run is stopped, or
        the asker crashed, withdrew, or took longer than `longest` seconds."""
        began = time.monotonic()
        with self._parts.operator.hands_off():
            future = ask()
            while not self._stop.is_set() and time.monotonic() < began + longest:
                wait([future], timeout=POLL_S)
                if future.done():  # a cancelled future does not wake `wait`
                    break
        waited = time.monotonic() - began
        self.seconds += waited
        if self._stop.is_set() or not future.done() or future.cancelled() or future.exception() is not None:
            future.cancel()
            return None, waited
        return future, waited


def _denied(verdict: Verdict, why: str) -> Verdict:
    return replace(verdict, decision="deny", who="nobody", reason=f"{verdict.reason} {why}")
