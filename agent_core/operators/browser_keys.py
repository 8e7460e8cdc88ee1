"""Key names for the browser: from the X keysym names that `keys` gives to the names that Playwright knows."""

from __future__ import annotations

from collections.abc import Sequence

from agent_core import keys
from agent_core.errors import InputError

_NAMES = {
    "Control_L": "ControlLeft",
    "Control_R": "ControlRight",
    "Shift_L": "ShiftLeft",
    "Shift_R": "ShiftRight",
    "Alt_L": "AltLeft",
    "Alt_R": "AltRight",
    "Super_L": "MetaLeft",
    "Super_R": "MetaRight",
    "Return": "Enter",
    "KP_Enter": "NumpadEnter",
    "Escape": "Escape",
    "Tab": "Tab",
    "BackSpace": "Backspace",
    "Delete": "Delete",
    "Insert": "Insert",
    "Home": "Home",
    "End": "End",
    "Page_Up": "PageUp",
    "Page_Down": "PageDown",
    "Up": "ArrowUp",
    "Down": "ArrowDown",
    "Left": "ArrowLeft",
    "Right": "ArrowRight",
    "space": "Space",
    "Caps_Lock": "CapsLock",
    "Num_Lock": "NumLock",
    "Scroll_Lock": "ScrollLock",
    "Pause": "Pause",
    "Menu": "ContextMenu",
    "KP_Add": "NumpadAdd",
    "KP_Subtract": "NumpadSubtract",
    "KP_Multiply": "NumpadMultiply",
    "KP_Divide": "NumpadDivide",
    "KP_Decimal": "NumpadDecimal",
    "plus": "+",
    "minus": "-",
    "equal": "=",
    "comma": ",",
    "period": ".",
    "slash": "/",
    "backslash": "\\",
    "semicolon": ";",
    "colon": ":",
    "apostrophe": "'",
    "quotedbl": '"',
    "grave": "`",
    "asciitilde": "~",
    "bracketleft": "[",
    "bracketright": "]",
    "braceleft": "{",
    "braceright": "}",
    "underscore": "_",
    "asterisk": "*",
    "numbersign": "#",
    "at": "@",
    "ampersand": "&",
    "percent": "%",
    "question": "?",
    "exclam": "!",
    "dollar": "$",
    "asciicircum": "^",
    "parenleft": "(",
    "parenright": ")",
    "less": "<",
    "greater": ">",
    "bar": "|",
} | {f"F{n}": f"F{n}" for n in range(1, 13)}


def key_name(spelling: str) -> str:
    """The browser's name of one key, in any usual spelling. Raises InputError when there is no such key."""
    return _translated(keys.key_name(spelling))


def chord(spellings: Sequence[str]) -> tuple[str, ...]:
    """The browser's names of a key combination, whole or not at all. Raises InputError when any part is unknown."""
    return tuple(_translated(name) for name in keys.chord(spellings))


def _translated(name: str) -> str:
    if name in _NAMES:
        return _NAMES[name]
    if len(name) == 1 and name.isascii():
        return name
    if name.startswith("KP_") and name[3:].isdigit():
        return f"Numpad{name[3:]}"
    raise InputError(f"The browser has no key {name}: use a letter, a digit or a key such as Enter.")
