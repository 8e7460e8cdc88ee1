"""What one run is put together from at a composition root, and what it says of itself while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event
from typing import Literal

from agent_core.limits import Limits
from agent_core.protocols import AnswerUser, Approve, Decide, Dialect, Model, Operator, Reader, Recorder
from agent_core.step import Screenshot

Stage = Literal["looking", "reading", "thinking", "asking", "doing"]


@dataclass(frozen=True, slots=True)
class Progress:
    """What the loop is doing now. While thinking, `text` is the reply so far and `tokens` counts its pieces."""

    stage: Stage
    turn: int
    text: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything a run needs. No approver means denied, no answerer means no answer.

    `caution` gives a sentence for the model about what a screen says, e.g. that text on it gives orders; empty mostly.
    `heard` is told what the agent's own terminal printed. `added` gives what the person has written meanwhile, each
    text once.
    The run stands still while `pause` is set. `taken` is set after it when it was a person's hand on the mouse that
    paused it; the loop clears it once the person has given the machine back.
    """

    operator: Operator
    dialect: Dialect
    model: Model
    decide: Decide
    recorder: Recorder
    reader: Reader | None = None
    approve: Approve | None = None
    answer: AnswerUser | None = None
    caution: Callable[[Screenshot, str], str] | None = None
    heard: Callable[[str], None] | None = None
    limits: Limits = field(default_factory=Limits)
    watch: Callable[[Progress], None] = lambda progress: None
    added: Callable[[], tuple[str, ...]] = tuple
    pause: Event | None = None
    taken: Event | None = None
