"""Where the keyboard goes, as far as clicks and keys tell, so that what is typed into a password field is not kept.

A pure value: each action gives the next one. Where it cannot know and a password field is in sight, it says secret.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent_core.actions import Action, Click, DoubleClick, Hotkey, RightClick, Type, target_of
from agent_core.errors import InputError
from agent_core.keys import chord
from agent_core.screen.redact import has_secret_field, is_secret_field, is_secret_place, prompts_for_secret
from agent_core.secret_words import is_secret_prompt
from agent_core.step import Element, Screenshot

_TAB, _BACK_TAB, _ENTER = {"Tab"}, {"Shift", "Tab"}, {"Return", "KP_Enter"}
_ADDRESS_BAR = ({"Control", "l"}, {"Control", "t"}, {"Control", "f"}, {"Alt", "d"})


@dataclass(frozen=True, slots=True)
class Focus:
    """`known` says that a click or key put the focus where `field` and `secure` say, in the window with this title.

    `secure` without `known`: a password field had it last.
    """

    field: Element | None = None
    known: bool = False
    secure: bool = False
    window: str = ""

    def takes_secret(self, shot: Screenshot) -> bool:
        """Whether a key pressed now may land in a password field or prompt."""
        if prompts_for_secret(shot.elements):
            return True
        if self.known and self.window == shot.window:
            return self.secure
        return is_secret_prompt(shot.window) or has_secret_field(shot.elements)

    def is_secure(self, shot: Screenshot) -> bool:
        """Whether a password field or prompt has the focus in this frame, so that it must not be kept."""
        if prompts_for_secret(shot.elements):
            return True
        if self.known and self.window == shot.window:
            return self.secure
        return is_secret_prompt(shot.window) or (self.secure and has_secret_field(shot.elements))

    def after(self, action: Action, shot: Screenshot) -> Focus:
        """Where the focus is once the action was done on this frame."""
        match action:
            case Click() | DoubleClick() | RightClick():
                at = target_of(action)
                return self._clicked(shot.under(at) if at is not None else None, shot)
            case Hotkey(keys):
                return self._keys(_names(keys), shot)
            case Type(text) if "\n" in text or "\r" in text:
                return Focus(secure=self.secure)
            case Type(text) if "\t" in text:
                return self._tab(shot, text.count("\t"))
            case _:
                return self

    def _clicked(self, element: Element | None, shot: Screenshot) -> Focus:
        if element is None or element.kind not in ("field", "text"):
            return Focus()
        secure = is_secret_place(element, shot.elements)
        return Focus(element, element.kind == "field" or secure, secure, shot.window)

    def _keys(self, keys: set[str], shot: Screenshot) -> Focus:
        if keys in _ADDRESS_BAR:
            return Focus(known=True, window=shot.window)
        if keys & _ENTER:
            return Focus(secure=self.secure)
        if keys == _TAB:
            return self._tab(shot, 1)
        if keys == _BACK_TAB:
            return self._tab(shot, -1)
        return self

    def _tab(self, shot: Screenshot, by: int) -> Focus:
        """The next field in reading order. What else takes the focus between two fields is not known."""
        fields = [e for e in shot.elements if e.kind == "field"]
        here = next((n for n, e in enumerate(fields) if self.field is not None and e.box == self.field.box), None)
        if here is None or not 0 <= here + by < len(fields) or not self.known:
            return Focus()
        there = fields[here + by]
        secure = is_secret_field(there, shot.elements)
        return Focus(there, secure, secure, shot.window)


def _names(keys: tuple[str, ...]) -> set[str]:
    """X names, left and right modifiers as one; nothing for a key that does not exist."""
    try:
        return {name.removesuffix("_L").removesuffix("_R") for name in chord(keys)}
    except InputError:
        return set()
