"""Judges an answer by a known one: the same after both are brought to one form, in numbers, letters and punctuation.

An answer may be a sentence around the known one. What hedges or denies ("5 or 6", "not 5") and what names other numbers
beside the right one is not taken for it: the judge then says that it cannot tell. No meaning is compared here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation

from agent_core.actions import Finished
from agent_core.step import Status
from agent_core.traces.rows import KeptRun, KeptTurn
from training.verdicts import Verdict

_SMALL_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
_NUMBER_WORDS = {word: str(n) for n, word in enumerate(_SMALL_NUMBERS.split())}
_ARTICLES = frozenset({"a", "an", "the"})
_HEDGES = frozenset(
    {"or", "not", "no", "maybe", "perhaps", "possibly", "either", "neither", "unknown", "unsure", "cannot"}
)
_GROUPED = re.compile(r"(?<![\w.])(\d{1,3}(?:[,' \u00a0\u202f]\d{3})+)(?![\d])")
_TOKEN = re.compile(r"[-+]?\d+(?:\.\d+)?|[^\W\d_]+|\d+", re.UNICODE)
_NEGATED = re.compile(r"n['’]t\b")


class Reference:
    """The Judge by known answers. `answers` gives those that are right, by a run's id or by its task."""

    name = "reference"

    def __init__(self, answers: Mapping[str, Sequence[str]]) -> None:
        self._answers = answers

    def judge(self, run: KeptRun, turns: Sequence[KeptTurn]) -> Verdict:
        known = self._answers.get(run.run.id) or self._answers.get(run.run.task)
        if not known:
            return Verdict(None, "No answer to this task is known.", self.name)
        said = answer_of(turns)
        if run.status is not Status.FINISHED or said is None:
            return Verdict(0.0, "The run ended without an answer.", self.name)
        words = {same_answer(said, one) for one in known}
        if True in words:
            return Verdict(1.0, f"The answer is {said!r}, as it should be.", self.name)
        if None in words:
            return Verdict(None, f"The answer {said!r} holds the known one and says more.", self.name)
        return Verdict(0.0, f"The answer is {said!r} and not {' or '.join(map(repr, known))}.", self.name)


def answer_of(turns: Sequence[KeptTurn]) -> str | None:
    """What the agent said at its end; None when it did not end by itself."""
    said = [step.action.answer for turn in turns for step in turn.steps if isinstance(step.action, Finished)]
    return said[-1] if said else None


def same_answer(said: str, known: str) -> bool | None:
    """Whether `said` gives the answer `known`; None where it holds it beside something that may take it back."""
    ours, theirs = normalised(said), normalised(known)
    if not theirs:
        return not ours
    if ours == theirs:
        return True
    if not any(ours[i : i + len(theirs)] == theirs for i in range(len(ours) - len(theirs) + 1)):
        return False
    wanted = set(theirs)
    hedged = any(word in _HEDGES and word not in wanted for word in ours) or _NEGATED.search(said.lower()) is not None
    others = [word for word in ours if _is_number(word) and word not in wanted]
    return None if hedged or (others and any(_is_number(word) for word in theirs)) else True


def normalised(text: str) -> tuple[str, ...]:
    """The words and numbers of a text: lower case, one way of writing a number, no punctuation, no articles."""
    plain = _GROUPED.sub(lambda m: re.sub(r"\D", "", m[1]), unicodedata.normalize("NFKC", text).casefold())
    words = [_NUMBER_WORDS.get(token, token) for token in _TOKEN.findall(plain)]
    return tuple(_one_number(word) for word in words if word not in _ARTICLES)


def _one_number(word: str) -> str:
    """7, 07, +7 and 7.00 are written alike; words stay as they are."""
    try:
        number = Decimal(word).normalize()
    except InvalidOperation:
        return word
    return "0" if number == 0 else f"{number:f}"


def _is_number(word: str) -> bool:
    return word.lstrip("-")[:1].isdigit()
