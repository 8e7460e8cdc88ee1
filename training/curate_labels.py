"""What persons, verifiers and judges said about a kept run: its value V(s), level 2 and level 3 of curation.

A verifier looked at the program itself and has the last word; then a person's thumb on the run; then a judge's score.
A run about which nobody said anything, and which came to its end, is worth nothing that is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_core.step import Status
from agent_core.traces.rows import KeptTurn, Label
from training.solved import is_solved

VERIFIER, PERSON = "verifier", "person"
# A run that ended so, and that nobody judged, did not do its task.
UNDONE = frozenset({Status.FAILED, Status.LIMIT, Status.REFUSED, Status.STOPPED})


@dataclass(frozen=True, slots=True)
class Value:
    """V(s) of a run: `good` is None where it is not known. `by` is verifier, person, judge, status, or nobody."""

    good: bool | None
    by: str


def value_of(labels: Sequence[Label], status: Status, threshold: float) -> Value:
    """The value of a run. A judge's score below `threshold` is not enough; one without a number said nothing."""
    scores = [label for label in labels if label.kind == "score" and label.step is None and label.score is not None]
    verified = [label.score for label in scores if label.who == VERIFIER]
    if verified:
        return Value(is_solved(verified[-1]), VERIFIER)
    thumbs = [label.score for label in labels if label.kind == "thumb" and label.step is None and label.score]
    if thumbs:
        return Value(thumbs[-1] > 0, PERSON)
    judged = [label.score for label in scores if label.score is not None]
    if judged:
        return Value(judged[-1] >= threshold, "judge")
    return Value(False, "status") if status in UNDONE else Value(None, "nobody")


@dataclass(frozen=True, slots=True)
class Said:
    """A person's word on single turns, by the turn's number.

    `cut` is the first turn that a review calls wrong, None without one. `better` holds the replies they would have
    given, `liked` their thumbs and answers: whether the turn was right. `taken` are turns after which they took over.
    `thumb` is their word on the whole run.
    """

    cut: int | None
    better: dict[int, str]
    liked: dict[int, bool]
    taken: frozenset[int]
    thumb: bool | None


def said_of(labels: Sequence[Label], turns: Sequence[KeptTurn]) -> Said:
    """What a person said; later words on a turn take the place of earlier ones."""
    turn_of = {step.n: turn.n for turn in turns for step in turn.steps}
    wrong: list[int] = []
    better: dict[int, str] = {}
    liked: dict[int, bool] = {}
    taken: set[int] = set()
    thumb = None
    for label in labels:
        turn = turn_of.get(label.step, 0) if label.step is not None else 0
        match label.kind:
            case "thumb" if label.score and label.step is None:
                thumb = label.score > 0
            case _ if not turn:
                continue
            case "thumb" if label.score:
                liked[turn] = label.score > 0
            case "allow":
                liked.setdefault(turn, True)  # of several actions in one reply a refused one is what counts
            case "deny" | "instead":
                liked[turn] = False
            case "wrong_step":
                wrong.append(turn)
                liked[turn] = False
            case "correction" if label.value:
                better[turn] = label.value
                liked[turn] = False
            case "take_over":
                taken.add(turn)
    return Said(min(wrong, default=None), better, liked, frozenset(taken), thumb)
