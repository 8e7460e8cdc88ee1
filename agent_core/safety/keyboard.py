"""What earlier actions left behind at the keyboard: what is held, where the focus may be, what was typed since."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent_core.actions import Action, Click, DoubleClick, Drag, Hotkey, Press, Release, RightClick, Type
from agent_core.errors import InputError
from agent_core.keys import chord
from agent_core.step import Screenshot

HOLDS = frozenset({"ctrl", "alt", "super"})  # held down, they make another action of every key that follows
MODIFIERS = HOLDS | {"shift"}
ENTER = frozenset({"Return", "KP_Enter"})
REMEMBERED = 2000  # characters of what was typed
_ONE_NAME = {"Control": "ctrl", "Shift": "shift", "Alt": "alt", "Super": "super"}
_UP_AND_DOWN = frozenset({"Up", "Down", "Left", "Right"})
_OPEN_MENUS = frozenset({"Menu", "F10"})
_SIGNS = {"space": " ", "period": ".", "slash": "/", "minus": "-", "asterisk": "*", "asciitilde": "~", "colon": ":"}


@dataclass(frozen=True, slots=True)
class Keyboard:
    """What earlier actions left behind.

    `held` are the modifiers that are down; `tabbed` says that Tab moved the focus to a control that is not known,
    `menu` that a menu may be open in which keys choose; `off_field` that the last click went to no field; `typed` is
    the text since the last line ended or the focus moved.
    """

    held: frozenset[str] = frozenset()
    tabbed: bool = False
    menu: bool = False
    off_field: bool = False
    typed: str = ""

    def after(self, action: Action, shot: Screenshot) -> Keyboard:
        """The same after an action that was done on a screen."""
        match action:
            case Press(key):
                pressed = self._after_keys((key,))
                return replace(pressed, held=self.held | (names_of((key,)) & MODIFIERS))
            case Release(key):
                return replace(self, held=self.held - names_of((key,)))
            case Hotkey(keys):
                return self._after_keys(keys)
            case Type(text):
                line = (self.typed + text).replace("\r", "\n").rsplit("\n", 1)[-1].rsplit("\t", 1)[-1]
                return replace(self, tabbed=self.tabbed or "\t" in text, typed=line[-REMEMBERED:])
            case RightClick():
                return Keyboard(self.held, menu=True)
            case Click(at) | DoubleClick(at) | Drag(_, at):
                under = shot.under(at)
                return Keyboard(self.held, off_field=under is None or under.kind != "field")
            case _:
                return self

    def unless_refused(self, before: Keyboard) -> Keyboard:
        """The state after an action of which it is not known whether it was done: what either state fears."""
        return Keyboard(
            self.held | before.held,
            self.tabbed or before.tabbed,
            self.menu or before.menu,
            self.off_field or before.off_field,
            self.typed,
        )

    def _after_keys(self, keys: tuple[str, ...]) -> Keyboard:
        names = names_of(keys) | self.held
        if names & ENTER or "Escape" in names:
            return replace(self, menu=False, typed="")
        if "Tab" in names:
            return replace(self, tabbed=True, menu=False, typed="")
        opens = bool(names & _OPEN_MENUS) or "alt" in names or (self.off_field and bool(names & _UP_AND_DOWN))
        return replace(self, menu=self.menu or opens, typed=(self.typed + sign_of(names))[-REMEMBERED:])


UNTOUCHED = Keyboard()


def names_of(keys: tuple[str, ...]) -> frozenset[str]:
    """The keys of a chord by one name each. Nothing for keys that do not exist."""
    try:
        return frozenset(one_name(name) for name in chord(keys))
    except InputError:
        return frozenset()


def one_name(keysym: str) -> str:
    """Left and right modifiers are one; other keys keep their X name."""
    return _ONE_NAME.get(keysym.removesuffix("_L").removesuffix("_R"), keysym)


def sign_of(names: frozenset[str]) -> str:
    """The character that a chord types, as far as it matters; empty where it types none."""
    plain_keys = names - {"shift"}
    if len(plain_keys) != 1:
        return ""
    (name,) = plain_keys
    return name if len(name) == 1 else _SIGNS.get(name, "")
