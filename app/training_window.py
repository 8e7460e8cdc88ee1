"""Training: start, stop and watch the flywheel, and see which kept runs it would learn from."""

from __future__ import annotations

import time
from functools import partial

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QHBoxLayout,
    QHeaderView,
    QSpinBox,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from agent_core import settings
from agent_core.traces.erase import delete_run
from app import theme, words
from app.chore import Chore
from app.sure import Sure
from app.text import button, label, one_line, visible
from app.training_curve import TrainingCurve
from app.training_data import Chosen, curated
from app.training_process import TrainingProcess, can_train, last_line, newest_curve, training_folder, turns_of

LOOK_MS = 2000
COLUMNS = ("task", "value", "split")


class TrainingWindow(QWidget):
    """Shows the process that the program owns: closing the window leaves it alone. `removed`: a run was deleted."""

    removed = Signal()
    models_opened = Signal()

    def __init__(self, process: TrainingProcess, keeping: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("window")
        self.setWindowTitle(words.say("training.title"))
        self.resize(680, 680)
        self._process = process
        self._chore: Chore | None = None
        self._chosen = Chosen((), 0, {})
        self._build(keeping)
        self._look = QTimer(self)
        self._look.setInterval(LOOK_MS)
        self._look.timeout.connect(self.refresh)
        self._look.start()
        process.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Reads the newest training's files anew."""
        process, folder = self._process, self._process.folder
        able = can_train() and not process.running
        self.start_button.setEnabled(able)
        self.resume_button.setEnabled(able and process.unfinished)
        self.stop_button.setEnabled(process.running)
        for each in (self.turns, self.episodes, self.own):
            each.setEnabled(able)
        self.status.setText(self._status())
        if folder is None:
            self.curve.show_points((), "", words.say("training.no_curve"))
            return
        part, points = newest_curve(folder)
        name = ""
        if points:
            first, now = (f"{points[at][1]:.2f}" for at in (0, -1))
            name = words.say("training.curve", part=part, first=first, now=now)
        self.curve.show_points(points, name, words.say("training.no_curve"))
        lines = [
            words.say(
                "training.turn", turn=one["turn"], share=f"{one['share_solved']:.0%}", success=f"{one['success']:.0%}"
            )
            for one in turns_of(folder)
        ]
        self.told.setText("\n".join(lines))
        self.told.setVisible(bool(lines))

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._chore is not None:
            self._chore.wait()
        super().closeEvent(event)

    # -- the parts ---------------------------------------------------------------------------------------------------

    def _build(self, keeping: bool) -> None:
        rows = QVBoxLayout(self)
        rows.setContentsMargins(theme.MARGIN, theme.MARGIN, theme.MARGIN, theme.MARGIN)
        rows.setSpacing(12)
        rows.addWidget(label(words.say("training.what"), "secondary"))
        if not can_train():
            rows.addWidget(label(words.say("training.missing"), "asking"))
        rows.addLayout(self._knobs(keeping))
        rows.addLayout(self._buttons())
        self.status = label("")
        self.told = label("", "secondary")
        self.told.hide()
        self.curve = TrainingCurve()
        rows.addWidget(self.status)
        rows.addWidget(self.curve, 1)
        rows.addWidget(self.told)
        self._build_data(rows)

    def _knobs(self, keeping: bool) -> QHBoxLayout:
        self.turns, self.episodes = QSpinBox(), QSpinBox()
        row = QHBoxLayout()
        row.setSpacing(theme.GRID)
        for spin, name, low, high, value in ((self.turns, "turns", 1, 20, 1), (self.episodes, "episodes", 2, 50, 8)):
            spin.setRange(low, high)
            spin.setValue(value)
            spin.setAccessibleName(words.say(f"training.{name}"))
            row.addWidget(label(words.say(f"training.{name}"), wrap=False))
            row.addWidget(spin)
            row.addSpacing(theme.GRID)
        self.own = QCheckBox(words.say("training.own"))
        self.own.setChecked(keeping)
        row.addWidget(self.own)
        row.addStretch(1)
        return row

    def _buttons(self) -> QHBoxLayout:
        self.start_button = button(words.say("training.start"), "main")
        self.resume_button = button(words.say("training.resume"))
        self.stop_button = button(words.say("training.stop"), "stop")
        self.start_button.clicked.connect(self._start)
        self.resume_button.clicked.connect(self._process.resume)
        self.stop_button.clicked.connect(self._process.stop)
        row = QHBoxLayout()
        row.setSpacing(theme.GRID)
        for each in (self.start_button, self.resume_button, self.stop_button):
            row.addWidget(each)
        row.addStretch(1)
        self.models_button = button(words.say("tray.models"))
        self.models_button.clicked.connect(self.models_opened)
        row.addWidget(self.models_button)
        return row

    def _build_data(self, rows: QVBoxLayout) -> None:
        self.look_button = button(words.say("training.data.look"))
        self.remove_button = button(words.say("training.remove"), "stop")
        self.look_button.clicked.connect(self.show_data)
        self.remove_button.clicked.connect(self._ask_remove)
        self.data_note = label("", "secondary")
        self.data_note.hide()
        self.runs = QTableWidget(0, len(COLUMNS))
        self.runs.setAccessibleName(words.say("training.data"))
        self.runs.setHorizontalHeaderLabels([words.say(f"training.data.{name}") for name in COLUMNS])
        self.runs.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.runs.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.runs.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.runs.setTabKeyNavigation(False)
        self.runs.setShowGrid(False)
        self.runs.verticalHeader().hide()
        self.runs.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.runs.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.runs.itemSelectionChanged.connect(self._name_remove)
        self.runs.hide()
        self.sure = Sure(
            words.say("history.delete_ask"), words.say("history.delete_yes"), words.say("history.delete_no")
        )
        row = QHBoxLayout()
        row.addWidget(label(words.say("training.data"), "heading"), 1)
        row.addWidget(self.remove_button)
        row.addWidget(self.look_button)
        self._name_remove()
        self.look_button.setEnabled(can_train())
        rows.addLayout(row)
        for each in (self.data_note, self.runs, self.sure):
            rows.addWidget(each)

    # -- what the person wants ---------------------------------------------------------------------------------------

    def show_data(self) -> None:
        """Asks curation which kept runs would be used."""
        self._say(words.say("training.data.looking"))
        self._begin(Chore(partial(curated, training_folder() / "set"), self), self._show_runs)

    def _start(self) -> None:
        self._process.start(self.turns.value(), self.episodes.value(), self.own.isChecked())

    def _show_runs(self, chosen: Chosen) -> None:
        self._over()
        self._chosen = chosen
        self.runs.setRowCount(len(chosen.runs))
        for row, used in enumerate(chosen.runs):
            told = (words.say(f"training.value.{used.value}"), words.say(f"training.split.{used.split}"))
            for column, text in enumerate((visible(" ".join(used.task.split()), 200), *told)):
                self.runs.setItem(row, column, QTableWidgetItem(text))
        self.runs.setVisible(bool(chosen.runs))
        counts = {"sft": chosen.rows.get("sft.jsonl", 0), "pairs": chosen.rows.get("pairs.jsonl", 0)}
        told_all = words.say("training.data.told", used=len(chosen.runs), found=chosen.found, **counts)
        self._say(told_all if chosen.runs else words.say("training.data.none"))
        self._name_remove()

    def _ask_remove(self) -> None:
        if (at := self.runs.currentRow()) >= 0 and self._chore is None:
            self.sure.ask(partial(self._remove, self._chosen.runs[at].run))

    def _remove(self, run_id: str) -> None:
        self._say(words.say("history.deleting"))
        self._begin(Chore(partial(delete_run, run_id), self), self._removed)

    def _removed(self, _gone: object) -> None:
        self._over()
        self.removed.emit()
        self.show_data()

    def _begin(self, chore: Chore, done: object) -> None:
        self._chore = chore
        chore.done.connect(done)
        chore.failed.connect(self._failed)
        self.look_button.setEnabled(False)
        self._name_remove()
        chore.start()

    def _failed(self, sentence: str) -> None:
        self._over()
        self._say(sentence)

    def _over(self) -> None:
        self._chore = None
        self.look_button.setEnabled(can_train())

    def _say(self, sentence: str) -> None:
        self.data_note.setText(one_line(sentence, 400))
        self.data_note.show()

    def _name_remove(self) -> None:
        self.remove_button.setVisible(self.runs.isVisible())
        self.remove_button.setEnabled(bool(self.runs.selectedItems()) and self._chore is None)

    def _status(self) -> str:
        """How the newest training stands, in a sentence."""
        process, folder = self._process, self._process.folder
        if folder is None:
            return words.say("training.running", number=1, line="") if process.running else words.say("training.never")
        number, line = int(folder.name), one_line(last_line(folder), 200)
        if process.running:
            quiet = settings.load()[0].training
            if quiet.is_quiet(time.localtime().tm_hour):
                return words.say("training.quiet", number=number, hour=quiet.quiet_until)
            return words.say("training.running", number=number, line=line)
        return words.say("training.stopped" if process.unfinished else "training.done", number=number, line=line)
