"""The training window: a real flywheel's process, its curves, and which kept runs it would learn from."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from agent_core import settings
from agent_core.settings import Settings, TrainingSettings
from agent_core.traces.reads import Traces
from agent_core.traces.store import TraceStore
from app import theme, words
from app.other_windows import OtherWindows
from app.training_process import args_of, training_folder
from app.training_window import TrainingWindow
from tests.app.conftest import WAIT_MS, Person
from tests.app.test_app_windows import unclipped
from tests.traces.sample import RUN, record
from training.runs import RunFolder, write_json

pytestmark = pytest.mark.desktop
TRAINS_MS = 60_000


@dataclass(frozen=True)
class Knobs:
    """What a flywheel of one turn was begun with."""

    turns: int = 1


@pytest.fixture
def others(dressed: QApplication, home: Path, qtbot: QtBot) -> Iterator[OtherWindows]:
    made = OtherWindows()
    yield made
    made.flywheel.stop()
    for window in made.values():
        window.close()
        window.deleteLater()
    qtbot.wait(20)


def alive_in(group: int) -> bool:
    """Whether any process of a group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def learned(folder: Path) -> None:
    """A folder as a flywheel leaves it: one turn, with the metrics of SFT."""
    RunFolder(folder, Knobs()).close()
    trained = RunFolder(folder / "turn-1" / "sft", Knobs())
    for step in range(1, 21):
        trained.log(step=step, of=20, loss=4.0 / step, lr=1e-4)
    trained.close()
    write_json(folder / "turn-1" / "turn.json", {"turn": 1, "share_solved": 0.52, "success": 0.44})


def test_training_is_a_process_that_stops_whole_and_goes_on(others: OtherWindows, person: Person, qtbot: QtBot) -> None:
    window = others.training()
    qtbot.waitUntil(window.isActiveWindow, timeout=WAIT_MS)
    window.episodes.setValue(2)
    assert not window.stop_button.isEnabled()
    person.click(window.start_button)
    flywheel = others.flywheel
    qtbot.waitUntil(lambda: flywheel.running, timeout=WAIT_MS)
    assert flywheel._process is not None
    group = flywheel._process.pid
    qtbot.waitUntil(lambda: flywheel.folder is not None and bool(args_of(flywheel.folder)), timeout=TRAINS_MS)
    assert flywheel.folder == training_folder() / "0001"
    before = args_of(flywheel.folder)
    assert (before["turns"], before["episodes"]) == (1, 2)
    window.close()  # the process is the program's
    assert flywheel.running
    window = others.training()
    qtbot.waitUntil(window.isActiveWindow, timeout=WAIT_MS)
    person.click(window.stop_button)
    qtbot.waitUntil(lambda: not alive_in(group), timeout=WAIT_MS)
    assert "can go on" in window.status.text()
    person.click(window.resume_button)
    qtbot.waitUntil(lambda: flywheel.running, timeout=WAIT_MS)
    qtbot.wait(3000)
    assert flywheel.running  # with other arguments it would have refused
    assert args_of(flywheel.folder) == before
    others.hide()  # the program goes
    assert not flywheel.running


def test_quiet_hours_are_said(others: OtherWindows, qtbot: QtBot) -> None:
    hour = datetime.now().hour
    settings.save(replace(Settings(), training=TrainingSettings(hour, (hour + 2) % 24)))
    window = others.training()
    others.flywheel.start(1, 2, own_runs=False)
    qtbot.waitUntil(lambda: others.flywheel.folder is not None, timeout=TRAINS_MS)
    window.refresh()
    assert f"until {(hour + 2) % 24}:00" in window.status.text()


def test_the_curve_shows_what_the_trainer_wrote(others: OtherWindows, qtbot: QtBot) -> None:
    learned(training_folder() / "0001")
    window = others.training()
    qtbot.waitExposed(window)
    assert len(window.curve.points) == 20
    assert "turn-1/sft" in window.curve.accessibleName()
    assert "52%" in window.told.text()
    assert not window.resume_button.isEnabled()  # its one turn is done
    drawn = window.curve.grab().toImage()
    accent = theme.current().accent.lower()
    assert any(drawn.pixelColor(x, y).name() == accent for x in range(drawn.width()) for y in range(drawn.height()))


def test_the_runs_it_would_learn_from_are_shown_and_one_is_taken_out(
    others: OtherWindows, person: Person, qtbot: QtBot
) -> None:
    with TraceStore() as store:
        record(store, replace(RUN, id="old", task="Rename a photo", consent="settings"))
        record(store, replace(RUN, id="new", started=time.time(), consent="settings"))
    window = others.training()
    qtbot.waitUntil(window.isActiveWindow, timeout=WAIT_MS)
    person.click(window.look_button)
    qtbot.waitUntil(lambda: window.runs.rowCount() == 2, timeout=TRAINS_MS)
    assert "2 of 2" in window.data_note.text()
    tasks = [item.text() for row in range(2) if (item := window.runs.item(row, 0)) is not None]
    window.runs.selectRow(tasks.index("Rename a photo"))
    person.click(window.remove_button)
    person.click(window.sure.yes_button)
    qtbot.waitUntil(lambda: window.runs.rowCount() == 1, timeout=TRAINS_MS)
    assert [kept.run.id for kept in Traces().runs()] == ["new"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_of_training_is_clipped(others: OtherWindows, qtbot: QtBot, language: str) -> None:
    words.choose(language)
    learned(training_folder() / "0001")
    window: TrainingWindow = others.training()
    qtbot.waitExposed(window)
    unclipped(window)
