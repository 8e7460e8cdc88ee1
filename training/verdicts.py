"""What a judge says of a run, and what a judge is: the one thing that the three kinds of judges share.

A judge reads what was kept of a run that has ended. It may say that it cannot tell, and then there is no reward: a
reward that was guessed teaches guessing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_core.traces.rows import KeptRun, KeptTurn


@dataclass(frozen=True, slots=True)
class Verdict:
    """The word on a whole run. `score` is 1 for done and 0 or less for not done; None for "could not tell"."""

    score: float | None
    reason: str
    who: str


class Judge(Protocol):
    """`name` is what stands behind "judge:" in a label."""

    name: str

    def judge(self, run: KeptRun, turns: Sequence[KeptTurn]) -> Verdict:
        """The word on one run. Raises ModelError when a model that judges fails; never for what stands in the run."""
