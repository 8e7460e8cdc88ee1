"""A store of the first format, brought up to date under kills, readers and several programs at once, loses nothing."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from agent_core import paths
from agent_core.traces.migrations import MIGRATIONS, migrate
from agent_core.traces.reads import Traces

ROOT = Path(__file__).resolve().parents[2]
RUNS = 2000
OPEN = "import sys; print('on', flush=True); from agent_core.traces.store import TraceStore; TraceStore().open()"
RUN = "INSERT INTO runs VALUES (?, 'task', ?, 'settings', '1', 'd', 'm', 'h', 'a', 'mode', 'op', NULL, '[]')"
TURN = """INSERT INTO turns VALUES (?, 1, 0, NULL, 'w', '{}', '[]', ?, 'r', 'stop', '[]', '[]', '', '', '[]',
    0, 0, 0, 0, 0)"""


def old_store(file: Path) -> None:
    file.parent.mkdir(parents=True)
    db = sqlite3.connect(file, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    migrate(db, MIGRATIONS[:1])
    db.execute("BEGIN")
    for n in range(RUNS):
        db.execute(RUN, (f"r{n}", float(n)))
        db.execute(TURN, (f"r{n}", "prompt " * 300))
    db.execute("COMMIT")
    db.close()


def begin() -> subprocess.Popen[str]:
    program = subprocess.Popen([sys.executable, "-c", OPEN], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    program.stdout.readline()
    return program


def counts(file: Path) -> tuple[int, int]:
    db = sqlite3.connect(file)
    runs, turns = (db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("runs", "turns"))
    db.close()
    return runs, turns


def test_killed_at_any_moment_and_opened_by_several_at_once() -> None:
    file = paths.traces_file()
    old_store(file)
    for n in range(6):
        program = begin()
        time.sleep(0.12 + 0.03 * n)
        program.kill()
        program.communicate()
        assert counts(file) == (RUNS, RUNS)
    reader = sqlite3.connect(file, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM runs").fetchone() == (RUNS,)
    several = [begin() for _ in range(3)]
    assert [program.communicate() and program.returncode for program in several] == [0, 0, 0]
    assert reader.execute("SELECT count(*) FROM turns").fetchone() == (RUNS,)
    reader.close()
    assert Traces().stats().runs == RUNS
    assert Traces().faults() == ()
    assert counts(file) == counts(file.with_name("traces.db.before-v2")) == (RUNS, RUNS)
    assert [f.name for f in file.parent.iterdir() if "damaged" in f.name] == []
