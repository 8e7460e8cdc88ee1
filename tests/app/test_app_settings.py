"""The settings window: search, files, monitors, start at login, and what is in the way of chosen keys."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication, QComboBox, QKeySequenceEdit, QSpinBox
from pytestqt.qtbot import QtBot

from agent_core import settings as settings_file
from agent_core.errors import SettingsError
from agent_core.settings import PrivacySettings, RunSettings, Settings, UiSettings
from app import autostart, qt_words, words
from app.settings_window import SettingsWindow
from tests.app.conftest import Person, Start

pytestmark = [pytest.mark.desktop, pytest.mark.timeout(120)]


@pytest.fixture
def window(dressed: QApplication, qtbot: QtBot) -> SettingsWindow:
    made = SettingsWindow(Settings())
    qtbot.addWidget(made)
    made.show()
    qtbot.waitActive(made)
    return made


def shown(window: SettingsWindow) -> list[str]:
    return [name for name, row in window.rows.items() if row.isVisible()]


def test_a_search_shows_what_it_means_and_no_empty_group(window: SettingsWindow, person: Person) -> None:
    everything = shown(window)
    person.click(window.search)
    person.type("run minutes")
    assert shown(window) == ["safety.grant_minutes", "run.max_minutes"]
    assert [name for name, each in window.headings.items() if each.isVisible()] == ["safety", "run"]
    person.type(" nonsense")
    assert not shown(window)
    assert window.nothing.isVisible()
    window.search.clear()
    assert shown(window) == everything


def test_a_search_finds_the_choices_too(window: SettingsWindow) -> None:
    window.search.setText("watch only")
    assert shown(window) == ["safety.mode"]


def test_what_is_exported_can_be_imported_but_for_the_consent(
    window: SettingsWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    wanted = Settings(run=RunSettings(max_steps=7, monitor=2), privacy=PrivacySettings("yes", keep_days=3))
    other = SettingsWindow(wanted)
    qtbot.addWidget(other)
    other.export_to(str(file))
    assert settings_file.read(file) == wanted
    window.import_from(str(file))
    assert window.chosen() == replace(wanted, privacy=replace(wanted.privacy, consent="unasked"))


@pytest.mark.parametrize("content", ["no = [settings", "[run]\nmax_steps = 'many'", "run = 3"])
def test_a_file_that_holds_no_settings_changes_nothing(window: SettingsWindow, tmp_path: Path, content: str) -> None:
    file = tmp_path / "other.toml"
    file.write_text(content, encoding="utf-8")
    window.import_from(str(file))
    assert window.chosen() == Settings()
    assert "holds no settings" in window.note.text()
    assert file.read_text(encoding="utf-8") == content
    window.import_from(str(tmp_path / "nowhere.toml"))
    assert "cannot be read" in window.note.text()


def test_the_dialogs_ask_for_the_file(window: SettingsWindow, person: Person, qtbot: QtBot, tmp_path: Path) -> None:
    person.click(window.export_button)
    qtbot.waitUntil(lambda: person.active_window() == words.say("settings.export"), timeout=10_000)
    person.key("ctrl+a")
    person.type(str(tmp_path / "typed"))
    person.key("Return")
    qtbot.waitUntil((tmp_path / "typed.toml").is_file, timeout=10_000)
    assert settings_file.read(tmp_path / "typed.toml") == Settings()


def test_the_monitor_is_chosen_by_name_and_size(window: SettingsWindow) -> None:
    box = window.inputs["run.monitor"]
    assert isinstance(box, QComboBox)
    assert "1280 × 800" in box.itemText(0)
    assert "not connected" in box.itemText(1)
    box.setCurrentIndex(1)
    assert window.chosen().run.monitor == 2


def test_the_wheel_scrolls_the_form_and_changes_no_setting(window: SettingsWindow, person: Person) -> None:
    number = window.inputs["model.threads"]
    assert isinstance(number, QSpinBox)
    window.search.setFocus()
    person.move_to(number)
    person.do("click", "4", "click", "4")
    assert number.value() == Settings().model.threads


def test_qts_own_dialogs_speak_chinese_too(dressed: QApplication) -> None:
    assert qt_words.install(dressed) is None
    words.choose("zh")
    translator = qt_words.install(dressed)
    assert translator is not None
    try:
        assert dressed.translate("QPlatformTheme", "Cancel") == "取消"
    finally:
        dressed.removeTranslator(translator)


def test_starting_at_login_is_an_entry_that_starts_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "con fig"))
    autostart.switch(True)
    lines = autostart.entry_file().read_text(encoding="utf-8").splitlines()
    said = dict(line.split("=", 1) for line in lines[1:])
    command = shlex.split(said["Exec"])
    assert command[-1] == "--in-tray"
    done = subprocess.run(
        [*command[:-1], "--help"], cwd=said["Path"], capture_output=True, text=True, timeout=60, check=True
    )
    assert "--in-tray" in done.stdout
    if shutil.which("desktop-file-validate"):
        subprocess.run(["desktop-file-validate", str(autostart.entry_file())], check=True)
    autostart.switch(False)
    autostart.switch(False)
    assert not autostart.entry_file().exists()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "autostart").write_text("a file where the folder should be", encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(SettingsError, match="Starting at login"):
        autostart.switch(True)


def test_without_a_tray_a_start_at_login_shows_the_window(person: Person, qtbot: QtBot) -> None:
    process = subprocess.Popen([sys.executable, "-m", "app", "--in-tray"])
    try:
        qtbot.waitUntil(lambda: bool(person.do("search", "--onlyvisible", "--name", "^Deskhand$")), timeout=30_000)
    finally:
        process.terminate()
        process.wait(timeout=20)


def test_saved_settings_are_told_with_those_before(start: Start, qtbot: QtBot) -> None:
    desk = start([])
    before = desk.settings
    desk.show_settings()
    form = desk.others["settings"]
    assert isinstance(form, SettingsWindow)
    keys = form.inputs["ui.pause_key"]
    assert isinstance(keys, QKeySequenceEdit)
    keys.setKeySequence(QKeySequence("Ctrl+Alt+P"))
    with qtbot.waitSignal(desk.settings_changed) as told:
        form.save_button.click()
    assert told.args is not None
    assert told.args[0] == before
    assert told.args[1].ui == UiSettings(theme="system", language="system", pause_key="Ctrl+Alt+P")
    assert settings_file.load()[0].ui.pause_key == "Ctrl+Alt+P"
