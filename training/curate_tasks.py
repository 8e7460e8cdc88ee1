"""The tasks of kept runs as tasks for sandboxes: what was personal becomes a slot, or the task is left out.

    Send the report to Ann Smith by 5 pm   ->   send the {name} to {name2} by {time}

Known are only the words that tasks are made of everywhere (`plain_words.txt`, and the wordings of the desk suite).
Every other word becomes a slot, whether it is written like a name or not: a list of what is private would never be
whole. What is written in quotes, and addresses, paths, files, dates, times and numbers are slots by their form. A task
of which too little is left, or in a writing without blanks between its words, cannot be stripped.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from agent_core.redaction import NAMES, redact, token
from training.tasks.desk import TASKS, WORDINGS
from training.tasks.desk_words import words

PLAIN_WORDS = Path(__file__).with_name("plain_words.txt")
LEAST_WORDS = 2  # that must be left besides slots
SLOT = "{%s}"

_MONTHS = "january february march april may june july august september october november december"
_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in _MONTHS.split())
_CLOCK = r"\d{1,2}[:.]\d{2}(?::\d{2})?(?: ?[ap]\.?m\b\.?)?|\d{1,2} ?[ap]\.?m\b\.?"
_DAY = rf"\d{{1,4}}([-/.])\d{{1,2}}\1\d{{1,4}}\b|(?:{_MONTH})\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?\b"
_DAY_FIRST = rf"\d{{1,2}}(?:st|nd|rd|th)?\.? (?:of )?(?:{_MONTH})\b(?: \d{{4}})?"
# In this order: what an earlier form takes, a later one does not see.
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    *((name, re.compile(re.escape(token(name)))) for name in NAMES),
    ("text", re.compile(r"\"[^\"\n]+\"|“[^”\n]+”|‘[^’\n]+’|`[^`\n]+`|(?<!\w)'[^'\n]+'(?!\w)")),
    ("address", re.compile(r"\b(?:[a-z][a-z0-9+.-]*://|www\.)\S+|\b(?:[a-z0-9-]+\.)+[a-z]{2,}/\S*", re.I)),
    ("date", re.compile(rf"\b(?:{_DAY}|{_DAY_FIRST})", re.I)),
    ("time", re.compile(rf"\b(?:{_CLOCK})", re.I)),
    ("path", re.compile(r"(?<![\w.])(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.\-/\\~]+|\b[\w.-]+(?:/[\w.-]+)+")),
    ("file", re.compile(r"\b[\w-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,4}\b")),
    ("number", re.compile(r"[#$€£¥+-]?\b\w*\d[\w.,:%-]*\b[%€$]?")),
)
# Plain words that are first names too.
_NAMES_TOO = frozenset(words("mark bill will may grace rose frank jack pat sue rob drew grant art ray dean guy"))
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_ENDINGS = ("", "s", "es", "ed", "d", "ing", "'s", "’s")


@dataclass(frozen=True, slots=True)
class Stripped:
    """A task without what was personal. `slots` are the kinds of its slots, in their order."""

    template: str
    slots: tuple[str, ...]


def stripped(task: str) -> Stripped | None:
    """The task as a template; None when it cannot be stripped."""
    text = " ".join(redact(task).split())
    values: dict[tuple[str, str], str] = {}

    def slot(kind: str, value: str) -> str:
        key = (kind.replace(" ", "_"), value.casefold())
        if key not in values:
            count = sum(known == key[0] for known, _ in values)
            values[key] = key[0] + (str(count + 1) if count else "")
        return SLOT % values[key]

    pieces: list[tuple[str, str]] = [("", text)]  # (kind of slot or "", text)
    for kind, form in _FORMS:
        pieces = [part for piece in pieces for part in (_cut(piece[1], kind, form) if not piece[0] else [piece])]
    parts = [part for piece in pieces for part in (_names(piece[1]) if not piece[0] else [piece])]
    template = "".join(slot(kind, value) if kind else value for kind, value in parts)
    plain = [word for kind, value in parts if not kind for word in _WORD.findall(value)]
    if len(plain) < max(LEAST_WORDS, sum(bool(kind) for kind, _ in parts) - 1):
        return None
    return Stripped(" ".join(template.lower().split()), tuple(kind for kind, _ in values))


def verifier_of(task: str) -> str:
    """The suite's task, as "suite/task", that this one is a wording of; empty where only a judge can tell."""
    text = " ".join(task.split()).rstrip(".!").casefold()
    return next((name for name, form in _wordings() if form.fullmatch(text)), "")


@cache
def plain_words() -> frozenset[str]:
    """The words of tasks everywhere, in small letters."""
    listed = PLAIN_WORDS.read_text(encoding="utf-8")
    told = "\n".join(line for line in listed.splitlines() if not line.startswith("#"))
    wordings = "\n".join(wording for of_task in _desk().values() for wording in of_task)
    said = re.sub(r"\{\w+\}", " ", wordings)
    small = (word for word in _WORD.findall(said) if word.islower())
    return frozenset({*_WORD.findall(told.lower()), *small}) - _NAMES_TOO


def _cut(text: str, kind: str, form: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    at = 0
    for found in form.finditer(text):
        yield "", text[at : found.start()]
        yield kind, found[0]
        at = found.end()
    yield "", text[at:]


def _names(text: str) -> Iterator[tuple[str, str]]:
    """Words that are not plain become names; names side by side are one."""
    at = 0
    spans: list[tuple[int, int]] = []
    for found in _WORD.finditer(text):
        if _is_plain(found[0]) and (found[0].islower() or _begins(text, found.start())):
            continue
        if spans and not text[spans[-1][1] : found.start()].strip():
            spans[-1] = (spans[-1][0], found.end())
        else:
            spans.append(found.span())
    for start, end in spans:
        yield "", text[at:start]
        yield "name", text[start:end]
        at = end
    yield "", text[at:]


def _begins(text: str, at: int) -> bool:
    """Whether a sentence may begin here, so that a capital means nothing."""
    before = text[:at].rstrip()
    return not before or before[-1] in ".!?:;" or text[at : at + 2].strip() == "I"


def _is_plain(word: str) -> bool:
    small, plain = word.lower(), plain_words()
    if not small.isascii() and "’" not in small:
        return False
    stems = [small.removesuffix(ending) for ending in _ENDINGS if small.endswith(ending)]
    stems += [f"{stem}e" for stem in stems] + [stem[:-1] for stem in stems if stem[-2:-1] == stem[-1:]]
    return not plain.isdisjoint(stems)


@cache
def _desk() -> dict[str, list[str]]:
    """The training wordings of the desk's tasks, by name."""
    more = tomllib.loads(WORDINGS.read_text(encoding="utf-8"))
    return {name: [*task.wordings[:-1], *more.get(name, ())] for name, task in sorted(TASKS.items())}


@cache
def _wordings() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Every wording of the desk suite as a form, the longest first, so that a loose one does not take what fits
    another."""
    forms = []
    for task, of_task in _desk().items():
        for wording in of_task:
            parts = re.split(r"\{\w+\}", " ".join(wording.split()).rstrip(".!").casefold())
            forms.append((f"desk/{task}", "(?:.+?)".join(re.escape(part) for part in parts), len("".join(parts))))
    ordered = sorted(forms, key=lambda form: (-form[2], form[0], form[1]))
    return tuple((name, re.compile(form)) for name, form, _ in ordered)
