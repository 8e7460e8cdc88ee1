"""The first run: what Deskhand is, a model, consent, a look whether it can see and point, and a first task to try.

Nothing is recorded and nothing chosen before the last page is left by Begin. Closed before that, it comes back at the
next start. The window decides nothing itself: `finished` carries what was chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QRadioButton, QStackedWidget, QVBoxLayout, QWidget

from app import theme, words
from app.chore import Chore
from app.phrases_first_run import TASKS
from app.text import button, fit_window, label

Check = Callable[[], int]
"""How many monitors are seen. Raises DeskhandError with a sentence where the screen or the pointer cannot be used."""


@dataclass(frozen=True, slots=True)
class FirstChoices:
    """`consent` is "yes", "no" or "unasked"; `task` goes into the input, empty for the person's own."""

    other_model: bool
    consent: str
    task: str


class FirstRun(QWidget):
    """Pages one after the other, by Back and Next."""

    finished = Signal(object)  # FirstChoices

    def __init__(self, check: Check, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("window")
        self.setWindowTitle(words.say("first.title"))
        self.setFixedWidth(520)
        self._check = check
        self._chore: Chore | None = None
        self.model, self.consent, self.tasks = QButtonGroup(self), QButtonGroup(self), QButtonGroup(self)
        self.verdict = label()
        self.again = button(words.say("first.again"))
        self.again.clicked.connect(self.look)
        self.pages, self.seeing = QStackedWidget(), _page(words.say("first.check"), [self.verdict, self.again])
        for page in (self._what(), self._which(), self._keep(), self.seeing, self._first_task()):
            self.pages.addWidget(page)
        self.place = label("", "secondary")
        self.back = button(words.say("first.back"))
        self.forth = button("")
        self.back.clicked.connect(lambda: self._turn_to(self.pages.currentIndex() - 1))
        self.forth.clicked.connect(self._onward)
        row = QHBoxLayout()
        row.setSpacing(theme.GRID)
        row.addWidget(self.place, 1)
        row.addWidget(self.back)
        row.addWidget(self.forth)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(24, 24, 24, theme.MARGIN)
        rows.setSpacing(theme.MARGIN)
        rows.addWidget(self.pages)
        rows.addLayout(row)
        self._turn_to(0)
        fit_window(self)

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._chore is not None:
            self._chore.wait()
        super().closeEvent(event)

    def look(self) -> None:
        """Checks screen and pointer, off the window's thread."""
        if self._chore is not None:
            self._chore.wait()
        self.again.setEnabled(False)
        self.verdict.setText(words.say("first.checking"))
        self._chore = Chore(self._check, self)
        self._chore.done.connect(self._seen)
        self._chore.failed.connect(self._judge)
        self._chore.start()

    # -- pages -------------------------------------------------------------------------------------------------------

    def _what(self) -> QWidget:
        texts = [label(words.say(f"first.{name}")) for name in ("what", "asks", "stop")]
        return _page(words.say("first.title"), texts)

    def _which(self) -> QWidget:
        rows: list[QWidget] = []
        for number, name in enumerate(("bundled", "other")):
            rows.append(_choice(self.model, number, words.say(f"first.{name}")))
            rows.append(_under(words.say(f"first.{name}_note")))
        self.model.button(0).setChecked(True)
        return _page(words.say("first.model"), rows)

    def _keep(self) -> QWidget:
        texts: list[QWidget] = [label(words.say(f"consent.{name}")) for name in ("text", "taken_out", "without")]
        names = ("consent.yes", "consent.no", "first.later")
        texts += [_choice(self.consent, number, words.say(name)) for number, name in enumerate(names)]
        self.consent.button(2).setChecked(True)  # nobody agrees by pressing Next
        return _page(words.say("consent.title"), texts)

    def _first_task(self) -> QWidget:
        rows: list[QWidget] = [label(words.say("first.try_note"))]
        rows += [_choice(self.tasks, n, text) for n, text in enumerate((*TASKS, words.say("first.own")))]
        self.tasks.button(0).setChecked(True)
        return _page(words.say("first.try"), rows)

    # -- turning them ------------------------------------------------------------------------------------------------

    def _onward(self) -> None:
        if self.pages.currentIndex() + 1 < self.pages.count():
            self._turn_to(self.pages.currentIndex() + 1)
            return
        number = self.tasks.checkedId()
        self.finished.emit(
            FirstChoices(
                other_model=self.model.checkedId() == 1,
                consent=("yes", "no", "unasked")[self.consent.checkedId()],
                task=TASKS[number] if number < len(TASKS) else "",
            )
        )
        self.close()

    def _turn_to(self, index: int) -> None:
        self.pages.setCurrentIndex(index)
        last = index + 1 == self.pages.count()
        self.place.setText(words.say("first.step", n=index + 1, of=self.pages.count()))
        self.back.setEnabled(index > 0)
        self.forth.setText(words.say("first.end" if last else "first.next"))
        self.forth.setFocus()
        if index == self.pages.indexOf(self.seeing):
            self.look()

    def _seen(self, monitors: int) -> None:
        told = words.say("first.one_monitor") if monitors == 1 else words.say("first.monitors", n=monitors)
        self._judge(words.say("first.checked", monitors=told))

    def _judge(self, sentence: str) -> None:
        self.verdict.setText(sentence)
        self.again.setEnabled(True)


def _page(heading: str, parts: Sequence[QWidget]) -> QWidget:
    page = QWidget()
    rows = QVBoxLayout(page)
    rows.setContentsMargins(0, 0, 0, 0)
    rows.setSpacing(12)
    rows.addWidget(label(heading, "heading"))
    for part in parts:  # a button stays as wide as its words
        side = Qt.AlignmentFlag.AlignLeft if isinstance(part, QPushButton) else Qt.AlignmentFlag(0)
        rows.addWidget(part, 0, side)
    rows.addStretch(1)
    return page


def _choice(group: QButtonGroup, number: int, text: str) -> QRadioButton:
    choice = QRadioButton(text.replace("&", "&&"))
    group.addButton(choice, number)
    return choice


def _under(text: str) -> QWidget:
    """A note under a choice, set in below its words."""
    note = label(text, "secondary")
    note.setContentsMargins(24, 0, 0, 0)
    return note
