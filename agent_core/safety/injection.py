"""Text on the screen that tries to give orders: to an assistant, or to whoever will run a command. Cheap and pure.

Covered: instructions addressed to an assistant, "run this command", commands that fetch and run or delete, windows and
pages that imitate the system or Deskhand itself, in English and Chinese, also where letters were disguised; and text
that was read from the screen and now is to be typed or run.
Not covered: orders put as ordinary prose ("the next step is to open the invoice"), pictures, other languages. Finding
nothing is no proof; the tiers and the approvals hold without it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from agent_core.actions import Action, Terminal, Type
from agent_core.safety.orders import ANYWHERE, ON_PAGES
from agent_core.safety.plain import plain, quote, squeezed, unmasked
from agent_core.safety.windows import at_prompt, is_terminal, reads_as_terminal
from agent_core.secret_rules import looks_random
from agent_core.step import Box, Element, Screenshot

_CHINESE = re.compile(r"[\u3400-\u9fff]")
_ANYWHERE = tuple((kind, needs, re.compile(pattern)) for kind, needs, pattern in ANYWHERE)
_ON_PAGES = tuple((kind, needs, re.compile(pattern)) for kind, needs, pattern in ON_PAGES)
_IN_CHINESE = frozenset(pattern for *_, pattern in _ANYWHERE + _ON_PAGES if _CHINESE.search(pattern.pattern))

SHORTEST = 8  # characters: less can stand on a screen by chance
LONGEST = 20_000  # characters of a screen that are looked at
_URL = re.compile(
    r"\b(?:https?|ftp|file|javascript|data):|\bwww\."
    r"|\b[\w-]+\.(?:com|net|org|io|cn|ru|top|xyz|info|dev|app|zip|sh)\b(?:/|$)"
)
_COMMAND_WORD = re.compile(
    r"^\W*(?:sudo|curl|wget|bash|sh|zsh|rm|mv|cp|dd|chmod|chown|python\d?|pip\d?|perl|ruby|node|npm|npx|git|ssh|scp|nc"
    r"|apt|apt-get|brew|dnf|yum|docker|kill|export|source|eval|powershell(?:\.exe)?|cmd(?:\.exe)?|mshta|certutil|reg"
    r"|cat|echo|net|start|iex|irm|iwr|invoke-\w+|set-\w+|new-\w+|systemctl|crontab|base64|tar|mkdir|touch|open"
    r"|xdg-open)(?: |$)"
)
_NOWHERE = Box(0, 0, 0, 0)
_SHELL_SIGNS = re.compile(r"[|;&`]|\$\(|>>?|<\(| --?[a-z]")


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What was found. `kind`: an "order" to an assistant, a "command" to run, "code", or a "fake" dialog. `text` is a
    short quotation of it."""

    kind: str
    text: str


def suspicions(elements: Sequence[Element], window: str, task: str) -> tuple[Suspicion, ...]:
    """What on the screen reads like an order. Text that the task itself contains is not suspicious.

    Commands in a terminal window stand there because somebody works in it: there only orders to an assistant count.
    """
    text = _screen_text(tuple(elements))
    found: dict[str, Suspicion] = {}
    in_terminal = reads_as_terminal(window, elements)
    own = squeezed(task)
    chinese = not text.isascii() and _CHINESE.search(text) is not None
    for kind, needs, pattern in _ANYWHERE if in_terminal else _ANYWHERE + _ON_PAGES:
        if (needs and needs not in text) or (in_terminal and kind in ("code", "command")):
            continue
        if not chinese and pattern in _IN_CHINESE:
            continue
        for match in pattern.finditer(text):
            words = match[0].strip()
            if squeezed(words) not in own:
                found.setdefault(words, Suspicion(kind, quote(words, 80)))
    return tuple(found.values())


def orders_in(output: str, task: str) -> tuple[Suspicion, ...]:
    """The same for what a command printed. There too only orders to an assistant count, and false claims."""
    lines = tuple(Element("text", line, _NOWHERE) for line in output.split("\n") if line.strip())
    return suspicions(lines, "terminal", task)


def taken_from_screen(action: Action, shot: Screenshot, task: str) -> str:
    """The text of a Type or Terminal action that stands on the screen, not in the task, and is a command, an address
    or a password by its looks: then whoever wrote the screen wrote the action. Empty otherwise."""
    match action:
        case Type(text) | Terminal(text):
            pass
        case _:
            return ""
    in_terminal = is_terminal(shot)
    own = squeezed(task)
    seen = squeezed(" ".join(e.text + " " + e.value for e in shot.elements if not (in_terminal and at_prompt(e.text))))
    for line in text.split("\n"):
        words = squeezed(line)
        if len(words) >= SHORTEST and words in seen and words not in own and _weighs(line):
            return quote(line, 80)
    return ""


def _weighs(line: str) -> bool:
    """Whether a line looks like a command, an address or something secret, rather than like prose or a name."""
    words = plain(line)
    if _URL.search(words) or _COMMAND_WORD.match(words) or _SHELL_SIGNS.search(words):
        return True
    return any(looks_random(word) for word in line.split() if len(word) >= SHORTEST)


@lru_cache(maxsize=32)
def _screen_text(elements: tuple[Element, ...]) -> str:
    """What can be read, as one plain text in reading order: an order broken over two lines is still one."""
    said = " \n ".join(part for e in elements for part in (e.text, e.value) if part)[:LONGEST]
    lines = [unmasked(line) for line in said.split(" \n ")]
    return " ".join(line for line in lines if line)
