"""The row of choices above the history: when, how it ended, with which model, reviewed or not."""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QWidget

from agent_core.step import Status
from agent_core.traces.rows import Wanted
from app import theme, words
from app.text import one_line

DAY_S = 86_400.0
DAYS = (1, 7, 30)


class TraceFilters(QWidget):
    """`changed` says that another choice was made; `wanted` gives all of them."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.when = self._choice("when", [(words.say(f"history.when.{days}"), days) for days in DAYS])
        self.how = self._choice("how", [(words.say(f"status.{status.value}"), status.value) for status in Status])
        self.model = self._choice("model", [])
        self.said = self._choice("said", [(words.say("history.said.yes"), True), (words.say("history.said.no"), False)])
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.GRID)
        for box in (self.when, self.how, self.model, self.said):
            row.addWidget(box, 1)

    def wanted(self) -> Wanted:
        """The choices as they stand; days are counted back from now."""
        days = self.when.currentData()
        return Wanted(
            since=None if days is None else time.time() - days * DAY_S,
            status=self.how.currentData() or "",
            model=self.model.currentData() or "",
            reviewed=self.said.currentData(),
        )

    def offer_models(self, names: Sequence[str]) -> None:
        """Lists the models there are; the chosen one stays chosen."""
        if list(names) == [self.model.itemData(at) for at in range(1, self.model.count())]:
            return
        chosen = self.model.currentData()
        self.model.blockSignals(True)
        while self.model.count() > 1:
            self.model.removeItem(1)
        for name in names:
            self.model.addItem(one_line(name, 60), name)
        self.model.setCurrentIndex(max(0, self.model.findData(chosen)))
        self.model.blockSignals(False)

    def _choice(self, name: str, values: Sequence[tuple[str, object]]) -> QComboBox:
        box = QComboBox()
        box.setAccessibleName(words.say(f"history.{name}"))
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(10)
        box.addItem(words.say(f"history.{name}.any"), None)
        for text, value in values:
            box.addItem(text, value)
        box.currentIndexChanged.connect(self.changed)
        return box
