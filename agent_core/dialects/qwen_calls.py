"""What a computer_use call means. A `Hand` reads the calls of one reply in order and keeps where the pointer went.

A pointer action without a coordinate is taken only right after a mouse_move of the same reply: a place is never
guessed. A reply that ends with a mouse_move is a problem, because nothing here acts on a pointer that merely rests.
"""

from __future__ import annotations

import json
import math
import re

from agent_core.actions import (
    MAX_HOTKEY_KEYS,
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
    Type,
    Wait,
)
from agent_core.dialects.calls import Call, Value
from agent_core.dialects.chords import split_keys
from agent_core.dialects.meaning import MAX_NOTCHES, MAX_WAIT_SECONDS, Arguments, ToPoint, Wrong, meaning

NOTCH = 100  # pixels of the model's scroll that make one notch of the wheel

_POINTERS: dict[str, type[Click] | type[DoubleClick] | type[RightClick]] = {
    "left_click": Click,
    "click": Click,
    "double_click": DoubleClick,
    "right_click": RightClick,
}
# Actions on the browser as a whole, for models that were trained in one, as the keys that people press for them.
_BROWSER_KEYS = {"history_back": ("alt", "left"), "refresh": ("f5",)}
_ADDRESS_BAR = {"visit_url": ("ctrl", "l"), "web_search": ("ctrl", "k")}
_HOVER = "A reply cannot end with mouse_move; click, double_click or drag there."


class Hand:
    """Reads the calls of one reply. `facts` are what the model wants to remember; they belong to its thought."""

    def __init__(self, browser: bool = False) -> None:
        self.facts: list[str] = []
        self.unfinished = ""
        self._browser = browser
        self._pointer: Point | None = None

    def means(self, call: Call, to_point: ToPoint) -> tuple[Action, ...] | str:
        """The actions a call stands for (none for a mouse_move), or what is wrong with it."""
        self.unfinished = ""
        if call.name.lower() not in ("computer_use", "computer"):
            self._pointer = None
            return meaning(call, to_point)
        given = Arguments(call, to_point)
        try:
            given.name = given.word("action") or given.name
            if not given.closed:
                raise Wrong(f"The reply was cut off inside {given.name}; write it again, shorter.")
            actions = self._actions(given.name, given)
            given.done()
        except Wrong as wrong:
            return str(wrong)
        return actions

    def _actions(self, name: str, given: Arguments) -> tuple[Action, ...]:
        place, pointer = given.place("coordinate"), self._pointer
        self._pointer = place if name == "mouse_move" else None
        if name == "mouse_move":
            if place is None:
                raise Wrong("mouse_move needs coordinate: [x, y].")
            self.unfinished = _HOVER
            return ()
        if name == "left_click_drag":
            if place is None or pointer is None:
                raise Wrong("left_click_drag needs coordinate: [x, y], and a mouse_move to its start right before it.")
            return (Drag(pointer, place),)
        if name in _POINTERS:
            at = place or pointer
            if at is None:
                raise Wrong(f"{name} needs coordinate: [x, y].")
            return (_POINTERS[name](at),)
        if name in ("scroll", "hscroll"):
            return (_scroll(name, given, place or pointer),)
        if name == "type":
            return _type(given, place or pointer)
        actions = self._placeless(name, given)
        if place is not None:
            raise Wrong(f"{name} has no argument coordinate.")
        return actions

    def _placeless(self, name: str, given: Arguments) -> tuple[Action, ...]:
        match name:
            case "key":
                return (Hotkey(_keys(given, MAX_HOTKEY_KEYS)),)
            case "key_down":
                return (Press(_keys(given, 1)[0]),)
            case "key_up":
                return (Release(_keys(given, 1)[0]),)
            case "wait":
                return (_wait(given),)
            case "answer":
                return (Finished(_text(given, "text")),)
            case "terminate":
                status = given.word("status") or "success"
                if status not in ("success", "failure"):
                    raise Wrong("terminate needs status: success or failure.")
                return (Finished() if status == "success" else CallUser(),)
            case "screenshot":
                return (Wait(0.0),)
            case _ if self._browser:
                return self._in_browser(name, given)
            case _:
                raise Wrong(f"There is no action {name}; use one of those listed for computer_use.")

    def _in_browser(self, name: str, given: Arguments) -> tuple[Action, ...]:
        if name in _BROWSER_KEYS:
            return (Hotkey(_BROWSER_KEYS[name]),)
        if name in _ADDRESS_BAR:
            text = _text(given, "url" if name == "visit_url" else "query").strip()
            if not text or not text.isprintable():
                raise Wrong(f"{name} needs one line of text.")
            return Hotkey(_ADDRESS_BAR[name]), Type(f"{text}\n")
        if name == "pause_and_memorize_fact":
            self.facts.append(_text(given, "fact"))
            return (Wait(0.0),)
        raise Wrong(f"There is no action {name}; use one of those listed for computer_use.")


def _text(given: Arguments, name: str) -> str:
    text = given.text(name)
    if text is None:
        raise Wrong(f"{given.name} needs {name}.")
    return text


def _type(given: Arguments, place: Point | None) -> tuple[Action, ...]:
    text = _text(given, "text")
    clear, enter = _flag(given, "delete_existing_text"), _flag(given, "press_enter")
    actions: list[Action] = [Click(place)] if place else []
    if clear:
        actions.append(Hotkey(("ctrl", "a")))
    return (*actions, Type(text + "\n" if enter and not text.endswith("\n") else text))


def _flag(given: Arguments, name: str) -> bool:
    word = given.word(name)
    if word not in (None, "true", "false"):
        raise Wrong(f"{given.name}: {name} must be true or false.")
    return word == "true"


def _keys(given: Arguments, most: int) -> tuple[str, ...]:
    """The keys of a list, one each; a single text may name several."""
    value = given.take("keys", "key", "text")
    names = _names(value) if value else None
    if not names:
        raise Wrong(f'{given.name} needs keys: ["..."].')
    keys = split_keys(names[0]) if len(names) == 1 else tuple(name if name == "+" else name.lower() for name in names)
    if not keys or len(keys) > most or any(not key or key != "".join(key.split()) for key in keys):
        raise Wrong(f"{given.name} takes 1 to {most} key names, got {len(keys)}.")
    return keys


def _names(value: Value) -> list[str] | None:
    if value.quoted:
        return [value.text]
    try:
        names = json.loads(value.text)
    except (ValueError, RecursionError):
        return None
    return names if isinstance(names, list) and all(isinstance(name, str) for name in names) else None


def _number(given: Arguments, name: str) -> float | None:
    word = given.word(name)
    if word is None:
        return None
    try:
        number = float(word) if re.fullmatch(r"[0-9.e+-]{1,40}", word) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise Wrong(f"{given.name}: {name} must be a number.")
    return number


def _scroll(name: str, given: Arguments, place: Point | None) -> Scroll:
    pixels = _number(given, "pixels")
    if not pixels:
        raise Wrong(f"{name} needs pixels: a number, positive for {'up' if name == 'scroll' else 'right'}.")
    notches = min(max(1, round(abs(pixels) / NOTCH)), MAX_NOTCHES)
    if name == "scroll":
        return Scroll("up" if pixels > 0 else "down", place, notches)
    return Scroll("right" if pixels > 0 else "left", place, notches)


def _wait(given: Arguments) -> Wait:
    seconds = _number(given, "time")
    if seconds is None:
        return Wait()
    if not 0 <= seconds <= MAX_WAIT_SECONDS:
        raise Wrong(f"wait: time is a number of seconds from 0 to {MAX_WAIT_SECONDS:g}.")
    return Wait(seconds)
