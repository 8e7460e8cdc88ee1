"""The closed set of things the agent can do. The model never names a method: it names one of these.

Places are fractions of the screenshot, 0..1 from the left and from the top, from the parser to the operator.
`operators/geometry.py` is the only place that turns them into device pixels. No action has an optional
coordinate that defaults to "where the pointer is": without numbers there is no action.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

Direction = Literal["up", "down", "left", "right"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
MAX_HOTKEY_KEYS = 4
WAIT_SECONDS = 5.0  # what UI-TARS means by wait()


@dataclass(frozen=True, slots=True)
class Point:
    """A place in a screenshot as fractions of its width and height. Raises ValueError outside 0..1."""

    x: float
    y: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.x) and math.isfinite(self.y) and 0 <= self.x <= 1 and 0 <= self.y <= 1):
            raise ValueError(f"a point must lie inside the screenshot, got ({self.x}, {self.y})")


@dataclass(frozen=True, slots=True)
class Click:
    """Press and release the left button at a point."""

    at: Point


@dataclass(frozen=True, slots=True)
class DoubleClick:
    """Two left clicks within the double-click time."""

    at: Point


@dataclass(frozen=True, slots=True)
class RightClick:
    """Press and release the right button."""

    at: Point


@dataclass(frozen=True, slots=True)
class Drag:
    """Hold the left button from start to end, with moves in between."""

    start: Point
    end: Point


@dataclass(frozen=True, slots=True)
class Scroll:
    """Turn the wheel by `notches` in a direction. Without a point: at the centre of the screenshot, and logged so."""

    direction: Direction
    at: Point | None = None
    notches: int = 5


@dataclass(frozen=True, slots=True)
class Hotkey:
    """Press the keys in order, release them in reverse. Names are the model's spelling; `keys.py` maps them."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Press:
    """Hold one key down. The loop releases what is still held when the run ends."""

    key: str


@dataclass(frozen=True, slots=True)
class Release:
    """Let one held key go."""

    key: str


@dataclass(frozen=True, slots=True)
class Type:
    """Type text into what has the focus. A newline is the Enter key."""

    text: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for some seconds, then look again."""

    seconds: float = WAIT_SECONDS


@dataclass(frozen=True, slots=True)
class Finished:
    """The task is over. `answer` is what the person is told; it may be empty."""

    answer: str = ""


@dataclass(frozen=True, slots=True)
class CallUser:
    """Hand over to the person: a login, a choice, something unsolvable."""

    question: str = ""


@dataclass(frozen=True, slots=True)
class Terminal:
    """Run one shell command in the agent's own terminal. An empty command reads more output; "C-c" interrupts."""

    command: str


Action = (
    Click
    | DoubleClick
    | RightClick
    | Drag
    | Scroll
    | Hotkey
    | Press
    | Release
    | Type
    | Wait
    | Finished
    | CallUser
    | Terminal
)

KINDS: dict[str, type[Action]] = {
    "click": Click,
    "double_click": DoubleClick,
    "right_click": RightClick,
    "drag": Drag,
    "scroll": Scroll,
    "hotkey": Hotkey,
    "press": Press,
    "release": Release,
    "type": Type,
    "wait": Wait,
    "finished": Finished,
    "call_user": CallUser,
    "terminal": Terminal,
}
_KIND_OF = {cls: kind for kind, cls in KINDS.items()}


def kind_of(action: Action) -> str:
    """The action's name as written in traces, audit and JSON."""
    return _KIND_OF[type(action)]


def target_of(action: Action) -> Point | None:
    """Where the action lands on the screen, None if it has no place. A drag's target is where it lets go."""
    match action:
        case Click(at) | DoubleClick(at) | RightClick(at):
            return at
        case Drag(_, end):
            return end
        case Scroll(_, at, _):
            return at
        case _:
            return None


def to_json(action: Action) -> dict[str, Any]:
    """A plain dict: {"kind": ..., fields...}; points become [x, y], absent points are left out."""
    out: dict[str, Any] = {"kind": kind_of(action)}
    for name, value in ((f.name, getattr(action, f.name)) for f in fields(action)):
        if isinstance(value, Point):
            out[name] = [value.x, value.y]
        elif isinstance(value, tuple):
            out[name] = list(value)
        elif value is not None:
            out[name] = value
    return out


def from_json(data: dict[str, Any]) -> Action:
    """The inverse of `to_json`. Raises ValueError on an unknown kind, KeyError or TypeError on wrong fields."""
    values = dict(data)
    kind = values.pop("kind")
    if kind not in KINDS:
        raise ValueError(f"unknown action {kind!r}; known: {', '.join(KINDS)}")
    for name in ("at", "start", "end"):
        if name in values:
            values[name] = Point(*values[name])
    if "keys" in values:
        values["keys"] = tuple(values["keys"])
    return KINDS[kind](**values)


def in_words(action: Action) -> str:
    """One plain English line for windows, dialogs and logs: the verb and exactly what it acts on."""
    match action:
        case Click():
            return "click"
        case DoubleClick():
            return "double-click"
        case RightClick():
            return "right-click"
        case Drag():
            return "drag"
        case Scroll(direction, _, notches):
            return f"scroll {direction} by {notches}"
        case Hotkey(keys):
            return "press " + " + ".join(keys)
        case Press(key):
            return f"hold {key} down"
        case Release(key):
            return f"let {key} go"
        case Type(text):
            return f"type {text!r}"
        case Wait(seconds):
            return f"wait {seconds:g} s"
        case Finished(answer):
            return f"finish: {answer}" if answer else "finish"
        case CallUser(question):
            return f"ask you: {question}" if question else "ask you"
        case Terminal(command):
            return f"run in the terminal: {command}"
