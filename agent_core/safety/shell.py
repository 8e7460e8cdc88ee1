"""What the gate makes of a shell command: parsed by the bash grammar, never by patterns over the raw string.

Allowed: one plain command from a list of programs that only read, on files of the task's folder, the user's folder or
public ones. Everything else asks: a second command in any form (a pipe between readers too, though at a tier that can
be granted for a run), a substitution, an expansion, a redirection to a file, an interpreter, a program that can start
another or print the environment, network, writes, and whatever the grammar does not know. A short list is denied.
Not covered: aliases and functions of the user's shell; see shell_places for links, shell_git for configurations.

    python -m agent_core.safety.shell "COMMAND"     prints JSON {verdict, tier, reason}; "-" reads one command a line
"""

from __future__ import annotations

import json
import sys
from pathlib import PurePosixPath

from tree_sitter import Node

from agent_core.safety.shell_denied import why_denied, wrapped
from agent_core.safety.shell_programs import why_more_than_reading
from agent_core.safety.shell_rules import CRITICAL, FILE_TOOLS
from agent_core.safety.shell_words import (
    LONGEST,
    WORDS,
    Word,
    command_words,
    odd_character,
    plain_words,
    rough_words,
    text_of,
    tree_of,
    walk,
    word_of,
)
from agent_core.step import Tier, Verdict

INTERRUPT = "C-c"

_CHAINS = frozenset({"program", "pipeline", "list", "|", "&&", "||", ";", "\n"})
# What a command that stays in its folder may be made of: no expansions, no groups, no assignments.
_HOMELY = _CHAINS | WORDS
_HOMELY |= {"command", "command_name", "string_content", '"', "redirected_statement", "file_redirect", ">", ">>", "<"}
_HOMELY |= {"file_descriptor", ">&", "&>", "heredoc_redirect", "heredoc_start", "heredoc_body", "heredoc_end", "<<"}


def classify(command: str, folder: str | None = None) -> Verdict:
    """Allow, ask or deny for a whole command text, with tier and reason. Total.

    `folder` is the task's folder as an absolute path: its files may be read under their full names as well.
    """
    if not command.strip():
        return Verdict("allow", Tier.R0, "An empty command only reads more output.")
    if command.strip() == INTERRUPT:
        return Verdict("allow", Tier.R0, "This interrupts the running command.")
    if len(command) > LONGEST:
        return Verdict("ask", Tier.R4, "The command is too long to be judged.")
    root = tree_of(command)
    if reason := why_denied(root):
        return Verdict("deny", Tier.R4, reason)
    if odd := odd_character(command):
        return Verdict("ask", Tier.R4, f"The command holds a character that cannot be seen or told apart: {odd}.")
    if (words := plain_words(command)) is not None:
        asked = why_more_than_reading(words, folder)
        if asked is None:
            return Verdict("allow", Tier.R1, f"{words[0].text} only reads.")
        if asked[0] is Tier.R2:
            return Verdict("ask", Tier.R2, asked[1])
        return _critical(root) or Verdict("ask", *asked)
    if verdict := _critical(root):
        return verdict
    if root.has_error:
        return Verdict("ask", Tier.R3, "The command cannot be read for certain.")
    if _only_readers(root, folder):
        return Verdict("ask", Tier.R2, "This starts several programs at once, each of which only reads.")
    return Verdict("ask", Tier.R3, "This is more than one plain command (it chains, expands or redirects).")


def stays_inside(command: str) -> bool:
    """Whether a command can only touch files under the folder it runs in, as far as its words tell.

    For a virtual screen's throw-away home: plain file tools with relative names; pipes, lists and redirections are
    fine, substitutions, interpreters, absolute or outward paths are not.
    """
    root = tree_of(command[: LONGEST + 1])
    if (
        len(command) > LONGEST
        or root.has_error
        or odd_character(command)
        or any(node.type not in _HOMELY for node in walk(root))
    ):
        return False
    nodes = [node for node in walk(root) if node.type in WORDS and node.parent and node.parent.type != "concatenation"]
    words = [word_of(node) for node in nodes]
    commands = [_own_words(node) for node in walk(root) if node.type == "command"]
    return (
        bool(commands)
        and all(parts and parts[0].bare and parts[0].text in FILE_TOOLS for parts in commands)
        and all(word is not None and not _leads_out(word) for word in words)
        and not any(parts[0].text == "sort" and any(w.text.startswith("--co") for w in parts) for parts in commands)
    )


def _own_words(node: Node) -> list[Word]:
    """A command's words without its redirections; empty if one cannot be read."""
    parts = [child.children[0] if child.type == "command_name" else child for child in node.children]
    words = [word_of(part) for part in parts if part.type in WORDS]
    return [word for word in words if word is not None] if None not in words else []


def _leads_out(word: Word) -> bool:
    text, parts = word.text, word.text.split("/")
    return (
        text.startswith(("/", "~", "-exec", "-delete"))
        or (text.startswith("-") and "/" in text)
        or "=/" in text
        or "~" in word.loose
        or ".." in parts
        or word.braces
        or (word.globs and any(part.startswith(".") and part != "." for part in parts))
    )


def _only_readers(root: Node, folder: str | None) -> bool:
    """Whether this is a chain of plain commands each of which would be allowed alone."""
    stack, commands = [root], []
    while stack:
        node = stack.pop()
        if node.type == "command":
            commands.append(command_words(node))
        elif node.type in _CHAINS:
            stack.extend(node.children)
        else:
            return False
    return all(words is not None and why_more_than_reading(words, folder) is None for words in commands)


def _critical(root: Node) -> Verdict | None:
    for node in walk(root):
        if node.type == "command":
            names = [PurePosixPath(words[0]).name for words in wrapped(rough_words(node)) if words[0]]
            if (name := next((n for n in names if n in CRITICAL), None)) is not None:
                return Verdict("ask", Tier.R4, f"{name} can change or remove things for good.")
        elif node.type == "file_redirect" and "/dev/tcp/" in text_of(node):
            return Verdict("ask", Tier.R4, "This talks to the network.")
    return None


def main() -> None:
    """Prints one JSON line per command."""
    given = sys.argv[1:]
    if len(given) != 1:
        sys.exit('usage: python -m agent_core.safety.shell "COMMAND", or - to read one command a line')
    commands = [line.rstrip("\n") for line in sys.stdin] if given[0] == "-" else given
    for command in commands:
        verdict = classify(command)
        print(json.dumps({"verdict": verdict.decision, "tier": verdict.tier.value, "reason": verdict.reason}))


if __name__ == "__main__":
    main()
