"""The audit is always on, holds no text, and shows every kind of tampering."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core import paths
from agent_core.errors import StoreError
from agent_core.traces.__main__ import main
from agent_core.traces.audit import AuditLog, Recorders, verify
from agent_core.traces.reads import Traces
from agent_core.traces.store import NoTrace, TraceStore
from tests.traces.sample import RUN, record

ROOT = Path(__file__).resolve().parents[2]


def audited(lines: int = 6) -> None:
    log = AuditLog()
    for n in range(lines):
        log.write("run1", "click", "R1", "allow", f"person{n}")
    log.close()


def tamper(*statements: str) -> None:
    db = sqlite3.connect(paths.audit_file())
    for trigger in ("audit_lines_are_never_updated", "audit_lines_are_never_deleted"):
        db.execute(f"DROP TRIGGER {trigger}")
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def test_an_untouched_chain_is_whole_however_it_was_written() -> None:
    assert verify() is None
    audited()
    audited()
    script = "from tests.traces.test_audit import audited; audited(20)"
    both = [subprocess.Popen([sys.executable, "-c", script], cwd=ROOT) for _ in range(2)]
    assert [process.wait(timeout=30) for process in both] == [0, 0]
    assert verify() is None
    db = sqlite3.connect(paths.audit_file())
    assert db.execute("SELECT count(*) FROM audit").fetchone() == (52,)
    db.close()


@pytest.mark.parametrize(
    ("statements", "broken"),
    [
        (["UPDATE audit SET verdict = 'deny' WHERE n = 3"], 3),
        (["UPDATE audit SET at = at + 1 WHERE n = 6"], 6),
        (["DELETE FROM audit WHERE n = 4"], 4),
        (["DELETE FROM audit WHERE n > 4"], 5),
        (["DELETE FROM audit"], 1),
        (["DELETE FROM audit WHERE n = 1"], 1),
        (["UPDATE audit SET n = 100 WHERE n = 2", "UPDATE audit SET n = 2 WHERE n = 3"], 2),
        (["DELETE FROM audit WHERE n > 4", "DELETE FROM sqlite_sequence"], 5),
        (["UPDATE sqlite_sequence SET seq = 3"], 7),
        (["DROP TABLE audit"], 1),
        (["INSERT INTO audit SELECT 7, at, run, kind, tier, verdict, who, previous, hash FROM audit WHERE n = 6"], 7),
    ],
)
def test_tampering_is_found(statements: list[str], broken: int) -> None:
    audited()
    tamper(*statements)
    assert verify() == broken


def test_lines_written_after_the_end_was_cut_off_do_not_hide_it() -> None:
    audited()
    tamper("DELETE FROM audit WHERE n > 4")
    audited()
    assert verify() == 5


@pytest.mark.parametrize("statement", ["DROP TABLE audit", "DELETE FROM sqlite_sequence"])
def test_an_audit_that_takes_no_more_lines_says_so(statement: str) -> None:
    audited()
    tamper(statement)
    with pytest.raises(StoreError, match=r"audit\.db was changed by another program.*Move it"):
        audited()


def test_an_audit_that_was_cut_off_is_told_of_ever_after(capsys: pytest.CaptureFixture[str]) -> None:
    audited(200)
    content = paths.audit_file().read_bytes()
    paths.audit_file().write_bytes(content[: len(content) // 2])
    assert main(["verify"]) == 1
    audited(2)
    assert main(["verify"]) == 1
    assert "audit.db.damaged-" in capsys.readouterr().err


def test_no_statement_changes_or_removes_a_line() -> None:
    audited(2)
    db = sqlite3.connect(paths.audit_file())
    with pytest.raises(sqlite3.IntegrityError, match="never updated"):
        db.execute("UPDATE audit SET who = 'nobody'")
    with pytest.raises(sqlite3.IntegrityError, match="never deleted"):
        db.execute("DELETE FROM audit")
    db.close()


def test_every_run_is_audited_and_only_those_with_consent_are_kept() -> None:
    store = TraceStore()
    recorder = Recorders(AuditLog(), store)
    record(recorder)
    record(recorder, replace(RUN, id="private", consent=""))
    recorder.audit.close()
    store.close()
    assert [kept.run.id for kept in Traces().runs()] == [RUN.id]
    db = sqlite3.connect(paths.audit_file())
    lines = db.execute("SELECT kind, tier, verdict, who FROM audit WHERE run = 'private' ORDER BY n").fetchall()
    db.close()
    assert lines[0] == ("run", "", "started", "person")
    assert lines[1:3] == [("click", "R1", "allow", "policy"), ("click", "R1", "done", "operator")]
    assert ("terminal", "R3", "deny", "person") in lines
    assert ("terminal", "R1", "failed", "operator") in lines
    assert lines[-1] == ("run", "", "finished", "program")
    assert verify() is None


def test_the_audit_holds_no_text_and_no_place(home: Path) -> None:
    recorder = Recorders(AuditLog(), NoTrace())
    record(recorder, replace(RUN, task="PlantedTask", consent=""))
    recorder.audit.close()
    assert [file.name for file in home.iterdir()] == ["audit.db"]
    content = (home / "audit.db").read_bytes()
    for text in (b"PlantedTask", b"invoice", b"Invoices", b"Downloads", b"New folder", b"0.63"):
        assert text not in content


def test_what_cannot_be_audited_is_not_kept_either(home: Path) -> None:
    home.mkdir()
    (home / "audit.db").mkdir()
    with pytest.raises(StoreError, match=r"audit\.db could not be opened"):
        record(Recorders(AuditLog(), TraceStore()))
    assert not paths.traces_file().exists()
