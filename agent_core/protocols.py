"""The seams. Everything above sees these; concrete classes are named at the few composition roots only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from threading import Event
from typing import Protocol, runtime_checkable

from agent_core.actions import Action
from agent_core.step import (
    Element,
    Intent,
    Outcome,
    Prompt,
    Reply,
    Run,
    Screenshot,
    Status,
    Step,
    Turn,
    Verdict,
)


class Operator(Protocol):
    """Eyes and hands on one kind of machine."""

    name: str

    def look(self) -> Screenshot:
        """A settled frame. Raises ScreenError when there is nothing usable to see."""

    def do(self, action: Action, shot: Screenshot, stop: Event) -> Outcome:
        """Carries one allowed action out, placed by the screenshot's own transform. Never raises for a foreseeable
        failure: returns Outcome(ok=False, text=sentence). Checks `stop` between primitives."""

    def let_go(self) -> None:
        """Releases every key and button that is still held. Safe to call at any time, twice too."""

    def hands_off(self) -> AbstractContextManager[None]:
        """While entered the machine is the person's, who is being asked or has paused the run: nothing stays pressed,
        no input can be made, and what runs in a terminal's background stands still."""

    def close(self) -> None:
        """Frees displays, processes and sockets."""


class Model(Protocol):
    """How bytes get to weights and back."""

    name: str

    def reply(self, prompt: Prompt, stop: Event, on_text: Callable[[str], None] | None = None) -> Reply:
        """Answers the prompt. Raises ModelError; on `stop` returns at once with stop_reason "stopped"."""

    def close(self) -> None:
        """Ends the child process or connection."""


@runtime_checkable
class Draws(Protocol):
    """A model that can be asked for other replies than the one it would give."""

    def draw(self, prompt: Prompt, stop: Event) -> Reply:
        """One reply sampled at temperature 1; as `Model.reply` otherwise."""


class Dialect(Protocol):
    """How a model family is asked and answers. Pure; law: parse(write(intent)) gives the same actions."""

    name: str
    needs_elements: bool

    def render(self, task: str, history: Sequence[Turn], shot: Screenshot, notes: Sequence[str] = ()) -> Prompt:
        """The prompt for the newest screenshot. `notes` are sentences since the last turn (a refusal, an answer)."""

    def parse(self, text: str, shot: Screenshot) -> Intent:
        """Reads a reply. Total: never raises, whatever the text."""

    def write(self, thought: str, actions: Sequence[Action], shot: Screenshot) -> str:
        """The reply text a model of this family would give for these actions."""


class Reader(Protocol):
    """Reads a screenshot into elements, keeping what did not change since the last one."""

    def read(self, shot: Screenshot) -> tuple[Element, ...]: ...


class Recorder(Protocol):
    """Where a run is written. The step goes in before the mouse moves, the outcome after; nothing is updated.

    `replied` is called for a turn without a step; any other turn is kept with its first step.
    """

    def started(self, run: Run, shot: Screenshot | None) -> None: ...

    def replied(self, run: Run, turn: Turn) -> None: ...

    def decided(self, run: Run, turn: Turn, step: Step) -> None: ...

    def happened(self, run: Run, step: Step, outcome: Outcome, after: Screenshot | None) -> None: ...

    def labelled(self, run: Run, step: int | None, kind: str, text: str) -> None:
        """A word on the run, or on its step with that number, that training can read: "take_over"."""

    def ended(self, run: Run, status: Status, text: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Ask:
    """What an approver is shown: exactly the action that will run, where, and why it asks."""

    run: Run
    action: Action
    screenshot: Screenshot
    element: Element | None
    verdict: Verdict
    thought: str


Approve = Callable[[Ask], "Future[Verdict]"]
"""Starts asking the person; the Future gets their verdict. The loop waits on it and on the stop event."""

AnswerUser = Callable[[str, Screenshot], "Future[str | None]"]
"""Puts the agent's question to the person; None means they closed the dialog or ended the run."""

Decide = Callable[[Action, Screenshot, str], Verdict]
"""The policy: (action, screenshot, task) -> allow, ask or deny. Pure."""
