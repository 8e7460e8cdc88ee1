"""Without consent a run leaves the audit and nothing else; with it, rows and pictures too. Through the real command."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from agent_core.traces.audit import verify
from agent_core.traces.reads import Traces
from tests.flow import headless

TYPED = "MarigoldTyped77"
REPLIES = [
    f"Thought: I print it.\nAction: terminal(command='echo {TYPED}')",
    f"Thought: It is {TYPED}.\nAction: finished(content='{TYPED}')",
]


def run(home: Path) -> None:
    headless.write_script(home, REPLIES)
    done = headless.run(f"Print {TYPED}", "--operator", "terminal", "--model", "script", "--approve", "all", "--json")
    assert done.code == 0, done.err
    assert done.events[-1]["status"] == "finished"


def holding(home: Path) -> list[str]:
    """The files that hold the typed text, but for the script that the test itself put there."""
    files = [file for file in home.rglob("*") if file.is_file() and file.name != "script.toml"]
    return sorted(file.name for file in files if TYPED.encode() in file.read_bytes())


def test_without_consent_nothing_but_the_audit_is_left(home: Path) -> None:
    run(home)
    left = sorted(str(file.relative_to(home)) for file in home.rglob("*") if file.is_file())
    assert [name for name in left if not name.startswith(("audit.db", "models/"))] == []
    assert holding(home) == []
    with sqlite3.connect(home / "audit.db") as db:
        kinds = [row[0] for row in db.execute("SELECT kind FROM audit ORDER BY n")]
    db.close()
    assert kinds == ["run", "terminal", "terminal", "finished", "finished", "run"]
    assert verify() is None


def test_with_consent_the_run_is_kept(home: Path) -> None:
    headless.allow_keeping(home)
    run(home)
    assert [kept.run.task for kept in Traces().runs()] == [f"Print {TYPED}"]
    assert "traces.db" in holding(home)
