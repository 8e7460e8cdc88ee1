"""The agent's own thread, seen from the UI thread: tasks go in by calls, frozen values come out by signals.

One long-lived thread, so that the model stays loaded between runs and every connection is used where it was opened.
Covered: a run that fails or crashes ends as failed and the thread lives on; approvals are Futures that a stop
withdraws; what nobody answers is denied, by the window that asks or, where that is missing, hangs or has crashed, by
the loop. The program's one broad `except` is here.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from PySide6.QtCore import QObject, Signal

from agent_core.actions import Action
from agent_core.errors import DeskhandError
from agent_core.loop import Parts, Progress, ending, run_task
from agent_core.protocols import Ask
from agent_core.safety.policy import Mode, Policy
from agent_core.settings import SafetySettings, Settings
from agent_core.step import Run, Screenshot, Status, Verdict
from app import words
from app.crash import write_report
from app.question import Approval, Call

JOIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Job:
    """A task with the settings it is to be run with. `consent` is empty where the run is not to be kept."""

    task: str
    settings: Settings
    consent: str = ""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What one run needs, put together by the wiring."""

    run: Run
    parts: Parts
    policy: Policy


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, with the sentence for the person. `crash` is the report's path if the fault was ours."""

    status: Status
    sentence: str
    crash: str = ""


@dataclass(frozen=True, slots=True)
class Word:
    """A person's word on a run that was kept: whether its task was done as they wanted."""

    run: str
    good: bool


class Bench(Protocol):
    """Where runs are put together. Every method is called in the agent's thread."""

    def fit(self, job: Job, line: Line) -> Fitted:
        """Everything for one run. Raises DeskhandError."""

    def put_away(self) -> None:
        """Closes what belongs to one run."""

    def tidy(self, settings: Settings, line: Line) -> None:
        """Deletes what has been kept for longer than the person wants."""

    def rate(self, word: Word, line: Line) -> None:
        """Keeps a person's word on a run."""

    def close(self) -> None:
        """Closes everything."""


class Line(Protocol):
    """What the wiring may call back while a run goes on: all of it is made of signals and Futures."""

    paused: threading.Event
    taken: threading.Event

    def approve(self, ask: Ask) -> Future[Verdict]: ...

    def answer(self, question: str, shot: Screenshot) -> Future[str | None]: ...

    def added(self) -> tuple[str, ...]: ...

    def watch(self, progress: Progress) -> None: ...

    def preparing(self, fraction: float, what: str) -> None: ...

    def notice(self, sentence: str) -> None: ...

    def acting(self, action: Action, shot: Screenshot) -> None: ...

    def own_escapes(self, presses: int) -> None: ...

    def taken_over(self) -> None: ...


class Agent(QObject):
    """The thread's handle. Its methods are called in the UI thread, its signals reach it there."""

    prepared = Signal(float)  # how far the model is made ready, 0..1
    noticed = Signal(str)  # something the person should know, e.g. that a damaged file was set aside
    began = Signal(object)  # Run
    progressed = Signal(object)  # Progress
    turned = Signal(object)  # Turn
    approval_asked = Signal(object)  # Approval
    called = Signal(object)  # Call
    acts = Signal(object, object)  # Action, Screenshot
    took_over = Signal()  # the person moved the mouse: the run is paused
    ended = Signal(object)  # Ending

    def __init__(
        self, bench: Bench, own_escapes: Callable[[int], None] = lambda presses: None, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.paused, self.taken = threading.Event(), threading.Event()
        self._own_escapes = own_escapes
        self._stop = threading.Event()
        self._added: queue.SimpleQueue[str] = queue.SimpleQueue()  # what the person has written during the run
        self._jobs: queue.SimpleQueue[Job | Settings | Word | None] = queue.SimpleQueue()
        self._bench = bench
        self._fitted: Fitted | None = None
        self._newest = ""  # the id of the newest run
        self._safety = SafetySettings()
        self._asked: Future[Any] | None = None
        self._thread = threading.Thread(target=self._work, name="agent", daemon=True)

    # -- from the UI thread ------------------------------------------------------------------------------------------

    def open(self, settings: Settings) -> None:
        """Starts the thread, which first deletes old runs."""
        self._jobs.put(settings)
        self._thread.start()

    def start(self, job: Job) -> None:
        """Hands a task in. The caller starts the next one only after `ended`."""
        self._stop.clear()
        self.paused.clear()
        self.taken.clear()
        self._jobs.put(job)

    def stop(self) -> None:
        self._stop.set()

    def add(self, text: str) -> None:
        """Something the person adds to the task of the run under way; the model is told at its next step."""
        self._added.put(text)

    def pause(self, wanted: bool) -> None:
        if wanted:
            self.paused.set()
        else:
            self.paused.clear()

    def rate(self, good: bool) -> None:
        """A person's word on the run that ended last."""
        self._jobs.put(Word(self._newest, good))

    def stricter(self, mode: Mode) -> None:
        """Holds the run under way to a stricter mode from its next action on."""
        fitted = self._fitted
        if fitted is not None:
            fitted.policy.mode = mode

    def close(self) -> None:
        """Stops the run and ends the thread; waits for it, but not for ever."""
        self._stop.set()
        self._jobs.put(None)
        if self._thread.is_alive():
            self._thread.join(JOIN_S)

    # -- in the agent's thread ---------------------------------------------------------------------------------------

    def approve(self, ask: Ask) -> Future[Verdict]:
        answer: Future[Verdict] = Future()
        self._asked = answer
        policy, verdict = self._fitted.policy if self._fitted else None, ask.verdict
        offered = policy is not None and policy.can_grant(verdict)
        grant = (lambda: policy.grant(ask.action, verdict)) if policy is not None and offered else None
        seconds, minutes = self._safety.approval_seconds, self._safety.grant_minutes
        self.approval_asked.emit(Approval(ask, answer, seconds, grant, minutes))
        return answer

    def answer(self, question: str, shot: Screenshot) -> Future[str | None]:
        answer: Future[str | None] = Future()
        self._asked = answer
        self.called.emit(Call(question, shot, answer))
        return answer

    def added(self) -> tuple[str, ...]:
        texts = []
        while not self._added.empty():
            texts.append(self._added.get())
        return tuple(texts)

    def watch(self, progress: Progress) -> None:
        self.progressed.emit(progress)

    def preparing(self, fraction: float, what: str) -> None:
        self.prepared.emit(fraction)

    def notice(self, sentence: str) -> None:
        self.noticed.emit(sentence)

    def acting(self, action: Action, shot: Screenshot) -> None:
        self.acts.emit(action, shot)

    def own_escapes(self, presses: int) -> None:
        if presses:
            self._own_escapes(presses)

    def taken_over(self) -> None:
        """The person moved the mouse. While they are asked something that is what they are meant to do."""
        if self._asked is None or self._asked.done():
            self.paused.set()
            self.taken.set()
            self.took_over.emit()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                end = self._do(job)
            except DeskhandError as error:
                end = Ending(Status.FAILED, str(error))
            except Exception as error:  # noqa: BLE001 - the top of the thread: a fault of ours ends the run, not the app
                file = str(write_report(error, "agent"))
                end = Ending(Status.FAILED, words.say("run.crashed", file=file), file)
            if end is not None:
                self.ended.emit(end)
        self._bench.close()

    def _do(self, job: Job | Settings | Word) -> Ending | None:
        """Runs a task; or tidies up by some settings or keeps a word, which ends nothing."""
        if isinstance(job, Settings):
            self._bench.tidy(job, self)
            return None
        if isinstance(job, Word):
            self._bench.rate(job, self)
            return None
        end = self._run(job)
        self._jobs.put(job.settings)
        return end

    def _run(self, job: Job) -> Ending:
        self._safety = job.settings.safety
        self._asked = None
        self.added()  # what was added to the run before is not for this one
        end = Ending(Status.STOPPED, words.say("run.stopped_early"))
        try:
            self._fitted = self._bench.fit(job, self)
            self._newest = self._fitted.run.id
            self.began.emit(self._fitted.run)
            for turn in run_task(self._fitted.run, self._fitted.parts, self._stop):
                self.turned.emit(turn)
                end = Ending(turn.status, ending(turn))
        finally:
            self._fitted = None
            self._bench.put_away()
        return end
