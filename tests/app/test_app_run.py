"""Whole runs through the windows: a task typed, approvals answered, a question answered, runs stopped."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from agent_core import paths
from app import wiring
from app.desk import Desk
from app.states import State
from app.trace_window import TraceWindow
from tests.app.conftest import Editor, Person, Start, send, wait_for_end

pytestmark = [pytest.mark.desktop, pytest.mark.timeout(120)]

IN_TEXT = "Thought: Put the cursor into the text.\nAction: click(point='<point>250 400</point>')"
WRITE = "Thought: Write it.\nAction: type(content='hello from the agent ')"
SAVE = "Thought: Save.\nAction: hotkey(key='ctrl s')"
DONE = "Thought: It is written.\nAction: finished(content='The note says hello.')"


def rows(sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(f"file:{paths.traces_file()}?mode=ro", uri=True)) as db:
        return db.execute(sql).fetchall()


def said(desk: Desk) -> str:
    return "\n".join(each.text() for each in desk.window.findChildren(QLabel) if not each.isHidden())


def test_a_typed_task_is_done_in_a_real_editor_and_kept(
    start: Start, person: Person, editor: Editor, qtbot: QtBot
) -> None:
    desk = start([IN_TEXT, WRITE, SAVE, DONE])
    send(desk, person, "Write hello into the note")
    qtbot.waitUntil(lambda: desk.state.busy, timeout=5000)
    qtbot.waitUntil(lambda: not desk.window.isVisible() and desk.strip.isVisible(), timeout=5000)
    wait_for_end(desk, qtbot)

    assert "hello from the agent" in editor.text
    assert desk.window.isVisible()
    assert not desk.strip.isVisible()
    assert "The note says hello." in said(desk)
    assert rows("SELECT task FROM runs") == [("Write hello into the note",)]
    assert rows("SELECT status FROM run_ends") == [("finished",)]
    (run_id,) = rows("SELECT id FROM runs")[0]
    desk.show_history()
    history = desk.others["history"]
    assert isinstance(history, TraceWindow)
    assert history.table.rowCount() == 1
    assert "Write hello into the note" in wiring.replay(str(run_id)).read_text(encoding="utf-8")
    assert [kind for (kind,) in rows("SELECT kind FROM steps ORDER BY n")] == ["click", "type", "hotkey", "finished"]


def test_first_progress_is_seen_within_a_third_of_a_second(
    start: Start, person: Person, editor: Editor, qtbot: QtBot
) -> None:
    desk = start([DONE], delay=0.5)
    person.click(desk.window.input)
    person.type("x")
    began = time.monotonic()
    desk.window.send_button.click()
    qtbot.waitUntil(lambda: desk.strip.isVisible() and bool(desk.strip.text.text()), timeout=2000)
    assert time.monotonic() - began < 0.3
    wait_for_end(desk, qtbot)


def test_approvals_are_answered_with_the_mouse(start: Start, person: Person, editor: Editor, qtbot: QtBot) -> None:
    desk = start([IN_TEXT, WRITE, WRITE, SAVE, DONE], mode="ask_all")
    panel = desk.asked.approval
    send(desk, person, "Write hello twice")
    qtbot.waitUntil(panel.isVisible, timeout=15_000)
    assert desk.state is State.WAITING
    assert "note.txt" in person.active_window()  # the panel took nobody's focus
    qtbot.wait(500)
    person.click(panel.allow_button)  # the click
    qtbot.waitUntil(lambda: panel.isVisible() and panel.exact.isVisible(), timeout=15_000)
    assert panel.exact.toPlainText() == "hello from the agent "
    qtbot.wait(500)
    person.click(panel.grant_button)  # typing in this window: the second one is not asked
    qtbot.waitUntil(lambda: panel.isVisible() and not panel.exact.isVisible(), timeout=15_000)
    qtbot.wait(500)
    person.click(panel.allow_button)  # the hotkey
    wait_for_end(desk, qtbot)

    assert editor.text.count("hello from the agent") == 2
    assert rows("SELECT kind, decision, who FROM steps ORDER BY n") == [
        ("click", "allow", "person"),
        ("type", "allow", "person"),
        ("type", "allow", "grant"),
        ("hotkey", "allow", "person"),
        ("finished", "allow", "policy"),
    ]


def test_deny_with_an_instead_goes_to_the_model(start: Start, person: Person, editor: Editor, qtbot: QtBot) -> None:
    desk = start([WRITE, DONE], mode="ask_all")
    send(desk, person, "Write hello")
    qtbot.waitUntil(desk.asked.approval.isVisible, timeout=15_000)
    person.click(desk.asked.approval.instead)
    person.type("leave it as it is")
    qtbot.waitUntil(lambda: desk.asked.approval.instead.text() == "leave it as it is", timeout=5000)
    person.key("Return")
    wait_for_end(desk, qtbot)
    assert "hello" not in editor.text
    assert rows("SELECT decision, who, instead FROM steps ORDER BY n")[0] == ("deny", "person", "leave it as it is")
    assert any("leave it as it is" in str(prompt) for (prompt,) in rows("SELECT prompt FROM turns WHERE n = 2"))


def test_keys_never_allow_and_time_denies(start: Start, person: Person, editor: Editor, qtbot: QtBot) -> None:
    desk = start([WRITE, DONE], mode="ask_all", seconds=8)
    panel = desk.asked.approval
    send(desk, person, "Write hello")
    qtbot.waitUntil(panel.isVisible, timeout=15_000)
    qtbot.wait(400)
    person.click(panel.instead)  # from here on the keyboard is the panel's
    for button in (panel.allow_button, panel.grant_button, panel.deny_button):
        button.setFocus()
        person.key("Return", "space", "KP_Enter")
    assert panel.isVisible()
    assert not panel.not_you.isVisible()  # they were real keys; they just do nothing
    wait_for_end(desk, qtbot)
    assert rows("SELECT decision, who FROM steps ORDER BY n")[0] == ("deny", "nobody")


def test_call_user_is_answered_in_words(start: Start, person: Person, editor: Editor, qtbot: QtBot) -> None:
    ask = "Thought: I cannot know that.\nAction: call_user(content='Which name should I write?')"
    desk = start([ask, IN_TEXT, "Thought: Write it.\nAction: type(content='Anna ')", SAVE, DONE])
    send(desk, person, "Write my name")
    qtbot.waitUntil(desk.asked.call.isVisible, timeout=15_000)
    person.click(desk.asked.call.answer)
    person.type("Anna")
    qtbot.waitUntil(lambda: desk.asked.call.answer.toPlainText() == "Anna", timeout=5000)
    person.click(desk.asked.call.send_button)
    wait_for_end(desk, qtbot)
    assert "Anna" in editor.text
    assert any("Anna" in str(prompt) for (prompt,) in rows("SELECT prompt FROM turns WHERE n = 2"))


def test_stop_button_and_escape_twice_end_a_run(start: Start, person: Person, editor: Editor, qtbot: QtBot) -> None:
    desk = start([DONE], delay=30)
    send(desk, person, "Think for long")
    qtbot.waitUntil(lambda: desk.state is State.THINKING, timeout=15_000)
    qtbot.wait(300)
    person.click(desk.strip.stop_button)
    began = time.monotonic()
    wait_for_end(desk, qtbot)
    assert desk.state is State.STOPPED
    assert time.monotonic() - began < 1

    send(desk, person, "Think again")
    qtbot.waitUntil(lambda: desk.state is State.THINKING, timeout=15_000)
    person.key("Escape", "Escape")
    wait_for_end(desk, qtbot)
    assert desk.state is State.STOPPED
    assert [status for (status,) in rows("SELECT status FROM run_ends")] == ["stopped", "stopped"]


def test_stop_while_asked_denies_and_withdraws_the_question(
    start: Start, person: Person, editor: Editor, qtbot: QtBot
) -> None:
    desk = start([WRITE], mode="ask_all")
    send(desk, person, "Write hello")
    qtbot.waitUntil(desk.asked.approval.isVisible, timeout=15_000)
    person.key("Escape", "Escape")
    wait_for_end(desk, qtbot)
    assert not desk.asked.approval.isVisible()
    assert "hello" not in editor.text
    assert desk.state is State.STOPPED


def test_pause_holds_the_run_before_its_next_step(start: Start, person: Person, editor: Editor, qtbot: QtBot) -> None:
    desk = start([IN_TEXT, WRITE, SAVE, DONE], delay=0.5)
    send(desk, person, "Write hello")
    qtbot.waitUntil(lambda: desk.state is State.THINKING, timeout=15_000)
    desk.pause(True)
    assert desk.state is State.PAUSED
    qtbot.wait(1500)
    assert "hello" not in editor.text
    assert desk.state is State.PAUSED
    desk.pause(False)
    wait_for_end(desk, qtbot)
    assert "hello from the agent" in editor.text


def test_without_consent_nothing_is_kept_but_the_audit(
    start: Start, person: Person, editor: Editor, qtbot: QtBot
) -> None:
    desk = start([IN_TEXT, DONE], consent="unasked")
    send(desk, person, "Click into the note")
    qtbot.waitUntil(lambda: "consent" in desk.others, timeout=5000)
    qtbot.wait(300)
    assert not desk.state.busy  # asked before anything is looked at
    person.click(desk.others["consent"].no_button)  # type: ignore[attr-defined]
    wait_for_end(desk, qtbot)
    assert desk.settings.privacy.consent == "no"
    assert not paths.traces_file().exists()
    assert not list(paths.home().rglob("*.png"))
    assert paths.audit_file().exists()
    assert 'consent = "no"' in paths.settings_file().read_text()


def test_a_broken_script_ends_the_run_with_a_sentence(
    start: Start, person: Person, editor: Editor, qtbot: QtBot, tmp_path: Path
) -> None:
    desk = start([])
    (tmp_path / "replies.json").write_text("{")
    send(desk, person, "Anything")
    wait_for_end(desk, qtbot)
    assert desk.state is State.ERROR
    assert "cannot be used" in said(desk)


def test_a_model_that_is_not_there_ends_the_run_with_a_sentence(start: Start, person: Person, qtbot: QtBot) -> None:
    desk = start([], model="nowhere")
    send(desk, person, "Anything")
    wait_for_end(desk, qtbot)
    assert "no manifest for the model 'nowhere'" in said(desk)
    assert desk.window.input.isEnabled()


def test_a_damaged_database_is_set_aside_and_said(
    start: Start, person: Person, editor: Editor, qtbot: QtBot, home: Path
) -> None:
    home.mkdir(exist_ok=True)
    paths.traces_file().write_bytes(b"SQLite format 3\x00" + b"\x07" * 3000)
    desk = start([DONE])
    qtbot.waitUntil(lambda: "The file traces.db was damaged" in said(desk), timeout=5000)
    send(desk, person, "Write hello into the note")
    qtbot.waitUntil(lambda: desk.state.busy, timeout=5000)
    wait_for_end(desk, qtbot)
    assert rows("SELECT status FROM run_ends") == [("finished",)]
    assert [file for file in home.iterdir() if file.name.startswith("traces.db.damaged")]


def test_what_is_added_in_a_pause_reaches_the_model_at_its_next_step(
    start: Start, person: Person, editor: Editor, qtbot: QtBot
) -> None:
    more = [f"Thought: More.\nAction: type(content='word{n} ')" for n in range(4)]
    desk = start([IN_TEXT, WRITE, *more, SAVE, DONE], delay=0.7, pause_on_mouse=False)
    turns: list[object] = []
    desk.agent.turned.connect(turns.append)
    send(desk, person, "Write hello into the note")
    qtbot.waitUntil(lambda: len(turns) >= 2, timeout=30_000)
    desk.pause(True)
    desk.show_window()
    qtbot.waitUntil(desk.window.input.hasFocus, timeout=15_000)
    person.type("and save it twice")
    person.key("Return")
    qtbot.waitUntil(lambda: desk.state is not State.PAUSED, timeout=15_000)
    assert desk.window.input.toPlainText() == ""
    assert "and save it twice" in said(desk)
    wait_for_end(desk, qtbot)
    told = [
        n
        for n, prompt in rows("SELECT n, prompt FROM turns ORDER BY n")
        if "The user adds: and save it twice" in str(prompt)
    ]
    every = [n for (n,) in rows("SELECT n FROM turns ORDER BY n")]
    assert told  # from the step after the pause to the last one
    assert told == every[every.index(told[0]) :]
    # The reply that was thought out before is dropped: it knew nothing of what was added.
    assert editor.text.count("word") >= len(more) - 1
    assert "save it" not in editor.text
