"""Key names: every usual spelling -> the X keysym's name. Nothing is guessed and nothing is dropped.

Models write `pagedown`, `page down`, `page_down`, `pgdn`; `ctrl+shift+t`, `ctrl shift t`, `ctrl-c`, `ctrl +`. A
spelling that is not known is an InputError which names it and what comes close; a chord is whole or not at all.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Sequence

from agent_core.actions import MAX_HOTKEY_KEYS
from agent_core.errors import InputError

_SPELLINGS: dict[str, str] = {
    "Control_L": "ctrl control ctl ctrll controll lctrl leftctrl leftcontrol ctrlleft",
    "Control_R": "ctrlr controlr rctrl rightctrl rightcontrol ctrlright",
    "Shift_L": "shift shiftl lshift leftshift shiftleft",
    "Shift_R": "shiftr rshift rightshift shiftright",
    "Alt_L": "alt option opt altl lalt leftalt altleft",
    "Alt_R": "altr ralt rightalt altright",
    "ISO_Level3_Shift": "altgr altgraph isolevel3shift",
    "Super_L": "super win windows window winkey windowskey meta cmd command superl winl winleft lwin leftwin",
    "Super_R": "superr winr winright rwin rightwin",
    "Return": "return enter ret newline",
    "KP_Enter": "kpenter numpadenter numenter",
    "Escape": "escape esc",
    "Tab": "tab tabulator",
    "BackSpace": "backspace bksp bs",
    "Delete": "delete del forwarddelete",
    "Insert": "insert ins",
    "Home": "home",
    "End": "end",
    "Page_Up": "pageup pgup prior pgu",
    "Page_Down": "pagedown pgdn pgdown next pgd",
    "Up": "up arrowup uparrow upkey",
    "Down": "down arrowdown downarrow downkey",
    "Left": "left arrowleft leftarrow leftkey",
    "Right": "right arrowright rightarrow rightkey",
    "space": "space spacebar spc",
    "Caps_Lock": "capslock caps",
    "Num_Lock": "numlock",
    "Scroll_Lock": "scrolllock",
    "Print": "print printscreen prtsc prtscr prntscrn sysrq",
    "Pause": "pause break pausebreak",
    "Menu": "menu apps contextmenu application menukey",
    "XF86AudioMute": "mute volumemute audiomute audiovolumemute xf86audiomute",
    "XF86AudioLowerVolume": "volumedown audiovolumedown xf86audiolowervolume",
    "XF86AudioRaiseVolume": "volumeup audiovolumeup xf86audioraisevolume",
    "XF86AudioPlay": "playpause mediaplaypause play xf86audioplay",
    "XF86AudioNext": "nexttrack medianexttrack xf86audionext",
    "XF86AudioPrev": "prevtrack previoustrack mediaprevioustrack xf86audioprev",
    "XF86Back": "browserback xf86back",
    "XF86Forward": "browserforward xf86forward",
    "KP_Add": "kpadd numpadadd",
    "KP_Subtract": "kpsubtract numpadsubtract",
    "KP_Multiply": "kpmultiply numpadmultiply",
    "KP_Divide": "kpdivide numpaddivide",
    "KP_Decimal": "kpdecimal numpaddecimal",
    "plus": "plus",
    "minus": "minus hyphen dash",
    "equal": "equal equals",
    "comma": "comma",
    "period": "period dot fullstop",
    "slash": "slash forwardslash",
    "backslash": "backslash",
    "semicolon": "semicolon",
    "colon": "colon",
    "apostrophe": "apostrophe quote singlequote",
    "quotedbl": "doublequote quotedbl",
    "grave": "grave backtick backquote",
    "asciitilde": "tilde asciitilde",
    "bracketleft": "bracketleft leftbracket openbracket",
    "bracketright": "bracketright rightbracket closebracket",
    "braceleft": "braceleft leftbrace",
    "braceright": "braceright rightbrace",
    "underscore": "underscore",
    "asterisk": "asterisk star",
    "numbersign": "numbersign hash",
    "at": "at",
    "ampersand": "ampersand",
    "percent": "percent",
    "question": "question questionmark",
    "exclam": "exclam exclamation exclamationmark",
}
_CHARACTERS = {
    " ": "space", "+": "plus", "-": "minus", "=": "equal", ",": "comma", ".": "period", "/": "slash", "\\": "backslash",
    ";": "semicolon", ":": "colon", "'": "apostrophe", '"': "quotedbl", "`": "grave", "~": "asciitilde",
    "[": "bracketleft", "]": "bracketright", "{": "braceleft", "}": "braceright", "_": "underscore", "*": "asterisk",
    "#": "numbersign", "@": "at", "&": "ampersand", "%": "percent", "?": "question", "!": "exclam", "$": "dollar",
    "^": "asciicircum", "(": "parenleft", ")": "parenright", "<": "less", ">": "greater", "|": "bar",
    "\n": "Return", "\t": "Tab", "←": "Left", "→": "Right", "↑": "Up", "↓": "Down", "⌘": "Super_L", "⌃": "Control_L",
    "⌥": "Alt_L", "⇧": "Shift_L", "⏎": "Return", "↵": "Return", "⌫": "BackSpace", "⎋": "Escape", "⇥": "Tab",
}  # fmt: skip
_NAMES: dict[str, str] = {word: name for name, words in _SPELLINGS.items() for word in words.split()}
_NAMES |= {f"f{n}": f"F{n}" for n in range(1, 25)}
_NAMES |= {f"{prefix}{n}": f"KP_{n}" for prefix in ("kp", "numpad", "num") for n in range(10)}

# Names of two words. Only these: "ctrl left" and "shift l" are two keys, though "ctrlleft" and "shift_l" are one.
_SECOND_WORDS = {
    "page": "up down",
    "pg": "up dn down",
    "arrow": "up down left right",
    "caps": "lock",
    "num": "lock",
    "scroll": "lock",
    "print": "screen",
    "prt": "sc scr",
    "space": "bar",
    "windows": "key",
    "win": "key",
    "menu": "key",
    "context": "menu",
    "volume": "up down mute",
    "audio": "mute",
    "play": "pause",
    "next": "track",
    "prev": "track",
    "previous": "track",
    "alt": "gr",
    "back": "space slash tick quote",
    "forward": "slash delete",
    "single": "quote",
    "double": "quote",
    "question": "mark",
    "exclamation": "mark",
    "full": "stop",
    "kp": "enter",
    "numpad": "enter",
    "up": "arrow",
    "down": "arrow",
    "left": "arrow bracket ctrl control shift alt win",
    "right": "arrow bracket ctrl control shift alt win",
}
_PHRASES = frozenset(f"{first} {second}" for first, words in _SECOND_WORDS.items() for second in words.split())


def key_name(spelling: str) -> str:
    """The keysym name of one key, in any usual spelling. Raises InputError with close matches when unknown."""
    name = _lookup(spelling)
    if name is None:
        raise _unknown(spelling)
    return name


def chord(keys: Sequence[str]) -> tuple[str, ...]:
    """The keysym names of a key combination, in the order given.

    Each string may be one key or several joined by `+`, `-` or blanks; a name of two words may be spread over two
    strings. Raises InputError when any part is unknown, when a key comes twice, or when there are none or too many.
    """
    words = [word for key in keys for word in _words(key)]
    names: list[str] = []
    while words:
        size = 2 if " ".join(words[:2]).lower() in _PHRASES else 1
        names.append(key_name(" ".join(words[:size])))
        words = words[size:]
        if len(words) > 1 and words[0] == "+":
            del words[0]  # a joiner that stood alone; at the end it is the plus key
    if not names:
        raise InputError("No key was named. Name at least one key, such as 'enter' or 'ctrl c'.")
    if len(set(names)) < len(names):
        raise InputError(f"The key combination {' '.join(keys)!r} names a key twice. Name each key once.")
    if len(names) > MAX_HOTKEY_KEYS:
        raise InputError(f"{len(names)} keys at once are too many: press at most {MAX_HOTKEY_KEYS}.")
    return tuple(names)


def _words(text: str) -> list[str]:
    """One string of a chord, cut where keys are joined; a plus or minus at the end is a key."""
    if _lookup(text) is not None:
        return [text]
    words: list[str] = []
    for word in text.split():
        joiner = "+" if "+" in word else "-"
        if _lookup(word) is not None or joiner not in word:
            words.append(word)
        else:
            parts = [part for part in word.split(joiner) if part]
            words += [known for part in parts for known in (_words(part) if joiner == "+" else [part])]
            words += [joiner] if word.endswith(joiner) else []
    return words


def _lookup(spelling: str) -> str | None:
    """The keysym name of a spelling that is one key, None if it is not."""
    if len(spelling) == 1:
        return _CHARACTERS.get(spelling) or _one_character(spelling)
    if spelling.isspace():
        return "space"
    words = spelling.strip().lower()
    if len(words) == 1:
        return _lookup(words)
    if words.replace("-", " ") in _PHRASES:
        words = words.replace("-", "").replace(" ", "")
    return _NAMES.get(words.replace("_", ""))


def _one_character(char: str) -> str | None:
    """A letter or digit names its key in either case; other characters go by their code point."""
    if char.isascii():
        return char.lower() if char.isalnum() else None
    small = char.lower() if len(char.lower()) == 1 else char
    return f"U{ord(small):04X}" if unicodedata.category(char)[0] in "LMNPS" else None


def _unknown(spelling: str) -> InputError:
    squeezed = spelling.lower().translate({ord(c): None for c in " _-"})
    close = difflib.get_close_matches(squeezed, _NAMES, n=3, cutoff=0.6)
    hint = (
        f" Did you mean {' or '.join(close)}?" if close else " Use names such as enter, esc, ctrl, pagedown, f5 or a."
    )
    return InputError(f"There is no key called {spelling!r}.{hint}")
