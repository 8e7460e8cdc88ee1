"""Actions as they are kept when their text must not be: what goes into a password field, or into an excluded window."""

from __future__ import annotations

import re

from agent_core import secrets
from agent_core.actions import (
    Action,
    CallUser,
    Click,
    DoubleClick,
    Drag,
    Finished,
    Hotkey,
    Point,
    Press,
    Release,
    RightClick,
    Scroll,
    Terminal,
    Type,
    Wait,
)
from agent_core.redaction import TYPED, WITHHELD, token
from agent_core.traces.keystrokes import printed

_STAYS = re.compile(r"([\t\r\n]+|\{\{secret:[A-Za-z0-9_.-]{1,64}\}\})")  # between fields, and names of secrets
_NOWHERE = Point(0.0, 0.0)


def blank(action: Action) -> Action:
    """The kind of the action without text, keys and places."""
    word = token(WITHHELD)
    match action:
        case Click() | DoubleClick() | RightClick():
            return type(action)(_NOWHERE)
        case Drag():
            return Drag(_NOWHERE, _NOWHERE)
        case Scroll(direction, at, notches):
            return Scroll(direction, None if at is None else _NOWHERE, notches)
        case Hotkey():
            return Hotkey((word,))
        case Press() | Release():
            return type(action)(word)
        case Type():
            return Type(word)
        case Terminal():
            return Terminal(word)
        case Finished():
            return Finished(word)
        case CallUser():
            return CallUser(word)
        case Wait():
            return action


def hidden(action: Action) -> Action:
    """The action without what it types. Tabs, line ends and placeholders stay: they say what was done."""
    word = token(TYPED)
    match action:
        case Type(text):
            parts = _STAYS.split(text)
            return Type("".join(p if not p.strip() or secrets.names_in(p) else word for p in parts))
        case Hotkey(keys) if printed(keys):
            return Hotkey((word,))
        case Press(key) | Release(key) if printed((key,)):
            return type(action)(word)
        case _:
            return action


def words_in(action: Action) -> str:
    """The text that an action carries, empty for most."""
    match action:
        case Type(text):
            return text
        case Terminal(command):
            return command
        case Finished(answer):
            return answer
        case CallUser(question):
            return question
        case _:
            return ""
