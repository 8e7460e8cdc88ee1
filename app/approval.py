"""The question before a consequential action: exactly what, where, why, and four ways to answer. Deny is the default.

Covered: nothing here allows by the keyboard alone (Enter and Space included); what is critical needs its words typed
first; only a person's own devices answer; closing, a timeout and a stop are a deny; text from outside is plain text and
shows its hidden characters; the buttons stay visible whatever is asked; an allow within 0.4 s of showing is not taken.
Not covered: whether the action is wise (that is the policy's word).
"""

from __future__ import annotations

import time

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QCloseEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from agent_core.actions import target_of
from agent_core.protocols import Ask
from agent_core.safety.confirm import same_words
from app import approval_words, pictures, theme, words
from app.panel import Panel, on_screen
from app.question import Approval
from app.raw_input import IDLE
from app.real_input import RealButton
from app.text import exact_field, fit_lines, label, one_line, plain_tip, visible

WIDTH = 460
EXACT_LINES = 6
CONFIRM_LINES = 2
SETTLE_S = 0.4  # a press meant for what was there before the panel


class ApprovalPanel(Panel):
    """One question at a time. `ask` shows it; the answer goes into the question's Future and nowhere else."""

    def __init__(self, parent: QWidget | None = None, idle: frozenset[str] = IDLE) -> None:
        """`idle` names the devices of a virtual screen that nobody has hands on."""
        super().__init__(parent)
        self.setWindowTitle(words.say("approval.title"))
        self.setFixedWidth(WIDTH)
        self._question: Approval | None = None
        self._shown = self._until = 0.0
        self._tick = QTimer(self)
        self._tick.setInterval(250)
        self._tick.timeout.connect(self._count_down)
        self._build()
        self._real = self.heard_from_a_person(idle)

    def ask(self, question: Approval) -> None:
        """Shows a question; one that is still open is denied first."""
        self._deny_open(words.say("approval.closed"), "nobody")
        self._question = question
        self._fill(question)
        self.leave_keyboard()
        self._shown = time.monotonic()
        self._until = self._shown + question.seconds
        self._count_down()
        self._tick.start()
        self._real.watch(self.devices_only)
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
        self.exact.setAccessibleName(words.say("approval.exact"))
        self.where = label(role="secondary")
        self.instead = self._line("approval.instead")
        self.instead.textChanged.connect(self._name_deny)
        self.instead.returnPressed.connect(self._instead_entered)
        self.countdown = label(role="secondary")
        for part in (self.heading, self.where, self.exact, self._build_warning()):
            self.rows.addWidget(part)
        self.rows.addLayout(self._build_reasons())
        self.rows.addWidget(self._build_confirm())
        self.rows.addWidget(self.instead)
        self.rows.addLayout(self._build_buttons())
        self.rows.addWidget(self.countdown)

    def _build_warning(self) -> QFrame:
        self.warning = QFrame()
        self.warning.setObjectName("warning")
        rows = QVBoxLayout(self.warning)
        rows.setContentsMargins(12, theme.GRID, 12, theme.GRID)
        rows.setSpacing(4)
        rows.addWidget(label("⚠  " + words.say("approval.warning"), "refused"))
        self.warning_text = label()
        rows.addWidget(self.warning_text)
        return self.warning

    def _build_reasons(self) -> QHBoxLayout:
        self.picture = QLabel()
        self.picture.setFixedSize(pictures.CROP)
        self.picture.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.picture.setAccessibleName(words.say("approval.picture"))
        self.why = label()
        self.thought = label(role="secondary")
        reasons = QVBoxLayout()
        reasons.setSpacing(4)
        reasons.addWidget(label(words.say("approval.why"), "secondary"))
        reasons.addWidget(self.why)
        reasons.addWidget(self.thought)
        reasons.addStretch(1)
        row = QHBoxLayout()
        row.setSpacing(12)
        row.addWidget(self.picture)
        row.addLayout(reasons, 1)
        return row

    def _build_confirm(self) -> QWidget:
        self.confirm_box = QWidget()
        rows = QVBoxLayout(self.confirm_box)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(4)
        self.confirm_words = exact_field("mono")
        self.confirm_words.setAccessibleName(words.say("approval.confirm"))
        self.confirm = self._line("approval.confirm_field")
        self.confirm.textChanged.connect(self._name_allow)
        rows.addWidget(label(words.say("approval.confirm")))
        rows.addWidget(self.confirm_words)
        rows.addWidget(self.confirm)
        return self.confirm_box

    def _build_buttons(self) -> QVBoxLayout:
        self.deny_button = RealButton(words.say("approval.deny"), "main")
        self.grant_button = RealButton("")
        self.allow_button = RealButton(words.say("approval.allow"))
        self.deny_button.pointed.connect(self._deny)
        self.grant_button.pointed.connect(self._allow_for_run)
        self.allow_button.pointed.connect(self._allow)
        row = QHBoxLayout()
        row.setSpacing(theme.GRID)
        row.addWidget(self.deny_button)
        row.addStretch(1)
        row.addWidget(self.allow_button)
        rows = QVBoxLayout()
        rows.setSpacing(theme.GRID)
        rows.addWidget(self.grant_button, 0, Qt.AlignmentFlag.AlignRight)
        rows.addLayout(row)
        return rows

    def _line(self, key: str) -> QLineEdit:
        """A line that is typed into after a click on it."""
        made = QLineEdit()
        made.setPlaceholderText(words.say(key))
        made.setAccessibleName(words.say(key))
        made.setMaxLength(1000)
        made.setAcceptDrops(False)
        self.types_into(made)
        return made

    # -- filling ---------------------------------------------------------------------------------------------------

    def _fill(self, question: Approval) -> None:
        ask = question.ask
        inside = WIDTH - 2 * theme.MARGIN
        self.heading.setText(approval_words.heading(ask))
        self.exact.setPlainText(visible(approval_words.exact(ask)))
        self.exact.setVisible(bool(approval_words.exact(ask)))
        fit_lines(self.exact, inside, EXACT_LINES)
        self.where.setText(words.say("approval.where", window=one_line(ask.screenshot.window, 120)))
        self.where.setVisible(bool(ask.screenshot.window))
        self.warning_text.setText(one_line(words.reason(ask.verdict.warning), 220))
        self.warning.setVisible(bool(ask.verdict.warning))
        self.why.setText(approval_words.why(ask))
        self.thought.setText(one_line(ask.thought, 120))
        self.confirm_words.setPlainText(visible(approval_words.to_type(ask)))
        fit_lines(self.confirm_words, inside, CONFIRM_LINES)
        self.confirm_box.setVisible(bool(approval_words.to_type(ask)))
        self.not_you.hide()
        self._fill_picture(ask)
        self.instead.clear()
        self.confirm.clear()
        self._name_deny()
        self._name_allow()
        self.grant_button.setVisible(question.grant is not None)
        self._name_grant(approval_words.grant(question))

    def _fill_picture(self, ask: Ask) -> None:
        at = target_of(ask.action)
        self.picture.setVisible(at is not None)
        if at is not None:
            self.picture.setPixmap(pictures.crop(ask.screenshot, at))

    # -- answering -------------------------------------------------------------------------------------------------

    def _allow(self) -> None:
        if self._question is not None and self._settled() and self._confirmed():
            self._question.allow()
            self._gone()

    def _allow_for_run(self) -> None:
        if self._question is not None and self._settled() and self._confirmed():
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
        self._real.rest()
        self.hide()

    def _settled(self) -> bool:
        return time.monotonic() - self._shown >= SETTLE_S

    def _confirmed(self) -> bool:
        """Whether nothing has to be typed, or it has been."""
        wanted = approval_words.to_type(self._question.ask) if self._question is not None else ""
        return not wanted or same_words(self.confirm.text(), wanted)

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

    def _name_grant(self, covers: str) -> None:
        """What a grant covers, cut in the middle where a window's title is long; the tooltip says it whole."""
        metrics, room = self.grant_button.fontMetrics(), WIDTH - 2 * theme.MARGIN - 40
        lines = (metrics.elidedText(line, Qt.TextElideMode.ElideMiddle, room) for line in covers.split("\n"))
        self.grant_button.setText("\n".join(lines).replace("&", "&&"))
        self.grant_button.setToolTip(plain_tip(covers))
        self.grant_button.setAccessibleName(covers)

    def _name_allow(self) -> None:
        ready = self._confirmed()
        self.allow_button.setEnabled(ready)
        self.allow_button.setToolTip("" if ready else words.say("approval.confirm_first"))
