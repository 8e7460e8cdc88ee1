"""How often a judge is wrong, on runs whose outcome is known, with 95 % intervals (Wilson).

Two rates, for they cost differently: a false positive rewards what failed, a false negative only wastes a run. What a
judge leaves undecided counts in neither, and is told beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from training.evaluate import wilson
from training.judged_runs import JudgedRun
from training.solved import is_solved
from training.verdicts import Judge


@dataclass(frozen=True, slots=True)
class Rates:
    """How often a judge was wrong. Each rate is (share, how many, of how many, 95 % interval).

    `false_positive` is of the runs that failed and were decided on, `false_negative` of those that were solved and
    decided on, `undecided` of all.
    """

    judge: str
    false_positive: tuple[float, int, int, list[float]]
    false_negative: tuple[float, int, int, list[float]]
    undecided: tuple[float, int, int, list[float]]
    wrong: dict[str, str]

    def in_words(self) -> str:
        """A line for each rate, and where the errors were made."""
        rates = {"false positives": self.false_positive, "false negatives": self.false_negative}
        rates["undecided"] = self.undecided
        lines = [f"judge {self.judge}"]
        for name, (share, found, of, (low, high)) in rates.items():
            lines.append(f"{name:<16} {share:6.1%}  {found} of {of}  (95 % interval {low:.1%} to {high:.1%})")
        lines += [f"  {kind:<10} {told}" for kind, told in self.wrong.items()]
        return "\n".join(lines)


def measure(judge: Judge, labelled: Sequence[JudgedRun], progress: Callable[[str], None] | None = None) -> Rates:
    """Runs the judge over the labelled runs; `progress` is told of each."""
    pairs: list[tuple[JudgedRun, float | None]] = []
    for one in labelled:
        verdict = judge.judge(one.run, one.turns)
        pairs.append((one, verdict.score))
        if progress is not None:
            progress(f"{len(pairs)} of {len(labelled)}: {one.kind}, solved {one.solved}: {verdict.score}")
    bad = [score for one, score in pairs if not one.solved and score is not None]
    good = [score for one, score in pairs if one.solved and score is not None]
    wrong: dict[str, str] = {}
    for kind, of in sorted(Counter(one.kind for one in labelled).items()):
        mine = [(one.solved, score) for one, score in pairs if one.kind == kind]
        errors = sum(score is not None and is_solved(score) != solved for solved, score in mine)
        silent = sum(score is None for _, score in mine)
        wrong[kind] = f"{errors} wrong, {silent} undecided of {of}"
    return Rates(
        judge.name,
        _rate(sum(map(is_solved, bad)), len(bad)),
        _rate(sum(not is_solved(score) for score in good), len(good)),
        _rate(sum(score is None for _, score in pairs), len(pairs)),
        wrong,
    )


def _rate(found: int, of: int) -> tuple[float, int, int, list[float]]:
    return found / of if of else float("nan"), found, of, wilson(found, of)
