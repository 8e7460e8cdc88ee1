"""What the gate makes of a shell command: parsed by the bash grammar, never by patterns over the raw string.

Covered: one plain command from a list of programs that only read, with plain words as arguments, passes. Everything
else asks: a second command in any form, a substitution, an expansion, a redirection to a file, an interpreter, a
program that can start another or print the environment, network, writes, and whatever the grammar does not know.
A short list is denied.
Not covered: what a program does with a file that it is allowed to read; aliases and functions of the user's shell.

    python -m agent_core.safety.shell "COMMAND"     prints JSON {verdict, tier, reason}; "-" reads one command a line
"""

from __future__ import annotations

import json
import posixpath
import re
import sys
from functools import cache
from pathlib import PurePosixPath

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from agent_core.step import Decision, Tier, Verdict

# Programs that only read, with the options that would make them do more.
READ_ONLY: dict[str, frozenset[str]] = {
    "basename": frozenset(),
    "cal": frozenset(),
    "cat": frozenset(),
    "cd": frozenset(),
    "cksum": frozenset(),
    "cmp": frozenset(),
    "cut": frozenset(),
    "date": frozenset({"s", "--set"}),
    "df": frozenset(),
    "diff": frozenset({"--output", "--from-file", "--to-file"}),
    "dirname": frozenset(),
    "du": frozenset(),
    "echo": frozenset(),
    "grep": frozenset({"r", "R", "f", "--recursive", "--dereference-recursive", "--directories", "--file", "d"}),
    "head": frozenset(),
    "id": frozenset(),
    "ls": frozenset(),
    "md5sum": frozenset(),
    "nproc": frozenset(),
    "pwd": frozenset(),
    "readlink": frozenset(),
    "realpath": frozenset(),
    "sha256sum": frozenset(),
    "stat": frozenset(),
    "tac": frozenset(),
    "tail": frozenset({"f", "F", "--follow", "--retry"}),
    "tr": frozenset(),
    "true": frozenset(),
    "uname": frozenset(),
    "uptime": frozenset(),
    "wc": frozenset(),
    "which": frozenset(),
    "whoami": frozenset(),
}
SECRET_PLACES = (
    "shadow",
    "id_",
    "environ",
    "keyrings",
    "credentials",
    "password",
    "secret",
    "token",
    "history",
    "Cookies",
    "hosts.yml",
    "kdbx",
    ".pem",
    ".key",
)
DENIED = frozenset({"mkfs", "shutdown", "reboot", "halt", "poweroff", "wipefs", "shred"})
CRITICAL = frozenset(
    {
        "sudo",
        "su",
        "doas",
        "pkexec",
        "dd",
        "fdisk",
        "parted",
        "rm",
        "chown",
        "crontab",
        "systemctl",
        "passwd",
        "useradd",
        "userdel",
        "mount",
        "umount",
        "kill",
        "killall",
        "pkill",
    }
)
FILE_TOOLS = frozenset(
    {
        "cat",
        "cd",
        "cp",
        "cut",
        "echo",
        "grep",
        "head",
        "ls",
        "mkdir",
        "mv",
        "pwd",
        "rm",
        "rmdir",
        "sort",
        "tail",
        "touch",
        "tr",
        "uniq",
        "wc",
    }
)
_WORDS = frozenset({"word", "string", "raw_string", "concatenation"})
_OUTWARD = frozenset({"command_substitution", "process_substitution", "simple_expansion", "expansion", "subshell"})
WHOLE = frozenset({"", "~", "$HOME", "/home", "/etc", "/usr", "/var"})
SHELLS = frozenset({"sh", "bash", "zsh", "dash", "fish", "ksh"})
_PLAIN = frozenset(
    {
        "program",
        "command",
        "command_name",
        "word",
        "string",
        "string_content",
        "raw_string",
        "number",
        "concatenation",
        '"',
        "comment",
    }
)


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def classify(command: str) -> Verdict:
    """Allow, ask or deny for a whole command text, with tier and reason. Total."""
    if not command.strip():
        return _verdict("allow", Tier.R0, "An empty command only reads more output.")
    if command.strip() == "C-c":
        return _verdict("allow", Tier.R0, "This interrupts the running command.")
    if any(ord(c) < 32 and c not in "\t\n" for c in command):
        return _verdict("ask", Tier.R4, "The command holds control characters.")
    root = _parser().parse(command.encode("utf-8", "surrogatepass")).root_node
    commands = [_words(node) for node in _walk(root) if node.type == "command"]
    for words in commands:
        if (reason := _denied(words)) is not None:
            return _verdict("deny", Tier.R4, reason)
    if _fetch_into_shell(commands):
        return _verdict("deny", Tier.R4, "This runs what it fetches from the network unseen.")
    if root.has_error:
        return _verdict("ask", Tier.R3, "The command cannot be read for certain.")
    programs = [_program(words) for words in commands]
    if (critical := next((p for p in programs if p in CRITICAL), None)) is not None:
        return _verdict("ask", Tier.R4, f"{critical} can change or remove things for good.")
    strange = next((node for node in _walk(root) if node.type not in _PLAIN), None)
    if strange is not None or len(commands) != 1:
        return _verdict("ask", Tier.R3, "This is more than one plain command (it chains, expands or redirects).")
    return _plain_command(commands[0])


def stays_inside(command: str) -> bool:
    """Whether a command can only touch files under the folder it runs in, as far as its words tell.

    For a virtual screen's throw-away home: plain file tools with relative names; pipes, lists and redirections are
    fine, substitutions, interpreters, absolute or outward paths are not.
    """
    root = _parser().parse(command.encode("utf-8", "surrogatepass")).root_node
    if root.has_error or any(node.type in _OUTWARD for node in _walk(root)):
        return False
    nodes = [node for node in _walk(root) if node.type == "command"]
    programs = [_words(node)[0] for node in nodes]
    words = [w for node in _walk(root) if node.type in _WORDS for w in [(node.text or b"").decode("utf-8", "replace")]]
    names = [word.strip("\"'") for word in words]
    return (
        bool(nodes)
        and all(p in FILE_TOOLS for p in programs)
        and not any(
            name.startswith(("/", "~", "-exec", "-delete")) or ".." in name.split("/") or "=/" in name for name in names
        )
    )


def tier_of(command: str) -> tuple[Tier, str]:
    """The tier and reason alone, for the risk table."""
    verdict = classify(command)
    return verdict.tier, verdict.reason


def _plain_command(words: list[str]) -> Verdict:
    program, arguments = words[0], words[1:]
    if program not in READ_ONLY:
        return _verdict("ask", Tier.R3, f"{program} is not on the list of programs that only read.")
    for argument in arguments:
        if (option := _does_more(argument, READ_ONLY[program])) is not None:
            return _verdict("ask", Tier.R3, f"{program} {option} does more than read.")
        if program == "date" and argument[:1] not in ("-", "+"):
            return _verdict("ask", Tier.R3, "date with a time sets the clock.")
        if program != "echo" and (reason := _may_be_secret(program, argument)):
            return _verdict("ask", Tier.R2, reason)
    return _verdict("allow", Tier.R1, f"{program} only reads.")


def _does_more(argument: str, options: frozenset[str]) -> str | None:
    """The option in `argument` that makes a program do more than read: whole, shortened, or in a cluster."""
    name = argument.split("=", 1)[0]
    if name.startswith("--") and len(name) > 2:
        return name if any(option.startswith(name) for option in options) else None
    if name.startswith("-"):
        return next((f"-{letter}" for letter in name[1:] if letter in options), None)
    return None


def _may_be_secret(program: str, argument: str) -> str:
    """Why a word may name something that is not for everybody; empty if nothing speaks for it."""
    path = posixpath.normpath(re.sub("/+", "/", argument.split("=", 1)[-1]))
    parts = path.split("/")
    if path.startswith(("/proc", "/dev", "/sys", "/root", "/etc/ssl")) or (".." in parts and argument.startswith("/")):
        return f"{argument} may hold something secret."
    if any(part.startswith(".") and part not in (".", "..") for part in parts):
        return f"{argument} is hidden and may hold something secret."
    if any(place in argument for place in SECRET_PLACES) or parts.count("..") > 2:
        return f"{argument} may hold something secret."
    if argument.startswith("~") and not argument.startswith("~/") and argument != "~":
        return f"{argument} is somebody else's folder."
    if program not in ("ls", "du", "wc") and any(sign in argument for sign in "*?[{"):
        return f"{argument} may stand for files that hold something secret."
    if any(sign in argument for sign in "*?[{") and ("/" in argument or argument.startswith(".")):
        return f"{argument} may stand for files that hold something secret."
    return ""


def _denied(words: list[str]) -> str | None:
    program = _program(words)
    if program in DENIED or program.startswith("mkfs."):
        return f"{program} is never run by the agent."
    arguments = [a for a in words[1:] if not a.startswith("-")]
    recursive = any(a.startswith("-") and "r" in a.lower() for a in words[1:])
    if program == "rm" and recursive and any(a.rstrip("/*") in WHOLE for a in arguments):
        return "This would delete a whole system or home folder."
    if program == "dd" and any(a.startswith("of=/dev/") for a in words[1:]):
        return "This would overwrite a disk."
    return None


def _fetch_into_shell(commands: list[list[str]]) -> bool:
    programs = [_program(words) for words in commands]
    return bool({"curl", "wget"} & set(programs)) and any(p in SHELLS for p in programs)


def _program(words: list[str]) -> str:
    """The program's own name, without its folder and behind sudo and its kin."""
    rest = list(words)
    while rest and (
        PurePosixPath(rest[0]).name in ("sudo", "doas", "command", "exec", "nohup", "time", "env") and len(rest) > 1
    ):
        if PurePosixPath(rest[0]).name in ("sudo", "doas") and PurePosixPath(rest[1]).name not in DENIED | {"rm", "dd"}:
            break
        rest = rest[1:]
    return PurePosixPath(rest[0]).name if rest else ""


def _words(node: Node) -> list[str]:
    """A command's words with quotes taken off; what cannot be resolved stays as written."""
    out = []
    for child in node.children:
        if child.type in (
            "command_name",
            "word",
            "string",
            "raw_string",
            "concatenation",
            "number",
            "simple_expansion",
        ):
            text = (child.text or b"").decode("utf-8", "replace")
            out.append(text.replace("\\", "").replace('"', "").replace("'", ""))
    return out or [""]


def _walk(node: Node) -> list[Node]:
    out, stack = [], [node]
    while stack:
        current = stack.pop()
        out.append(current)
        stack.extend(reversed(current.children))
    return out


def _verdict(decision: Decision, tier: Tier, reason: str) -> Verdict:
    return Verdict(decision, tier, reason)


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
