"""Reads call expressions such as `click(point='<point>10 20</point>')` out of model text, one at a time.

A call is taken apart, never run: the name, the named values and the bare ones. Quotes that a model forgot to escape
are put up with only while a single reading is left, because half a text typed is worse than a question back.
Everything is linear in the length of the text. What a call means is in `meaning.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_ESCAPES = {"n": "\n", "t": "\t", "'": "'", '"': '"', "\\": "\\"}
_ESCAPE = re.compile(r"\\([nt'\"\\])")
_OPENING = re.compile(r"([^\W\d]\w{0,63})[ \t]*+\(")
_KEYWORD = re.compile(r"([^\W\d]\w{0,63})\s*+=\s*+")
_SPACE = re.compile(r"\s*")
_BARE = re.compile(r"(?:\([^()]*\)|\[[^\[\]]*\]|[^,()\[\]'\"\n])+")
_QUOTE = {q: re.compile(r"\\.|" + q, re.DOTALL) for q in "'\""}
# After a whole call: the end of the line, a comment, markup or another call.
_LINE_END_PATTERN = r"[ \t]*+(?:\Z|[\r\n#;<`*]|(?:,[ \t]*+)?[^\W\d]\w{0,63}[ \t]*+\()"
_LINE_END = re.compile(_LINE_END_PATTERN)
# After the quote that ends a value: the next argument, or the end of the call and then of its line.
_STRICT = re.compile(r"\s*+(?:\Z|,\s*+(?:\Z|[^\W\d]\w{0,63}\s*+=|['\"])|\)" + _LINE_END_PATTERN + ")")
_WEAK = re.compile(r"\s*+[,)]")


@dataclass(frozen=True, slots=True)
class Value:
    """One argument as text. `quoted` says it was a string; `cut` says the reply ended inside it."""

    text: str
    quoted: bool = True
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """One call as the model wrote it: nothing is checked yet. Not `closed` when the reply ended inside it."""

    name: str
    named: dict[str, Value] = field(default_factory=dict)
    bare: tuple[Value, ...] = ()
    closed: bool = True


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A place where a call should be and cannot be read; `why` is a sentence for the model."""

    why: str


def unescape(text: str) -> str:
    """Undoes backslash-n, -t, -quote and -backslash once, left to right; other backslashes stay."""
    return _ESCAPE.sub(lambda match: _ESCAPES[match[1]], text)


def quote(text: str) -> str:
    """The text as a single-quoted string value that `unescape` turns back."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
    return f"'{escaped}'"


def name_at(text: str, at: int) -> str:
    """The name of the call that starts exactly at this place, "" if none does."""
    opening = _OPENING.match(text, at)
    return opening[1] if opening else ""


def ends_line(text: str, at: int) -> bool:
    """Whether nothing but another call, a comment or markup follows on the line."""
    return _LINE_END.match(text, at) is not None


def scan(text: str, at: int) -> tuple[Call | Unreadable, int]:
    """Reads the call that starts at `at` (see `name_at`) and says where it ends."""
    opening = _OPENING.match(text, at)
    if opening is None:
        return Unreadable("No call was found."), at
    name, at = opening[1], opening.end()
    named: dict[str, Value] = {}
    bare: list[Value] = []
    while True:
        at = _skip_space(text, at)
        if at >= len(text):
            return Call(name, named, tuple(bare), closed=False), at
        if text[at] == ")":
            return Call(name, named, tuple(bare)), at + 1
        keyword = _KEYWORD.match(text, at)
        if keyword:
            at = keyword.end()
        read = _value(text, at)
        if isinstance(read, Unreadable):
            return Unreadable(f"{name}: {read.why}"), at
        value, at = read
        if keyword is None:
            bare.append(value)
        elif keyword[1] in named:
            return Unreadable(f"{name} has the argument {keyword[1]} twice."), at
        else:
            named[keyword[1]] = value
        at = _skip_space(text, at)
        if text[at : at + 1] == ",":
            at += 1
        elif text[at : at + 1] not in ("", ")"):
            return Unreadable(f"{name}: the arguments cannot be read; write {name}(name='value')."), at


def _skip_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _value(text: str, at: int) -> tuple[Value, int] | Unreadable:
    mark = text[at : at + 1]
    if mark in _QUOTE:
        return _string(text, at + 1, mark)
    bare = _BARE.match(text, at)
    if bare is None:
        return Value("", quoted=False), at
    return Value(bare[0].strip(), quoted=False, cut=bare.end() == len(text)), bare.end()


def _string(text: str, start: int, mark: str) -> tuple[Value, int] | Unreadable:
    """The string value that starts after an opening quote.

    The first unescaped quote ends it if what follows fits. Otherwise the model left a quote unescaped, and the value
    is taken only if exactly one later quote can be the end.
    """
    strict: list[int] = []
    weak: list[int] = []
    quotes = 0
    for found in _QUOTE[mark].finditer(text, start):
        if found[0] != mark:
            continue
        quotes += 1
        if _STRICT.match(text, found.end()):
            strict.append(found.start())
            if quotes == 1 or len(strict) == 2:
                break
        elif _WEAK.match(text, found.end()):
            weak.append(found.start())
    ends = strict or weak
    if not ends:
        return Value(text[start:], cut=True), len(text)
    if len(ends) > 1:
        return Unreadable(f"a quote inside a text must be written \\{mark}.")
    return Value(unescape(text[start : ends[0]])), ends[0] + 1
