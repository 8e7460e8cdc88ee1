"""What a simple shell command does, in the words by which a person would ask for it.

Only commands whose whole effect is in their words: one file tool with names below the folder, or programs that only
read whose output goes into one named file. Everything else is nothing that a request can have named.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_core.safety import shell
from agent_core.safety.shell_words import ParsedCommand, parts_of, text_of, tree_of, walk, word_of

_MAKES = r"\b(?:creat\w+|makes?|making|made|adds?|adding|added|set up)\b|创建|新建|建立|建"
_VERBS: dict[str, re.Pattern[str]] = {
    "mkdir": re.compile(_MAKES),
    "touch": re.compile(_MAKES),
    "mv": re.compile(
        r"\b(?:moves?|moving|moved|rename[sd]?|renaming|put|bring|transfer|shift|give|change[sd]?|call|called|named?)\b"
        r"|移动|移到|重命名|改名|放到|放进|改成|命名"
    ),
    "cp": re.compile(
        r"\b(?:copy|copies|copied|copying|duplicate|back ?up|clone"
        r"|(?:make|save|create|want|need|keep) (?:me )?(?:a|another) (?:copy|duplicate))\b"
        r"|复制|拷贝|备份"
    ),
    "rm": re.compile(
        r"\b(?:deletes?|deleting|deleted|removes?|removing|removed|erase|get rid of|throw (?:\S+ ){0,6}?away)\b"
        r"|删除|删掉|移除|去掉"
    ),
}
_VERBS["rmdir"] = _VERBS["rm"]
_WRITES = re.compile(
    r"\b(?:write|writes|writing|written|save|saves|saving|saved|put|store|stored|append|appends|appended|add|adds|added"
    r"|note|record|list|create|creates|created|make|makes|count|export|output|keep|collect|enter|fill|log|insert|inserted"
    r"|say|says|contain|get|attach)\b|写|保存|存|追加|添加|记录|列出|导出|统计|创建|新建"
)
_OPTIONS = {
    "mkdir": {"-p", "-v", "--parents"},
    "mv": {"-n", "-i", "-v"},
    "cp": {"-n", "-i", "-v", "-r"},
    "rm": {"-i", "-v"},
}
_READERS = ("ls", "wc", "cat", "echo", "sort", "uniq", "head", "tail", "grep", "cut", "tr", "date", "printf", "find")


@dataclass(frozen=True, slots=True)
class AskedCommand:
    """`verb` is what a request says for it; `names` are the files and folders that the request has to name."""

    verb: re.Pattern[str]
    names: tuple[str, ...]


def asked_command(command: str) -> AskedCommand | None:
    """What a command would be called in a request; None if it does more than a request can name."""
    parts = parts_of(command)
    if parts is not None:
        return _file_tool(parts)
    return _written(command)


def _file_tool(parts: ParsedCommand) -> AskedCommand | None:
    verb = _VERBS.get(parts.program)
    if verb is None or parts.expands or not parts.paths or not set(parts.options) <= _OPTIONS.get(parts.program, set()):
        return None
    names = [name for path in parts.paths if (name := _names(path)) is not None]
    if len(names) < len(parts.paths):
        return None
    return AskedCommand(verb, tuple(part for name in names for part in name))


def _written(command: str) -> AskedCommand | None:
    """Programs that only read, alone or joined by pipes, with their output in one file."""
    root = tree_of(command.strip())
    if root.has_error or len(root.children) != 1 or root.children[0].type != "redirected_statement":
        return None
    body, *redirects = root.children[0].children
    if len(redirects) != 1 or redirects[0].type != "file_redirect" or len(redirects[0].children) != 2:
        return None
    sign, target = redirects[0].children
    name = word_of(target)
    if text_of(sign) not in (">", ">>") or name is None or name.globs or name.braces or "~" in name.loose:
        return None
    commands = body.children[::2] if body.type == "pipeline" else [body]
    if body.type == "pipeline" and any(text_of(joint) != "|" for joint in body.children[1::2]):
        return None
    for one in commands:
        parts = parts_of(text_of(one))
        if (
            parts is None
            or parts.expands
            or parts.program not in _READERS
            or any(node.type == "file_redirect" for node in walk(one))
        ):
            return None
        if shell.classify(text_of(one)).decision != "allow":
            return None
    names = _names(name.text)
    return AskedCommand(_WRITES, names) if names else None


def _names(path: str) -> tuple[str, ...] | None:
    """The names in a path below the folder; None for a path that leads out of it."""
    if path.startswith(("/", "~")) or "\\" in path:
        return None
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    return None if not parts or ".." in parts else parts
