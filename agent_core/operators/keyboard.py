"""Which keycode makes which character, under whatever keyboard layout is in use, and typing any text with that.

Characters of the layout (with or without Shift) are typed by their own keys. All others are bound to keycodes that
the layout leaves unused. A binding stays until `free`, or until its keycode is needed for another character: a
program looks a keycode up when it reads the event, which may be late. The clipboard is never touched.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from Xlib import XK, X

from agent_core.errors import InputError, Stopped
from agent_core.operators import xkb
from agent_core.operators.xinput import XInput, pause

KEY_SECONDS = 0.003  # between typed characters: faster and slow programs' event queues grow long
CHORD_SECONDS = 0.02  # between the keys of a chord: programs that poll the keyboard must see each
CAUGHT_UP_SECONDS = 5.0  # how long a busy program is given to read what was typed
SILENT_SECONDS = 0.5  # the same, for a program that cannot say whether it has
PING_EVERY = 200  # characters typed before waiting for the program

_NO_SYMBOL = 0
_CONTROL_KEYS = {"\n": "Return", "\t": "Tab"}
_GROUP_SHIFT, _GROUP_BITS = 13, 3

for _group in ("xf86", "xkb"):
    XK.load_keysym_group(_group)


def keysym(name: str) -> int:
    """The number of a keysym name; `U1F600` names a character by its code point. Raises InputError if unknown."""
    if name[:1] == "U" and len(name) > 4:
        return keysym_of(chr(int(name[1:], 16)))
    number: int = XK.string_to_keysym(name.replace("XF86", "XF86_"))
    if number == _NO_SYMBOL:
        raise InputError(f"This system has no key called {name!r}.")
    return number


def keysym_of(char: str) -> int:
    """The keysym that makes one character: its code point in Latin-1, its Unicode keysym elsewhere."""
    if char in _CONTROL_KEYS:
        return keysym(_CONTROL_KEYS[char])
    code = ord(char)
    return code if 0x20 <= code <= 0x7E or 0xA0 <= code <= 0xFF else 0x01000000 | code


@dataclass(frozen=True, slots=True)
class Stroke:
    """How to make one keysym: a keycode, with Shift or without."""

    keycode: int
    shift: bool


class Layout:
    """The keyboard mapping at one moment: strokes for the keysyms it has, and the keycodes it leaves unused."""

    def __init__(self, x: XInput) -> None:
        self._first, self._keys = xkb.read(x.display)
        group = (x.modifiers() >> _GROUP_SHIFT) & _GROUP_BITS
        self._strokes: dict[int, Stroke] = {}
        for level in (0, 1):  # without Shift where possible; higher levels need keys that not every layout has
            for keycode, key in enumerate(self._keys, self._first):
                symbols = key.in_group(group)
                if level < len(symbols):
                    self._strokes.setdefault(symbols[level], Stroke(keycode, level == 1))

    def find(self, symbol: int) -> Stroke | None:
        """How to make a keysym, None if this layout has no such key."""
        return self._strokes.get(symbol)

    def stroke(self, symbol: int) -> Stroke:
        """How to make a keysym that is known to be there."""
        return self._strokes[symbol]

    def makes(self, keycode: int) -> xkb.Key:
        """What a keycode makes."""
        return self._keys[keycode - self._first]

    def spare(self) -> list[int]:
        """Keycodes that make nothing, the highest first: the low ones are likelier to exist on a real keyboard."""
        return [code for code, key in enumerate(self._keys, self._first) if not any(key.symbols)][::-1]

    def write(self, x: XInput, changed: dict[int, xkb.Key]) -> None:
        """Sets what some keycodes make, in one request: each request makes every program reload its keyboard map."""
        if changed:
            codes = range(min(changed), max(changed) + 1)
            xkb.write(x.display, codes[0], [changed.get(code, self.makes(code)) for code in codes])


class Keyboard:
    """Types text and presses chords. Keys stay down only inside a call, except for `hold`."""

    def __init__(self, x: XInput) -> None:
        self._x = x
        self._bound: dict[int, int] = {}  # spare keycode -> the keysym we bound it to

    def type(self, text: str, stop: threading.Event) -> None:
        """Types the text exactly; a line break is Return.

        Raises InputError before the first key if no window takes it or no key can make a character; Stopped, TakenOver.
        """
        if not self._x.has_focus():
            raise InputError("No window takes the keyboard now, so nothing was typed. Click into the window first.")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        for char in text:
            if unicodedata.category(char) in ("Cc", "Cs") and char not in _CONTROL_KEYS:
                raise InputError(f"The character U+{ord(char):04X} cannot be typed; leave it out of the text.")
        with self._caps_lock_off():
            for part in self._parts(text):
                self._type_part(part, self._layout_with({keysym_of(char) for char in part}, stop), stop)

    def press_chord(self, names: Sequence[str], stop: threading.Event) -> None:
        """Presses the keys in order and releases them in reverse, whatever happens in between."""
        symbols = [keysym(name) for name in names]
        layout = self._layout_with(set(symbols), stop)
        down: list[int] = []
        try:
            for symbol in symbols:
                stroke = layout.stroke(symbol)
                for keycode in [*_shift_too(layout, stroke, symbols), stroke.keycode]:
                    if stop.is_set():
                        raise Stopped("Stopped.")
                    self._x.check_hand()
                    down.append(keycode)
                    self._x.key(keycode, True)
                    pause(CHORD_SECONDS, stop)
        finally:
            for keycode in reversed(down):
                self._x.key(keycode, False)

    def hold(self, name: str) -> None:
        """Holds one key down until `release` or the input's `let_go`. Raises InputError if the layout lacks it."""
        self._x.check_hand()
        self._x.key(self._key_of(name), True)

    def release(self, name: str) -> None:
        """Lets one key go."""
        self._x.key(self._key_of(name), False)

    def free(self, seconds: float, stop: threading.Event) -> None:
        """Unbinds what was bound, once the focused program has read it `seconds` are over, or on `stop`."""
        if self._bound:
            self._x.caught_up(seconds, otherwise=min(seconds, SILENT_SECONDS), stop=stop)
            now = Layout(self._x)  # another layout may have been set meanwhile: then those keycodes are not ours
            ours = [code for code, symbol in self._bound.items() if now.makes(code) == xkb.one_symbol(symbol)]
            now.write(self._x, dict.fromkeys(ours, xkb.NOTHING))
            self._bound = {}

    def _type_part(self, part: str, layout: Layout, stop: threading.Event) -> None:
        for n, char in enumerate(part, 1):
            stroke = layout.stroke(keysym_of(char))
            self._x.check_hand()
            with self._x.together(), self._shifted(layout, stroke.shift):
                self._tap(stroke.keycode)
            pause(KEY_SECONDS, stop)
            if n % PING_EVERY == 0:
                self._x.caught_up(CAUGHT_UP_SECONDS, otherwise=0.0, stop=stop)

    def _parts(self, text: str) -> Iterator[str]:
        """The text in pieces, none with more characters beside the layout's own than there are keycodes for them."""
        layout = Layout(self._x)
        room = max(1, len(layout.spare()) + len(self._bound))
        start, strange = 0, set[str]()
        for n, char in enumerate(text):
            stroke = layout.find(keysym_of(char))
            if char in strange or (stroke is not None and stroke.keycode not in self._bound):
                continue
            if len(strange) == room:
                yield text[start:n]
                start, strange = n, set()
            strange.add(char)
        yield text[start:]

    def _layout_with(self, symbols: set[int], stop: threading.Event) -> Layout:
        """The layout, with spare keycodes bound to those of the keysyms it lacks."""
        layout = Layout(self._x)
        missing = sorted(symbol for symbol in symbols if layout.find(symbol) is None)
        if len(missing) > len(layout.spare()):
            self.free(CAUGHT_UP_SECONDS, stop)
            layout = Layout(self._x)
            missing = sorted(symbol for symbol in symbols if layout.find(symbol) is None)
        if not missing:
            return layout
        if len(missing) > len(layout.spare()):
            raise InputError("The keyboard layout has no unused keycodes for these characters; use another layout.")
        new = dict(zip(layout.spare(), missing, strict=False))
        self._bound |= new
        layout.write(self._x, {code: xkb.one_symbol(symbol) for code, symbol in new.items()})
        # Window managers set all their grabs anew, and clicks hang until they are through with that.
        self._x.window_manager_caught_up(CAUGHT_UP_SECONDS, stop)
        return Layout(self._x)

    def _key_of(self, name: str) -> int:
        stroke = Layout(self._x).find(keysym(name))
        if stroke is None:
            raise InputError(f"The keyboard layout in use has no key {name!r} to hold down.")
        return stroke.keycode

    def _tap(self, keycode: int) -> None:
        self._x.key(keycode, True)
        self._x.key(keycode, False)

    @contextmanager
    def _shifted(self, layout: Layout, wanted: bool) -> Iterator[None]:
        shift = layout.find(XK.XK_Shift_L) if wanted else None
        if shift is None:
            yield
            return
        self._x.key(shift.keycode, True)
        try:
            yield
        finally:
            self._x.key(shift.keycode, False)

    @contextmanager
    def _caps_lock_off(self) -> Iterator[None]:
        """Caps Lock would turn typed letters over: it is switched off meanwhile, by its own key."""
        caps = Layout(self._x).find(XK.XK_Caps_Lock)
        if caps is None or not self._x.modifiers() & X.LockMask:
            yield
            return
        self._tap(caps.keycode)
        try:
            yield
        finally:
            self._tap(caps.keycode)


def _shift_too(layout: Layout, stroke: Stroke, symbols: Sequence[int]) -> list[int]:
    """The Shift key, for a chord such as `ctrl +` on a layout where plus needs it and the chord lacks it."""
    shift = layout.find(XK.XK_Shift_L)
    has_shift = XK.XK_Shift_L in symbols or XK.XK_Shift_R in symbols
    return [shift.keycode] if stroke.shift and shift and not has_shift else []
