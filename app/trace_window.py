"""The history: the kept runs, a search, and what can be done with the chosen one: look at it, export it, delete it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QTimer, QUrl, Signal
from PySide6.QtGui import QCloseEvent, QDesktopServices
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFileDialog,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QMenu,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from agent_core.errors import StoreError
from agent_core.traces.erase import delete_run
from agent_core.traces.reads import ANY, Traces
from app import theme, words
from app.chore import Chore
from app.sure import Sure
from app.text import button, label, one_line
from app.trace_export import FORMS, export
from app.trace_filters import TraceFilters
from app.trace_table import TraceTable

TYPING_PAUSE_MS = 200
Replay = Callable[[str], Path]
"""Makes the replay page of a run (by its id) and gives its file. Raises StoreError."""


class TraceWindow(QWidget):
    """`opened` says which run is to be looked at step by step. `replay` makes the page that Replay opens."""

    opened = Signal(str)
    training_opened = Signal()

    def __init__(self, replay: Replay, keeping: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("window")
        self.setWindowTitle(words.say("history.title"))
        self.resize(760, 560)
        self._replay = replay
        self._traces = Traces()
        self._chore: Chore | None = None
        self.table = TraceTable()
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(TYPING_PAUSE_MS)
        self._typing.timeout.connect(self.refresh)
        self._build(keeping)
        self.refresh()

    def refresh(self) -> None:
        """Reads the history anew."""
        search, wanted = self.search.text().strip(), self.filters.wanted()
        narrowed = bool(search) or wanted != ANY
        try:
            runs = self._traces.runs(search, wanted=wanted)
            self.filters.offer_models(self._traces.models())
        except StoreError as error:
            runs = ()
            self._say(str(error))
        chosen = self._chosen()
        self.table.show(runs)
        if chosen in (ids := [kept.run.id for kept in runs]):
            self.view.selectRow(ids.index(chosen))
        self.view.setVisible(bool(runs))
        self.none.setVisible(not runs and narrowed)
        self.empty.setVisible(not runs and not narrowed)
        self._name_buttons()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._chore is not None:
            self._chore.wait()
        super().closeEvent(event)

    # -- the parts ---------------------------------------------------------------------------------------------------

    def _build(self, keeping: bool) -> None:
        self.search = QLineEdit()
        self.search.setPlaceholderText(words.say("history.search"))
        self.search.setAccessibleName(words.say("history.search"))
        self.search.textChanged.connect(self._typing.start)
        self.filters = TraceFilters()
        self.filters.changed.connect(self.refresh)
        self._build_table()
        self.empty = QWidget()
        said = QVBoxLayout(self.empty)
        said.addStretch(1)
        said.addWidget(label(words.say("history.empty.title"), "heading"))
        said.addWidget(label(words.say("history.empty.text"), "secondary"))
        said.addStretch(2)
        self.none = QWidget()
        told = QVBoxLayout(self.none)
        told.addWidget(label(words.say("history.none"), "secondary"))
        told.addStretch(1)
        self.note = label("" if keeping else words.say("history.off"), "secondary")
        self.note.setVisible(not keeping)
        self.sure = Sure(
            words.say("history.delete_ask"), words.say("history.delete_yes"), words.say("history.delete_no")
        )
        rows = QVBoxLayout(self)
        rows.setContentsMargins(theme.MARGIN, theme.MARGIN, theme.MARGIN, theme.MARGIN)
        rows.setSpacing(12)
        rows.addWidget(self.search)
        rows.addWidget(self.filters)
        rows.addWidget(self.view, 1)
        rows.addWidget(self.empty, 1)
        rows.addWidget(self.none, 1)
        rows.addWidget(self.sure)
        rows.addWidget(self.note)
        rows.addLayout(self._buttons(keeping))

    def _build_table(self) -> None:
        self.view = QTableView()
        self.view.setModel(self.table)
        self.view.setAccessibleName(words.say("history.title"))
        self.view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.view.setTabKeyNavigation(False)
        self.view.setShowGrid(False)
        self.view.setAlternatingRowColors(True)
        self.view.verticalHeader().hide()
        header = self.view.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        self.view.activated.connect(self._open_steps)
        self.view.selectionModel().selectionChanged.connect(self._name_buttons)

    def _buttons(self, keeping: bool) -> QHBoxLayout:
        self.refresh_button = button(words.say("history.refresh"))
        self.delete_button = button(words.say("history.delete"), "stop")
        self.export_button = button(words.say("history.export"))
        self.replay_button = button(words.say("history.replay"))
        self.steps_button = button(words.say("history.steps"), "main")
        self.exports = QMenu(self)
        for form in FORMS:
            self.exports.addAction(words.say(f"history.export.{form}"), partial(self._ask_where, form))
        self.exports.actions()[FORMS.index("zip")].setEnabled(keeping)
        self.export_button.setMenu(self.exports)
        self.refresh_button.clicked.connect(self.refresh)
        self.delete_button.clicked.connect(self._ask_delete)
        self.replay_button.clicked.connect(self._open_replay)
        self.steps_button.clicked.connect(self._open_steps)
        row = QHBoxLayout()
        row.setSpacing(theme.GRID)
        self.training_button = button(words.say("tray.training"))
        self.training_button.clicked.connect(self.training_opened)
        row.addWidget(self.refresh_button)
        row.addWidget(self.training_button)
        row.addStretch(1)
        for each in (self.delete_button, self.export_button, self.replay_button, self.steps_button):
            row.addWidget(each)
        return row

    # -- what the person wants ---------------------------------------------------------------------------------------

    def _open_steps(self) -> None:
        if run_id := self._chosen():
            self.opened.emit(run_id)

    def _open_replay(self) -> None:
        if run_id := self._chosen():
            self._begin(partial(self._replay, run_id), "history.exporting", self._show_page)

    def _show_page(self, page: Path) -> None:
        self.note.hide()
        self._over()
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(page)))

    def _ask_where(self, form: str) -> None:
        run_id = self._chosen()
        self.place = QFileDialog(self, words.say("history.export"), str(Path.home() / f"deskhand-{run_id[:8]}.{form}"))
        self.place.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        self.place.setOption(QFileDialog.Option.DontUseNativeDialog)
        self.place.selectFile(f"deskhand-{run_id[:8]}.{form}")
        self.place.fileSelected.connect(partial(self._export, run_id, form))
        self.place.open()

    def _export(self, run_id: str, form: str, place: str) -> None:
        self._begin(partial(export, run_id, form, Path(place)), "history.exporting", self._exported)

    def _exported(self, file: Path) -> None:
        self._say(words.say("history.exported", file=file))
        self._over()

    def _ask_delete(self) -> None:
        if run_id := self._chosen():
            self.sure.ask(partial(self._begin, partial(delete_run, run_id), "history.deleting", self._deleted))

    def _deleted(self, _gone: object) -> None:
        self._say(words.say("history.deleted"))
        self._over()
        self.refresh()

    def _begin(self, work: Callable[[], object], said: str, done: Callable[..., None]) -> None:
        self._say(words.say(said))
        self._chore = Chore(work, self)
        self._chore.done.connect(done)
        self._chore.failed.connect(self._failed)
        self._name_buttons()
        self._chore.start()

    def _failed(self, sentence: str) -> None:
        self._say(sentence)
        self._over()

    def _over(self) -> None:
        self._chore = None
        self._name_buttons()

    def _say(self, sentence: str) -> None:
        self.note.setText(one_line(sentence, 400))
        self.note.show()

    def _chosen(self) -> str:
        """The id of the chosen run, empty for none."""
        rows = self.view.selectionModel().selectedRows()
        return self.table.run_at(rows[0].row()).run.id if rows else ""

    def _name_buttons(self) -> None:
        there = bool(self._chosen())
        self.steps_button.setEnabled(there)
        for each in (self.delete_button, self.export_button, self.replay_button):
            each.setEnabled(there and self._chore is None)
