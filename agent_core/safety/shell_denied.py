"""The short list of commands that are never run, found behind wrappers and inside of quoted scripts too.

What is missed here still asks: denying only spares a person from a question with one right answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from tree_sitter import Node

from agent_core.safety.shell_rules import DENIED, FETCHERS, INTERPRETERS, SHELLS, WHOLE, WRAPPERS
from agent_core.safety.shell_words import WORDS, rough_words, text_of, tree_of, walk, word_of

_DEEPEST = 3  # scripts within scripts
_FARTHEST = 30  # words of wrappers and their options before the command itself
_NEVER = "{} is never run by the agent."
_QUIET_DEVICES = re.compile(r"/dev/(null|zero|std(in|out|err)|tty|fd/\d+|tcp/.*|udp/.*)")


def why_denied(root: Node, depth: int = 0) -> str:
    """Why a command is never run; empty if it is not on the list."""
    commands = [node for node in walk(root) if node.type == "command"]
    for node in commands:
        for words in wrapped(rough_words(node)):
            if reason := _why_words_denied(words):
                return reason
        if depth < _DEEPEST and (script := _script(node)) and (reason := why_denied(tree_of(script), depth + 1)):
            return reason
    names = {_name(words) for node in commands for words in wrapped(rough_words(node))}
    if names & FETCHERS and names & INTERPRETERS:
        return "This runs what it fetches from the network unseen."
    return next(filter(None, map(_why_node_denied, walk(root))), "")


def wrapped(words: list[str]) -> Iterator[list[str]]:
    """The words, and behind a wrapper such as sudo or timeout whatever may be the command that it runs."""
    yield words
    if PurePosixPath(words[0]).name in WRAPPERS:
        for at in range(1, min(len(words), _FARTHEST)):
            yield words[at:]


def _name(words: list[str]) -> str:
    return PurePosixPath(words[0]).name or words[0]


def _why_words_denied(words: list[str]) -> str:
    program, arguments = _name(words), words[1:]
    if program in DENIED or program.startswith("mkfs."):
        return _NEVER.format(program)
    if program == "systemctl" and {"poweroff", "reboot", "halt", "kexec"} & set(arguments):
        return _NEVER.format("systemctl " + next(a for a in arguments if not a.startswith("-")))
    if program == "init" and arguments[:1] in (["0"], ["6"]):
        return _NEVER.format("init")
    recursive = any(re.match(r"-[a-zA-Z]*[rR]|--recursive", a) for a in arguments)
    targets = [a for a in arguments if not a.startswith("-")]
    if program in ("rm", "chmod", "chown") and recursive and any(_whole(a) for a in targets):
        return "This would change or delete a whole system or home folder."
    if program == "find" and "-delete" in arguments and targets and _whole(targets[0]) and len(targets) == 1:
        return "This would delete a whole system or home folder."
    if program == "dd" and any(a.startswith("of=/dev/") and not _QUIET_DEVICES.fullmatch(a[3:]) for a in arguments):
        return "This would overwrite a disk."
    if program in ("cp", "tee") and targets and _is_disk(targets[-1]):
        return "This would overwrite a disk."
    return ""


def _whole(path: str) -> bool:
    return re.sub("/+", "/", path).rstrip("/*.") in WHOLE and path not in (".", "..", "*", "./", "../")


def _is_disk(path: str) -> bool:
    return re.match(r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|mapper/|md|loop)", path) is not None


def _why_node_denied(node: Node) -> str:
    if node.type == "file_redirect" and any(_is_disk(text_of(c)) for c in node.children if c.type in WORDS):
        return "This would overwrite a disk."
    if node.type == "function_definition":
        name = text_of(node.children[0])
        calls = [n for n in walk(node) if n.type == "command" and rough_words(n)[0] == name]
        if len(calls) > 1 or (calls and "&" in text_of(node)):
            return "This starts itself over and over until the computer stands still."
    return ""


def _script(node: Node) -> str:
    """The script that `sh -c` and `eval` would run, as far as it is written out; empty without one."""
    texts = []
    for child in node.children:
        part = child.children[0] if child.type == "command_name" and child.children else child
        if part.type not in WORDS:
            continue
        word = word_of(part)
        texts.append(word.text if word is not None else text_of(part).strip("\"'"))
    for words in wrapped(texts or [""]):
        if _name(words) == "eval":
            return " ".join(words[1:])
        if _name(words) in SHELLS:
            at = next((i for i, word in enumerate(words[1:], 1) if re.fullmatch("-[a-zA-Z]*c", word)), None)
            if at is not None and at + 1 < len(words):
                return words[at + 1]
    return ""
