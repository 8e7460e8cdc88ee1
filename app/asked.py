"""The two windows in which a person answers, made when they are first needed. No answer can get lost in them.

A window that fails to appear, or that is gone before it was answered, denies: whatever its fault, nothing is allowed
and the run does not hang on it.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from app import words
from app.approval import ApprovalPanel
from app.call_user import CallPanel
from app.question import Approval, Call, settle


class Asked(QObject):
    """Puts approvals and calls before the person. `stopped` says that Stop was pressed in one."""

    stopped = Signal()

    def __init__(
        self,
        make_approval: Callable[[], ApprovalPanel] = ApprovalPanel,
        make_call: Callable[[], CallPanel] = CallPanel,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.devices_only = True
        self._make_approval, self._make_call = make_approval, make_call
        self._approval: ApprovalPanel | None = None
        self._call: CallPanel | None = None
        self._open: Approval | Call | None = None

    @property
    def approval(self) -> ApprovalPanel:
        if self._approval is None:
            self._approval = self._make_approval()
            self._approval.destroyed.connect(self._lost)
        return self._approval

    @property
    def call(self) -> CallPanel:
        if self._call is None:
            self._call = self._make_call()
            self._call.destroyed.connect(self._lost)
            self._call.stopped.connect(self.stopped)
        return self._call

    def ask(self, question: Approval) -> None:
        """Shows an approval. Raises what the window raises, after it was denied."""
        self._open = question
        shown = False
        try:
            self.approval.devices_only = self.devices_only
            self.approval.ask(question)
            shown = True
        finally:
            if not shown:
                self._approval = None  # a window with a fault is not used again
                self._lost()

    def put(self, call: Call) -> None:
        """Shows a call. Raises what the window raises, after it was answered with None."""
        self._open = call
        shown = False
        try:
            self.call.devices_only = self.devices_only
            self.call.ask(call)
            shown = True
        finally:
            if not shown:
                self._call = None
                self._lost()

    def withdraw(self) -> None:
        """The run is over or stopped: what is open is denied and gone."""
        if self._approval is not None:
            self._approval.withdraw()
        if self._call is not None:
            self._call.withdraw()
        self._open = None

    def _lost(self) -> None:
        match self._open:
            case Approval() as question:
                question.deny(words.say("approval.failed"), "nobody")
            case Call() as call:
                settle(call.answer, None)
        self._open = None
