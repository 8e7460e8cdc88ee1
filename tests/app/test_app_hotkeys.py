"""The keys that work from anywhere: chosen ones are heard, and what is in their way is said before they are saved."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication, QKeySequenceEdit
from pytestqt.qtbot import QtBot
from Xlib import X, display

from agent_core.settings import Settings, UiSettings
from app.hotkey import Hotkeys
from app.hotkey_keys import parse, taken, troubles
from app.settings_window import SettingsWindow
from tests.app.conftest import Editor, Person

pytestmark = [pytest.mark.desktop, pytest.mark.timeout(120)]


@pytest.mark.parametrize(
    "text", ["", "Ctrl+", "Ctrl+!", "Ctrl+é", "Ctrl+ä", "Hyper+A", "Ctrl+Esc", "F99", "Ctrl+A, Ctrl+B", "Ctrl++"]
)
def test_what_cannot_be_listened_for_is_no_key(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize("text", ["F9", "Ctrl+Shift+Space", "Meta+D", "Ctrl+Alt+PgUp", "Alt+Shift+7", "Ctrl+Alt+Del"])
def test_what_can_be_listened_for_has_a_key_of_its_own(text: str) -> None:
    keys = parse(text)
    assert keys is not None
    assert keys.symbol != X.NONE


def test_each_trouble_is_found(person: Person) -> None:
    assert troubles({"a": "Ctrl+Shift+Space", "b": "", "c": "F9"}) == {}
    assert troubles({"a": "Ctrl+é"}) == {"a": "unusable"}
    assert troubles({"a": "Shift+A", "b": "7"}) == {"a": "typing", "b": "typing"}
    assert troubles({"a": "Ctrl+C", "b": "Alt+F4"}) == {"a": "everyones", "b": "everyones"}
    assert troubles({"a": "Ctrl+Alt+P", "b": "Alt+Ctrl+P", "c": "F9"}) == {"a": "twice", "b": "twice"}


def test_keys_that_another_program_has_taken_are_found(person: Person) -> None:
    keys = parse("Ctrl+Alt+K")
    assert keys is not None
    assert not taken(keys)
    other = display.Display()
    root = other.screen().root
    root.grab_key(other.keysym_to_keycode(keys.symbol), keys.modifiers, False, X.GrabModeAsync, X.GrabModeAsync)
    other.sync()
    try:
        assert taken(keys)
        assert troubles({"a": "Ctrl+Alt+K"}) == {"a": "taken"}
    finally:
        other.close()


@pytest.fixture
def hotkeys(person: Person) -> Iterator[Hotkeys]:
    made = Hotkeys()
    made.start()
    yield made
    made.stop()


def test_chosen_keys_are_heard_in_any_program_and_the_old_ones_no_more(
    hotkeys: Hotkeys, person: Person, editor: Editor, qtbot: QtBot
) -> None:
    person.do("windowactivate", "--sync", editor.window)
    hotkeys.use(UiSettings(open_key="F9", pause_key="Ctrl+Alt+P", stop_key="Meta+Pause"))
    for keys, signal in (
        ("F9", hotkeys.open_pressed),
        ("ctrl+alt+p", hotkeys.pause_pressed),
        ("super+Pause", hotkeys.stop_pressed),
    ):
        with qtbot.waitSignal(signal, timeout=5000):
            person.key(keys)
    with qtbot.assertNotEmitted(hotkeys.open_pressed, wait=400):
        person.key("ctrl+shift+space")
    with qtbot.waitSignal(hotkeys.stop_pressed, timeout=5000):
        person.key("Escape", "Escape")


def test_the_form_takes_pressed_keys_and_keeps_conflicts_out(
    dressed: QApplication, person: Person, qtbot: QtBot
) -> None:
    window = SettingsWindow(Settings())
    qtbot.addWidget(window)
    window.show()
    qtbot.waitActive(window)
    window.search.setText("anywhere")
    field = window.inputs["ui.pause_key"]
    assert isinstance(field, QKeySequenceEdit)
    person.click(field)
    person.key("ctrl+shift+space")  # what opens the window
    qtbot.waitUntil(lambda: not window.save_button.isEnabled(), timeout=5000)
    assert "twice" in window.rows["ui.pause_key"].warning
    assert "twice" in window.rows["ui.open_key"].warning
    qtbot.waitUntil(lambda: window.chosen().ui.pause_key == "Ctrl+Shift+Space", timeout=5000)
    field.clear()
    field.setFocus()
    person.key("ctrl+alt+p")
    qtbot.waitUntil(lambda: window.chosen().ui.pause_key == "Ctrl+Alt+P", timeout=5000)
    assert window.save_button.isEnabled()
    assert not window.rows["ui.pause_key"].warning
