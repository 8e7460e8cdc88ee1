"""Kills, full disks, read-only folders, damaged and locked files: nothing promised is lost, all else is said."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core import paths
from agent_core.errors import StoreError
from agent_core.traces.connection import open_for_writing
from agent_core.traces.migrations import MIGRATIONS
from agent_core.traces.reads import Traces
from agent_core.traces.store import TraceStore
from tests.traces.sample import RUN, desktop, record, turn_of, turns

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534

WRITE_UNTIL_KILLED = """
import sys
from dataclasses import replace
from agent_core.actions import Wait
from agent_core.step import Step
from agent_core.traces.store import TraceStore
from tests.traces.sample import ALLOWED, RUN, desktop, turn_of

run, store = replace(RUN, id=sys.argv[1]), TraceStore()
store.started(run, None)
for n in range(1, int(sys.argv[2]) + 1):
    turn = turn_of(n, desktop(str(n), (320, 200)), f"thought {n}", Wait())
    store.decided(run, turn, Step(n, n, Wait(), ALLOWED))
    print(n, flush=True)
"""


def writer(run_id: str, steps: int = 100_000) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITE_UNTIL_KILLED, run_id, str(steps)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def test_every_step_that_was_promised_survives_a_kill() -> None:
    chance = random.Random(7)
    for attempt in range(4):
        with writer(f"killed{attempt}") as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            time.sleep(chance.uniform(0.02, 0.25))
            process.send_signal(signal.SIGKILL)
            promised = [int(line) for line in (first + process.stdout.read()).split()]
        kept = [step.n for turn in Traces().turns(f"killed{attempt}") for step in turn.steps]
        assert kept[: len(promised)] == promised
        assert len(kept) <= len(promised) + 1  # at most the one that was committed and not yet told
    assert Traces().faults() == ()
    with TraceStore() as store:
        assert store.open() == ""
        record(store)


def test_two_processes_read_while_one_writes() -> None:
    read_all = (
        "from agent_core.traces.reads import Traces\nseen = []\n"
        "while not seen or seen[-1] < 60:\n"
        "    seen.append(sum(len(t.steps) for t in Traces().turns('busy')))\n"
        "assert seen == sorted(seen)\nassert len(list(Traces().training_rows())) == 0\n"
    )
    with writer("busy", 60) as writing:
        assert writing.stdout is not None
        writing.stdout.readline()
        readers = [subprocess.Popen([sys.executable, "-c", read_all], cwd=ROOT) for _ in range(2)]
        assert writing.stdout.read().split()[-1] == "60"
        assert [reader.wait(timeout=20) for reader in readers] == [0, 0]
    assert writing.returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("cannot mount a file system here; the limit on file size is tested in any case")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def fill(path: Path, folder: Path) -> int:
    """Records until the store says it cannot; gives the number of steps it took."""
    done = 0
    said = ""
    with TraceStore(path, folder) as store:
        store.started(RUN, None)
        while not said and done < 2000:
            n = done + 1
            turn = turn_of(n, desktop(str(n), (320, 200)), "x" * 4000)
            try:
                store.decided(RUN, turn, replace(turns()[0].steps[1], n=n, turn=n))
                done = n
            except StoreError as error:
                said = str(error)
    assert "full" in said
    assert "\n" not in said
    return done


def test_a_full_disk_is_said_and_what_was_kept_stays(small_disk: Path) -> None:
    done = fill(small_disk / "traces.db", small_disk / "images")
    assert done > 3
    traces = Traces(small_disk / "traces.db", small_disk / "images")
    assert [step.n for turn in traces.turns(RUN.id) for step in turn.steps] == list(range(1, done + 1))


def test_a_limit_on_file_size_is_said_and_what_was_kept_stays() -> None:
    script = (
        "import resource\nfrom tests.traces.test_store_faults import fill\nfrom agent_core import paths\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))\n"
        "print(fill(paths.traces_file(), paths.images_folder()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    kept = [step.n for turn in Traces().turns(RUN.id) for step in turn.steps]
    assert kept == list(range(1, int(done.stdout) + 1))
    assert len(kept) > 3


@pytest.fixture
def read_only_folder() -> Iterator[Path]:
    """A folder that this process may not write, also when the tests run as root."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o555)
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    yield folder
    os.seteuid(user)
    shutil.rmtree(folder)


def test_a_read_only_folder_is_said(read_only_folder: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot be written\. Check that the folder is yours"):
        TraceStore(read_only_folder / "traces.db", read_only_folder / "images").started(RUN, None)


def test_a_file_in_the_place_of_the_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("not a folder")
    with pytest.raises(StoreError, match="is not a folder"):
        TraceStore().started(RUN, None)


@pytest.mark.parametrize("damage", ["truncated", "overwritten", "not a database"])
def test_a_damaged_file_is_set_aside_and_a_new_one_begun(damage: str, home: Path) -> None:
    with TraceStore() as store:
        record(store)
    file = paths.traces_file()
    whole = file.read_bytes()
    half = len(whole) // 2
    damaged = {"truncated": whole[:half], "overwritten": whole[:4096] + b"\x55" * (len(whole) - 4096)}
    file.write_bytes(damaged.get(damage, b"these are not the pages you are looking for" * 200))
    with TraceStore() as store:
        notice = store.open()
        record(store, replace(RUN, id="after"))
        assert store.notice == notice
    [aside] = home.glob("traces.db.damaged-*")
    assert aside.name in notice
    assert aside.read_bytes() == damaged.get(damage, aside.read_bytes())
    assert [kept.run.id for kept in Traces().runs()] == ["after"]


def test_damage_met_while_reading_is_said() -> None:
    with TraceStore() as store:
        record(store)
    file = paths.traces_file()
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\x55" * (len(whole) - 4096))
    with pytest.raises(StoreError, match=r"it is damaged\. The next start keeps it"):
        Traces().runs()


def test_a_locked_file_is_said_after_a_while() -> None:
    store = TraceStore()
    store.started(RUN, None)
    other = sqlite3.connect(paths.traces_file(), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="another program has held it"):
        store.decided(RUN, turns()[0], turns()[0].steps[0])
    other.close()
    store.decided(RUN, turns()[0], turns()[0].steps[0])
    store.close()


def test_a_missing_picture_is_said_and_the_rest_can_be_read() -> None:
    with TraceStore() as store:
        made = record(store)
    sha256 = Traces().turns(RUN.id)[0].screenshot
    Traces().image_file(sha256).unlink()
    with pytest.raises(StoreError, match="missing or damaged"):
        Traces().picture(sha256)
    [fault] = Traces().faults()
    assert sha256 in fault
    assert len(Traces().turns(RUN.id)) == len(made)


def test_a_newer_file_is_left_alone() -> None:
    opened = open_for_writing(paths.traces_file(), [*MIGRATIONS, ("CREATE TABLE later (x)",)])
    opened.db.close()
    for use in (lambda: TraceStore().started(RUN, None), lambda: Traces().runs()):
        with pytest.raises(StoreError, match="written by a newer Deskhand"):
            use()


def test_a_copy_is_made_before_a_migration_and_nothing_is_lost(home: Path) -> None:
    with TraceStore() as store:
        record(store)
    newer = [*MIGRATIONS, ("ALTER TABLE runs ADD COLUMN later TEXT NOT NULL DEFAULT ''",)]
    db = open_for_writing(paths.traces_file(), newer).db
    assert db.execute("SELECT count(*) FROM steps").fetchone()[0] == 7
    db.close()
    copy = Traces(home / f"traces.db.before-v{len(newer)}")
    assert copy.run(RUN.id).steps == 7


def test_a_failed_migration_changes_nothing(home: Path) -> None:
    with TraceStore() as store:
        record(store)
    broken = [*MIGRATIONS, ("CREATE TABLE later (x) STRICT", "nonsense")]
    with pytest.raises(sqlite3.OperationalError):
        open_for_writing(paths.traces_file(), broken)
    assert Traces().run(RUN.id).steps == 7


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS) + 1))
def test_every_format_ever_written_opens(version: int, home: Path) -> None:
    home.mkdir()
    shutil.copy(ROOT / "tests" / "data" / f"traces_v{version}.db", paths.traces_file())
    traces = Traces()
    assert traces.run(RUN.id).run == RUN
    assert [step for turn in traces.turns(RUN.id) for step in turn.steps] == [s for t in turns() for s in t.steps]
    with TraceStore() as store:
        record(store, replace(RUN, id="new"))
    assert {kept.run.id for kept in traces.runs()} == {RUN.id, "new"}
