"""What is known of one step of a kept run: thought, action, verdict, outcome, times, and what a person said of it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QFrame, QVBoxLayout

from agent_core.actions import target_of
from agent_core.step import Step
from agent_core.traces.rows import Label
from app import theme, words
from app.run_frames import Frame, said_about
from app.text import label, one_line
from app.turn_card import action_words, exact, verdict_words

LONGEST = 4000


class RunCard(QFrame):
    """Made anew for every step that is shown. All texts of the run are plain text."""

    def __init__(self, frame: Frame, labels: Sequence[Label]) -> None:
        super().__init__()
        self.setObjectName("card")
        self._rows = QVBoxLayout(self)
        self._rows.setContentsMargins(12, theme.GRID, 12, theme.GRID)
        self._rows.setSpacing(4)
        turn, step = frame.turn, frame.step
        self._line(words.say("steps.thought"), "secondary")
        self._line(one_line(turn.thought, LONGEST) or words.say("steps.no_thought"))
        for problem in turn.problems:
            self._line(one_line(problem, LONGEST), "refused")
        self._rows.addSpacing(theme.GRID)
        self._line(words.say("steps.action"), "secondary")
        if step is None:
            self._line(words.say("turn.no_action"))
        else:
            self._step(step)
        self._rows.addSpacing(theme.GRID)
        acted = step.outcome.duration_ms if step is not None and step.outcome is not None else 0.0
        times = {"capture": turn.capture_ms, "read": turn.read_ms, "think": turn.reply.think_ms, "act": acted}
        spoken = {name: words.seconds(value) for name, value in times.items()}
        self._line(words.say("steps.times", **spoken), "secondary")
        if step is not None:
            if step.verdict.waited_ms:
                self._line(words.say("steps.waited", time=words.seconds(step.verdict.waited_ms)), "secondary")
            for sentence in said_about(labels, step.n):
                self._line(sentence, "asking")

    def _step(self, step: Step) -> None:
        self._line(one_line(action_words(step), LONGEST), "mono")
        if target_of(step.action) is not None:
            self._line(one_line(exact(step).split("\n")[0], LONGEST), "secondary")
        said, role = verdict_words(step.verdict)
        reason = words.reason(step.verdict.reason)
        self._line(f"{said}: {one_line(reason, LONGEST)}" if reason else said, role)
        if step.verdict.instead:
            self._line(one_line(step.verdict.instead, LONGEST), "asking")
        outcome = step.outcome
        if outcome is None:
            self._line(words.say("steps.undone"), "refused")
        elif not outcome.ok:
            self._line(words.say("outcome.failed", text=one_line(outcome.text, LONGEST)), "refused")
        else:
            self._line(words.say("steps.worked"), "allowed")
            if outcome.text:
                self._line(one_line(outcome.text, LONGEST), "mono")
            if outcome.changed is False:
                self._line(words.say("outcome.unchanged"), "secondary")

    def _line(self, text: str, role: str = "") -> None:
        self._rows.addWidget(label(text, role))
