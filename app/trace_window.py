"""The history: the kept runs, a search, and the replay of the chosen one in the browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QTimer, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QAbstractItemView, QHBoxLayout, QHeaderView, QLineEdit, QTableView, QVBoxLayout, QWidget

from agent_core.errors import StoreError
from agent_core.traces.reads import Traces
from app import theme, words
from app.text import button, label, one_line
from app.trace_table import TraceTable

TYPING_PAUSE_MS = 200
Replay = Callable[[str], Path]
"""Makes the replay page of a run (by its id) and gives its file. Raises StoreError."""


class TraceWindow(QWidget):
    """Reads only. `replay` makes the page that Replay opens."""

    def __init__(self, replay: Replay, keeping: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("window")
        self.setWindowTitle(words.say("history.title"))
        self.resize(720, 520)
        self._replay = replay
        self._traces = Traces()
        self.table = TraceTable()
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(TYPING_PAUSE_MS)
        self._typing.timeout.connect(self.refresh)
        self._build(keeping)
        self.refresh()

    def refresh(self) -> None:
        """Reads the history anew."""
        try:
            runs = self._traces.runs(self.search.text().strip())
        except StoreError as error:
            runs = ()
            self.note.setText(one_line(str(error), 400))
            self.note.show()
        self.table.show(runs)
        empty = not runs and not self.search.text().strip()
        self.view.setVisible(not empty)
        self.empty.setVisible(empty)
        self._name_replay()

    def _build(self, keeping: bool) -> None:
        self.search = QLineEdit()
        self.search.setPlaceholderText(words.say("history.search"))
        self.search.setAccessibleName(words.say("history.search"))
        self.search.textChanged.connect(self._typing.start)
        self.view = QTableView()
        self.view.setModel(self.table)
        self.view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.view.setShowGrid(False)
        self.view.setAlternatingRowColors(True)
        self.view.verticalHeader().hide()
        header = self.view.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        self.view.doubleClicked.connect(self._open_replay)
        self.view.selectionModel().selectionChanged.connect(self._name_replay)
        self.empty = QWidget()
        said = QVBoxLayout(self.empty)
        said.addStretch(1)
        said.addWidget(label(words.say("history.empty.title"), "heading"))
        said.addWidget(label(words.say("history.empty.text"), "secondary"))
        said.addStretch(2)
        self.note = label("" if keeping else words.say("history.off"), "secondary")
        self.note.setVisible(not keeping)
        self.refresh_button = button(words.say("history.refresh"))
        self.replay_button = button(words.say("history.replay"), "main")
        self.refresh_button.clicked.connect(self.refresh)
        self.replay_button.clicked.connect(self._open_replay)
        row = QHBoxLayout()
        row.addWidget(self.note, 1)
        row.addStretch(0)
        row.addWidget(self.refresh_button)
        row.addWidget(self.replay_button)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(theme.MARGIN, theme.MARGIN, theme.MARGIN, theme.MARGIN)
        rows.setSpacing(12)
        rows.addWidget(self.search)
        rows.addWidget(self.view, 1)
        rows.addWidget(self.empty, 1)
        rows.addLayout(row)

    def _open_replay(self) -> None:
        rows = self.view.selectionModel().selectedRows()
        if not rows:
            return
        try:
            page = self._replay(self.table.run_at(rows[0].row()).run.id)
        except StoreError as error:
            self.note.setText(one_line(str(error), 400))
            self.note.show()
            return
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(page)))

    def _name_replay(self) -> None:
        self.replay_button.setEnabled(self.view.selectionModel().hasSelection())
