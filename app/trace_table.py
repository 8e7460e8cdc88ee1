"""The history as a table model: one kept run a row, the newest first."""

from __future__ import annotations

import time
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from agent_core.traces.rows import KeptRun
from app import words
from app.text import visible

COLUMNS = ("started", "task", "status", "steps")
Index = QModelIndex | QPersistentModelIndex


class TraceTable(QAbstractTableModel):
    """Read-only; `show` replaces what is listed."""

    def __init__(self) -> None:
        super().__init__()
        self._runs: tuple[KeptRun, ...] = ()

    def show(self, runs: tuple[KeptRun, ...]) -> None:
        self.beginResetModel()
        self._runs = runs
        self.endResetModel()

    def run_at(self, row: int) -> KeptRun:
        return self._runs[row]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self._runs)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole and orientation is Qt.Orientation.Horizontal:
            return words.say(f"history.column.{COLUMNS[section]}")
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        kept = self._runs[index.row()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return visible(kept.text, 300).replace("<", "‹") or None
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        match COLUMNS[index.column()]:
            case "started":
                return time.strftime("%Y-%m-%d %H:%M", time.localtime(kept.run.started))
            case "task":
                return visible(" ".join(kept.run.task.split()), 200)
            case "status":
                return words.say(f"status.{kept.status.value}")
            case _:
                return kept.steps
