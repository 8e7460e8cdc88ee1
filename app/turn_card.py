"""One turn as a card: the thought, each action in plain words, the verdict with who gave it, how long it took."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from agent_core.actions import target_of
from agent_core.step import Step, Turn, Verdict
from app import theme, words
from app.text import button, label, one_line, plain_tip


def verdict_words(verdict: Verdict) -> tuple[str, str]:
    """What the card says about a verdict, and the role that colours it."""
    match verdict.decision, verdict.who:
        case "allow", "person":
            return words.say("verdict.you_allowed"), "allowed"
        case "allow", "grant":
            return words.say("verdict.grant"), "allowed"
        case "allow", _:
            return words.say("verdict.allowed"), "allowed"
        case _, "person":
            return words.say("verdict.you_refused"), "refused"
        case _, "nobody":
            return words.say("verdict.nobody"), "refused"
        case _:
            return words.say("verdict.refused"), "refused"


class TurnCard(QFrame):
    """A finished turn. A click, or Enter on it, asks for its screenshot."""

    opened = Signal(object)  # Turn

    def __init__(self, turn: Turn, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self.turn = turn
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(f"{turn.n}: {one_line(turn.intent.thought)}")
        rows = QVBoxLayout(self)
        rows.setContentsMargins(12, 8, 12, 8)
        rows.setSpacing(4)
        rows.addLayout(self._head())
        for step in turn.steps:
            rows.addLayout(self._step(step))
        if not turn.steps:
            rows.addWidget(label(words.say("turn.no_action"), "secondary"))
        for note in turn.notes:
            rows.addWidget(label(one_line(note), "secondary"))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self.opened.emit(self.turn)
        super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.opened.emit(self.turn)
        else:
            super().keyPressEvent(event)

    def _head(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        thought = label(f"{self.turn.n}  {one_line(self.turn.intent.thought) or '…'}")
        thought.setToolTip(plain_tip(self.turn.intent.thought))
        row.addWidget(thought, 1)
        row.addWidget(_top_right(words.seconds(self.turn.reply.think_ms), "secondary"))
        return row

    def _step(self, step: Step) -> QVBoxLayout:
        box = QVBoxLayout()
        box.setSpacing(2)
        row = QHBoxLayout()
        row.setSpacing(8)
        done = label(one_line(action_words(step)), "mono")
        done.setToolTip(plain_tip(exact(step)))
        said, role = verdict_words(step.verdict)
        row.addWidget(done, 1)
        row.addWidget(_top_right(said, role))
        box.addLayout(row)
        if step.verdict.decision != "allow" and step.verdict.reason:
            box.addWidget(label(one_line(words.reason(step.verdict.reason)), "secondary"))
        if step.outcome is not None and not step.outcome.ok:
            box.addWidget(label(words.say("outcome.failed", text=one_line(step.outcome.text)), "refused"))
        elif step.outcome is not None and step.outcome.changed is False:
            box.addWidget(label(words.say("outcome.unchanged"), "secondary"))
        return box


def said_card(who: str, text: str, role: str = "secondary") -> QFrame:
    """A card with who says it on top and what is said below."""
    card = QFrame()
    card.setObjectName("card")
    rows = QVBoxLayout(card)
    rows.setContentsMargins(12, theme.GRID, 12, theme.GRID)
    rows.setSpacing(4)
    rows.addWidget(label(who, role))
    rows.addWidget(label("\n".join(one_line(line, 4000) for line in text.splitlines())))
    return card


def teaching_card(take_example: Callable[[], None]) -> QFrame:
    """The empty state: what this is for and a first task to try."""
    card = QFrame()
    card.setObjectName("card")
    rows = QVBoxLayout(card)
    rows.setContentsMargins(12, 12, 12, 12)
    rows.setSpacing(theme.GRID)
    rows.addWidget(label(words.say("task.empty.title"), "heading"))
    rows.addWidget(label(words.say("task.empty.text"), "secondary"))
    example = button(words.say("task.empty.first"), "flat")
    example.clicked.connect(take_example)
    rows.addWidget(example, 0, Qt.AlignmentFlag.AlignLeft)
    return card


def action_words(step: Step) -> str:
    """The action with what lies under it, as in: click “Save”."""
    said = words.action(step.action)
    return f"{said} “{step.element.text}”" if step.element is not None and step.element.text else said


def exact(step: Step) -> str:
    """The action as it was carried out, with its place in percent of the screen."""
    at = target_of(step.action)
    place = f"  ({at.x:.1%}, {at.y:.1%})" if at is not None else ""
    return f"{words.action(step.action)}{place}\n{step.verdict.tier}: {words.reason(step.verdict.reason)}"


def _top_right(text: str, role: str) -> QLabel:
    made = label(text, role, wrap=False)
    made.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight)
    return made
