"""Takes personal data and secrets out of texts, before anything is kept: each becomes a token such as «email».

Pure: text in, text out. `redact` is total and idempotent and takes time linear in the text. Besides what a rule
recognises, a `Redactor` knows secrets by value: what was typed into a password field, filled in from the keyring, or
stands in the environment.
Not found: a secret that looks like an ordinary word and stands beside no word that says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from urllib.parse import quote

from agent_core import secret_rules, secret_values
from agent_core.secret_rules import Rule

Spans = list[tuple[str, int, int]]

# The earlier rule names what several rules find.
RULES: tuple[tuple[str, Rule], ...] = (
    ("key", secret_rules.key),
    ("password", secret_rules.credentials),
    ("password", secret_values.named_values),
    ("password", secret_values.told_otherwise),
    ("email", secret_rules.email),
    ("card", secret_rules.card),
    ("iban", secret_rules.iban),
    ("id", secret_rules.identity),
    ("phone", secret_rules.phone),
    ("token", secret_values.parameters),
    ("token", secret_values.near_secret_words),
)
TYPED = "typed secret"
WITHHELD = "withheld"
NAMES = tuple(dict.fromkeys((*(name for name, _ in RULES), TYPED, "secret", WITHHELD)))
PASSES = 4  # taking one thing out can show another; after so many rounds whole pieces go
GRAM = 8  # so many signs in a row of a known secret give it away
SHORTEST_KNOWN = 4

_TOKEN = re.compile("(«(?:" + "|".join(NAMES) + ")»)")
_PLACEHOLDER = re.compile(r"\{\{secret:[A-Za-z0-9_.-]{1,64}\}\}")
_DOTS = re.compile("[•●]{2,}")  # how many dots stand in a password field tells its length
_PLACES = re.compile(r"(?m)^((?:text|button|field|check|radio|icon) .*?)( \d{1,4} \d{1,4})$")
# Wide letters and digits, and blanks of other widths, are read as the usual ones; each sign stays one sign.
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | dict.fromkeys((0xA0, 0x2007, 0x202F, 0x3000), " ")
# What a reader of screens takes for another sign.
_ALIKE = {ord(c): c.lower() for c in ascii_uppercase} | {
    ord(sign): like for sign, like in zip("iIlL|!oOsSbBzZ", "11111100558822", strict=True)
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a rule found something: text[start:end]."""

    rule: str
    start: int
    end: int


def token(rule: str) -> str:
    """What stands in a text in place of what was taken out."""
    return f"«{rule}»"


def redact(text: str) -> str:
    """The text without what the rules find."""
    return _redacted(text, _by_rules)


def findings(text: str) -> tuple[Finding, ...]:
    """What the rules find, left to right, without overlaps."""
    return tuple(Finding(*span) for span in _by_rules(text))


class Redactor:
    """The rules and known secrets. `sources` are asked at each use, so that a secret filled in later is known too."""

    def __init__(self, known: Iterable[str] = (), sources: Sequence[Callable[[], Iterable[str]]] = ()) -> None:
        self._sources = tuple(sources)
        self._known: dict[str, str] = {}
        self._grams: frozenset[str] = frozenset()
        self._exact: tuple[tuple[str, str], ...] = ()
        for value in known:
            self.learn(value, "secret")

    def learn(self, value: str, rule: str = TYPED) -> bool:
        """From now on this value is taken out wherever it stands. Gives whether it was new and long enough."""
        value = value.strip()
        if len(value) < SHORTEST_KNOWN or value in self._known or _TOKEN.search(value):
            return False
        self._known[value] = rule
        self._exact = tuple(_spellings(self._known))
        self._grams = self._grams | _grams_of(value)
        return True

    def redact(self, text: str) -> str:
        """The text without what the rules find and without known secrets."""
        self._refresh()
        return _redacted(text, self._spans)

    def without_known(self, text: str) -> str:
        """The text without known secrets only."""
        self._refresh()
        return _redacted(text, self._known_spans)

    def findings(self, text: str) -> tuple[Finding, ...]:
        """What is found, left to right, without overlaps."""
        self._refresh()
        return tuple(Finding(*span) for span in self._spans(text))

    def lines(self, texts: Sequence[str]) -> list[str]:
        """For each line on a screen the rule that found something in it, or "". What spans lines marks all of them."""
        flat = [" ".join(text.split()) for text in texts]
        starts, at = [], 0
        for text in flat:
            starts.append(at)
            at += len(text) + 1
        rules = [""] * len(flat)
        found = self.findings("\n".join(flat))
        n = 0
        for finding in found:
            while n < len(flat) and starts[n] + len(flat[n]) <= finding.start:
                n += 1
            last = n
            while last < len(flat) and starts[last] < finding.end:
                rules[last] = rules[last] or finding.rule
                last += 1
            if (
                last
                and finding.end >= starts[last - 1] + len(flat[last - 1])
                and finding.rule in ("key", "token", "password")
            ):
                while last < len(flat) and not rules[last] and _goes_on(flat[last]):
                    rules[last] = finding.rule
                    last += 1
        return rules

    def _refresh(self) -> None:
        for source in self._sources:
            for value in source():
                self.learn(value, "secret")

    def _spans(self, text: str) -> Spans:
        return _merged([*self._raw_known(text), *_raw_by_rules(text)])

    def _known_spans(self, text: str) -> Spans:
        return _merged(list(self._raw_known(text)))

    def _raw_known(self, text: str) -> Iterator[tuple[str, int, int]]:
        for value, rule in self._exact:
            at = text.find(value)
            while at >= 0:
                end = at + len(value)
                if len(value) >= GRAM or not (_joined(text, at) or _joined(text, end)):
                    yield rule, at, end
                at = text.find(value, end)
        if self._grams:
            yield from self._alike(text)

    def _alike(self, text: str) -> Iterator[tuple[str, int, int]]:
        """Words that hold a part of a known secret, also when signs that look alike are mixed up or blanks put in."""
        places = [i for i, sign in enumerate(text) if not sign.isspace()]
        folded = "".join(text[i] for i in places).translate(_WIDE).translate(_ALIKE)
        grams, begin, until = self._grams, -1, -1
        for i in range(len(folded) - GRAM + 1):
            if folded[i : i + GRAM] in grams:
                if begin < 0 or i > until:
                    if begin >= 0:
                        yield "secret", *_word_around(text, places[begin], places[until - 1] + 1)
                    begin = i
                until = i + GRAM
        if begin >= 0:
            yield "secret", *_word_around(text, places[begin], places[until - 1] + 1)


def _raw_by_rules(text: str) -> Spans:
    # The places of elements are no part of a number, and the name of a secret is none.
    seen = _PLACES.sub(lambda m: m[1] + "\n" * len(m[2]), text.translate(_WIDE))
    seen = _PLACEHOLDER.sub(lambda m: "\n" * len(m[0]), seen)
    return [(name, start, end) for name, rule in RULES for start, end in rule(seen)]


def _by_rules(text: str) -> Spans:
    return _merged(_raw_by_rules(text))


def _merged(spans: Spans) -> Spans:
    """Overlapping spans become one, named by the first of them in the list."""
    order = sorted((start, end, n, rule) for n, (rule, start, end) in enumerate(spans) if end > start)
    out: list[tuple[int, int, int, str]] = []
    for start, end, n, rule in order:
        if out and start < out[-1][1]:
            begin, until, first, name = out[-1]
            out[-1] = (begin, max(until, end), min(first, n), name if first < n else rule)
        else:
            out.append((start, end, n, rule))
    return [(rule, start, end) for start, end, _, rule in out]


def _redacted(text: str, find: Callable[[str], Spans]) -> str:
    """Replaces until nothing more is found. What stands between two tokens is a text of its own."""
    text = _DOTS.sub("•••", text)
    for _ in range(PASSES):
        before, text = text, _once(text, find, whole=False)
        if before == text:
            return text
    return _once(text, find, whole=True)


def _once(text: str, find: Callable[[str], Spans], whole: bool) -> str:
    out = []
    for n, piece in enumerate(_TOKEN.split(text)):
        spans = [] if n % 2 else find(piece)
        if spans and whole:
            out.append(token(spans[0][0]))
            continue
        at = 0
        for rule, start, end in spans:
            out += [piece[at:start], token(rule)]
            at = end
        out.append(piece[at:])
    return "".join(out)


def _spellings(known: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The values as they stand in texts, in replies, in JSON and in addresses; the longest first."""
    ways: dict[str, str] = {}
    for value, rule in known.items():
        call = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
        in_json = json.dumps(value, ensure_ascii=False)[1:-1]
        for way in (value, call, in_json, json.dumps(value)[1:-1], quote(value, safe=""), " ".join(value.split())):
            ways.setdefault(way, rule)
    yield from sorted(ways.items(), key=lambda item: -len(item[0]))


def _grams_of(value: str) -> frozenset[str]:
    """The pieces of GRAM signs that are no ordinary words: with a digit, a sign, or a capital among small letters."""
    packed = "".join(value.split())
    pieces = (packed[i : i + GRAM] for i in range(len(packed) - GRAM + 1))
    return frozenset(p.translate(_ALIKE) for p in pieces if not p[1:].islower() or not p.isalpha())


def _joined(text: str, at: int) -> bool:
    """Whether a word goes on across this place."""
    return 0 < at < len(text) and all(c.isascii() and (c.isalnum() or c == "_") for c in text[at - 1 : at + 1])


def _word_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The span with the rest of its word, which may be the same secret read wrongly."""
    limit = 64
    while start > 0 and limit and _inside_word(text[start - 1]):
        start, limit = start - 1, limit - 1
    least, limit = end, 64
    while end < len(text) and limit and _inside_word(text[end]):
        end, limit = end + 1, limit - 1
    while end > least and text[end - 1] in ".,!?":
        end -= 1
    return start, end


def _inside_word(sign: str) -> bool:
    return not sign.isspace() and sign not in "\"'`()[]{}<>«»,;=:"


def _goes_on(line: str) -> bool:
    """Whether a line on a screen looks like the rest of a long key that was wrapped."""
    return re.fullmatch(r"[A-Za-z0-9+/=_.\-]{6,}", line) is not None and (
        any(c.isdigit() for c in line) or not (line.islower() or line.istitle())
    )
