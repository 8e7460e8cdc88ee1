"""The five patterns of thought that UI-TARS (2501.12326, 4.3) asks for: how each is asked for, and which a thought has.

There are five in the paper's list and figure, whatever summaries say. A thought can have several, or none: they are
told by the words that mark them in English, which is coarse, and good for comparing sets of thoughts and for no more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Literal, get_args

from agent_core.actions import Action, Finished

Pattern = Literal["decomposition", "consistency", "milestone", "trial_and_error", "reflection"]
PATTERNS: tuple[Pattern, ...] = get_args(Pattern)

ASKED: dict[Pattern, str] = {
    "decomposition": "Say which parts the task has, and that you begin with the first.",
    "consistency": "Say what the task asks for, what is done of it already and what still has to be done.",
    "milestone": "Say what has now been reached, and what follows from that.",
    "trial_and_error": "Say that you are not sure, what you try, and what you expect to see.",
    "reflection": "Say what went wrong in the last step, and how you put it right.",
}

_MARKED: tuple[tuple[Pattern, str], ...] = (
    (
        "decomposition",
        r"\bfirst\b.*\b(?:then|next|after|second|finally)\b|\bbegin (?:with|by)\b|\bstart (?:with|by)\b"
        r"|\b(?:two|three|four|five|several|\d) (?:steps|parts|things)\b|\bstep by step\b"
        r"|\bbreak (?:it|this|the task)\b",
    ),
    (
        "consistency",
        r"\bstill (?:has|have|need|needs|missing|to)\b|\bremain(?:s|ing)?\b|\bleft to\b|\bso far\b|\balready\b"
        r"|\bthe task (?:asks|says|wants|is to|requires)\b|\bthe (?:goal|aim) is\b|\bas asked\b",
    ),
    (
        "milestone",
        r"\b(?:is|are) (?:now )?(?:done|completed?|finished|filled|saved|set|open|ticked|selected|entered|reached|in)"
        r"\b"
        r"|\bhas been\b|\bhave been\b|\bnow that\b|\bsuccessfully\b|\ball (?:is|are) set\b",
    ),
    (
        "trial_and_error",
        r"\btry(?:ing)?\b|\bmaybe\b|\bperhaps\b|\bmight\b|\bsee (?:if|whether|what)\b|\bnot sure\b|\bunsure\b"
        r"|\banother way\b|\blook around\b|\bfind out\b",
    ),
    (
        "reflection",
        r"\bwrong\b|\bmistakes?\b|\bshould(?: not)? have\b|\bshouldn['’]t have\b|\bfailed\b|\bdid(?: not|n['’]t)\b"
        r"|\bnothing changed\b|\bundo\b|\bput (?:it|this|that) right\b|\bcorrect (?:it|this|that)\b|\bincorrect\b",
    ),
)
_MARKS = {name: re.compile(marks, re.IGNORECASE) for name, marks in _MARKED}


def patterns_in(thought: str) -> frozenset[Pattern]:
    """The patterns that a thought has."""
    return frozenset(name for name, marks in _MARKS.items() if marks.search(thought))


def distribution(thoughts: Iterable[str]) -> dict[str, float]:
    """The share of thoughts that have each pattern, and of those that have "none"; empty without a thought."""
    counts: Counter[str] = Counter()
    total = 0
    for thought in thoughts:
        total += 1
        counts.update(patterns_in(thought) or ("none",))
    return {name: counts[name] / total for name in (*PATTERNS, "none")} if total else {}


def wanted(turn: int, past: Iterable[str], actions: Iterable[Action]) -> Pattern:
    """The pattern that fits a place in a run: its `turn` from 1, the lines of its past, and what is done now."""
    last = [*past][-1:]
    if last and last[0].endswith("Nothing changed."):
        return "trial_and_error"
    if last and re.match(r"(?:\d+ )?(?:It failed|That was wrong)", last[0]):
        return "reflection"
    if any(isinstance(action, Finished) for action in actions):
        return "milestone"
    return "decomposition" if turn == 1 else "consistency"
