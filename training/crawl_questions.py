"""Questions about one picture whose answers the program itself knows: states, values, counts, places, the title."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from training.crawl_screen import Seen, Widget
from training.crawl_words import NOUNS, called, neighbour, region, upper

Asked = tuple[str, str]
"""A question and its answer."""

TICKED = ("check", "switch", "radio")
FILLED = ("field", "choice", "slider", "spin")


def questions(seen: Seen, alone: list[Widget], rng: Random, count: int) -> list[Asked]:
    """So many different questions, or as many as there are. `alone` are the widgets that their names tell apart."""
    kinds: list[Callable[[Seen, list[Widget], Random], Iterator[Asked]]] = [
        _ticks, _values, _counts, _places, _focus, _title, _there,
    ]  # fmt: skip
    rng.shuffle(kinds)
    found: dict[str, str] = {}
    for kind in kinds:
        for question, answer in kind(seen, alone, rng):
            if len(found) < count:
                found.setdefault(question, answer)
    return list(found.items())


def _ticks(seen: Seen, alone: list[Widget], rng: Random) -> Iterator[Asked]:
    ticks = [w for w in alone if w.role in TICKED and w.on is not None]
    if ticks:
        one = rng.choice(ticks)
        yield f"Is {called(one)} on?", "Yes." if one.on else "No."
    boxes = [w for w in seen.widgets if w.role == "check" and w.name]
    if boxes:
        on = [w.name for w in boxes if w.on]
        yield "Which check boxes are ticked?", ", ".join(on) + "." if on else "None of them."


def _values(seen: Seen, alone: list[Widget], rng: Random) -> Iterator[Asked]:
    fields = [w for w in alone if w.role in FILLED]
    if fields:
        one = rng.choice(fields)
        yield f"What does {called(one)} hold?", one.value or "Nothing: it is empty."


def _counts(seen: Seen, alone: list[Widget], rng: Random) -> Iterator[Asked]:
    roles = sorted({w.role for w in seen.widgets if w.role not in ("text", "list item")})
    if roles:
        role = rng.choice(roles)
        count = sum(w.role == role for w in seen.widgets)
        yield f"How many {_plural(NOUNS[role])} can be seen?", f"{count}."


def _places(seen: Seen, alone: list[Widget], rng: Random) -> Iterator[Asked]:
    if alone:
        one = rng.choice(alone)
        beside = neighbour(seen, one)
        yield f"Where is {called(one)}?", f"At the {region(seen, one)}{', ' + beside if beside else ''}."


def _focus(seen: Seen, alone: list[Widget], rng: Random) -> Iterator[Asked]:
    focused = [w for w in seen.widgets if w.focused and w.name]
    if len(focused) == 1:
        yield "What has the keyboard focus?", f"{upper(called(focused[0]))}."


def _title(seen: Seen, alone: list[Widget], rng: Random) -> Iterator[Asked]:
    """Only where the title can be read in the picture."""
    if seen.title and any(w.name == seen.title for w in seen.widgets):
        yield "What is the title?", f"{seen.title}."


def _there(seen: Seen, alone: list[Widget], rng: Random) -> Iterator[Asked]:
    """Also about what is not there: a model that has only seen yes says yes."""
    names = {w.name for w in seen.widgets if w.role == "button"}
    missing = [name for name in ("Save", "Cancel", "Delete", "Print", "Upload", "Log out", "Help") if name not in names]
    if names and rng.random() < 0.5:
        yield f"Is there a button “{rng.choice(sorted(names))}”?", "Yes."
    elif missing:
        yield f"Is there a button “{rng.choice(missing)}”?", "No."


def _plural(noun: str) -> str:
    if noun.endswith("x"):
        return noun + "es"
    return f"{noun[:-1]}ies" if noun.endswith("y") else noun + ("es" if noun.endswith("ch") else "s")
