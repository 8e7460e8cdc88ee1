"""A kept run as frames to scrub through: one a step, and one for each turn that did nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtGui import QImage

from agent_core.actions import Drag, Point, target_of
from agent_core.step import Screenshot, Step
from agent_core.traces.images import Pixels
from agent_core.traces.rows import KeptTurn, Label
from app import words
from app.text import one_line


@dataclass(frozen=True, slots=True)
class Frame:
    """One place in the run. `step` is None for a turn without an action."""

    turn: KeptTurn
    step: Step | None

    @property
    def marks(self) -> tuple[Point, ...]:
        """Where it acted; start and end of a drag."""
        if self.step is None:
            return ()
        if isinstance(self.step.action, Drag):
            return (self.step.action.start, self.step.action.end)
        at = target_of(self.step.action)
        return () if at is None else (at,)

    @property
    def after(self) -> str:
        """The hash of the picture after the step, empty if none was kept."""
        return self.turn.after.get(self.step.n, "") if self.step is not None else ""


def frames_of(turns: Sequence[KeptTurn]) -> tuple[Frame, ...]:
    return tuple(Frame(turn, step) for turn in turns for step in (turn.steps or (None,)))


def image_of(pixels: Pixels | Screenshot) -> QImage:
    """The picture with memory of its own."""
    form = QImage.Format.Format_RGB888
    return QImage(pixels.rgb, pixels.width, pixels.height, pixels.width * 3, form).copy()


def said_about(labels: Sequence[Label], step: int) -> tuple[str, ...]:
    """What a person said about a step afterwards, in words. Of each kind of word the newest counts."""
    newest = {label.kind: label for label in labels if label.step == step and label.who == "person"}
    out = []
    for kind, label in newest.items():
        match kind:
            case "thumb":
                out.append(words.say("said.thumb_up" if (label.score or 0) > 0 else "said.thumb_down"))
            case "wrong_step":
                out.append(words.say("said.wrong_step"))
            case "correction":
                out.append(words.say("said.correction", text=one_line(label.value, 300)))
    return tuple(out)


def thumb_of(labels: Sequence[Label]) -> bool | None:
    """A person's newest word on the whole run."""
    thumbs = [label.score for label in labels if label.kind == "thumb" and label.step is None and label.score]
    return thumbs[-1] > 0 if thumbs else None
