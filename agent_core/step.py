"""The nouns of a run, each one frozen dataclass: screenshot, element, prompt, reply, intent, verdict, outcome, turn.

Values flow through the program in this order and are never changed; no ids of connections, paths or widgets in them.
Times are seconds since the epoch where they say when, milliseconds where they say how long.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from agent_core.actions import Action, Point


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in a screenshot, as fractions of its width and height."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def centre(self) -> Point:
        return Point((self.left + self.right) / 2, (self.top + self.bottom) / 2)

    def holds(self, point: Point) -> bool:
        return self.left <= point.x <= self.right and self.top <= point.y <= self.bottom

    @property
    def area(self) -> float:
        return max(0.0, self.right - self.left) * max(0.0, self.bottom - self.top)


ElementKind = Literal["text", "button", "field", "check", "radio", "icon"]


@dataclass(frozen=True, slots=True)
class Element:
    """Something a person would point at, read from the pixels alone.

    `text` is what is written in it or, for a field, check or radio, its label; `value` is what a field holds;
    `on` is the state of a check or radio. `point` is where a person would click: for text the middle of the
    words, for a check or radio its own box, for a field its inside.
    """

    kind: ElementKind
    text: str
    box: Box
    value: str = ""
    on: bool | None = None

    @property
    def point(self) -> Point:
        return self.box.centre


@dataclass(frozen=True, slots=True)
class Transform:
    """Where a screenshot lies on the real screen: device pixels of the virtual desktop, which may be negative.

    `scale` is device pixels per unit of the input backend (1.0 on X11).
    """

    monitor: str
    left: int
    top: int
    width: int
    height: int
    scale: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Screenshot:
    """One frame: `rgb` is height*width*3 bytes, row by row. `window` is the title of the active window."""

    rgb: bytes
    width: int
    height: int
    transform: Transform
    window: str = ""
    elements: tuple[Element, ...] = ()
    capture_ms: float = 0.0
    read_ms: float = 0.0

    def under(self, point: Point) -> Element | None:
        """The smallest element that holds the point, None if nothing was read there."""
        hits = [e for e in self.elements if e.box.holds(point)]
        return min(hits, key=lambda e: e.box.area, default=None)


Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message. `images` are screenshots in the order of their `<image>` places in the text."""

    role: Role
    text: str
    images: tuple[Screenshot, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model is asked: chat messages, the newest last."""

    messages: tuple[Message, ...]

    def chatml(self) -> str:
        """The messages in ChatML with an open assistant turn: what text models are served and trained on.

        A turn marker inside a text is broken up: no text from a screen or a person can begin a turn of its own.
        """
        texts = [(m.role, m.text.replace("<|im_", "< |im_")) for m in self.messages]
        turns = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in texts)
        return turns + "<|im_start|>assistant\n"


CHATML_STOP = "<|im_end|>"
StopReason = Literal["stop", "length", "stopped"]


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answered: the text, and the sampled token ids with their log-probabilities where known."""

    text: str
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    stop_reason: StopReason = "stop"
    think_ms: float = 0.0
    prompt_tokens: int = 0
    reused_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Intent:
    """What a reply is read as. `problems` are sentences for the model; no action after a problem's place is kept."""

    thought: str
    actions: tuple[Action, ...]
    problems: tuple[str, ...] = ()
    reflection: str = ""


class Tier(StrEnum):
    """How much an action can cost: look, reversible, sensitive or scope growth, consequential, critical."""

    R0 = "R0"
    R1 = "R1"
    R2 = "R2"
    R3 = "R3"
    R4 = "R4"


Decision = Literal["allow", "deny", "ask"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The word on one action. "ask" never reaches the operator: an approver turns it into allow or deny.

    `who` is "policy", "task" (the request itself named the act), "person", "grant", "option" (the command line) or
    "nobody" (no approver, timeout, crash). `instead` is what the person wrote to do instead; it goes to the model and
    makes the decision a deny. `waited_ms` is the person's time.

    `warning` is a sentence about text on the screen that seems to give orders, for the person who is asked; empty
    without one. `confirm` is what the person has to type to allow a critical act; empty where a plain yes will do.
    `resource` says in words what a grant would cover besides the kind of action (a window, a program and folder).
    """

    decision: Decision
    tier: Tier
    reason: str
    who: str = "policy"
    instead: str = ""
    waited_ms: float = 0.0
    warning: str = ""
    confirm: str = ""
    resource: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an action. `text` is terminal output or an error sentence, told to the model."""

    ok: bool
    text: str = ""
    changed: bool | None = None
    duration_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Step:
    """One action decided on. `n` counts from 1 inside the run, across turns; `turn` counts the replies."""

    n: int
    turn: int
    action: Action
    verdict: Verdict
    element: Element | None = None
    outcome: Outcome | None = None


class Status(StrEnum):
    """How a run stands or ended."""

    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    REFUSED = "refused"
    LIMIT = "limit"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Turn:
    """One round: what was seen, asked, answered, and done. `notes` are sentences the model reads next time."""

    n: int
    screenshot: Screenshot
    prompt: Prompt
    reply: Reply
    intent: Intent
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    status: Status = Status.RUNNING


@dataclass(frozen=True, slots=True)
class Run:
    """One task from its start, as the trace store keeps it. `id` is random. `consent` is empty without consent."""

    id: str
    task: str
    started: float
    consent: str = ""
    app_version: str = ""
    dialect: str = ""
    model: str = ""
    model_hash: str = ""
    adapter_hash: str = ""
    mode: str = ""
    operator: str = ""
    tags: tuple[str, ...] = field(default=())
