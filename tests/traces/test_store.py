"""What is recorded comes back as it was, once, and cannot be changed afterwards."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core import paths
from agent_core.actions import Action, Finished, Scroll, Terminal, Type
from agent_core.errors import StoreError
from agent_core.redaction import Redactor
from agent_core.step import Box, Element, Intent, Outcome, Prompt, Status, Step, Verdict
from agent_core.traces.reads import Traces
from agent_core.traces.store import NoTrace, TraceStore
from tests.traces.sample import ALLOWED, RUN, desktop, record, turn_of, turns

SMALL = (64, 40)


def rows(sql: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(paths.traces_file()) as db:
        found = db.execute(sql).fetchall()
    db.close()
    return found


def test_a_run_comes_back_as_it_was_recorded() -> None:
    with TraceStore() as store:
        made = record(store)
    kept = Traces().run(RUN.id)
    assert kept.run == RUN
    assert (kept.status, kept.text, kept.steps) == (Status.FINISHED, "They are in Invoices.", 7)
    for turn, read in zip(made, Traces().turns(RUN.id), strict=True):
        assert read.steps == turn.steps
        assert read.elements == turn.screenshot.elements
        assert read.reply == turn.reply
        assert (read.thought, read.problems) == (turn.intent.thought, turn.intent.problems)
        assert read.prompt == turn.prompt.chatml()
        assert Traces().picture(read.screenshot).rgb == turn.screenshot.rgb
        assert [Traces().picture(image).rgb for image in read.prompt_images] == [turn.screenshot.rgb]


def test_the_step_is_there_before_decided_returns_and_without_an_outcome() -> None:
    store, turn = TraceStore(), turns()[0]
    store.started(RUN, turn.screenshot)
    store.decided(RUN, turn, replace(turn.steps[0], outcome=None))
    [read] = Traces().turns(RUN.id)
    assert read.steps == (replace(turn.steps[0], outcome=None),)
    assert Traces().run(RUN.id).ended is None
    store.close()


def test_a_turn_without_a_step_can_be_kept_too() -> None:
    with TraceStore() as store:
        unreadable = turns()[3]
        store.started(RUN, None)
        store.replied(RUN, unreadable)
        store.replied(RUN, unreadable)
    [read] = Traces().turns(RUN.id)
    assert read.problems == ("The reply holds no action.",)
    assert read.steps == ()


def test_an_identical_frame_is_stored_once() -> None:
    with TraceStore() as store:
        record(store)
    frames = {turn.screenshot.rgb for turn in turns()}
    assert len(list(paths.images_folder().glob("??/*.png"))) == len(frames) == Traces().stats().images
    assert not list(paths.images_folder().glob("??/new-*"))
    assert Traces().faults() == ()


def test_a_persons_word_becomes_a_label() -> None:
    with TraceStore() as store:
        record(store)
        store.label(RUN.id, 4, "wrong_step", None, "Should not have been tried.", "person")
        store.label(RUN.id, None, "thumb", 1.0, "", "person")
    labels = [(x.step, x.kind, x.score, x.value) for x in Traces().labels(RUN.id)]
    assert labels == [
        (2, "allow", 1.0, ""),
        (4, "instead", -1.0, "Leave the others alone."),
        (4, "wrong_step", None, "Should not have been tried."),
        (None, "thumb", 1.0, ""),
    ]


def test_a_run_without_consent_is_never_kept() -> None:
    record(NoTrace(), replace(RUN, consent=""))
    assert not paths.home().exists()
    with TraceStore() as store, pytest.raises(StoreError, match="not agreed to be kept"):
        store.started(replace(RUN, consent=""), None)


@pytest.mark.parametrize("table", ["runs", "run_ends", "turns", "steps", "outcomes", "labels", "images"])
def test_rows_are_never_updated_and_not_deleted_by_hand(table: str) -> None:
    with TraceStore() as store:
        record(store)
    db = sqlite3.connect(paths.traces_file())
    db.execute("PRAGMA foreign_keys = ON")
    column = db.execute(f"SELECT name FROM pragma_table_info('{table}') LIMIT 1").fetchone()[0]
    with pytest.raises(sqlite3.IntegrityError, match="never updated"):
        db.execute(f"UPDATE {table} SET {column} = {column}")
    with pytest.raises(sqlite3.IntegrityError, match=r"only deleted with their run|FOREIGN KEY"):
        db.execute(f"DELETE FROM {table}")
    db.close()


def test_every_text_goes_through_the_redaction() -> None:
    secret = "hunter2"
    shot = replace(
        desktop(secret, SMALL),
        window=f"vault {secret}",
        elements=(Element("text", secret, Box(0, 0, 1, 1), value=secret),),
    )
    turn = turn_of(1, shot, f"type {secret}", reply=f"reply {secret}", asked=f"asked {secret}")
    turn = replace(turn, intent=Intent(f"type {secret}", (), (f"problem {secret}",), f"reflection {secret}"))
    run = replace(RUN, task=f"log in with {secret}")
    with TraceStore(redactor=lambda: Redactor([secret])) as store:
        store.started(run, shot)
        actions: tuple[Action, ...] = (Type(secret), Terminal(f"echo {secret}"), Finished(secret))
        for n, action in enumerate(actions, start=1):
            verdict = Verdict("deny", ALLOWED.tier, f"reason {secret}", "person", f"instead {secret}")
            step = Step(n, 1, action, verdict, shot.elements[0])
            store.decided(run, turn, step)
            store.happened(run, step, Outcome(True, f"out {secret}"), None)
        store.label(run.id, 1, "correction", None, f"better {secret}", "person")
        store.ended(run, Status.FINISHED, f"done {secret}")
    for file in paths.home().glob("traces.db*"):
        assert secret.encode() not in file.read_bytes()
    [read] = Traces().turns(run.id)
    assert read.steps[0].action == Type("«secret»")
    assert read.reply.token_ids == ()  # the sampled tokens would spell the secret out again


def test_text_of_every_kind_is_kept() -> None:
    with TraceStore() as store:
        run = replace(RUN, task="שלום 把三张发票放进 \U0001f9fe ' -- \x00 \ud83d end")
        store.started(run, None)
    assert Traces().run(run.id).run.task == "שלום 把三张发票放进 \U0001f9fe ' -- \x00 ? end"


def test_a_step_log_that_a_person_can_read() -> None:
    with TraceStore() as store:
        record(store)
    log = rows("SELECT step, does, on_element, decision, who, outcome, run_status FROM step_log")
    assert log[0] == (1, "click", "New folder", "allow", "policy", "ok", "finished")
    assert log[3] == (4, "run in the terminal: rm -r ~/Downloads", None, "deny", "person", "not done", "finished")


def test_runs_are_listed_newest_first_and_searched() -> None:
    with TraceStore() as store:
        for n, task in enumerate(("Open the 100% report", "Write a letter", "Play a game")):
            store.started(replace(RUN, id=f"r{n}", task=task, started=1000.0 + n), None)
        made = turn_of(1, desktop(size=SMALL), "look for the gamepad", Scroll("down"))
        store.decided(replace(RUN, id="r1"), made, Step(1, 1, Scroll("down"), ALLOWED))
    traces = Traces()
    assert [k.run.id for k in traces.runs()] == ["r2", "r1", "r0"]
    assert [k.run.id for k in traces.runs("GAME")] == ["r2", "r1"]
    assert [k.run.id for k in traces.runs("0% r")] == ["r0"]
    assert [k.run.id for k in traces.runs("%")] == ["r0"]
    assert [k.run.id for k in traces.runs(limit=1, before=1002.0)] == ["r1"]


def test_training_rows_are_the_turns_of_ended_runs() -> None:
    with TraceStore() as store:
        record(store)
        store.started(replace(RUN, id="open", tags=()), None)
        store.replied(replace(RUN, id="open"), turns()[0])
    rows = list(Traces().training_rows())
    assert [(r.run, r.n, r.steps, r.allowed, r.ok) for r in rows] == [
        ("run1", 1, 2, True, True),
        ("run1", 2, 1, True, True),
        ("run1", 3, 1, False, False),
        ("run1", 4, 0, False, False),
        ("run1", 5, 1, True, False),
        ("run1", 6, 2, True, True),
    ]
    first = rows[0]
    assert (first.task, first.status, first.tags) == (RUN.task, Status.FINISHED, ("sample", "held_out"))
    assert (first.token_ids, first.logprobs) == ((5, 6, 7), (-0.5, -0.1, -1.25))
    assert first.prompt == turns()[0].prompt.chatml()
    assert list(Traces().training_rows("no such tag")) == []
    assert len(list(Traces().training_rows("held_out"))) == 6


def test_no_file_reads_as_an_empty_history(home: Path) -> None:
    assert Traces().runs() == ()
    assert list(Traces().training_rows()) == []
    assert Traces().stats().runs == 0
    with pytest.raises(StoreError, match="No kept run has the id nope"):
        Traces().run("nope")
    assert not home.exists()


def test_a_prompt_without_pictures_is_fine() -> None:
    with TraceStore() as store:
        turn = replace(turns()[0], prompt=Prompt(()))
        store.started(RUN, None)
        store.replied(RUN, turn)
    assert Traces().turns(RUN.id)[0].prompt_images == ()
