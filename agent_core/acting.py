"""One run's hands: looks at the machine and carries out one action at a time, from the verdict to the outcome.

Immediately before the machine is touched come the pace, the pause, the look whether the place is still the same where
a person took time, and the stop. The step's row is written before, the outcome's after. Not here: what the model is
asked, and what a turn comes to (the loop).
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from threading import Event

from agent_core.actions import Action, CallUser, Drag, Finished, Point, Terminal, Wait, in_words, target_of
from agent_core.asking import Asking
from agent_core.limits import Pace, Until
from agent_core.parts import Parts, Progress, Stage
from agent_core.screen.compare import changed, changed_extent, patch_equal, patch_equal_but_caret
from agent_core.screen.settle import CARET
from agent_core.step import Outcome, Run, Screenshot, Status, Step, Turn, Verdict

PATCH_RADIUS = 24  # device pixels around the target that must not change while a person decides
FOCUS_RADIUS = 160  # the same around what has the keyboard, which shows that at its edges
HANDED_BACK = "The user took over and gave back. Look again at what is there now."
ADDED = "The user adds: "
REST_DROPPED = "The screen changed after the first action, so the rest was not done. Look again."
STALE_SECONDS = 1.0  # a frame that the model thought about for longer is looked at again before it is acted on
NO_LETTERS = re.compile(r"[\W\d_]+")
MOVED = "The place changed while you waited, so nothing was done. Look again."


def same_place(action: Action, before: Screenshot, now: Screenshot, focus: Point | None = None) -> bool:
    """Whether what an action was decided on is still there: the same window and, where it points, the same patch.

    `focus` is where the last click went: an action without a place of its own goes there, and a caret may blink in it.
    """
    if before.window != now.window:
        return False
    at = target_of(action)
    if at is not None:
        start = action.start if isinstance(action, Drag) else at
        return all(patch_equal(before, now, place, PATCH_RADIUS) for place in (start, at))
    return focus is None or patch_equal_but_caret(before, now, focus, FOCUS_RADIUS)


def same_words(before: Screenshot, now: Screenshot) -> bool:
    """Whether two frames say the same, whatever the clock shows. A caret makes no difference."""
    width, height = changed_extent(before, now)
    if (width <= CARET[0] and height <= CARET[1]) or not before.elements:
        return True
    said, says = ({NO_LETTERS.sub("", e.text) for e in shot.elements if e.kind != "field"} for shot in (before, now))
    return said == says


def _same_element(action: Action, before: Screenshot, now: Screenshot) -> bool:
    """Whether an action points at the same words, though the picture moves: a video, a caret in a field."""
    places = [action.start, action.end] if isinstance(action, Drag) else [target_of(action)]
    there = [[shot.under(at) for at in places if at is not None] for shot in (before, now)]
    one, other = ([(e.kind, e.text) if e else None for e in elements] for elements in there)
    return before.window == now.window and one == other


class Acting:
    """The state of the hands in one run. `turn` is the number of the loop's turn, `seen` the newest frame."""

    def __init__(self, run: Run, parts: Parts, stop: Event) -> None:
        self.run, self.parts, self.stop = run, parts, stop
        self.asking = Asking(run, parts, stop)
        self.until = Until(stop, self.time_left)
        self.pace = Pace(parts.limits.per_minute)
        self.notes: list[str] = []
        self._added: list[str] = []
        self.turn = 1
        self.steps = self.refusals = 0
        self.focus: Point | None = None
        self.seen: Screenshot
        self.read_at = 0.0
        self.began = time.monotonic()

    def told(self) -> tuple[str, ...]:
        """The notes since the last call, for the model."""
        notes, self.notes = tuple(self.notes), []
        return notes

    def look(self) -> Screenshot:
        """A settled frame with its elements. A stop leaves the reading out."""
        self.watch("looking")
        shot = self.read(self.parts.operator.look())
        self.read_at = time.monotonic()
        return shot

    def read(self, shot: Screenshot) -> Screenshot:
        """The frame with its elements, which is the newest from now on."""
        self.seen = shot
        if self.parts.reader is None or shot.elements or self.stop.is_set():
            return shot
        self.watch("reading")
        began = time.perf_counter()
        elements = self.parts.reader.read(shot)
        return replace(shot, elements=elements, read_ms=(time.perf_counter() - began) * 1000)

    def has_more(self) -> bool:
        """Whether the person has added something that the model has not been told."""
        self._added += [f"{ADDED}{text}" for text in self.parts.added()]
        return bool(self._added)

    def added(self) -> tuple[str, ...]:
        """What they have added since the last call, for the model."""
        self.has_more()
        added, self._added = tuple(self._added), []
        return added

    def take_back(self) -> Screenshot | None:
        """Waits while the run is paused; then what there is now, None if it was not paused."""
        pause = self.asking.while_paused(self.steps or None)
        if not pause or self.stop.is_set():
            return None
        self.notes += [HANDED_BACK] if pause.taken else []
        return self.look()

    def may_go_on(self, action: Action, shot: Screenshot, first: bool) -> Screenshot | None:
        """Before an action of a reply is decided on: the screen as it is now, which it is to be judged by.

        None when it is not what the reply was written for: the actions before it may have opened another window or
        moved the target, and so may a person in a pause, or a page while the model thought.
        """
        pause = self.asking.while_paused(self.steps or None)
        if self.stop.is_set():
            return shot
        if pause.taken:
            self.notes.append(HANDED_BACK)
        if pause.taken or self.has_more():
            return None
        thought_on = first and not pause and time.monotonic() - self.read_at > STALE_SECONDS
        if (first and not pause and not thought_on) or isinstance(action, Finished | CallUser | Wait | Terminal):
            return shot
        now = self.parts.operator.look()
        same = same_place(action, shot, now)
        if same and not changed(shot, now):
            self.seen = now
            return shot
        now = self.read(now)
        if same or (thought_on and _same_element(action, shot, now)):
            return now
        self.notes.append(MOVED if first else REST_DROPPED)
        return None

    def act(self, turn: Turn, action: Action, shot: Screenshot, last: bool) -> tuple[Step, Screenshot, Status]:
        """Decides on one action, records the step, does it, records the outcome."""
        self.steps += 1
        element = shot.under(at) if (at := target_of(action)) else None
        verdict = self.asking.decide(action, shot, turn.intent.thought, turn.n)
        step = Step(self.steps, turn.n, action, verdict, element)
        self.parts.recorder.decided(self.run, turn, step)
        if self.stop.is_set():
            return step, shot, Status.STOPPED
        if verdict.decision != "allow":
            return step, shot, self.refused(verdict)
        refused, self.refusals = self.refusals > 0, 0
        match action:
            case Finished(answer):
                status = self.after_refusal(answer) if refused else Status.FINISHED
                return self.done(step, Outcome(ok=True), None), shot, status
            case CallUser(question):
                outcome, status = self.call_user(question or turn.intent.thought, shot)
                shot = self.look() if status is Status.RUNNING else shot
                return self.done(step, outcome, shot), shot, status
            case _:
                return self.do(step, shot, last)

    def do(self, step: Step, shot: Screenshot, last: bool) -> tuple[Step, Screenshot, Status]:
        """Touches the machine. The pause, the stale check and the stop come immediately before."""
        against, fresh = self.before_touching(step, shot)
        if against:
            return self.done(step, Outcome(ok=False, text=against), fresh), fresh, Status.RUNNING
        if self.until.is_set():
            return step, shot, Status.STOPPED if self.stop.is_set() else Status.RUNNING
        self.watch("doing", in_words(step.action))
        self.pace.count()
        outcome = self.parts.operator.do(step.action, shot, self.until)
        if self.parts.heard is not None and isinstance(step.action, Terminal):
            self.parts.heard(outcome.text)
        self.focus = target_of(step.action) or self.focus
        if self.stop.is_set():
            return self.done(step, outcome, None), shot, Status.STOPPED
        if self.until.is_set() and not outcome.ok:
            outcome = replace(outcome, text="It was broken off because the time of this run was up.")
        if self.asking.taken or (not last and outcome.ok):  # looked at when the person has given back; or not yet
            return self.done(step, outcome, None), shot, Status.RUNNING
        after = self.look()
        outcome = replace(outcome, changed=changed(shot, after))
        return self.done(step, outcome, after), after, Status.RUNNING

    def before_touching(self, step: Step, shot: Screenshot) -> tuple[str, Screenshot]:
        """Holds the action back while it has to be. What then speaks against it, empty if nothing, and the new frame.

        Whoever was asked, or paused the run, may have changed what the action was decided on.
        """
        before = self.seen
        doubtful = step.verdict.waited_ms > 0
        while (delay := self.pace.delay()) > 0 and not self.until.wait(delay):
            doubtful = True
        while (pause := self.asking.while_paused(step.n)) or doubtful:
            doubtful = False
            if self.stop.is_set() or (isinstance(step.action, Terminal | Wait) and not pause.taken):
                continue
            fresh = self.look()
            if pause.taken:
                self.notes.append(HANDED_BACK)
                return "The user took over, so it was not done.", fresh
            placeless = target_of(step.action) is None
            if not same_place(step.action, before, fresh, self.focus) or (placeless and not same_words(shot, fresh)):
                self.notes.append(MOVED)
                return MOVED, fresh
        return "", shot

    def done(self, step: Step, outcome: Outcome, after: Screenshot | None) -> Step:
        self.parts.recorder.happened(self.run, step, outcome, after)
        return replace(step, outcome=outcome)

    def refused(self, verdict: Verdict) -> Status:
        if verdict.instead:  # the person steers: not a refusal that the model has to get past
            self.refusals = 0
            self.notes.append(f"The user refused and says: {verdict.instead}")
            return Status.RUNNING
        self.refusals += 1
        self.notes.append(f"Refused: {verdict.reason} Do something else or finish.")
        if self.refusals >= self.parts.limits.refusals:
            self.notes.append(f"Ended because {self.refusals} actions in a row were refused: {verdict.reason}")
            return Status.REFUSED
        return Status.RUNNING

    def after_refusal(self, answer: str) -> Status:
        """The model says that it is done although its last action was refused: that is not a finished task."""
        said = answer or "the task is done"
        self.notes.append(f"The last action was refused, so the task may not be done. The agent says: {said}")
        return Status.REFUSED

    def call_user(self, question: str, shot: Screenshot) -> tuple[Outcome, Status]:
        """Puts the question to the person and goes on with the answer in the same run."""
        asked = question or "The agent needs you."
        outcome, status = self.asking.question(asked, shot, self.turn)
        if status is Status.RUNNING:
            self.notes.append(f"The user answered: {outcome.text}")
        elif status is Status.FAILED:
            self.notes.append(f"The agent needs a person: {asked}")
        return outcome, status

    def time_left(self) -> float:
        return self.parts.limits.seconds - (time.monotonic() - self.began - self.asking.seconds)

    def watch(self, stage: Stage, text: str = "", tokens: int = 0) -> None:
        self.parts.watch(Progress(stage, self.turn, text, tokens))
