"""Kept runs stay within days and megabytes, the oldest go first, and what goes is gone from every file."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agent_core import paths
from agent_core.errors import StoreError
from agent_core.step import Screenshot, Status
from agent_core.traces import retention
from agent_core.traces.__main__ import main
from agent_core.traces.erase import delete_app
from agent_core.traces.reads import Traces
from agent_core.traces.replay import write_replay
from agent_core.traces.retention import DAY, MEGABYTE, bytes_kept, tidy
from agent_core.traces.store import TraceStore
from tests.traces.sample import RUN, desktop, record, turn_of, turns

NOW = 1_770_000_000.0
PLANTED = "Zx9 planted words"


def noise(n: int) -> Screenshot:
    """A frame that does not shrink as a PNG: about 190 kB."""
    rgb = np.random.default_rng(n).integers(0, 256, 320 * 200 * 3, dtype=np.uint8).tobytes()
    return replace(desktop(size=(320, 200)), rgb=rgb)


def keep(*ages: float, ended: bool = True) -> None:
    """One run for each age in days, named by its place, with a picture of its own."""
    with TraceStore() as store:
        for n, age in enumerate(ages):
            run = replace(RUN, id=f"r{n}", task=f"{PLANTED} {n}", started=NOW - age * DAY)
            store.started(run, None)
            store.replied(run, turn_of(1, noise(n), f"{PLANTED} {n}"))
            if ended:
                store.ended(run, Status.FINISHED, "Done.")


def ids() -> list[str]:
    return sorted(kept.run.id for kept in Traces().runs())


def left_of(home: Path, n: int) -> list[str]:
    words = f"{PLANTED} {n}".encode()
    return [file.name for file in home.rglob("*") if file.is_file() and words in file.read_bytes()]


def test_runs_older_than_the_days_go(home: Path) -> None:
    keep(100, 91, 89, 1)
    assert left_of(home, 0)
    gone = tidy(90, 0, now=NOW)
    assert (gone.runs, gone.images) == (2, 2)
    assert ids() == ["r2", "r3"]
    assert left_of(home, 0) == left_of(home, 1) == []
    assert left_of(home, 2)
    assert Traces().faults() == ()


def test_the_oldest_go_until_the_rest_fits() -> None:
    keep(5, 4, 3, 2, 1)
    total = bytes_kept(paths.traces_file(), paths.images_folder())
    assert total > 0.9 * MEGABYTE
    tidy(0, 1, now=NOW)
    assert bytes_kept(paths.traces_file(), paths.images_folder()) <= MEGABYTE
    assert ids()
    assert "r0" not in ids()
    assert "r4" in ids()


def test_nothing_goes_without_a_need() -> None:
    assert tidy(90, 2000).runs == 0
    assert not paths.home().exists()
    keep(400, 1)
    before = paths.traces_file().stat().st_mtime_ns
    assert tidy(0, 0, now=NOW).runs == 0
    assert tidy(500, 2000, now=NOW).runs == 0
    assert ids() == ["r0", "r1"]
    assert paths.traces_file().stat().st_mtime_ns >= before


def test_a_run_that_goes_on_is_left_alone_until_nothing_was_written_of_it_for_a_day() -> None:
    with TraceStore() as store:
        for n in range(2):
            store.started(replace(RUN, id=f"r{n}", started=NOW - 3 * DAY), None)
        for n in range(8):  # begun three days ago, paused over night, and now it goes on
            store.replied(replace(RUN, id="r1"), turn_of(n + 1, noise(100 + n), "more"))
    assert tidy(1, 1, now=NOW).runs == 1
    assert ids() == ["r1"]
    tidy(1, 0, now=time.time() + 2 * DAY)
    assert ids() == []


def test_a_picture_that_a_newer_run_shows_too_stays() -> None:
    with TraceStore() as store:
        for n, age in enumerate((200, 1)):
            record(store, replace(RUN, id=f"r{n}", started=NOW - age * DAY))
    tidy(90, 0, now=NOW)
    assert ids() == ["r1"]
    assert len(list(paths.images_folder().glob("??/*.png"))) == 3
    assert Traces().faults() == ()


def test_the_runs_with_an_app_are_deleted_by_a_word_of_its_title(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with TraceStore() as store:
        record(store, replace(RUN, id="files"))
        shop = [replace(t, screenshot=replace(t.screenshot, window="Marigold Shop - Browser")) for t in turns()]
        record(store, replace(RUN, id="shop"), shop)
    page = write_replay("shop", paths.replays_folder() / "shop.html")
    page.with_name("shop.htmlx1y2").write_text("a page that was cut off: Marigold")
    assert main(["delete", "--app", "marigold shop"]) == 0
    assert "1 run" in capsys.readouterr().out
    assert ids() == ["files"]
    assert not page.exists()
    assert not [f for f in home.rglob("*") if f.is_file() and b"Marigold" in f.read_bytes()]
    assert main(["delete", "--app", "no such title"]) == 0
    with pytest.raises(StoreError, match="Say which app"):
        delete_app(" ")
    assert main(["delete", "--run", "files"]) == 0
    assert ids() == []


def test_tidying_thousands_of_small_runs_is_quick() -> None:
    with TraceStore() as store:
        for n in range(300):
            run = replace(RUN, id=f"r{n:04d}", started=NOW - (400 - n) * DAY)
            store.started(run, None)
            store.ended(run, Status.FINISHED, "Done.")
    began = time.process_time()
    assert retention.tidy(200, 0, now=NOW).runs == 200
    assert time.process_time() - began < 5
