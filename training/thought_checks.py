"""What makes a thought unfit that was written by somebody who knew the action: it must be one that could come before.

It may name only what stands in the task, in the past or on the screen as words. Places are numbers that no agent can
think of before it acts; "the given action" is what only the writer knows. A thought that holds an action would be read
as one. Nothing is judged here of whether the thought is a good one.
"""

from __future__ import annotations

import re

from agent_core.dialects import uitars
from agent_core.dialects.elements import to_point
from training.replies import Parts

LONGEST = 240  # characters

_HINDSIGHT = re.compile(
    r"ground[- ]?truth|hindsight|annotat"
    r"|\b(?:given|known|provided|reference|expected|correct|next) (?:action|act|answer)\b"
    r"|\b(?:was|am|were|been) (?:told|given|instructed|asked to (?:write|think|explain))\b"
    r"|\bas (?:instructed|told|given)\b"
    r"|\bthe (?:act|action) (?:is|was) (?:to|given|known)\b|\bwhat is done next\b|\bthought that\b",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\bcoordinates?\b|\bpixels?\b|<point>|\bx ?= ?\d|\bposition \d|\(\d+ ?[,;]? ?\d+\)", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_QUOTED = re.compile(r"\"([^\"\n]+)\"|“([^”\n]+)”|‘([^’\n]+)’|`([^`\n]+)`|(?<![\w])'([^'\n]+)'(?!\w)")
_CAPITAL = re.compile(r"(?<![.!?:\"“‘`'\n] )(?<!^)(?<![\"“‘`'])\b[A-Z][\w-]+")
_PLAIN = frozenset({"i", "enter", "ctrl", "alt", "shift", "tab", "escape", "ok", "i'm", "i'll"})


def fault(thought: str, parts: Parts) -> str:
    """Why the thought cannot be used, in a few words that are counted; empty if it can."""
    if not thought.strip():
        return "empty"
    if len(thought) > LONGEST or "\n" in thought.strip():
        return "too long"
    if uitars.read(thought, to_point).actions:
        return "holds an action"
    if _PLACE.search(thought):
        return "names a place"
    if _HINDSIGHT.search(thought):
        return "knows the action"
    shown = _folded(parts.shown)
    numbers = set(_NUMBER.findall(shown))
    if any(number not in numbers for number in _NUMBER.findall(thought)):
        return "names a number that is not there"
    quoted = [_folded("".join(groups)).strip(" .,;:!?") for groups in _QUOTED.findall(thought)]
    if any(text not in shown for text in quoted):
        return "names what is not there"
    words = set(re.findall(r"[\w-]+", shown))
    named = [word.casefold() for word in _CAPITAL.findall(thought)]
    if any(word not in words and word not in _PLAIN for word in named):
        return "names what is not there"
    return ""


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
