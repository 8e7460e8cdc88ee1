"""A kept run as it goes out to other people's programs: redacted, cut where it cannot be told, judged turn by turn.

A run goes out up to the first turn of which nothing was kept, or whose picture is missing: what follows would stand
without its beginning. A turn is good, and so to be learnt, when it was answered as it should be, every action in it
was allowed and went well, nobody said otherwise, and the run as a whole was good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent_core.actions import Action, Point, to_json
from agent_core.errors import StoreError
from agent_core.redaction import NAMES, token
from agent_core.step import Status, Step
from agent_core.traces import images
from agent_core.traces.outside import Outside
from agent_core.traces.reads import Traces
from agent_core.traces.rows import KeptRun, KeptTurn, Label

_SAID_AGAINST = ("deny", "instead", "wrong_step", "correction", "take_over")
_TOKENS = tuple(token(name) for name in NAMES)
Ending = Literal["success", "failure", ""]


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as it goes out: `name` is the hash of its pixels, its size in pixels."""

    name: str
    width: int
    height: int

    def pixel(self, point: Point) -> tuple[int, int]:
        """The pixel of the picture that holds the point."""
        return _pixel(point.x, self.width), _pixel(point.y, self.height)


@dataclass(frozen=True, slots=True)
class OutTurn:
    """A turn with the picture it began with. `after` has the picture after a step, by its number, if there is one.

    `wrong` has the numbers of steps that failed or that somebody spoke against.
    """

    kept: KeptTurn
    before: Picture
    after: dict[int, Picture]
    wrong: frozenset[int]
    good: bool


@dataclass(frozen=True, slots=True)
class OutRun:
    """A run that goes out. `score` is 0..1, None where nobody judged it; `whole` says that nothing of it was cut."""

    kept: KeptRun
    turns: tuple[OutTurn, ...]
    score: float | None
    whole: bool

    @property
    def ending(self) -> Ending:
        """How it went: by the judge or the person, else unknown."""
        return "" if self.score is None else "success" if self.score >= 1 else "failure"


KeepPicture = Callable[[str, bytes], None]


def out_runs(traces: Traces, run_ids: Sequence[str], keep: KeepPicture) -> Iterator[OutRun]:
    """The runs of these ids, or every ended one from the oldest on; `keep` gets the PNG file of each picture.

    Raises StoreError when there is no such run. Runs without consent are in no store, and are left out in any case.
    """
    ids = list(run_ids) or [kept.run.id for kept in reversed(traces.runs(limit=-1)) if kept.ended is not None]
    for run_id in ids:
        if traces.run(run_id).run.consent.strip():
            yield _out_run(traces, run_id, keep)


def picture_keeper(folder: Path) -> KeepPicture:
    """Keeps pictures as NAME.png in a folder."""

    def keep(name: str, data: bytes) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.png").write_bytes(data)

    return keep


def _out_run(traces: Traces, run_id: str, keep: KeepPicture) -> OutRun:
    outside = Outside(traces, run_id)
    labels = traces.labels(run_id)
    score = _score(labels)
    judged_good = score >= 1 if score is not None else outside.kept.status is Status.FINISHED
    known: dict[str, Picture | None] = {"": None}

    def picture(sha256: str) -> Picture | None:
        if sha256 not in known:
            known[sha256] = _picture(outside, sha256, keep)
        return known[sha256]

    turns: list[OutTurn] = []
    for turn in outside.turns:
        before = picture(turn.screenshot)
        if turn.withheld or before is None:
            break
        after = {n: found for n, name in turn.after.items() if (found := picture(name)) is not None}
        wrong = frozenset(step.n for step in turn.steps if not _went_well(step) or _is_against(step.n, labels))
        turns.append(OutTurn(turn, before, after, wrong, judged_good and not wrong and _is_example(turn)))
    return OutRun(outside.kept, tuple(turns), score, len(turns) == len(outside.turns))


def _picture(outside: Outside, sha256: str, keep: KeepPicture) -> Picture | None:
    """Hands on the picture as it may go out; None when it may not."""
    pixels = outside.picture(sha256)
    if pixels is None:
        return None
    name = images.hash_of(pixels)
    if outside.is_fit(sha256) and name != sha256:
        return None  # it was changed after it was kept
    keep(name, images.png_bytes(pixels))
    return Picture(name, pixels.width, pixels.height)


def _is_example(turn: KeptTurn) -> bool:
    """Whether its reply says what it should. A mark of what was taken out would be learnt as if it were words."""
    told = (text for step in turn.steps for text in _texts(step.action))
    return bool(turn.steps) and not turn.problems and not any(mark in text for text in told for mark in _TOKENS)


def require_some(count: int, data: str) -> None:
    """Raises StoreError with a sentence when nothing went out."""
    if not count:
        raise StoreError(f"There is no run in {data} that can go out in this form.")


def _went_well(step: Step) -> bool:
    return step.verdict.decision == "allow" and step.outcome is not None and step.outcome.ok


def _texts(action: Action) -> list[str]:
    values = to_json(action).values()
    return [
        text for value in values for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)
    ]


def _is_against(step: int, labels: Sequence[Label]) -> bool:
    """Whether somebody said that this step was wrong."""
    said = [label for label in labels if label.step == step]
    scored = any(label.kind in ("score", "thumb") and label.score is not None and label.score <= 0 for label in said)
    return scored or any(label.kind in _SAID_AGAINST for label in said)


def _score(labels: Sequence[Label]) -> float | None:
    """The newest word on the whole run: a judge's score, else a person's thumb as 1 or 0."""
    whole = [label for label in labels if label.step is None and label.score is not None]
    scores = [label.score for label in whole if label.kind == "score"]
    thumbs = [label.score for label in whole if label.kind == "thumb"]
    if thumbs and thumbs[-1] is not None and thumbs[-1] < 0:
        return 0.0  # a person's no outweighs a judge's yes
    if scores:
        return scores[-1]
    return 1.0 if thumbs else None


def _pixel(fraction: float, length: int) -> int:
    return min(int(fraction * length), length - 1)
