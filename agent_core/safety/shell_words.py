"""A command's words as the shell would hand them to a program, read from the tree of the bash grammar.

A word keeps which of its characters stood outside of quotes, because only those can still turn into something else
(a glob, a home folder, a list in braces). A command counts as plain only if two readers that know nothing of each
other, the grammar and Python's shlex, split it into the same words.
Not covered: what words mean to a program; that is in shell_programs and shell_places.
"""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

QUOTED = "\0"  # stands in `Word.loose` for a character that cannot turn into anything else
LONGEST = 4000  # characters; nobody types more to look at something
WORDS = frozenset({"word", "number", "string", "raw_string", "concatenation"})

_ALWAYS_SPECIAL = frozenset("$`;&|<>()\"'\\\n")
# Redirections that neither read nor write anything, blanks taken out.
_SILENT = frozenset(
    {"2>/dev/null", ">/dev/null", "1>/dev/null", "&>/dev/null", "2>>/dev/null", ">>/dev/null", "2>&1", "</dev/null"}
)


@dataclass(frozen=True, slots=True)
class Word:
    """`text` is the word with its quotes taken off; `loose` the same with QUOTED for each quoted character.

    `bare` says that it was written without quotes and backslashes.
    """

    text: str
    loose: str
    bare: bool = False

    @property
    def globs(self) -> bool:
        return any(sign in self.loose for sign in "*?[")

    @property
    def braces(self) -> bool:
        return "{" in self.loose or "}" in self.loose


@dataclass(frozen=True, slots=True)
class ParsedCommand:
    """One plain command: `words` is everything behind the program, `options` what starts with a dash, `paths` the
    rest (what stands behind `--` included). `expands` says that a word holds an unquoted `~` or glob, so that it
    stands for more than its letters.
    """

    program: str
    words: tuple[str, ...]
    options: tuple[str, ...]
    paths: tuple[str, ...]
    expands: bool


def listed(names: str) -> frozenset[str]:
    """A list written as one text, names between blanks."""
    return frozenset(names.split())


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def tree_of(command: str) -> Node:
    """The root of the command's syntax tree. Total."""
    return _parser().parse(command.encode("utf-8", "surrogatepass")).root_node


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, in the order of the text."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))


def text_of(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def odd_character(command: str) -> str:
    """The name of the first character that a person cannot see or cannot tell apart; empty without one."""
    for char in command:
        kind = unicodedata.category(char)
        if char in " \n\t" or kind[0] in "LNPSM":
            continue
        return unicodedata.name(char, f"U+{ord(char):04X}")
    return ""


def plain_words(command: str) -> list[Word] | None:
    """The words of exactly one command that chains, expands, assigns and redirects nothing; None for all else.

    Output thrown away (`2>/dev/null`, `2>&1`) is no redirection in this sense.
    """
    if len(command) > LONGEST or odd_character(command):
        return None
    root = tree_of(command.strip(" \n\t"))
    if root.has_error or len(root.children) != 1 or not _gaps_are_blank(root):
        return None
    node = root.children[0]
    if node.type == "redirected_statement":
        body, *redirects = node.children
        if any("".join(text_of(r).split()) not in _SILENT for r in redirects):
            return None
        node = body
    return command_words(node)


def command_words(node: Node) -> list[Word] | None:
    """The words of one `command` node, None if any part of it is more than a word or the two readers differ."""
    if node.type != "command":
        return None
    words = []
    for child in node.children:
        part = child.children[0] if child.type == "command_name" and child.children else child
        word = word_of(part)
        if word is None:
            return None
        words.append(word)
    try:
        second_opinion = shlex.split(text_of(node), comments=False, posix=True)
    except ValueError:
        return None
    return words if words and [word.text for word in words] == second_opinion else None


def parts_of(command: str) -> ParsedCommand | None:
    """The parts of one plain command; None if it chains, expands, redirects, or cannot be read for certain."""
    words = plain_words(command)
    if words is None or any(word.braces for word in words) or not words[0].bare:
        return None
    options: list[str] = []
    paths: list[str] = []
    only_paths = False
    for word in words[1:]:
        if word.text == "--" and not only_paths:
            only_paths = True
        elif word.text.startswith("-") and len(word.text) > 1 and not only_paths:
            options.append(word.text)
        else:
            paths.append(word.text)
    return ParsedCommand(
        program=words[0].text,
        words=tuple(word.text for word in words[1:]),
        options=tuple(options),
        paths=tuple(paths),
        expands=any(word.globs or "~" in word.loose for word in words),
    )


def word_of(node: Node) -> Word | None:
    """A word node without its quotes; None if it holds an expansion, a substitution or anything else that acts."""
    match node.type:
        case "word" | "number":
            return _unquoted(text_of(node)) if not node.children else None
        case "raw_string":
            text = text_of(node)[1:-1]
            return Word(text, QUOTED * len(text))
        case "string":
            return _in_double_quotes(node)
        case "concatenation":
            parts = [word_of(child) for child in node.children]
            if any(part is None for part in parts):
                return None
            return Word("".join(p.text for p in parts if p), "".join(p.loose for p in parts if p))
        case _:
            return None


def rough_words(node: Node) -> list[str]:
    """A command's words with quotes taken off as well as can be, for what is no plain command."""
    out = []
    for child in node.children:
        if child.type in WORDS | {"command_name", "simple_expansion", "expansion", "ansi_c_string"}:
            out.append(text_of(child).replace("\\", "").replace('"', "").replace("'", ""))
    return out or [""]


def _unquoted(raw: str) -> Word | None:
    text, loose = "", ""
    signs = iter(raw)
    for sign in signs:
        if sign == "\\":
            following = next(signs, "\n")
            if following == "\n":  # a line that goes on: two readers of the same text may differ here
                return None
            text, loose = text + following, loose + QUOTED
        elif sign in _ALWAYS_SPECIAL or (sign == "#" and not text):
            return None
        else:
            text, loose = text + sign, loose + sign
    return Word(text, loose, bare="\\" not in raw)


def _in_double_quotes(node: Node) -> Word | None:
    if any(child.type not in ('"', "string_content") for child in node.children):
        return None
    text, loose = "", ""
    signs = iter(text_of(node)[1:-1])
    for sign in signs:
        if sign == "\\":
            following = next(signs, "")
            if following == "\n":
                return None
            kept = following if following in ("\\", '"') else sign + following
            if following in ("$", "`"):  # the shell takes the backslash off, shlex leaves it: not plain
                return None
            text, loose = text + kept, loose + QUOTED * len(kept)
        elif sign in "$`":
            return None
        else:
            # An exclamation mark calls up old commands in an interactive shell even between double quotes.
            text, loose = text + sign, loose + (sign if sign == "!" else QUOTED)
    return Word(text, loose)


def _gaps_are_blank(root: Node) -> bool:
    """Whether the tree accounts for every byte of the text but blanks."""
    source = root.text or b""
    covered = bytearray(len(source))
    for node in walk(root):
        if not node.children or node.type == "string":  # blanks between double quotes belong to no leaf
            start, end = node.start_byte - root.start_byte, node.end_byte - root.start_byte
            covered[start:end] = b"\1" * (end - start)
    return all(seen or byte in b" \t" for seen, byte in zip(covered, source, strict=True))
