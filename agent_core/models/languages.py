"""What language a task is mostly written in, as far as its script tells: a small model understands few of them.

Only scripts that most languages do not share are told apart; everything in Latin letters passes for any language.
Quoted parts do not count: they are to be typed as they stand, not understood.
"""

from __future__ import annotations

import re

NAMES = {
    "en": "English",
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "ru": "Russian",
    "uk": "Ukrainian",
    "ar": "Arabic",
    "fa": "Persian",
}

# The languages that a letter speaks for, the likeliest first. A Chinese or Japanese sign counts as a word.
_SCRIPTS = {
    "kana": ("ja",),
    "han": ("zh", "ja"),
    "hangul": ("ko",),
    "cyrillic": ("ru", "uk", "bg", "sr", "mk", "be", "kk", "mn"),
    "arabic": ("ar", "fa", "ur"),
}
_WORD = re.compile(
    r"(?P<kana>[\u3040-\u30ff])|(?P<han>[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
    r"|(?P<hangul>[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]+)|(?P<cyrillic>[\u0400-\u052f]+)"
    r"|(?P<arabic>[\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc]+)|(?P<latin>[A-Za-z\u00c0-\u024f]+)"
)
_QUOTED = re.compile(
    '"[^"]*"|\u201c[^\u201d]*\u201d|\u201e[^\u201c\u201d]*[\u201c\u201d]|\u00ab[^\u00bb]*\u00bb'
    "|\u300c[^\u300d]*\u300d|\u300e[^\u300f]*\u300f|\u2018[^\u2019]*\u2019|`[^`]*`|(?<!\\w)'[^']*'(?!\\w)"
)


def written_in(text: str) -> tuple[str, ...]:
    """The languages (codes, the likeliest first) that the text may be in; empty when its script does not tell."""
    counts: dict[str, int] = {}
    for word in _WORD.finditer(_QUOTED.sub(" ", text)):
        script = word.lastgroup or ""
        counts[script] = counts.get(script, 0) + 1
    latin = counts.pop("latin", 0)
    if not counts or sum(counts.values()) < latin:
        return ()
    if "kana" in counts:  # Japanese is mostly written in signs that are Chinese as well
        return _SCRIPTS["kana"]
    return _SCRIPTS[max(counts, key=lambda script: counts[script])]


def in_words(codes: tuple[str, ...]) -> str:
    """The languages' names joined for a sentence, a code where the name is not known."""
    return " and ".join(NAMES.get(code, code) for code in codes)
