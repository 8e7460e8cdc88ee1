"""Deleting leaves nothing of a run: no row, no picture, no byte of its text in any file."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core import paths
from agent_core.errors import StoreError
from agent_core.traces.erase import delete_all, delete_run
from agent_core.traces.reads import Traces
from agent_core.traces.store import TraceStore
from tests.traces.sample import RUN, desktop, record, turn_of, turns

PLANTED = "Zx9PlantedSecret"


def planted_anywhere(home: Path) -> list[str]:
    files = [file for file in home.rglob("*") if file.is_file()]
    return [file.name for file in files if PLANTED.encode() in file.read_bytes()]


def record_two() -> None:
    """One run full of the planted text, and one of another person's choosing that shares a frame with it."""
    with TraceStore() as store:
        for n in range(3):
            made = [turn_of(n, desktop(f"{PLANTED} {n}"), PLANTED * 50, asked=PLANTED * 500) for n in range(1, 4)]
            bad = [replace(t, steps=(replace(turns()[0].steps[1], n=t.n, turn=t.n),)) for t in made]
            bad.append(replace(turns()[0], n=4, steps=(replace(turns()[0].steps[0], n=4, turn=4),)))
            record(store, replace(RUN, id=f"bad{n}", task=PLANTED), bad)
        record(store, replace(RUN, id="good"))


def test_a_deleted_run_leaves_no_byte(home: Path) -> None:
    record_two()
    assert planted_anywhere(home)
    before = len(list(paths.images_folder().glob("??/*.png")))
    sizes = paths.traces_file().stat().st_size
    for n in range(3):
        gone = delete_run(f"bad{n}")
        assert gone.runs == 1
    assert planted_anywhere(home) == []
    assert paths.traces_file().stat().st_size < sizes
    assert [kept.run.id for kept in Traces().runs()] == ["good"]
    assert len(list(paths.images_folder().glob("??/*.png"))) == Traces().stats().images == before - 3
    assert Traces().faults() == ()


def test_delete_all_leaves_an_empty_store_that_works(home: Path) -> None:
    record_two()
    (home / "traces.db.damaged-20200101-000000-1").write_text(PLANTED)
    (home / "traces.db.before-v1").write_text(PLANTED)
    assert delete_all().runs == 4
    assert planted_anywhere(home) == []
    assert list(paths.images_folder().glob("??/*")) == []
    with TraceStore() as store:
        record(store)
    assert Traces().stats().runs == 1


def test_a_picture_left_over_by_a_crash_goes_with_the_next_deletion() -> None:
    with TraceStore() as store:
        record(store)
    left = paths.images_folder() / "ab" / "new-left-over"
    left.parent.mkdir(exist_ok=True)
    left.write_bytes(b"pixels")
    delete_run(RUN.id)
    assert not left.exists()


def test_a_recorder_that_goes_on_after_the_deletion_is_refused() -> None:
    store, turn = TraceStore(), turns()[0]
    store.started(RUN, None)
    delete_run(RUN.id)
    with pytest.raises(StoreError, match="was deleted"):
        store.decided(RUN, turn, turn.steps[0])
    store.close()
    db = sqlite3.connect(paths.traces_file())
    assert db.execute("SELECT run FROM deletions").fetchall() == [(RUN.id,)]
    db.close()


def test_an_open_reader_is_named_and_nothing_stays_once_it_is_gone(home: Path) -> None:
    record_two()
    reader = sqlite3.connect(paths.traces_file())
    cursor = reader.execute("SELECT * FROM turns")
    cursor.fetchone()
    with pytest.raises(StoreError, match="still reads the history"):
        delete_all()
    cursor.close()
    reader.close()
    assert planted_anywhere(home) == []


def test_an_unknown_run_is_said_to_be_unknown() -> None:
    with pytest.raises(StoreError, match="No kept run has the id nope"):
        delete_run("nope")
    assert not paths.home().exists()
    with TraceStore() as store:
        store.started(RUN, None)
    with pytest.raises(StoreError, match="No kept run has the id nope"):
        delete_run("nope")
