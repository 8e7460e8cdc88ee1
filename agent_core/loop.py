"""The loop: look, read, ask the model, parse, decide, record, do, record, look again.

One direction, one generator of Turns; windows, logs and tests do what they like with what it yields. Two things come
back, both handed in as values: the approval and the answer (Futures) and the stop (an Event).

Kept here: nothing is done without an "allow" whose row is already written; the first refusal, failure or stop drops
the rest of a reply; where a person took time, the place is looked at again before it is touched; what is held is let
go in `finally`, whatever happened.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Literal, TypeVar

from agent_core.actions import Action, CallUser, Finished, Terminal, Wait, in_words, target_of
from agent_core.errors import DeskhandError, TaskError
from agent_core.protocols import AnswerUser, Approve, Ask, Decide, Dialect, Model, Operator, Reader, Recorder
from agent_core.screen.compare import changed, patch_equal
from agent_core.step import Intent, Outcome, Run, Screenshot, Status, Step, Turn, Verdict

T = TypeVar("T")
MAX_TASK = 4000
PATCH_RADIUS = 24  # device pixels around the target that must not change while a person decides
POLL_S = 0.05
Stage = Literal["looking", "reading", "thinking", "asking", "doing"]


@dataclass(frozen=True, slots=True)
class Progress:
    """What the loop is doing now. While thinking, `text` is the reply so far and `tokens` counts its pieces."""

    stage: Stage
    turn: int
    text: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """When a run ends by itself. `seconds` leaves out the time a person took."""

    steps: int = 40
    seconds: float = 1800.0
    refusals: int = 3
    problems: int = 2


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything a run needs, chosen at a composition root. No approver means denied, no answerer means no answer."""

    operator: Operator
    dialect: Dialect
    model: Model
    decide: Decide
    recorder: Recorder
    reader: Reader | None = None
    approve: Approve | None = None
    answer: AnswerUser | None = None
    limits: Limits = field(default_factory=Limits)
    watch: Callable[[Progress], None] = lambda progress: None
    pause: Event | None = None


def check_task(task: str) -> str:
    """The task as it will be run. Raises TaskError with a sentence when it is empty or too long."""
    trimmed = task.strip()
    if not trimmed:
        raise TaskError(
            "The task is empty. Write what should be done, for example: Put the three invoices into one folder."
        )
    if len(trimmed) > MAX_TASK:
        raise TaskError(
            f"The task has {len(trimmed):,} characters; at most {MAX_TASK:,} can be read. "
            "Shorten it, or put the details in a file and name the file."
        )
    return trimmed


def ending(turn: Turn) -> str:
    """The sentence for the person about how the run ended."""
    match turn.status:
        case Status.RUNNING:
            return "The run is still going on."
        case Status.FINISHED:
            answers = [s.action.answer for s in turn.steps if isinstance(s.action, Finished)]
            return answers[0] if answers and answers[0] else "Done."
        case Status.STOPPED:
            return "Stopped. Nothing more is done."
        case Status.REFUSED | Status.LIMIT | Status.FAILED:
            return turn.notes[-1] if turn.notes else "The run ended without an answer."


def same_place(action: Action, before: Screenshot, now: Screenshot) -> bool:
    """Whether what an action was decided on is still there: the same window and, where it points, the same patch."""
    at = target_of(action)
    return before.window == now.window and (at is None or patch_equal(before, now, at, PATCH_RADIUS))


def run_task(run: Run, parts: Parts, stop: Event) -> Generator[Turn, None, None]:
    """Runs one task to its end and yields each turn when it is over; the last one has a status other than RUNNING.

    Raises DeskhandError (screen gone, model broken, store full) after the run was closed as failed.
    """
    return _Running(replace(run, task=check_task(run.task)), parts, stop).turns()


class _Running:
    """The state of one run: history, notes for the model, counters."""

    def __init__(self, run: Run, parts: Parts, stop: Event) -> None:
        self.run, self.parts, self.stop = run, parts, stop
        self.history: list[Turn] = []
        self.notes: list[str] = []
        self.steps = self.refusals = self.problems = 0
        self.person_s = 0.0
        self.began = time.monotonic()

    def turns(self) -> Generator[Turn, None, None]:
        status, text = Status.FAILED, "The program ended in the middle of the run."
        started = False
        try:
            shot = self.look()
            self.parts.recorder.started(self.run, shot)
            started = True
            while True:
                turn, shot = self.turn(shot)
                self.history.append(turn)
                status, text = turn.status, ending(turn)
                yield turn
                if turn.status is not Status.RUNNING:
                    return
        except DeskhandError as error:
            status, text = Status.FAILED, str(error)
            raise
        except GeneratorExit:
            status, text = Status.STOPPED, "Stopped by closing."
            raise
        finally:
            try:
                self.parts.operator.let_go()
            finally:
                if started:
                    self.parts.recorder.ended(self.run, status, text)

    # -- one turn ------------------------------------------------------------------------------------------------

    def turn(self, shot: Screenshot) -> tuple[Turn, Screenshot]:
        """One round from a screenshot to the next one."""
        n = len(self.history) + 1
        notes, self.notes = tuple(self.notes), []
        parts = self.parts
        self.wait_while_paused()
        prompt = parts.dialect.render(self.run.task, self.history, shot, notes)
        self.watch("thinking", n)
        reply = parts.model.reply(prompt, self.stop, self.on_text(n))
        intent = Intent("", ()) if self.stop.is_set() else parts.dialect.parse(reply.text, shot)
        turn = Turn(n, shot, prompt, reply, intent)
        if self.stop.is_set():
            return replace(turn, status=Status.STOPPED), shot
        if self.time_left() <= 0:
            return self.at_limit(turn, "the time"), shot

        if not intent.actions:
            parts.recorder.replied(self.run, turn)
        steps: list[Step] = []
        status = Status.RUNNING
        for index, action in enumerate(intent.actions):
            if self.steps >= parts.limits.steps:
                return self.at_limit(replace(turn, steps=tuple(steps)), f"the {parts.limits.steps} steps"), shot
            if index > 0 and not self.still_there(action, shot):
                shot = self.look()
                break
            step, shot, status = self.act(turn, action, shot, last=index == len(intent.actions) - 1)
            steps.append(step)
            if status is not Status.RUNNING or step.outcome is None or not step.outcome.ok:
                break
        turn = replace(turn, steps=tuple(steps), status=status, notes=tuple(self.notes))
        if status is Status.RUNNING:
            turn, shot = self.take_problems(turn, shot)
        self.notes = []
        return turn, shot

    def still_there(self, action: Action, shot: Screenshot) -> bool:
        """Before a further action of a reply: what it was decided on must still be what is on the screen.

        The reply was written before its first action: that may have opened another window or moved the target.
        """
        if self.stop.is_set() or isinstance(action, Finished | CallUser | Wait | Terminal):
            return True
        if same_place(action, shot, self.parts.operator.look()):
            return True
        self.notes.append("The screen changed after the first action, so the rest was not done. Look again.")
        return False

    def act(self, turn: Turn, action: Action, shot: Screenshot, last: bool) -> tuple[Step, Screenshot, Status]:
        """Decides on one action, records the step, does it, records the outcome."""
        self.steps += 1
        element = shot.under(at) if (at := target_of(action)) else None
        verdict = self.decide(turn, action, shot)
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
                outcome, status = self.call_user(question, turn.intent.thought, shot)
                shot = self.look() if status is Status.RUNNING else shot
                return self.done(step, outcome, shot), shot, status
            case _:
                return self.do(step, shot, last)

    def do(self, step: Step, shot: Screenshot, last: bool) -> tuple[Step, Screenshot, Status]:
        """Touches the machine. The stale check and the stop come immediately before."""
        if step.verdict.waited_ms > 0 and not isinstance(step.action, Terminal):
            fresh = self.look()
            if not same_place(step.action, shot, fresh):
                note = "The place changed while you waited for the user. Nothing was done. Look again."
                self.notes.append(note)
                return self.done(step, Outcome(ok=False, text=note), fresh), fresh, Status.RUNNING
        if self.stop.is_set():
            return step, shot, Status.STOPPED
        self.watch("doing", step.turn, in_words(step.action))
        outcome = self.parts.operator.do(step.action, shot, self.stop)
        if self.stop.is_set():
            return self.done(step, outcome, None), shot, Status.STOPPED
        if not last and outcome.ok:
            return self.done(step, outcome, None), shot, Status.RUNNING
        after = self.look()
        outcome = replace(outcome, changed=changed(shot, after))
        return self.done(step, outcome, after), after, Status.RUNNING

    def done(self, step: Step, outcome: Outcome, after: Screenshot | None) -> Step:
        self.parts.recorder.happened(self.run, step, outcome, after)
        return replace(step, outcome=outcome)

    # -- the gate ------------------------------------------------------------------------------------------------

    def decide(self, turn: Turn, action: Action, shot: Screenshot) -> Verdict:
        """The policy's word, and the person's where the policy says ask. Everything that goes wrong is a deny."""
        verdict = self.parts.decide(action, shot, self.run.task)
        if verdict.decision != "ask":
            return verdict
        if self.parts.approve is None:
            return replace(
                verdict, decision="deny", who="nobody", reason=f"{verdict.reason} Nobody was there to allow it."
            )
        self.watch("asking", turn.n, in_words(action))
        element = shot.under(at) if (at := target_of(action)) else None
        began = time.monotonic()
        future = self.parts.approve(Ask(self.run, action, shot, element, verdict, turn.intent.thought))
        answer = self.wait_for(future)
        waited = time.monotonic() - began
        self.person_s += waited
        if answer is None or answer.decision == "ask":
            answer = replace(
                verdict, decision="deny", who="nobody", reason=f"{verdict.reason} It was not allowed in time."
            )
        return replace(answer, tier=verdict.tier, waited_ms=waited * 1000)

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

    def call_user(self, question: str, thought: str, shot: Screenshot) -> tuple[Outcome, Status]:
        """Puts the question to the person and goes on with the answer in the same run."""
        asked = question or thought or "The agent needs you."
        if self.parts.answer is None:
            self.notes.append(f"The agent needs a person: {asked}")
            return Outcome(ok=False, text="Nobody was there to answer."), Status.FAILED
        self.watch("asking", len(self.history) + 1, asked)
        began = time.monotonic()
        answer = self.wait_for(self.parts.answer(asked, shot))
        waited = time.monotonic() - began
        self.person_s += waited
        if self.stop.is_set() or answer is None:
            return Outcome(ok=False, text="The user ended the run.", duration_ms=waited * 1000), Status.STOPPED
        self.notes.append(f"The user answered: {answer}")
        return Outcome(ok=True, text=answer, duration_ms=waited * 1000), Status.RUNNING

    # -- what the model did not say well ---------------------------------------------------------------------------

    def take_problems(self, turn: Turn, shot: Screenshot) -> tuple[Turn, Screenshot]:
        """One problem goes back to the model; the second in a row goes to the person, or ends the run."""
        problems = turn.intent.problems
        if not problems and turn.intent.actions:
            self.problems = 0
            return turn, shot
        self.problems += 1
        said = problems or ("The reply holds no action.",)
        turn = replace(turn, notes=turn.notes + said)
        if self.problems < self.parts.limits.problems:
            return turn, shot if turn.steps else self.look()
        self.problems = 0
        question = f"I could not say what to do in a form I can act on ({said[0]}). What should I do?"
        if self.parts.answer is None:
            text = f"The model's replies cannot be read: {said[0]} Try other words or another model."
            return replace(turn, notes=(*turn.notes, text), status=Status.FAILED), shot
        _, status = self.call_user(question, "", shot)
        fresh = self.look() if status is Status.RUNNING else shot
        return replace(turn, notes=(*turn.notes, *self.notes), status=status), fresh

    # -- small things ----------------------------------------------------------------------------------------------

    def look(self) -> Screenshot:
        n = len(self.history) + 1
        self.watch("looking", n)
        shot = self.parts.operator.look()
        if self.parts.reader is None or shot.elements:
            return shot
        self.watch("reading", n)
        began = time.perf_counter()
        elements = self.parts.reader.read(shot)
        return replace(shot, elements=elements, read_ms=(time.perf_counter() - began) * 1000)

    def wait_for(self, future: Future[T]) -> T | None:
        """The future's value; None when the run is stopped, the asker crashed or withdrew."""
        while not self.stop.is_set():
            wait([future], timeout=POLL_S)
            if future.done():  # a cancelled future does not wake `wait`
                return None if future.cancelled() or future.exception() is not None else future.result()
        future.cancel()
        return None

    def wait_while_paused(self) -> None:
        pause = self.parts.pause
        began = time.monotonic()
        while pause is not None and pause.is_set() and not self.stop.is_set():
            time.sleep(POLL_S)
        self.person_s += time.monotonic() - began

    def time_left(self) -> float:
        return self.parts.limits.seconds - (time.monotonic() - self.began - self.person_s)

    def at_limit(self, turn: Turn, what: str) -> Turn:
        text = f"Ended because {what} of this run were used up. What was done so far stays; start a new task to go on."
        return replace(turn, status=Status.LIMIT, notes=(*self.notes, text))

    def on_text(self, n: int) -> Callable[[str], None]:
        said: list[str] = []

        def heard(piece: str) -> None:
            said.append(piece)
            self.watch("thinking", n, "".join(said), len(said))

        return heard

    def watch(self, stage: Stage, n: int, text: str = "", tokens: int = 0) -> None:
        self.parts.watch(Progress(stage, n, text, tokens))
