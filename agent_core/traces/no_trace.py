"""The recorder of a run that is not kept."""

from __future__ import annotations

from agent_core.step import Outcome, Run, Screenshot, Status, Step, Turn


class NoTrace:
    """The recorder of a run that is not kept: writes nothing."""

    def open(self) -> str:
        """There is no file, so there is nothing to say about it."""
        return ""

    def close(self) -> None:
        """Nothing is open."""

    def started(self, run: Run, shot: Screenshot | None) -> None:
        """Nothing is kept."""

    def replied(self, run: Run, turn: Turn) -> None:
        """Nothing is kept."""

    def decided(self, run: Run, turn: Turn, step: Step) -> None:
        """Nothing is kept."""

    def happened(self, run: Run, step: Step, outcome: Outcome, after: Screenshot | None) -> None:
        """Nothing is kept."""

    def labelled(self, run: Run, step: int | None, kind: str, text: str) -> None:
        """Nothing is kept."""

    def ended(self, run: Run, status: Status, text: str) -> None:
        """Nothing is kept."""
