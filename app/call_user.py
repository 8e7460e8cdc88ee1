"""The agent needs the person: its question as a quote, an answer, "I am done", and Stop.

Covered: the question is plain text; only a person's own devices answer; closing the panel ends the run (an answer of
None). "Take over" shrinks the panel
and leaves mouse and keyboard to the person; the agent waits and nothing is looked at or recorded meanwhile.
"""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QWidget

from app import theme, words
from app.panel import Panel
from app.question import Call, settle
from app.raw_input import IDLE
from app.real_input import RealButton
from app.text import button, exact_field, fit_lines, label, visible

WIDTH = 440
QUOTE_LINES = 8


class CallPanel(Panel):
    """One call at a time. The answer goes into its Future; `stopped` says that Stop was pressed."""

    stopped = Signal()

    def __init__(self, parent: QWidget | None = None, idle: frozenset[str] = IDLE) -> None:
        """`idle` names the devices of a virtual screen that nobody has hands on."""
        super().__init__(parent)
        self.setWindowTitle(words.say("call.title"))
        self.setFixedWidth(WIDTH)
        self._call: Call | None = None
        self._tick = QTimer(self)
        self._tick.setInterval(250)
        self._tick.timeout.connect(self._look_whether_withdrawn)
        self._build()
        self._real = self.heard_from_a_person(idle)

    def ask(self, call: Call) -> None:
        """Shows a call; one that is still open is answered with None first."""
        self._answer(None)
        self._call = call
        self.quote.setPlainText(visible(call.question))
        fit_lines(self.quote, WIDTH - 2 * theme.MARGIN, QUOTE_LINES)
        self.answer.clear()
        self._show_rest(True)
        self.not_you.hide()
        self.leave_keyboard()
        self._real.watch(self.devices_only)
        self.show_away_from(None)
        self._tick.start()

    def withdraw(self) -> None:
        self._answer(None)

    def closeEvent(self, event: QCloseEvent) -> None:
        self._answer(None)
        super().closeEvent(event)

    def _build(self) -> None:
        self.quote = exact_field()
        self.quote.setAccessibleName(words.say("call.title"))
        self.help = label(words.say("call.help"), "secondary")
        self.answer = QPlainTextEdit()
        self.answer.setPlaceholderText(words.say("call.answer"))
        self.answer.setAccessibleName(words.say("call.answer"))
        self.answer.setTabChangesFocus(True)
        self.answer.setFixedHeight(72)
        self.answer.textChanged.connect(self._name_send)
        self.types_into(self.answer)
        self.stop_button = button(words.say("call.stop"), "stop")
        self.take_over_button = RealButton(words.say("call.take_over"), keys=True)
        self.done_button = RealButton(words.say("call.done"), keys=True)
        self.send_button = RealButton(words.say("call.send"), "main", keys=True)
        self.stop_button.clicked.connect(self._stop)
        self.take_over_button.pointed.connect(self._take_over)
        self.done_button.pointed.connect(self._done)
        self.send_button.pointed.connect(self._send)
        row = QHBoxLayout()
        row.setSpacing(theme.GRID)
        row.addWidget(self.stop_button)
        row.addStretch(1)
        for each in (self.take_over_button, self.done_button, self.send_button):
            row.addWidget(each)
        self.heading = label(words.say("call.title"), "heading")
        for part in (self.heading, self.quote, self.answer, self.help):
            self.rows.addWidget(part)
        self.rows.addLayout(row)
        self._name_send()

    def _show_rest(self, shown: bool) -> None:
        for part in (self.answer, self.take_over_button, self.send_button):
            part.setVisible(shown)
        self.help.setText(words.say("call.help" if shown else "call.taken"))

    def _take_over(self) -> None:
        self._show_rest(False)
        self.leave_keyboard()
        self.show_away_from(None)

    def _send(self) -> None:
        text = self.answer.toPlainText().strip()
        if text:
            self._answer(text)

    def _done(self) -> None:
        written = self.answer.toPlainText().strip()
        self._answer(f"{words.say('call.done_text')} {written}".strip())

    def _stop(self) -> None:
        self._answer(None)
        self.stopped.emit()

    def _answer(self, text: str | None) -> None:
        if self._call is not None:
            settle(self._call.answer, text)
            self._call = None
            self._tick.stop()
            self._real.rest()
            self.hide()

    def _look_whether_withdrawn(self) -> None:
        if self._call is not None and self._call.answer.done():
            self._answer(None)

    def _name_send(self) -> None:
        self.send_button.setEnabled(bool(self.answer.toPlainText().strip()))
