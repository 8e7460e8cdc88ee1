"""The question before a consequential action: exactly what, where, why, and four ways to answer. Deny is the default.

Covered: nothing here allows by the keyboard (Enter and Space included); closing, a timeout and a stop are a deny; text
from outside is plain text and shows its hidden characters; the buttons stay visible whatever is asked; an allow within
0.4 s of showing is not taken. Not covered: whether the action is wise (that is the policy's word), and programs that
send input events of their own to this window.
"""

from __future__ import annotations

import time

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QCloseEvent, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from agent_core.actions import Terminal, Type, target_of
from agent_core.protocols import Ask
from agent_core.step import Tier
from app import pictures, theme, words
from app.panel import Panel, on_screen
from app.question import Approval
from app.text import exact_field, fit_lines, label, one_line, visible

WIDTH = 460
EXACT_LINES = 6
SETTLE_S = 0.4  # a press meant for what was there before the panel


class ApprovalPanel(Panel):
    """One question at a time. `ask` shows it; the answer goes into the question's Future and nowhere else."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(words.say("approval.title"))
        self.setFixedWidth(WIDTH)
        self._question: Approval | None = None
        self._shown = self._until = 0.0
        self._tick = QTimer(self)
        self._tick.setInterval(250)
        self._tick.timeout.connect(self._count_down)
        self._build()

    def ask(self, question: Approval) -> None:
        """Shows a question; one that is still open is denied first."""
        self._deny_open(words.say("approval.closed"), "nobody")
        self._question = question
        self._fill(question.ask)
        self.grant_button.setVisible(question.grant is not None)
        self.leave_keyboard()
        self._shown = time.monotonic()
        self._until = self._shown + question.seconds
        self._count_down()
        self._tick.start()
        self.show_away_from(on_screen(question.ask.screenshot, target_of(question.ask.action)))
        self.deny_button.setFocus()

    def withdraw(self) -> None:
        """The run was stopped or has crashed: the question is denied and gone."""
        self._deny_open(words.say("approval.closed"), "nobody")

    def closeEvent(self, event: QCloseEvent) -> None:
        self._deny_open(words.say("approval.closed"), "person")
        super().closeEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            return  # Esc twice stops the run, from anywhere; once it does nothing here
        super().keyPressEvent(event)

    # -- building --------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.heading = label(role="heading")
        self.exact = exact_field("mono")
        self.where = label(role="secondary")
        self.picture = QLabel()
        self.picture.setFixedSize(pictures.CROP)
        self.picture.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.why = label()
        self.thought = label(role="secondary")
        self.instead = QLineEdit()
        self.instead.setPlaceholderText(words.say("approval.instead"))
        self.instead.setAccessibleName(words.say("approval.instead"))
        self.instead.setMaxLength(1000)
        self.instead.textChanged.connect(self._name_deny)
        self.instead.returnPressed.connect(self._instead_entered)
        self.types_into(self.instead)
        self.countdown = label(role="secondary")

        reasons = QVBoxLayout()
        reasons.setSpacing(4)
        reasons.addWidget(label(words.say("approval.why"), "secondary"))
        reasons.addWidget(self.why)
        reasons.addWidget(self.thought)
        reasons.addStretch(1)
        middle = QHBoxLayout()
        middle.setSpacing(12)
        middle.addWidget(self.picture)
        middle.addLayout(reasons, 1)
        for part in (self.heading, self.where, self.exact):
            self.rows.addWidget(part)
        self.rows.addLayout(middle)
        self.rows.addWidget(self.instead)
        self.rows.addLayout(self._buttons())
        self.rows.addWidget(self.countdown)

    def _buttons(self) -> QHBoxLayout:
        self.deny_button = _mouse_button("approval.deny", "main")
        self.grant_button = _mouse_button("approval.allow_run")
        self.allow_button = _mouse_button("approval.allow")
        self.deny_button.clicked.connect(self._deny)
        self.grant_button.clicked.connect(self._allow_for_run)
        self.allow_button.clicked.connect(self._allow)
        row = QHBoxLayout()
        row.setSpacing(theme.GRID)
        row.addWidget(self.deny_button)
        row.addStretch(1)
        row.addWidget(self.grant_button)
        row.addWidget(self.allow_button)
        return row

    def _fill(self, ask: Ask) -> None:
        long_text = isinstance(ask.action, Terminal | Type)
        verb = _verb(ask) if long_text else words.action(ask.action)
        name = one_line(ask.element.text, 80) if ask.element is not None else ""
        said = (
            words.say("approval.wants_on", action=verb, element=name)
            if name
            else words.say("approval.wants", action=verb)
        )
        self.heading.setText(one_line(said, 160))
        self.exact.setPlainText(visible(_exact(ask)))
        self.exact.setVisible(long_text)
        fit_lines(self.exact, WIDTH - 2 * theme.MARGIN, EXACT_LINES)
        self.where.setText(words.say("approval.where", window=one_line(ask.screenshot.window, 120)))
        self.where.setVisible(bool(ask.screenshot.window))
        reason = ask.verdict.reason
        if ask.verdict.tier in (Tier.R0, Tier.R1):  # only the mode asks; the reason alone would read as a riddle
            reason = words.say("approval.ask_all", reason=reason)
        self.why.setText(one_line(reason, 240))
        self.thought.setText(one_line(ask.thought, 160))
        at = target_of(ask.action)
        self.picture.setVisible(at is not None)
        if at is not None:
            self.picture.setPixmap(pictures.crop(ask.screenshot, at))
        self.instead.clear()
        self._name_deny()

    # -- answering -------------------------------------------------------------------------------------------------

    def _allow(self) -> None:
        if self._question is not None and self._settled():
            self._question.allow()
            self._gone()

    def _allow_for_run(self) -> None:
        if self._question is not None and self._settled():
            self._question.allow_for_run()
            self._gone()

    def _deny(self) -> None:
        if self._question is not None:
            self._question.deny(words.say("approval.denied_by_you"), instead=self.instead.text().strip())
            self._gone()

    def _instead_entered(self) -> None:
        if self.instead.text().strip():
            self._deny()

    def _deny_open(self, reason: str, who: str) -> None:
        if self._question is not None:
            self._question.deny(reason, who)
            self._gone()

    def _gone(self) -> None:
        self._question = None
        self._tick.stop()
        self.hide()

    def _settled(self) -> bool:
        return time.monotonic() - self._shown >= SETTLE_S

    def _count_down(self) -> None:
        left = self._until - time.monotonic()
        if self._question is not None and self._question.answer.done():
            self._gone()
        elif left <= 0:
            self._deny_open(words.say("approval.too_late"), "nobody")
        else:
            self.countdown.setText(words.say("approval.countdown", time=f"{int(left) // 60}:{int(left) % 60:02d}"))

    def _name_deny(self) -> None:
        written = bool(self.instead.text().strip())
        self.deny_button.setText(words.say("approval.send_instead" if written else "approval.deny"))


def _verb(ask: Ask) -> str:
    return words.say("approval.verb_terminal" if isinstance(ask.action, Terminal) else "approval.verb_type")


def _exact(ask: Ask) -> str:
    match ask.action:
        case Terminal(command):
            return command
        case Type(text):
            return text
        case other:
            return words.action(other)


def _mouse_button(key: str, role: str = "") -> QPushButton:
    """A button that only a pointer or an assistive tool presses: keys do not reach it."""
    made = _Unkeyed(words.say(key))
    made.setAutoDefault(False)
    if role:
        made.setProperty("role", role)
    return made


class _Unkeyed(QPushButton):
    """Ignores Enter and Space, which a person may be typing into another window as the panel appears."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_Select):
            return
        super().keyPressEvent(event)
