"""The loop: look, read, ask the model, parse, decide, record, do, record, look again.

One direction, one generator of Turns; windows, logs and tests do what they like with what it yields. Two things come
back, both handed in as values: the approval and the answer (Futures) and the stop (an Event).

Kept here: the first refusal, failure or stop drops the rest of a reply; what is held is let go in `finally`, whatever
happened. One action's way to the machine is in `acting`, the waiting for a person in `asking`, what leads nowhere in
`limits`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from threading import Event

from agent_core import best_of
from agent_core.acting import Acting, same_place
from agent_core.actions import Finished
from agent_core.errors import DeskhandError, TaskError
from agent_core.limits import Beat, Limits, beat_of, guard
from agent_core.parts import Parts, Progress
from agent_core.step import Intent, Run, Screenshot, Status, Step, Turn

__all__ = ["Limits", "Parts", "Progress", "check_task", "ending", "run_task", "same_place"]

MAX_TASK = 4000


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


def run_task(run: Run, parts: Parts, stop: Event) -> Generator[Turn, None, None]:
    """Runs one task to its end and yields each turn when it is over; the last one has a status other than RUNNING.

    Raises DeskhandError (screen gone, model broken, store full) after the run was closed as failed.
    """
    return _Running(replace(run, task=check_task(run.task)), parts, stop).turns()


class _Running:
    """The state of one run: its hands, its history, and what counts against it."""

    def __init__(self, run: Run, parts: Parts, stop: Event) -> None:
        self.run, self.parts, self.stop = run, parts, stop
        self.hands = Acting(run, parts, stop)
        self.history: list[Turn] = []
        self.beats: list[Beat] = []
        self.problems = self.heard = 0

    def turns(self) -> Generator[Turn, None, None]:
        status, text = Status.FAILED, "The program ended in the middle of the run."
        started = False
        try:
            shot = self.hands.look()
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

    def turn(self, shot: Screenshot) -> tuple[Turn, Screenshot]:
        """One round from a screenshot to the next one."""
        hands, most = self.hands, self.parts.limits.steps
        hands.turn = len(self.history) + 1
        turn, shot = self.ask_model(hands.take_back() or shot)
        steps: list[Step] = []
        actions = turn.intent.actions if turn.status is Status.RUNNING else ()
        for index, action in enumerate(actions):
            if hands.steps >= most:
                turn = self.at_limit(turn, f"the {most} steps")
                break
            now = hands.may_go_on(action, shot, first=index == 0)
            if now is None:
                shot = hands.look()
                break
            shot = now
            step, shot, status = hands.act(turn, action, shot, last=index == len(actions) - 1)
            steps.append(step)
            turn = replace(turn, status=status)
            if status is not Status.RUNNING or step.outcome is None or not step.outcome.ok:
                break
        if turn.status is Status.FINISHED and hands.has_more():
            turn = replace(turn, status=Status.RUNNING)
        if not steps and turn.status is Status.RUNNING:
            self.parts.recorder.replied(self.run, turn)
        turn = replace(turn, steps=tuple(steps), notes=(*hands.told(), *turn.notes))
        for take in (self.take_problems, self.take_standstill):
            if turn.status is Status.RUNNING:
                turn, shot = take(turn, shot)
        return turn, shot

    def ask_model(self, shot: Screenshot) -> tuple[Turn, Screenshot]:
        """The turn as far as the reply; not RUNNING any more if the run is over with it."""
        parts, hands = self.parts, self.hands
        caution = parts.caution(shot, self.run.task) if parts.caution is not None else ""
        added = hands.added()
        notes = (*hands.told(), *added, *([caution] if caution else []))
        prompt = parts.dialect.render(self.run.task, self.history, shot, notes)
        hands.watch("thinking")
        reply, intent = best_of.asked(parts, prompt, shot, hands.until, self.on_text())
        intent = Intent("", ()) if self.stop.is_set() else intent
        turn = Turn(hands.turn, shot, prompt, reply, intent, notes=added)
        if self.stop.is_set():
            return replace(turn, status=Status.STOPPED), shot
        if hands.time_left() <= 0:
            return self.at_limit(turn, "the time"), shot
        return turn, shot

    # -- what leads nowhere ----------------------------------------------------------------------------------------

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
            return turn, shot if turn.steps else self.hands.look()
        self.problems = 0
        question = f"I could not say what to do in a form I can act on ({said[0]}). What should I do?"
        text = f"The model's replies cannot be read: {said[0]} Try other words or another model."
        return self.take_to_person(turn, shot, question, Status.FAILED, text)

    def take_standstill(self, turn: Turn, shot: Screenshot) -> tuple[Turn, Screenshot]:
        """What led nowhere again and again is told to the model; then it goes to the person, or ends the run."""
        if self.hands.time_left() <= 0:
            return self.at_limit(turn, "the time"), shot
        if self.heard != self.hands.asking.heard:  # what was tried before the person came in counts no more
            self.heard = self.hands.asking.heard
            self.beats.clear()
        beat = beat_of(turn, shot)
        if beat is None:
            return turn, shot
        self.beats.append(beat)
        found = guard(self.beats)
        if found.word == "tell":
            return replace(turn, notes=(*turn.notes, found.text)), shot
        if found.word == "call":
            text = f"Ended because it led nowhere. {found.text}"
            return self.take_to_person(turn, shot, f"{found.text} What should I do?", Status.LIMIT, text)
        return turn, shot

    def take_to_person(
        self, turn: Turn, shot: Screenshot, question: str, alone: Status, text: str
    ) -> tuple[Turn, Screenshot]:
        """The run goes on with the person's answer; where nobody can answer it ends as `alone` with `text`."""
        if self.parts.answer is None:
            return replace(turn, notes=(*turn.notes, text), status=alone), shot
        _, status = self.hands.call_user(question, shot)
        fresh = self.hands.look() if status is Status.RUNNING else shot
        return replace(turn, notes=(*turn.notes, *self.hands.told()), status=status), fresh

    def at_limit(self, turn: Turn, what: str) -> Turn:
        text = f"Ended because {what} of this run were used up. What was done so far stays; start a new task to go on."
        return replace(turn, status=Status.LIMIT, notes=(*turn.notes, text))

    def on_text(self) -> Callable[[str], None]:
        said: list[str] = []

        def heard(piece: str) -> None:
            said.append(piece)
            self.hands.watch("thinking", "".join(said), len(said))

        return heard
