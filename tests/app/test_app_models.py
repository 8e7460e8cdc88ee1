"""The models window: what is here, a real self-test, a download from a real server, adapters in and out of use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QTableWidget
from pytestqt.qtbot import QtBot

from agent_core import paths, settings
from agent_core.models.manifest import Manifest
from agent_core.settings import ModelSettings, Settings
from app import wiring_models, words
from app.models_window import ModelsWindow
from app.training_process import training_folder
from tests.app.conftest import WAIT_MS, Person
from tests.app.test_app_promotion import tiny_model
from tests.app.test_app_windows import unclipped
from tests.models.test_download import Behaviour, seer, server  # noqa: F401
from tests.training.test_promote import candidate, evaluation
from training.deltas import hash_of
from training.promote import Evaluation, judged, kept, use
from training.runs import RunFolder, write_json

pytestmark = pytest.mark.desktop
SLOW_MS = 90_000


@pytest.fixture
def opened(dressed: QApplication, home: Path, qtbot: QtBot) -> Iterator[list[ModelsWindow]]:
    """Put a window in, and it is closed at the end."""
    made: list[ModelsWindow] = []
    yield made
    for window in made:
        window.close()
        window.deleteLater()
    qtbot.wait(20)


def show(opened: list[ModelsWindow], qtbot: QtBot, window: ModelsWindow) -> ModelsWindow:
    opened.append(window)
    window.show()
    qtbot.waitUntil(window.isActiveWindow, timeout=WAIT_MS)
    return window


def cells(table: QTableWidget, row: int) -> list[str]:
    return [item.text() for column in range(table.columnCount()) if (item := table.item(row, column)) is not None]


def choose(window: ModelsWindow, name: str) -> int:
    """Selects a model and gives its row."""
    row = [one.name for one in window._models].index(name)
    window.models.selectRow(row)
    return row


def test_models_are_listed_with_what_they_need_and_a_self_test_is_remembered(
    opened: list[ModelsWindow], person: Person, qtbot: QtBot
) -> None:
    tiny_model(paths.home())
    (paths.models_folder() / "broken.toml").write_text("kind = 1", encoding="utf-8")
    window = show(opened, qtbot, ModelsWindow())
    assert "ready" in cells(window.models, choose(window, "bundled"))[2]
    assert "in use" in cells(window.models, choose(window, "bundled"))[0]
    assert cells(window.models, choose(window, "broken"))[2] == "cannot be used"
    assert not window.test_button.isEnabled()
    row = choose(window, "tiny")
    assert cells(window.models, row)[3] == "not tested"
    person.click(window.test_button)
    qtbot.waitUntil(lambda: "tokens/s" in cells(window.models, row)[3], timeout=SLOW_MS)
    told = wiring_models.tried()["tiny"]
    assert 0 < told.tokens <= 16
    assert told.speed == pytest.approx(told.tokens / told.seconds)
    assert "tokens/s" in window.note.text()


def test_a_model_is_downloaded_with_progress(
    opened: list[ModelsWindow],
    person: Person,
    qtbot: QtBot,
    seer: Manifest,  # noqa: F811
    server: tuple[str, Behaviour],  # noqa: F811
) -> None:
    window = show(opened, qtbot, ModelsWindow(server[0]))
    row = choose(window, "seer")
    assert "to download" in cells(window.models, row)[2]
    told: list[tuple[object, object]] = []
    window._came.connect(lambda here, of: told.append((here, of)))
    person.click(window.get_button)
    qtbot.waitUntil(lambda: "files are right" in window.note.text(), timeout=WAIT_MS)
    assert told
    assert told[-1][0] == told[-1][1]
    assert "ready" in cells(window.models, row)[2]
    choose(window, "seer")
    assert not window.get_button.isEnabled()


def test_what_was_trained_is_shown_and_put_in_and_out_of_use(
    opened: list[ModelsWindow], person: Person, qtbot: QtBot, tmp_path: Path
) -> None:
    better, worse = candidate(tmp_path / "better", 0.9), candidate(tmp_path / "worse", 0.8)
    old = evaluation(tmp_path / "old.json", "", {"click": [False] * 10})
    new = evaluation(tmp_path / "new.json", hash_of(better), {"click": [True] * 8 + [False] * 2})
    (was,), (now,) = [Evaluation.read(old)], [Evaluation.read(new)]
    use(kept(better, [now], [was], judged([now], [was])), "promote", Settings())
    flywheel = training_folder() / "0001"
    RunFolder(flywheel, ModelSettings()).close()
    for number in (0, 1):
        (flywheel / f"turn-{number}").mkdir()
    new.rename(flywheel / "turn-0" / "evaluation.json")
    lost = {"click": [True] * 2 + [False] * 8}
    evaluation(flywheel / "turn-1" / "evaluation.json", hash_of(worse), lost)
    write_json(flywheel / "turn-1" / "turn.json", {"turn": 1, "candidate": str(worse), "success": 0.2})

    window = show(opened, qtbot, ModelsWindow())
    assert cells(window.adapters, 0)[2:] == ["20%", "trained here"]
    assert cells(window.adapters, 1)[2:] == ["pretend 80%, before 0%", "in use"]
    window.adapters.selectRow(0)
    person.click(window.promote_button)
    qtbot.waitUntil(lambda: "did not win" in window.note.text(), timeout=SLOW_MS)
    person.click(window.back_button)
    qtbot.waitUntil(lambda: cells(window.adapters, 1)[3] == "kept", timeout=SLOW_MS)
    assert settings.load()[0].model.adapter == ""
    assert not window.back_button.isEnabled()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_of_the_models_is_clipped(opened: list[ModelsWindow], qtbot: QtBot, language: str) -> None:
    words.choose(language)
    window = show(opened, qtbot, ModelsWindow())
    assert window.models.rowCount() >= 1
    unclipped(window)
