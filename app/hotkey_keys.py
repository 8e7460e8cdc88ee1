"""Keys that work from anywhere, as they are chosen: what can be chosen, and what is in the way of it.

Written as in the settings file: `Ctrl+Shift+Space`. Covered: the same keys for two things, keys that are needed for
typing or that every desktop uses, and keys that another program on this X11 display has taken for itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from Xlib import XK, X, display
from Xlib import error as xerror

MODIFIERS = {"Ctrl": X.ControlMask, "Shift": X.ShiftMask, "Alt": X.Mod1Mask, "Meta": X.Mod4Mask}
NAMES = {
    "Space": "space",
    "Tab": "Tab",
    "Return": "Return",
    "Backspace": "BackSpace",
    "Del": "Delete",
    "Ins": "Insert",
    "Home": "Home",
    "End": "End",
    "PgUp": "Prior",
    "PgDown": "Next",
    "Left": "Left",
    "Right": "Right",
    "Up": "Up",
    "Down": "Down",
    "Pause": "Pause",
}
FUNCTION_KEYS = {f"F{n}": f"F{n}" for n in range(1, 25)}
EVERYONES = frozenset(
    ["Alt+Tab", "Alt+Shift+Tab", "Alt+F4", "Alt+Space", "Ctrl+Alt+Del", "Ctrl+Space", "Ctrl+Tab", "Ctrl+Shift+Tab"]
    + [f"Ctrl+{key}" for key in "ACFNOPSVWXYZ"]
)
"""Used in nearly every program or desktop: they would do two things at once."""

Trouble = Literal["unusable", "typing", "everyones", "twice", "taken"]


@dataclass(frozen=True, slots=True)
class Keys:
    """One key with what is held: an X11 keysym and a mask of modifiers."""

    symbol: int
    modifiers: int


def parse(text: str) -> Keys | None:
    """The keys of a text like `Ctrl+Shift+Space`; None where it is empty or names what cannot be listened for."""
    *held, key = text.split("+")
    if any(each not in MODIFIERS for each in held):
        return None
    name = NAMES.get(key) or FUNCTION_KEYS.get(key)
    if name is None and len(key) == 1 and key.isascii() and key.isalnum():
        name = key.lower()
    if name is None:
        return None
    return Keys(XK.string_to_keysym(name), sum(MODIFIERS[each] for each in set(held)))


def troubles(chosen: Mapping[str, str]) -> dict[str, Trouble]:
    """What is in the way of each choice, by the name of what it is for. Empty choices are never in the way."""
    found: dict[str, Trouble] = {}
    for name, text in chosen.items():
        if text and (trouble := _trouble(name, text, chosen)):
            found[name] = trouble
    return found


def _trouble(name: str, text: str, chosen: Mapping[str, str]) -> Trouble | None:
    keys = parse(text)
    if keys is None:
        return "unusable"
    if not keys.modifiers & ~X.ShiftMask and text.split("+")[-1] not in FUNCTION_KEYS:
        return "typing"
    if text in EVERYONES:
        return "everyones"
    if any(other != name and parse(said) == keys for other, said in chosen.items()):
        return "twice"
    return "taken" if taken(keys) else None


def taken(keys: Keys) -> bool:
    """Whether another program on this display keeps these keys for itself. False where that cannot be found out."""
    try:
        screen = display.Display()
    except (xerror.DisplayError, OSError):
        return False
    refused = xerror.CatchError(xerror.BadAccess)
    with contextlib.closing(screen):
        root = screen.screen().root
        code = screen.keysym_to_keycode(keys.symbol)
        root.grab_key(code, keys.modifiers, False, X.GrabModeAsync, X.GrabModeAsync, onerror=refused)
        screen.sync()
        root.ungrab_key(code, keys.modifiers)
        screen.sync()
    return refused.get_error() is not None
