"""What a terminal printed, made fit to read: escape codes gone, overwritten lines resolved, length capped.

`Collected` keeps the beginning and the end of an output of any length in bounded memory; `clean` turns raw bytes into
plain text.
"""

from __future__ import annotations

import re

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|\x1b[P^_X][^\x1b]*(?:\x1b\\)?"  # device strings
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movement
    r"|\x1b[ -/]*[0-~]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BINARY_SHARE = 0.2  # more unprintable characters than this: not text


def clean(raw: bytes) -> str:
    """Plain text of what a terminal would show. Binary data becomes one line that says how much there was."""
    text = raw.decode("utf-8", errors="replace")
    text = _ESCAPES.sub("", text).replace("\r\n", "\n")
    odd = sum(char == "\ufffd" for char in text) + len(_CONTROL.findall(text.replace("\b", "")))
    if odd > 8 and odd > _BINARY_SHARE * len(text):
        return f"[{len(raw)} bytes of binary data, not shown]"
    return "\n".join(_CONTROL.sub("", _overwritten(line)).rstrip() for line in text.split("\n"))


def _overwritten(line: str) -> str:
    """A line after its carriage returns and backspaces: progress bars leave only their last state."""
    if "\r" not in line and "\b" not in line:
        return line
    shown: list[str] = []
    place = 0
    for char in line:
        if char == "\r":
            place = 0
        elif char == "\b":
            place = max(0, place - 1)
        else:
            shown[place : place + 1] = [char]
            place += 1
    return "".join(shown)


def capped(text: str, limit: int) -> str:
    """The text cut in the middle to about `limit` characters, with a line that says how much was left out."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit // 2], text[-(limit - limit // 2) :]
    return f"{head}\n[... {len(text) - limit} characters left out ...]\n{tail}"


class Collected:
    """The first and the last bytes of an output, at most `room` each; the middle is only counted."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def add(self, data: bytes) -> None:
        fits = self._room - len(self._head)
        self._head += data[:fits]
        self._tail += data[fits:]
        if len(self._tail) > 2 * self._room:  # trimmed seldom, so that adding stays cheap
            excess = len(self._tail) - self._room
            self._dropped += excess
            del self._tail[:excess]

    def text(self, limit: int) -> str:
        """The output as clean text of about `limit` characters, saying how much is missing."""
        if not self._dropped:
            return capped(clean(bytes(self._head + self._tail)), limit)
        head = clean(bytes(self._head))[: limit // 2]
        tail = clean(bytes(self._tail))[-(limit - limit // 2) :]
        missing = len(self._head) + self._dropped + len(self._tail) - len(head.encode()) - len(tail.encode())
        return f"{head}\n[... {missing} bytes left out ...]\n{tail}"

    def raw(self) -> bytes:
        """What is kept, unchanged."""
        return bytes(self._head + self._tail)
