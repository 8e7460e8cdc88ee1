"""Actions as lines of Python for pyautogui, the language of OSWorld and AgentNet. Text to write down, never run here.

Places are given by the caller: OSWorld counts pixels of the screenshot, AgentNet fractions. Every text stands there as
a Python literal, so nothing in it can become a statement.
"""

from __future__ import annotations

from collections.abc import Callable

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
from agent_core.errors import InputError
from agent_core.keys import chord, key_name

Place = Callable[[Point], str]
"""A place as keyword arguments, e.g. "x=640, y=400"."""

CENTRE = Point(0.5, 0.5)
_KEYS = {
    "Control_L": "ctrl", "Control_R": "ctrlright", "Shift_L": "shift", "Shift_R": "shiftright", "Alt_L": "alt",
    "Alt_R": "altright", "ISO_Level3_Shift": "altright", "Super_L": "win", "Super_R": "winright", "Return": "enter",
    "KP_Enter": "enter", "Page_Up": "pageup", "Page_Down": "pagedown", "Caps_Lock": "capslock",
    "Num_Lock": "numlock", "Scroll_Lock": "scrolllock", "Print": "printscreen", "Menu": "apps", "Escape": "escape",
    "XF86AudioMute": "volumemute", "XF86AudioLowerVolume": "volumedown", "XF86AudioRaiseVolume": "volumeup",
    "XF86AudioPlay": "playpause", "XF86AudioNext": "nexttrack", "XF86AudioPrev": "prevtrack",
    "XF86Back": "browserback", "XF86Forward": "browserforward", "KP_Add": "add", "KP_Subtract": "subtract",
    "KP_Multiply": "multiply", "KP_Divide": "divide", "KP_Decimal": "decimal", "plus": "+", "minus": "-",
    "equal": "=", "comma": ",", "period": ".", "slash": "/", "backslash": "\\", "semicolon": ";", "colon": ":",
    "apostrophe": "'", "quotedbl": '"', "grave": "`", "asciitilde": "~", "bracketleft": "[", "bracketright": "]",
    "braceleft": "{", "braceright": "}", "underscore": "_", "asterisk": "*", "numbersign": "#", "at": "@",
    "ampersand": "&", "percent": "%", "question": "?", "exclam": "!", "dollar": "$", "asciicircum": "^",
    "parenleft": "(", "parenright": ")", "less": "<", "greater": ">", "bar": "|",
}  # fmt: skip
_SAME = ("BackSpace", "Delete", "Insert", "Home", "End", "Up", "Down", "Left", "Right", "space", "Tab", "Pause")


class Inexpressible(ValueError):
    """The action has no form in the language."""


def python_of(action: Action, place: Place) -> str:
    """What does the action in pyautogui. Raises Inexpressible for what only the loop knows, and for unknown keys."""
    match action:
        case Click(at):
            return f"pyautogui.click({place(at)})"
        case DoubleClick(at):
            return f"pyautogui.doubleClick({place(at)})"
        case RightClick(at):
            return f"pyautogui.rightClick({place(at)})"
        case Drag(start, end):
            return f"pyautogui.moveTo({place(start)})\npyautogui.dragTo({place(end)}, duration=1.0, button='left')"
        case Scroll(direction, at, notches):
            turn = "scroll" if direction in ("up", "down") else "hscroll"
            amount = notches if direction in ("up", "right") else -notches
            return f"pyautogui.{turn}({amount}, {place(at or CENTRE)})"
        case Hotkey(keys):
            names = _names(keys)
            return f"pyautogui.press({names[0]!r})" if len(names) == 1 else f"pyautogui.hotkey({_listed(names)})"
        case Press(key):
            return f"pyautogui.keyDown({_name(key)!r})"
        case Release(key):
            return f"pyautogui.keyUp({_name(key)!r})"
        case Type(text):
            return f"pyautogui.write(message={text!r})"
        case Terminal(command):
            return f"import subprocess; subprocess.run(['bash', '-c', {command!r}])"
        case Wait() | Finished() | CallUser():
            raise Inexpressible("not an input")


def _names(keys: tuple[str, ...]) -> list[str]:
    try:
        return [_of_keysym(name) for name in chord(keys)]
    except InputError as error:
        raise Inexpressible(str(error)) from error


def _name(key: str) -> str:
    try:
        return _of_keysym(key_name(key))
    except InputError as error:
        raise Inexpressible(str(error)) from error


def _of_keysym(name: str) -> str:
    if name in _KEYS:
        return _KEYS[name]
    if name.startswith("KP_") and name[3:].isdigit():
        return f"num{name[3:]}"
    if name in _SAME or len(name) == 1 or (name[0] == "F" and name[1:].isdigit()):
        return name.lower()
    raise Inexpressible(f"pyautogui has no key {name}")


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)
