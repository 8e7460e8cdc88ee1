"""What a call means: a checked `Call` becomes actions, or one sentence for the model that says what is wrong.

Names and arguments are compared with closed lists. A place needs exactly two or four numbers that `to_point` accepts;
four are a box and its centre is used. Nothing is filled in by guess: an argument that is missing, twice there or
unknown is a problem.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from agent_core.actions import (
    DIRECTIONS,
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
    Terminal,
    Type,
    Wait,
)
from agent_core.dialects.calls import Call, Value
from agent_core.dialects.chords import split_keys

ToPoint = Callable[[float, float], Point | None]
"""Turns the model's two numbers into a place, None when they lie outside its range."""

MAX_WAIT_SECONDS = 3600.0
MAX_NOTCHES = 100

_POINTERS: dict[str, type[Click] | type[DoubleClick] | type[RightClick]] = {
    "click": Click,
    "left_click": Click,
    "left_single": Click,
    "left_double": DoubleClick,
    "double_click": DoubleClick,
    "right_single": RightClick,
    "right_click": RightClick,
}
_KEYS: dict[str, type[Press] | type[Release]] = {
    "press": Press,
    "keydown": Press,
    "release": Release,
    "keyup": Release,
}
_DRAGS = ("drag", "select")
_TERMINALS = ("terminal", "execute_bash")
KNOWN = frozenset(
    (*_POINTERS, *_KEYS, *_DRAGS, *_TERMINALS, "scroll", "hotkey", "type", "wait", "finished", "call_user")
)
_PLACES = ("point", "start_box", "start_point", "box")
_ENDS = ("end_box", "end_point")
_PLACE_MARKUP = re.compile(r"<\|[^<>|]{0,40}\|>|</?(?:point|bbox|box)>", re.IGNORECASE)
_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)"
_NUMBERS = re.compile(rf"[\s(\[]*({_NUMBER}(?:[\s,()\[\]]+{_NUMBER}){{1,3}})[\s)\]'\"]*")
# A place in a reply that was cut off: it counts only if its own closing mark was still written.
_CLOSED = re.compile(r"<(point|bbox)>[^<>]*</\1>.*|<\|box_start\|>[^<>]*<\|box_end.*|[(\[][^<>()\[\]]*[)\]]{1,2}", re.I)
_MAX_PLACE_LENGTH = 300


class Wrong(Exception):
    """Ends the reading of one call; its text is the sentence for the model."""


def meaning(call: Call, to_point: ToPoint) -> tuple[Action, ...] | str:
    """The actions a call stands for (typing into a place is a click and the text), or what is wrong with it.

    Of the calls that the end of the reply cut off only clicks and drags with whole places count: any other may have
    lost an argument.
    """
    try:
        return call_actions(Arguments(call, to_point))
    except Wrong as wrong:
        return str(wrong)


class Arguments:
    """The arguments of one call, handed out once each; `done` finds those nobody asked for."""

    def __init__(self, call: Call, to_point: ToPoint) -> None:
        self.name = call.name.lower()
        self.closed = call.closed
        self._left = dict(call.named)
        self._bare = list(call.bare)
        self._to_point = to_point

    def take(self, *names: str) -> Value | None:
        """The one argument that goes by any of these names."""
        found = [name for name in names if name in self._left]
        if len(found) > 1:
            raise Wrong(f"{self.name} has both {found[0]} and {found[1]}; give one.")
        return self._left.pop(found[0]) if found else None

    def text(self, *names: str) -> str | None:
        """A whole string value; a single quoted value without a name counts too. None if there is none."""
        value = self.take(*names)
        if value is None and len(self._bare) == 1 and self._bare[0].quoted:
            value = self._bare.pop()
        if value is None:
            return None
        if value.cut:
            raise Wrong(f"{self.name}: the reply was cut off inside {names[0]}.")
        if not value.quoted and value.text:
            raise Wrong(f"{self.name} needs {names[0]}='...' in quotes.")
        return value.text

    def word(self, *names: str) -> str | None:
        """A short value that may stand without quotes."""
        value = self.take(*names)
        if value is None:
            return None
        if value.cut:
            raise Wrong(f"{self.name}: the reply was cut off inside {names[0]}.")
        return value.text.strip().lower()

    def place(self, *names: str) -> Point | None:
        """A place by name, or from the values without a name. None only if there is neither."""
        value = self.take(*names)
        if value is None and self._bare and names == _PLACES:
            value = Value(" ".join(v.text for v in self._bare), quoted=False, cut=self._bare[-1].cut)
            self._bare.clear()
        return None if value is None else self._point(value)

    def done(self) -> None:
        """Raises when something is left that has no meaning here."""
        if self._left:
            raise Wrong(f"{self.name} has no argument {next(iter(self._left))}.")
        if self._bare:
            raise Wrong(f"{self.name} needs its arguments as name='value'.")

    def _point(self, value: Value) -> Point:
        numbers = _numbers(value)
        if numbers is None:
            shown = value.text[:60]
            raise Wrong(f"{self.name}: {shown!r} is not a place; give x and y, as in <point>x y</point>.")
        corners = [self._to_point(x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
        centre = self._to_point(sum(numbers[::2]) / len(corners), sum(numbers[1::2]) / len(corners))
        if centre is None or None in corners:
            raise Wrong(f"{self.name}: {value.text[:60]!r} lies outside the screenshot.")
        return centre


def _numbers(value: Value) -> tuple[float, ...] | None:
    """The two or four numbers of a place, None if it has others or the reply ended where a number may go on."""
    if len(value.text) > _MAX_PLACE_LENGTH:
        return None
    if value.cut and not _CLOSED.fullmatch(value.text.strip()):
        return None
    found = _NUMBERS.fullmatch(_PLACE_MARKUP.sub(" ", value.text).strip())
    if found is None:
        return None
    numbers = tuple(float(n) for n in re.findall(_NUMBER, found[1]))
    return numbers if len(numbers) in (2, 4) and all(map(math.isfinite, numbers)) else None


def call_actions(given: Arguments) -> tuple[Action, ...]:
    """The actions of a call in the UI-TARS grammar. Raises Wrong."""
    name = given.name
    if name in KNOWN and not given.closed and name not in _POINTERS and name not in _DRAGS:
        raise Wrong(f"The reply was cut off inside {name}; write it again, shorter.")
    if name in _POINTERS:
        actions: tuple[Action, ...] = (_POINTERS[name](_needed_place(given, "point", given.place(*_PLACES))),)
    elif name in _DRAGS:
        start = _needed_place(given, "start_point", given.place(*_PLACES))
        actions = (Drag(start, _needed_place(given, "end_point", given.place(*_ENDS))),)
    elif name == "scroll":
        actions = (_scroll(given),)
    elif name == "hotkey":
        actions = (Hotkey(_chord(given, MAX_HOTKEY_KEYS)),)
    elif name in _KEYS:
        actions = (_KEYS[name](_chord(given, 1)[0]),)
    elif name == "type":
        actions = _type(given)
    elif name == "wait":
        actions = (_wait(given),)
    elif name == "finished":
        actions = (Finished(given.text("content", "answer") or ""),)
    elif name == "call_user":
        actions = (CallUser(given.text("content", "question") or ""),)
    elif name in _TERMINALS:
        command = given.text("command")
        if command is None:
            raise Wrong(f"{name} needs command='...'.")
        actions = (Terminal(command),)
    else:
        raise Wrong(f"There is no action {name}; use one from the list of actions.")
    given.done()
    return actions


def _needed_place(given: Arguments, argument: str, place: Point | None) -> Point:
    if place is None:
        raise Wrong(f"{given.name} needs {argument}='<point>x y</point>'.")
    return place


def _scroll(given: Arguments) -> Scroll:
    place = given.place(*_PLACES)
    direction = given.word("direction")
    amount = given.word("amount")
    for known in DIRECTIONS:
        if direction == known:
            return Scroll(known, place) if amount is None else Scroll(known, place, _notches(amount))
    raise Wrong("scroll needs direction='up', 'down', 'left' or 'right'.")


def _notches(amount: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", amount) or not 1 <= int(amount) <= MAX_NOTCHES:
        raise Wrong(f"scroll: amount is a whole number from 1 to {MAX_NOTCHES}.")
    return int(amount)


def _chord(given: Arguments, most: int) -> tuple[str, ...]:
    value = given.text("key", "keys")
    keys = split_keys(value) if value is not None else ()
    if not keys:
        raise Wrong(f"{given.name} needs key='...'.")
    if len(keys) > most:
        raise Wrong(f"{given.name} takes at most {most} key{'s' if most > 1 else ''}, got {len(keys)}.")
    return keys


def _type(given: Arguments) -> tuple[Action, ...]:
    place = given.place("point", "start_box", "start_point")
    text = given.text("content", "text")
    if text is None:
        raise Wrong("type needs content='...'.")
    return (Type(text),) if place is None else (Click(place), Type(text))


def _wait(given: Arguments) -> Wait:
    time = given.word("time", "seconds")
    if time is None:
        return Wait()
    try:
        seconds = float(time) if re.fullmatch(r"[0-9.e+-]{1,40}", time) else math.nan
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= MAX_WAIT_SECONDS:
        raise Wrong(f"wait: time is a number of seconds from 0 to {MAX_WAIT_SECONDS:g}.")
    return Wait(seconds)
