"""The history and the replay of a run: what is found, what is shown of a step, and what a person's word becomes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from agent_core.actions import Click, Hotkey, Type
from agent_core.dialects import dialect
from agent_core.step import Screenshot, Transform
from agent_core.traces.reads import Traces
from agent_core.traces.review import WORDS, review
from agent_core.traces.store import TraceStore
from app import wiring, words
from app.labels import CHOICES, CorrectionForm
from app.other_windows import OtherWindows
from app.run_window import SIDE, RunWindow
from app.trace_window import TraceWindow
from tests.app.conftest import WAIT_MS, Person
from tests.app.test_app_windows import unclipped
from tests.traces.sample import BUTTON, RUN, record
from training.curate_labels import said_of

pytestmark = pytest.mark.desktop
SHOT = Screenshot(b"", 1000, 1000, Transform("", 0, 0, 1000, 1000))


@pytest.fixture
def kept(home: Path) -> tuple[str, ...]:
    """Two runs: an old one of another model, and one that began just now."""
    with TraceStore() as store:
        record(store, replace(RUN, id="old", task="Rename a photo", model="other"))
        record(store, replace(RUN, id="new", started=time.time()))
    return "old", "new"


@pytest.fixture
def others(dressed: QApplication, kept: tuple[str, ...], qtbot: QtBot) -> Iterator[OtherWindows]:
    made = OtherWindows()
    yield made
    for window in made.values():
        window.close()
        window.deleteLater()
    qtbot.wait(20)


def listed(window: TraceWindow) -> list[str]:
    return [window.table.run_at(row).run.id for row in range(window.table.rowCount())]


def choose(box: QComboBox, data: object) -> None:
    box.setCurrentIndex(box.findData(data))


def pick(person: Person, history: TraceWindow, row: int) -> None:
    """A click on a row of the table."""
    person.qtbot.waitUntil(history.isActiveWindow, timeout=WAIT_MS)
    person.qtbot.wait(150)
    place = history.view.visualRect(history.table.index(row, 1)).center()
    spot = history.view.viewport().mapToGlobal(place)
    person.do("mousemove", str(spot.x()), str(spot.y()), "click", "1")
    person.qtbot.waitUntil(history.steps_button.isEnabled, timeout=WAIT_MS)


def opened(steps: RunWindow) -> CorrectionForm:
    """The form under a wrong step."""
    steps.wrong_button.click()
    assert steps.form is not None
    return steps.form


def test_runs_are_found_by_text_and_narrowed_by_each_choice(others: OtherWindows, person: Person, qtbot: QtBot) -> None:
    history = others.history(wiring.replay, True)
    assert listed(history) == ["new", "old"]
    person.click(history.search)
    person.type("photo")
    qtbot.waitUntil(lambda: listed(history) == ["old"], timeout=WAIT_MS)
    person.key("ctrl+a")
    person.type("drag the first")  # words of a thought, in both
    qtbot.waitUntil(lambda: listed(history) == ["new", "old"], timeout=WAIT_MS)
    history.search.clear()
    filters = history.filters
    choose(filters.when, 7)
    assert listed(history) == ["new"]
    filters.when.setCurrentIndex(0)
    choose(filters.model, "other")
    assert listed(history) == ["old"]
    choose(filters.how, "stopped")
    assert listed(history) == []
    assert history.none.isVisible()
    assert not history.empty.isVisible()
    filters.how.setCurrentIndex(0)
    filters.model.setCurrentIndex(0)
    review("old", "thumb", "up", None)
    choose(filters.said, True)
    assert listed(history) == ["old"]
    choose(filters.said, False)
    assert listed(history) == ["new"]


def test_every_step_is_shown_with_picture_mark_thought_verdict_and_times(
    others: OtherWindows, person: Person, qtbot: QtBot
) -> None:
    history = others.history(wiring.replay, True)
    pick(person, history, 0)
    person.click(history.steps_button)
    steps = others["steps"]
    assert isinstance(steps, RunWindow)
    qtbot.waitUntil(steps.isActiveWindow, timeout=WAIT_MS)
    assert len(steps.frames) == 8  # seven steps and the turn that did nothing
    person.click(steps.slider)
    person.key("Home")
    assert steps.frame is not None
    assert steps.frame.marks == (BUTTON.centre,)
    shown = " ".join(label.text() for label in steps.findChildren(QLabel))
    for part in ("Make the folder and name it.", "New folder", "allowed", "1.4 s", "1 of 8"):
        assert part in shown, part
    ring = steps.picture.place_of(BUTTON.centre).toPoint() - QPoint(11, 0)
    accent = steps.picture.grab().toImage().pixelColor(ring)
    assert accent.blue() > 200 > accent.red()
    person.key("alt+Right")
    qtbot.waitUntil(lambda: steps.slider.value() == 1, timeout=WAIT_MS)
    person.click(steps.on_button)
    assert steps.frame is not None
    assert len(steps.frame.marks) == 2  # a drag


def test_a_wrong_step_becomes_a_label_that_curation_reads(others: OtherWindows, person: Person, qtbot: QtBot) -> None:
    steps = others.steps("new")
    qtbot.waitUntil(steps.isActiveWindow, timeout=WAIT_MS)
    person.click(steps.rating.no_button)
    person.click(steps.wrong_button)
    form = steps.form
    assert form is not None
    spot = steps.picture.mapToGlobal(steps.picture.place_of(BUTTON.centre).toPoint())
    qtbot.wait(100)
    person.do("mousemove", str(spot.x()), str(spot.y()), "click", "1")
    qtbot.waitUntil(lambda: form.kind.currentData() == "click", timeout=WAIT_MS)
    person.click(form.why)
    person.type("it makes the folder")
    person.click(form.keep_button)
    qtbot.waitUntil(lambda: steps.form is None, timeout=WAIT_MS)
    labels = Traces().labels("new")
    assert [(label.kind, label.step, label.who) for label in labels if label.kind in WORDS] == [
        ("thumb", None, "person"),
        ("correction", 1, "person"),
        ("wrong_step", 1, "person"),
    ]
    said = said_of(labels, Traces().turns("new"))
    assert (said.thumb, said.cut) == (False, 1)
    intent = dialect("elements").parse(said.better[1], SHOT)
    assert intent.thought == "it makes the folder"
    (action,) = intent.actions
    assert isinstance(action, Click)
    assert abs(action.at.x - BUTTON.centre.x) < 0.01
    assert abs(action.at.y - BUTTON.centre.y) < 0.01
    assert "it makes the folder" in " ".join(label.text() for label in steps.findChildren(QLabel))


def test_the_form_says_what_is_missing_and_writes_each_kind(others: OtherWindows, qtbot: QtBot) -> None:
    steps = others.steps("new")
    steps.go(2)
    for kind, text, wanted in (("type", "Ada", Type("Ada")), ("hotkey", "ctrl s", Hotkey(("ctrl", "s")))):
        form = opened(steps)
        form.kind.setCurrentIndex(CHOICES.index(kind))
        form.keep_button.click()
        assert form.complaint.text()
        form.text.setText(text)
        form.from_here.setChecked(False)
        form.keep_button.click()
        newest = Traces().labels("new")[-1]
        assert (newest.kind, newest.step) == ("correction", 3)
        assert dialect("elements").parse(newest.value, SHOT).actions == (wanted,)
    form = opened(steps)
    form.from_here.setChecked(False)
    form.keep_button.click()
    assert steps.form is None
    newest = Traces().labels("new")[-1]
    assert (newest.kind, newest.step, newest.score) == ("thumb", 3, -1.0)


def test_a_run_is_exported_and_deleted_only_after_the_question(
    others: OtherWindows, person: Person, qtbot: QtBot, tmp_path: Path
) -> None:
    history = others.history(wiring.replay, True)
    pick(person, history, 1)
    page = tmp_path / "page.html"
    person.click(history.export_button)
    person.choose(history.exports, history.exports.actions()[0])
    qtbot.waitUntil(history.place.isVisible, timeout=WAIT_MS)
    person.click(history.place.findChildren(QLineEdit)[0])
    person.key("ctrl+a")
    person.type(str(page))
    person.key("Return")
    qtbot.waitUntil(lambda: page.exists() and history.delete_button.isEnabled(), timeout=WAIT_MS)
    assert "Rename a photo" in page.read_text(encoding="utf-8")
    history._export("old", "jsonl", str(tmp_path / "lines"))
    qtbot.waitUntil(lambda: (tmp_path / "lines.jsonl").exists() and history.delete_button.isEnabled(), timeout=WAIT_MS)
    person.click(history.delete_button)
    person.click(history.sure.no_button)
    assert listed(history) == ["new", "old"]
    person.click(history.delete_button)
    person.click(history.sure.yes_button)
    qtbot.waitUntil(lambda: listed(history) == ["new"], timeout=WAIT_MS)
    assert [one.run.id for one in Traces().runs()] == ["new"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_of_the_history_is_clipped(others: OtherWindows, qtbot: QtBot, language: str) -> None:
    words.choose(language)
    history = others.history(wiring.replay, False)
    history.view.selectRow(0)
    history.delete_button.click()
    assert not history.exports.actions()[-1].isEnabled()  # nothing leaves while nothing may be kept
    steps = others.steps("new")
    form = opened(steps)
    form.kind.setCurrentIndex(CHOICES.index("scroll"))
    assert form.minimumSizeHint().width() <= SIDE - 24
    for window in (history, steps):
        qtbot.waitExposed(window)
        unclipped(window)


def test_a_run_that_is_gone_is_said(others: OtherWindows) -> None:
    steps = others.steps("nobody")
    assert "nobody" in steps.note.text()
    assert not steps.wrong_button.isEnabled()
