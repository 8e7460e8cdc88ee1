"""What goes into a secret place bit by bit: key by key, or in several goes. Together the bits are the secret.

A value of its own for each run. Bits too short to be known by value are taken out where a text says that they are
typed or pressed. Not known: what a key types under a layout other than letters and digits have, and what is pasted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from agent_core.actions import Action, Hotkey, Press, Release, Type, Wait
from agent_core.errors import InputError
from agent_core.keys import chord
from agent_core.redaction import SHORTEST_KNOWN, TYPED, token

_ENDS = re.compile(r"[\t\r\n]+|\{\{secret:[A-Za-z0-9_.-]{1,64}\}\}")  # where one field's text ends, or is none of ours
_SHIFT = {"Shift_L", "Shift_R"}
_KEYPAD = "KP_"
_PRESSED = r"(?i:\b(?:hotkey|press|release|hold|let|key|letter|digit|character|sign|symbol|type)\b)"


def printed(keys: Iterable[str]) -> str:
    """What a combination types, empty if nothing: "v", "V" with shift. Signs go by the name of their key."""
    names = _names(keys)
    rest = [name for name in names if name not in _SHIFT]
    if len(rest) != 1:
        return ""
    name = " " if rest[0] == "space" else rest[0].removeprefix(_KEYPAD)
    if len(name) == 1:
        return name.upper() if len(names) > 1 else name
    written = [key for key in keys if len(key) == 1 and not key.isspace()]
    return written[-1] if written else ""


class Keystrokes:
    """The state of one run."""

    def __init__(self) -> None:
        self._typed = ""
        self._shift = False
        self._short: set[str] = set()
        self._keys: set[str] = set()

    @property
    def count(self) -> int:
        """How many bits are known that are taken out only where they are typed or pressed."""
        return len(self._short) + len(self._keys)

    def take(self, action: Action, secret: bool) -> tuple[str, ...]:
        """Takes one action in; `secret` says whether it lands in a secret place. Gives the values it makes known."""
        if not secret or not isinstance(action, Type | Hotkey | Press | Release | Wait):
            self._typed = ""
            return ()
        match action:
            case Type(text):
                return self.values(text)
            case Hotkey(keys):
                return self._pressed(keys)
            case Press(key):
                self._shift = self._shift or bool(_names((key,)) & _SHIFT)
                return self._pressed((key,))
            case Release(key) if _names((key,)) & _SHIFT:
                self._shift = False
        return ()

    def values(self, text: str) -> tuple[str, ...]:
        """What a text put into a secret place makes known: the whole, its parts, and what was typed there so far."""
        found = [text.strip()]
        for n, part in enumerate(_ENDS.split(text)):
            self._typed = part if n else self._typed + part
            found += [part.strip(), self._typed.strip()]
        found = [part for part in dict.fromkeys(found) if part and not _ENDS.search(part.strip("\t\r\n"))]
        self._short.update(part for part in found if len(part) < SHORTEST_KNOWN)
        return tuple(part for part in found if len(part) >= SHORTEST_KNOWN)

    def hide(self, text: str) -> str:
        """The text without the bits, where they are quoted, typed or pressed: elsewhere they are parts of any text."""
        word = token(TYPED)
        for part in self._short:
            quoted = rf"(?<=['\"‘“`]){re.escape(part)}(?=(?:\\n)?['\"’”`])|(?<=[Tt]ype ){re.escape(part)}\b"
            text = re.sub(quoted, word, text)
        if self._keys:
            keys = "|".join(re.escape(key) for key in sorted(self._keys, key=len, reverse=True))
            pressed = rf"({_PRESSED}[^\w\n«»]{{0,4}}(?:key\W{{1,4}})?(?i:(?:shift[ +-]{{1,3}})?))(?i:{keys})(?!\w)"
            text = re.sub(pressed, rf"\1{word}", text)
        return text

    def _pressed(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        if _names(keys) == {"BackSpace"}:
            self._typed = self._typed[:-1]
            return ()
        sign = printed(keys)
        if not sign:
            self._typed = self._typed if _names(keys) <= _SHIFT else ""
            return ()
        self._keys.update(key for key in keys if not _names((key,)) & _SHIFT)
        self._typed += sign.upper() if self._shift else sign
        return (self._typed,) if len(self._typed) >= SHORTEST_KNOWN else ()


def _names(keys: Iterable[str]) -> set[str]:
    """X names; nothing for a key that does not exist."""
    try:
        return set(chord(tuple(keys)))
    except InputError:
        return set()
