"""Key names: every usual spelling maps or is an error that names it; a chord is never partial."""

from __future__ import annotations

import pytest
from Xlib import XK

from agent_core import keys
from agent_core.errors import InputError
from agent_core.operators.keyboard import keysym

SPELLINGS = {
    "Page_Down": ["pagedown", "page down", "page_down", "page-down", "PageDown", "pgdn", "pgdown", "Next"],
    "Page_Up": ["pageup", "page up", "page_up", "pgup", "Prior"],
    "Escape": ["esc", "escape", "ESC"],
    "Delete": ["del", "delete", "Delete"],
    "Super_L": ["win", "super", "meta", "cmd", "command", "windows", "Windows key", "super_l"],
    "Alt_L": ["option", "alt", "opt", "left alt", "Alt_L"],
    "Control_L": ["ctrl", "control", "CTRL", "ctrl_l", "left ctrl", "ctrlleft"],
    "Shift_L": ["shift", "left shift", "Shift_L"],
    "Return": ["return", "enter", "Enter", "\n"],
    "Down": ["arrowdown", "down", "down arrow", "arrow down", "arrow_down", "ArrowDown", "downarrow"],
    "Up": ["arrowup", "up"],
    "Left": ["arrowleft", "left", "left arrow"],
    "Right": ["arrowright", "right"],
    "space": ["space", " ", "spacebar", "space bar"],
    "Tab": ["tab", "\t"],
    "BackSpace": ["backspace", "back space", "back_space", "bksp"],
    "Home": ["home"],
    "End": ["end"],
    "Insert": ["insert", "ins"],
    "Caps_Lock": ["capslock", "caps lock"],
    "Print": ["printscreen", "print screen", "prtsc"],
    "Menu": ["menu", "context menu", "apps"],
    "ISO_Level3_Shift": ["altgr", "alt gr"],
    "plus": ["plus", "+"],
    "minus": ["minus", "-", "hyphen"],
    "F1": ["f1", "F1"],
    "F24": ["f24"],
    "a": ["a", "A"],
    "7": ["7"],
    "U00E9": ["é", "É"],
    "slash": ["/", "slash"],
    "XF86AudioRaiseVolume": ["volumeup", "volume up"],
}

CHORDS = {
    ("ctrl+shift+t",): ("Control_L", "Shift_L", "t"),
    ("ctrl shift t",): ("Control_L", "Shift_L", "t"),
    ("ctrl", "shift", "t"): ("Control_L", "Shift_L", "t"),
    ("ctrl-shift-t",): ("Control_L", "Shift_L", "t"),
    ("ctrl + c",): ("Control_L", "c"),
    ("ctrl", "+", "c"): ("Control_L", "c"),
    ("ctrl +",): ("Control_L", "plus"),
    ("ctrl", "+"): ("Control_L", "plus"),
    ("ctrl++",): ("Control_L", "plus"),
    ("ctrl+",): ("Control_L", "plus"),
    ("ctrl -",): ("Control_L", "minus"),
    ("ctrl--",): ("Control_L", "minus"),
    ("ctrl 1",): ("Control_L", "1"),
    ("ctrl esc",): ("Control_L", "Escape"),
    ("ctrl alt delete",): ("Control_L", "Alt_L", "Delete"),
    ("ctrl page down",): ("Control_L", "Page_Down"),
    ("ctrl", "page", "down"): ("Control_L", "Page_Down"),
    ("ctrl+page_up",): ("Control_L", "Page_Up"),
    ("ctrl left",): ("Control_L", "Left"),
    ("shift", "right"): ("Shift_L", "Right"),
    ("ctrl l",): ("Control_L", "l"),
    ("win r",): ("Super_L", "r"),
    ("ctrl", " "): ("Control_L", "space"),
    ("ctrl", "A"): ("Control_L", "a"),
    ("shift-tab",): ("Shift_L", "Tab"),
    ("alt f4",): ("Alt_L", "F4"),
    ("page down",): ("Page_Down",),
}


@pytest.mark.parametrize(("name", "spelling"), [(name, s) for name, words in SPELLINGS.items() for s in words])
def test_spellings(name: str, spelling: str) -> None:
    assert keys.key_name(spelling) == name
    assert keys.chord((spelling,)) == (name,)


@pytest.mark.parametrize(("given", "names"), CHORDS.items())
def test_chords(given: tuple[str, ...], names: tuple[str, ...]) -> None:
    assert keys.chord(given) == names


def test_every_name_is_a_real_keysym() -> None:
    for name in {*keys._NAMES.values(), *keys._CHARACTERS.values()}:
        assert keysym(name) != XK.NoSymbol


@pytest.mark.parametrize("given", [("ctrl", "florp"), ("florp",), ("ctrl+florp",), ("ctrl", "shift", "pagedwn")])
def test_unknown_keys_are_named_and_nothing_is_dropped(given: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match=r"florp|pagedwn"):
        keys.chord(given)


def test_close_matches_are_offered() -> None:
    with pytest.raises(InputError, match="pagedown"):
        keys.key_name("pagedwn")


@pytest.mark.parametrize("given", [(), ("",), ("ctrl ctrl",), ("ctrl", "alt", "shift", "win", "a")])
def test_no_keys_twice_a_key_or_too_many(given: tuple[str, ...]) -> None:
    with pytest.raises(InputError):
        keys.chord(given)
