"""One kept run, step by step: the picture with the place that was acted on, what was thought, decided and done.

Here a person says whether the run and its steps were right, and what a wrong step should have been.
"""

from __future__ import annotations

import time
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QCheckBox, QFrame, QHBoxLayout, QScrollArea, QSlider, QVBoxLayout, QWidget

from agent_core.errors import StoreError
from agent_core.traces.outside import Outside
from agent_core.traces.reads import Traces
from agent_core.traces.review import review
from app import theme, words
from app.labels import CorrectionForm
from app.rating import RatingCard
from app.run_card import RunCard
from app.run_frames import Frame, frames_of, image_of, thumb_of
from app.run_picture import RunPicture
from app.text import button, label, one_line, plain_tip, tool

SIDE = 360


class RunWindow(QWidget):
    """`reviewed` says that a word about the run was kept. A run that cannot be read is said, not raised."""

    rated = Signal(bool)
    reviewed = Signal()

    def __init__(self, run_id: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("window")
        self.setWindowTitle(words.say("steps.title"))
        self.resize(1040, 730)
        self.run_id = run_id
        self._traces = Traces()
        self._outside: Outside | None = None
        self.frames: tuple[Frame, ...] = ()
        self.form: CorrectionForm | None = None
        self._build()
        self._read()

    @property
    def frame(self) -> Frame | None:
        """The one that is shown."""
        return self.frames[self.slider.value()] if self.frames else None

    def go(self, by: int) -> None:
        self.slider.setValue(self.slider.value() + by)

    # -- the parts ---------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.task = label("", "heading")
        self.about = label("", "secondary")
        self.rating = RatingCard(self.rated)
        self.rated.connect(self._rate)
        self.note = label("", "refused")
        self.note.hide()
        columns = QHBoxLayout()
        columns.setSpacing(12)
        self.picture = RunPicture()
        self.picture.picked.connect(self._picked)
        columns.addWidget(self.picture, 1)
        columns.addWidget(self._right())
        rows = QVBoxLayout(self)
        rows.setContentsMargins(theme.MARGIN, theme.MARGIN, theme.MARGIN, theme.MARGIN)
        rows.setSpacing(theme.GRID)
        for each in (self.task, self.about, self.rating):
            rows.addWidget(each)
        rows.addLayout(self._scrubber())
        rows.addLayout(columns, 1)
        rows.addWidget(self.note)
        for keys, by in (("Alt+Left", -1), ("Alt+Right", 1)):
            QShortcut(QKeySequence(keys), self).activated.connect(partial(self.go, by))

    def _scrubber(self) -> QHBoxLayout:
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName(words.say("steps.scrub"))
        self.slider.setPageStep(1)
        self.slider.setTickPosition(QSlider.TickPosition.TicksBelow)
        self.slider.valueChanged.connect(self._show)
        self.back_button = tool("◀", words.say("steps.back"))
        self.on_button = tool("▶", words.say("steps.on"))
        self.back_button.clicked.connect(partial(self.go, -1))
        self.on_button.clicked.connect(partial(self.go, 1))
        self.place = label("", "secondary", wrap=False)
        self.after = QCheckBox(words.say("steps.after"))
        self.after.toggled.connect(self._show_picture)
        row = QHBoxLayout()
        row.setSpacing(theme.GRID)
        row.addWidget(self.back_button)
        row.addWidget(self.slider, 1)
        for each in (self.on_button, self.place, self.after):
            row.addWidget(each)
        return row

    def _right(self) -> QWidget:
        self.side = QVBoxLayout()
        self.side.setContentsMargins(0, 0, 0, 0)
        self.side.setSpacing(theme.GRID)
        inner = QWidget()
        inner.setObjectName("page")
        held = QVBoxLayout(inner)
        held.setContentsMargins(0, 0, theme.GRID, 0)
        held.addLayout(self.side)
        self.good_button = button(words.say("steps.good"))
        self.wrong_button = button(words.say("steps.wrong"))
        self.good_button.clicked.connect(self._good)
        self.wrong_button.clicked.connect(self._open_form)
        held.addWidget(self.good_button)
        held.addWidget(self.wrong_button)
        held.addStretch(1)
        scroll = QScrollArea()
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # it follows what has the keyboard in it
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFixedWidth(SIDE)
        scroll.setWidget(inner)
        return scroll

    # -- what is shown -----------------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            self._outside = one = Outside(self._traces, self.run_id)
            self.labels = self._traces.labels(self.run_id)
        except StoreError as error:
            self._complain(str(error))
            self.labels = ()
            self.rating.setEnabled(False)
            self._show()
            return
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.kept.run.started))
        status = words.say(f"status.{one.kept.status.value}")
        self.task.setText(one_line(one.kept.run.task, 300))
        self.task.setToolTip(plain_tip(one.kept.run.task))
        said = words.say("steps.began", when=when, model=one_line(one.kept.run.model, 60), status=status)
        self.about.setText(f"{said}  {one_line(one.kept.text, 300)}".rstrip())
        self.frames = frames_of(one.turns)
        self.slider.setRange(0, max(0, len(self.frames) - 1))
        if (good := thumb_of(self.labels)) is not None:
            self.rating.show_kept(good)
        self._show()

    def _show(self) -> None:
        """The step that the slider is at."""
        self._close_form()
        while (item := self.side.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        frame, at = self.frame, self.slider.value()
        self.place.setText(words.say("steps.place", at=at + 1, of=len(self.frames)) if self.frames else "")
        self.back_button.setEnabled(at > 0)
        self.on_button.setEnabled(at + 1 < len(self.frames))
        there = frame is not None and bool(frame.after)
        self.after.setVisible(there)
        if not there:
            self.after.setChecked(False)
        for each in (self.good_button, self.wrong_button):
            each.setEnabled(frame is not None and frame.step is not None)
        if frame is not None:
            self.side.addWidget(RunCard(frame, self.labels))
        self._show_picture()

    def _show_picture(self) -> None:
        frame = self.frame
        if frame is None or self._outside is None:
            self.picture.show_picture(None, (), words.say("steps.none"))
            return
        after = self.after.isChecked()
        sha256 = frame.after if after else frame.turn.screenshot
        pixels = self._outside.picture(sha256) if sha256 else None
        instead = words.say("steps.withheld" if frame.turn.withheld else "steps.no_picture")
        self.picture.show_picture(image_of(pixels) if pixels else None, () if after else frame.marks, instead)

    # -- what the person says ----------------------------------------------------------------------------------------

    def _rate(self, good: bool) -> None:
        self._keep(("thumb", "up" if good else "down", None))

    def _good(self) -> None:
        if self.frame is not None and self.frame.step is not None:
            self._keep(("thumb", "up", self.frame.step.n))
            self._show()

    def _open_form(self) -> None:
        if self.frame is None or self.frame.step is None or self._outside is None:
            return
        self._close_form()
        self.after.setChecked(False)
        self.form = CorrectionForm(self._outside.kept.run.dialect, len(self.frame.turn.steps))
        self.form.aimed.connect(self.picture.show_wanted)
        self.form.kept.connect(self._correct)
        self.form.cancelled.connect(self._close_form)
        self.side.addWidget(self.form)
        self.wrong_button.hide()
        self.good_button.hide()
        self.picture.set_picking(True)
        self.form.kind.setFocus()

    def _close_form(self) -> None:
        if self.form is not None:
            self.form.hide()
            self.form.deleteLater()
            self.form = None
        self.wrong_button.show()
        self.good_button.show()
        self.picture.set_picking(False)
        self.picture.show_wanted(None)

    def _picked(self, place: object) -> None:
        if self.form is not None:
            self.form.aim(place)  # type: ignore[arg-type]

    def _correct(self, reply: str, from_here: bool) -> None:
        if self.frame is None or self.frame.step is None:
            return
        n = self.frame.step.n
        said: list[tuple[str, str, int | None]] = []
        if reply:
            said.append(("correction", reply, n))
        if from_here:
            said.append(("wrong_step", "", n))
        self._keep(*(said or [("thumb", "down", n)]))
        self._show()

    def _keep(self, *said: tuple[str, str, int | None]) -> None:
        try:
            for kind, value, step in said:
                review(self.run_id, kind, value, step)
            self.labels = self._traces.labels(self.run_id)
        except StoreError as error:
            self._complain(str(error))
            return
        self.note.hide()
        self.reviewed.emit()

    def _complain(self, sentence: str) -> None:
        self.note.setText(one_line(sentence, 400))
        self.note.show()
