"""Text as a person reads it: what every rule of the gate is matched against.

Covered: capitals, wide letters, accents, signs that are not seen (zero width, direction marks), letters of other
alphabets that look Latin, letters set apart by blanks or dots, digits and strokes in the place of letters.
Not covered: words in a picture, synonyms, languages other than English and Chinese.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_LOOKALIKES = str.maketrans(
    "аеорсхуіјѕԁһӏոսквмтнгαορεικντυχıɑɡøłđħοսց"
    "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ‐‑‒–—−’‘“”",
    "aeopcxyijsdhlnukbmthraopeikvtuxiagoldhoug"
    "abcdefghijklmnoprstuvwyz------''\"\"",
)  # fmt: skip
_STANDS_FOR = str.maketrans("0134579@$", "oleastgas")
_APART = re.compile(r"(?<![^\W\d_])[^\W\d_](?:[ .\-_·*][^\W\d_]){2,}(?![^\W\d_])")
_CJK = "\u3400-\u9fff"
_CJK_APART = re.compile(rf"(?<=[{_CJK}])[ .·\-_*](?=[{_CJK}])")
_STANDS_FOR_I = re.compile(r"(?<=[^\W\d_])1(?=[ostncgv])")
_SPACES = re.compile(r"\s+")
_MASKED = re.compile(r"(?<=[^\W\d_])[0134579@$](?=[^\W\d_])|\b[@$0135](?=[^\W\d_]{3})")
_TALL = re.compile(r"(?<=[a-z])I(?=[a-z])")
# Verbs that are looked for at the front of letters set apart, where the blanks between words are gone too.
_GLUED = re.compile(
    r"^(delete|remove|send|submit|pay|buy|erase|format|wipe|empty|install|ignore|discard|publish|transfer|confirm)(?=.)"
)


@lru_cache(maxsize=8192)
def plain(text: str) -> str:
    """Lower case, one alphabet, single blanks, nothing that cannot be seen."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in text if unicodedata.category(c) not in ("Mn", "Cf", "Me", "Cc") or c in "\n\t")
        text = unicodedata.normalize("NFKC", text).casefold().translate(_LOOKALIKES)
        text = _CJK_APART.sub("", text)
    else:
        text = text.lower()
    if _APART.search(text):
        text = _APART.sub(lambda found: _GLUED.sub(r"\1 ", re.sub(r"[ .\-_·*]", "", found[0])), text)
    return _SPACES.sub(" ", text).strip()


@lru_cache(maxsize=8192)
def unmasked(text: str) -> str:
    """As `plain`, with digits and signs inside a word taken for the letters they look like ("De1ete", "D3LETE")."""
    shown = _TALL.sub("l", text)
    if _MASKED.search(shown):
        shown = _MASKED.sub(lambda found: found[0].translate(_STANDS_FOR), _STANDS_FOR_I.sub("i", shown))
    return plain(shown)


def squeezed(text: str) -> str:
    """As `plain`, without blanks: for asking whether one text stands in another, however lines were broken."""
    return plain(text).replace(" ", "")


def exactly(text: str, limit: int = 200) -> str:
    """A text that stands for itself alone: empty where it would have to be cut or changed to be shown."""
    return text if len(text) <= limit and quote(text, limit) == text else ""


def quote(text: str, limit: int = 60) -> str:
    """A text as it may be shown to a person inside a sentence: one line, no unseen signs, cut to `limit`."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
