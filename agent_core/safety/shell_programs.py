"""What a plain command's program would do with its options and operands: nothing to say if it only reads.

The programs that take a language of their own (git, find, jq and so on) have a reader each; all others are rows of
the lists in shell_rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent_core.safety.shell_git import why_git_asked
from agent_core.safety.shell_languages import (
    why_find_asked,
    why_jq_asked,
    why_ps_asked,
    why_sed_asked,
    why_systemctl_asked,
    why_tar_asked,
    why_test_asked,
)
from agent_core.safety.shell_options import Asked, Given, first_place, may_become_option, refused, sorted_out
from agent_core.safety.shell_places import may_be_entered, why_asked, why_text_asked
from agent_core.safety.shell_rules import PHRASES, READERS, SAY_VERSION, Reader
from agent_core.safety.shell_words import Word
from agent_core.step import Tier

_OWN_RULES: dict[str, Callable[[list[Word], str | None], Asked | None]] = {
    "find": why_find_asked,
    "git": why_git_asked,
    "jq": why_jq_asked,
    "ps": why_ps_asked,
    "sed": why_sed_asked,
    "systemctl": why_systemctl_asked,
    "tar": why_tar_asked,
    "test": why_test_asked,
}


def why_more_than_reading(words: Sequence[Word], folder: str | None) -> Asked | None:
    """The tier and reason to ask about a plain command, None if it only reads what it may."""
    program, arguments = words[0].text, list(words[1:])
    if not words[0].bare or words[0].globs or words[0].braces:
        return Tier.R3, f"{program} is an unusual way to write a program's name."
    if (several := next((word.text for word in arguments if word.braces), None)) is not None:
        return Tier.R3, f"{several} stands for several words."
    if len(arguments) == 1 and program in SAY_VERSION.get(arguments[0].text, ()):
        return None
    if (phrase := _phrase(words)) is not None:
        return _why_phrase_asked(words, phrase, folder)
    if (own := _OWN_RULES.get(program)) is not None:
        return own(arguments, folder)
    if (reader := READERS.get(program)) is None:
        return Tier.R3, f"{program} is not on the list of programs that only read."
    return _why_reader_asked(program, reader, arguments, folder)


def _why_reader_asked(program: str, reader: Reader, arguments: list[Word], folder: str | None) -> Asked | None:
    if reader.options is None:
        if option := next(filter(None, (refused(word.text, reader.never) for word in arguments)), None):
            return Tier.R3, f"{program} {option} does more than read."
        given = Given((), (), tuple(arguments))
        files = [word for word in arguments if not word.text.startswith("-") or "/" in word.text or "=" in word.text]
    else:
        found = sorted_out(arguments, reader.options, reader.long)
        if isinstance(found, str):
            if reader.skip and found in ("-r", "-R", "--recursive"):
                return Tier.R2, f"{program} {found} reads every file below a folder, hidden ones too."
            return Tier.R3, f"{program} {found} is not known to only read."
        given = found
        skipped = 0 if {"e", "--regexp", "--files"} & set(given.options) else reader.skip
        files = [*given.operands[skipped:], *(() if reader.skip else given.values)]
        if reason := next(filter(None, map(why_text_asked, (*given.operands[:skipped], *given.values))), ""):
            return Tier.R3, reason
        if (reader.options or reader.skip) and (loose := may_become_option(arguments)):
            return Tier.R2, f"A file named like an option could slip in through {loose}; ./{loose} could not."
    operands = [w for w in given.operands if reader.options is not None or w.text == "-" or not w.text.startswith("-")]
    if len(operands) > reader.most:
        return Tier.R3, f"{program} with so many names does more than read."
    if program == "cd":
        return _why_entering_asked(operands, folder)
    if program == "date" and any(not word.text.startswith("+") for word in given.operands):
        return Tier.R3, "date with a time sets the clock."
    if reader.kind == "text":
        reason = next(filter(None, map(why_text_asked, arguments)), "")
        return (Tier.R3, reason) if reason else None
    return first_place(files, reader.kind == "names", folder)


def _why_entering_asked(operands: Sequence[Word], folder: str | None) -> Asked | None:
    if asked := first_place(operands, True, folder):
        return asked
    if any(word.globs or not may_be_entered(word.text, folder) for word in operands):
        return Tier.R2, "This leads out of the folders that commands may read in."
    return None


def _phrase(words: Sequence[Word]) -> tuple[str, ...] | None:
    texts = tuple(word.text for word in words)
    return next((texts[:n] for n in (2, 1) if texts[:n] in PHRASES), None)


def _why_phrase_asked(words: Sequence[Word], phrase: tuple[str, ...], folder: str | None) -> Asked | None:
    may_follow = PHRASES[phrase]
    for word in words[len(phrase) :]:
        if word.text in may_follow and word.text:
            continue
        if "" not in may_follow or word.text.startswith("-") or word.globs:
            return Tier.R3, f"{' '.join(phrase)} {word.text} is not known to only read."
        if reason := why_asked(word, False, folder):
            return Tier.R2, reason
    return None
