"""Key names in model text: "ctrl c", "ctrl+c", "ctrl +" and "page down" become tuples of lower-case names, and back.

Names are only told apart here; which of them a keyboard has is the operator's business (`agent_core/keys.py`).
Blanks or plus signs separate; a plus sign at the end is the plus key. A key whose own name holds a plus sign or would
be read together with its neighbour is written with a backslash or joined by a plus sign.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_WHITE_KEYS = {" ": "space", "\n": "enter", "\r": "enter", "\t": "tab"}
_ARROWS = ("left", "right", "up", "down")
# Names that people write as two words; only blanks join them, a plus sign keeps two keys apart.
_TWO_WORDS = {
    **{("page", way): f"page{way}" for way in ("up", "down")},
    **{("arrow", way): f"arrow{way}" for way in _ARROWS},
    **{(way, "arrow"): f"arrow{way}" for way in _ARROWS},
    **{(word, "lock"): f"{word}lock" for word in ("caps", "num", "scroll")},
    ("print", "screen"): "printscreen",
    ("back", "space"): "backspace",
}
_GROUP = re.compile(r"(?:\\[+\\]|[^+])+")
_KEY_ESCAPE = re.compile(r"\\([+\\])")


def split_keys(text: str) -> tuple[str, ...]:
    """The key names in a value, in order; empty if there are none."""
    if text and not text.strip():
        return (_WHITE_KEYS.get(text[0], "space"),)
    text = text.strip().lower()
    plus: tuple[str, ...] = ()
    if text.endswith("+") and not text.endswith("\\+"):
        plus = ("+",)
        text = text[:-1].rstrip()
        text = text[:-1] if text.endswith("+") and not text.endswith("\\+") else text
    keys: list[str] = []
    for group in _GROUP.findall(text):
        keys.extend(_join(group.split()))
    return (*(_KEY_ESCAPE.sub(r"\1", key) if len(key) > 1 else key for key in keys), *plus)


def write_keys(keys: Sequence[str]) -> str:
    """The value that `split_keys` reads back as these keys; names hold no white space and no capitals."""
    out = ""
    for n, key in enumerate(keys):
        if n:
            out += "+" if (keys[n - 1], key) in _TWO_WORDS else " "
        last_plus = key == "+" and n == len(keys) - 1
        out += key if last_plus or key == "\\" else key.replace("\\", "\\\\").replace("+", "\\+")
    return out


def _join(words: list[str]) -> list[str]:
    keys: list[str] = []
    at = 0
    while at < len(words):
        pair = _TWO_WORDS.get((words[at], words[at + 1])) if at + 1 < len(words) else None
        keys.append(pair or words[at])
        at += 2 if pair else 1
    return keys
