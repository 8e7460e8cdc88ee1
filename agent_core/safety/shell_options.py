"""A program's arguments sorted by getopt's rules, and what several readers ask of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_core.safety.shell_places import why_asked
from agent_core.safety.shell_words import Word
from agent_core.step import Tier

Asked = tuple[Tier, str]


@dataclass(frozen=True, slots=True)
class Given:
    """Arguments sorted by getopt's rules: options by name (a letter or --name), their values, and operands."""

    options: tuple[str, ...]
    values: tuple[Word, ...]
    operands: tuple[Word, ...]


def sorted_out(arguments: Sequence[Word], letters: str, long: frozenset[str]) -> Given | str:
    """The arguments by getopt's rules, or the first option that is in neither list."""
    options: list[str] = []
    values: list[Word] = []
    operands: list[Word] = []
    rest = iter(arguments)
    for word in rest:
        text = word.text
        if text == "--":
            operands += rest
        elif text.startswith("--"):
            name = text.split("=", 1)[0]
            if name not in long:
                return name
            options.append(name)
            values.append(word)
        elif text.startswith("-") and len(text) > 1:
            for place, letter in enumerate(text[1:], 2):
                at = letters.find(letter)
                if at < 0 or letter == ":":
                    return f"-{letter}"
                options.append(letter)
                if letters[at + 1 : at + 2] == ":":
                    if len(text) > place:
                        values.append(Word(text[place:], word.loose[place:]))
                    elif letters[at + 1 : at + 3] != "::" and (value := next(rest, None)) is not None:
                        values.append(value)
                    break
        else:
            operands.append(word)
    return Given(tuple(options), tuple(values), tuple(operands))


def first_place(files: Sequence[Word], names_only: bool, folder: str | None) -> Asked | None:
    """The tier and reason of the first word that names a file in no allowed place."""
    reason = next(filter(None, (why_asked(word, names_only, folder) for word in files)), "")
    return (Tier.R2, reason) if reason else None


def may_become_option(arguments: Sequence[Word]) -> str:
    """A glob at the front of a word, before `--`: it can stand for a file whose name is an option."""
    for word in arguments:
        if word.text == "--":
            return ""
        if word.loose[:1] in ("*", "?", "["):
            return word.text
    return ""


def refused(argument: str, never: frozenset[str]) -> str | None:
    """The refused option in an argument: whole, shortened, or in a cluster of letters."""
    name = argument.split("=", 1)[0]
    if name.startswith("--") and len(name) > 2:
        return name if any(option.startswith(name) for option in never) else None
    if name.startswith("-"):
        return next((f"-{letter}" for letter in name[1:] if letter in never), None)
    return None
