"""Models: which there are and what they need, a self-test with the speed here, and what training made of the agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Event

from PySide6.QtCore import Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QProgressBar,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from agent_core import settings
from app import theme, wiring_models, words
from app.chore import Chore
from app.models_adapters import candidates, promote, roll_back, versions
from app.text import button, label, one_line
from app.training_process import can_train
from app.wiring_models import ModelTold, Tried


class ModelsWindow(QWidget):
    """One thing at a time is done: a download, a self-test, a promotion. `server`: to download from another."""

    _came = Signal(object, object)  # bytes here, bytes in all

    def __init__(self, server: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("window")
        self.setWindowTitle(words.say("models.title"))
        self.resize(720, 600)
        self._server = server
        self._chore: Chore | None = None
        self._stop = Event()
        self._models: tuple[ModelTold, ...] = ()
        self._build()
        self._came.connect(self._show_progress)
        self.refresh()

    def refresh(self) -> None:
        """Reads manifests, self-tests and adapters anew."""
        self._models, tried = wiring_models.models(), wiring_models.tried()
        wanted = settings.load()[0].model
        rows = [
            (one.name + (f"  {words.say('models.in_use')}" if one.name == wanted.name else ""), one.dialect,
             _state(one), _speed(tried.get(one.name)))
            for one in self._models
        ]  # fmt: skip
        _fill(self.models, rows)
        for row, told in enumerate(self._models):
            if told.problem and (item := self.models.item(row, 2)) is not None:
                item.setToolTip(one_line(told.problem, 300).replace("<", "‹"))
        self._candidates = candidates()
        made = [(one.name, "", f"{one.success:.0%}", words.say("models.candidate")) for one in self._candidates]
        kept = [
            (one.name, one.date, _results(one.results), words.say("models.in_use" if one.in_use else "models.kept"))
            for one in versions()
        ]
        _fill(self.adapters, [*made, *kept])
        self.none.setVisible(not made and not kept)
        self.adapters.setVisible(bool(made or kept))
        self._can_roll_back = any(one.in_use for one in versions())
        self._name_buttons()

    def closeEvent(self, event: QCloseEvent) -> None:
        self._stop.set()
        if self._chore is not None:
            self._chore.wait()
        super().closeEvent(event)

    # -- the parts ---------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.models = _table(("name", "speaks", "state", "speed"), words.say("models.title"))
        self.test_button, self.get_button = button(words.say("models.test")), button(words.say("models.get"))
        self.stop_button = button(words.say("models.stop"), "stop")
        self.promote_button = button(words.say("models.promote"))
        self.back_button = button(words.say("models.back"))
        self.test_button.clicked.connect(self._test)
        self.get_button.clicked.connect(self._get)
        self.stop_button.clicked.connect(self._stop.set)
        self.promote_button.clicked.connect(self._promote)
        self.back_button.clicked.connect(self._roll_back)
        self.adapters = _table(("version", "date", "results", "use"), words.say("models.adapters"))
        self.none = label(words.say("models.none"), "secondary")
        self.progress = QProgressBar()
        self.progress.setAccessibleName(words.say("models.getting"))
        self.progress.hide()
        self.note = label("", "secondary")
        for table in (self.models, self.adapters):
            table.itemSelectionChanged.connect(self._name_buttons)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(theme.MARGIN, theme.MARGIN, theme.MARGIN, theme.MARGIN)
        rows.setSpacing(12)
        rows.addLayout(_head("models.title", self.test_button, self.get_button))
        rows.addWidget(self.models, 3)
        rows.addLayout(_head("models.adapters", self.back_button, self.promote_button))
        rows.addWidget(self.adapters, 2)
        rows.addWidget(self.none)
        rows.addStretch(0)
        foot = QHBoxLayout()
        foot.addWidget(self.progress, 1)
        foot.addWidget(self.stop_button)
        rows.addWidget(self.note)
        rows.addLayout(foot)

    # -- what the person wants ---------------------------------------------------------------------------------------

    def _test(self) -> None:
        if (one := self._chosen()) is not None:
            wanted = settings.load()[0].model
            adapter = wanted.adapter if wanted.name == one.name else ""
            work = partial(wiring_models.try_out, one.name, adapter)
            self._begin(work, words.say("models.testing", name=one.name), self._tested)

    def _tested(self, tried: Tried) -> None:
        said = "models.right" if tried.right else "models.wrong"
        self._over(words.say(said, time=words.seconds(tried.seconds * 1000), speed=f"{tried.speed:.1f}"))

    def _get(self) -> None:
        if (one := self._chosen()) is not None:
            self._stop.clear()
            self.progress.setRange(0, 0)
            self.progress.show()
            work = partial(wiring_models.get, one.name, self._stop, self._came.emit, self._server)
            self._begin(work, words.say("models.getting_it", name=one.name), self._got)
            self.stop_button.show()

    def _show_progress(self, here: int, of: int) -> None:
        self.progress.setRange(0, 1000)
        self.progress.setValue(round(here / max(1, of) * 1000))
        self.note.setText(words.say("models.came", here=f"{here / 1e9:.2f}", of=f"{of / 1e9:.2f}"))

    def _got(self, _nothing: object) -> None:
        self._over(words.say("models.got"))

    def _promote(self) -> None:
        at = self.adapters.currentRow()
        if 0 <= at < len(self._candidates):
            self._begin(partial(promote, self._candidates[at]), words.say("models.promoting"), self._over)

    def _roll_back(self) -> None:
        self._begin(roll_back, words.say("models.promoting"), self._over)

    def _begin(self, work: Callable[[], object], said: str, done: Callable[..., None]) -> None:
        self.note.setText(said)
        self._chore = Chore(work, self)
        self._chore.done.connect(done)
        self._chore.failed.connect(self._over)
        self._name_buttons()
        self._chore.start()

    def _over(self, sentence: str) -> None:
        self._chore = None
        self.progress.hide()
        self.note.setText("\n".join(one_line(line, 400) for line in sentence.splitlines()))
        self.refresh()

    def _chosen(self) -> ModelTold | None:
        at = self.models.currentRow()
        return self._models[at] if self.models.selectedItems() and 0 <= at < len(self._models) else None

    def _name_buttons(self) -> None:
        free, one = self._chore is None, self._chosen()
        self.test_button.setEnabled(free and one is not None and one.state in ("ready", "server"))
        self.get_button.setEnabled(free and one is not None and bool(one.origin) and one.state != "ready")
        at = self.adapters.currentRow() if self.adapters.selectedItems() else -1
        self.promote_button.setEnabled(free and can_train() and 0 <= at < len(self._candidates))
        self.back_button.setEnabled(free and can_train() and self._can_roll_back)
        self.stop_button.setVisible(not free and self.progress.isVisible())


def _table(columns: Sequence[str], name: str) -> QTableWidget:
    made = QTableWidget(0, len(columns))
    made.setAccessibleName(name)
    made.setHorizontalHeaderLabels([words.say(f"models.column.{column}") for column in columns])
    made.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    made.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    made.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    made.setTabKeyNavigation(False)
    made.setShowGrid(False)
    made.verticalHeader().hide()
    made.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    made.horizontalHeader().setSectionResizeMode(2, QHeaderView.ResizeMode.Stretch)
    return made


def _fill(table: QTableWidget, rows: Sequence[Sequence[str]]) -> None:
    """Puts the rows in; the chosen row stays chosen."""
    table.setRowCount(len(rows))
    for at, row in enumerate(rows):
        for column, text in enumerate(row):
            table.setItem(at, column, QTableWidgetItem(text))


def _head(title: str, *buttons: QPushButton) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(theme.GRID)
    row.addWidget(label(words.say(title), "heading"), 1)
    for each in buttons:
        row.addWidget(each)
    return row


def _state(one: ModelTold) -> str:
    sizes = {"here": f"{one.here:.1f}", "of": f"{one.gigabytes:.1f}"}
    return words.say(f"models.state.{one.state}", **sizes)


def _speed(tried: Tried | None) -> str:
    if tried is None:
        return words.say("models.untried")
    told = words.say("models.speed", speed=f"{tried.speed:.1f}")
    return told if tried.right else words.say("models.speed_wrong", speed=told)


def _results(results: Sequence[tuple[str, float, float]]) -> str:
    return ", ".join(words.say("models.result", suite=suite, was=f"{was:.0%}", now=f"{now:.0%}")
                     for suite, was, now in results)  # fmt: skip
