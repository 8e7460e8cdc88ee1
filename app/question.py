"""What the agent's thread asks of a person, as frozen values with a Future each. A window only ever sets the Future."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, replace
from typing import TypeVar

from agent_core.protocols import Ask
from agent_core.step import Screenshot, Verdict

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Approval:
    """May this be done? `grant` allows the same in the same place for `minutes`; None where that is not on offer."""

    ask: Ask
    answer: Future[Verdict]
    seconds: int
    grant: Callable[[], None] | None = None
    minutes: int = 0

    def allow(self) -> None:
        settle(self.answer, replace(self.ask.verdict, decision="allow", who="person"))

    def allow_for_run(self) -> None:
        if self.grant is not None:
            self.grant()
            self.allow()

    def deny(self, reason: str, who: str = "person", instead: str = "") -> None:
        settle(self.answer, replace(self.ask.verdict, decision="deny", who=who, reason=reason, instead=instead))


@dataclass(frozen=True, slots=True)
class Call:
    """The agent needs the person. The answer is a text; None ends the run."""

    question: str
    screenshot: Screenshot
    answer: Future[str | None]


def settle(future: Future[T], value: T) -> None:
    """Sets the Future unless the other side has withdrawn it (a stop) or it was answered already."""
    try:
        if not future.done():
            future.set_result(value)
    except InvalidStateError:
        pass
