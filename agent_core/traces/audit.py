"""The audit: one line for everything the agent did, with or without consent to keep runs.

It says when, in which run, what kind of action, how risky, what was decided and by whom. It holds no text, no pixels
and no places, so it can always be on. Each line carries the hash of the one before it: changing, inserting or taking
out a line breaks the chain from there on, and taking lines off the end shows in SQLite's own count of lines. That makes
tampering evident to anyone who looks; it does not stop someone who can rewrite the whole file.

A line is forced onto the disk before the action it is about is done (`synchronous=FULL`). If it cannot be written,
StoreError ends the run: what cannot be audited is not done.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from pathlib import Path
from typing import Protocol

from agent_core import paths
from agent_core.actions import kind_of
from agent_core.errors import StoreError
from agent_core.protocols import Recorder
from agent_core.step import Outcome, Run, Screenshot, Status, Step, Turn
from agent_core.traces.connection import open_for_reading, open_for_writing, require_known, store_errors, transaction
from agent_core.traces.migrations import Migration

_FIRST = "0" * 64
_HASHED = ("n", "at", "run", "kind", "tier", "verdict", "who", "previous")

AUDIT_MIGRATIONS: list[Migration] = [
    (
        """CREATE TABLE audit (
            n INTEGER PRIMARY KEY AUTOINCREMENT,
            at REAL NOT NULL,          -- seconds since the epoch
            run TEXT NOT NULL,
            kind TEXT NOT NULL,        -- an action's kind, or run
            tier TEXT NOT NULL, verdict TEXT NOT NULL, who TEXT NOT NULL,
            previous TEXT NOT NULL,    -- the hash of line n - 1
            hash TEXT NOT NULL         -- SHA-256 of the columns before it as JSON with sorted keys
        ) STRICT""",
        """CREATE TRIGGER audit_lines_are_never_updated BEFORE UPDATE ON audit
            BEGIN SELECT RAISE(ABORT, 'audit lines are never updated'); END""",
        """CREATE TRIGGER audit_lines_are_never_deleted BEFORE DELETE ON audit
            BEGIN SELECT RAISE(ABORT, 'audit lines are never deleted'); END""",
    ),
]


class AuditLog:
    """Writes the audit. Use one in one thread; several processes may write the same file."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or paths.audit_file()
        self.notice = ""
        self._db: sqlite3.Connection | None = None

    def open(self) -> str:
        """Opens the file if it is not open. Gives `notice`: a sentence if a damaged file was set aside, else empty."""
        if self._db is None:
            opened = open_for_writing(self.path, AUDIT_MIGRATIONS, synchronous="FULL")
            self._db = opened.db
            self.notice = opened.notice or self.notice
        return self.notice

    def close(self) -> None:
        """Closes the connection; a later line opens it again."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def write(self, run: str, kind: str, tier: str, verdict: str, who: str) -> None:
        """Appends one line. All five are words of our own, never text from a person, a model or a screen.

        Raises StoreError when the line could not be written.
        """
        self.open()
        assert self._db is not None
        try:
            with store_errors("written", self.path), transaction(self._db):
                last = self._db.execute("SELECT hash FROM audit ORDER BY n DESC LIMIT 1").fetchone()
                before = last["hash"] if last else _FIRST
                line = (_count(self._db) + 1, time.time(), run, kind, tier, verdict, who, before)
                self._db.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*line, _hash(line)))
        except (sqlite3.IntegrityError, sqlite3.OperationalError) as error:  # what no disk does: tables are missing
            raise StoreError(
                f"{self.path} was changed by another program, so nothing can be added to it. "
                "Move it to another folder; then a new one is begun."
            ) from error


def verify(path: Path | None = None) -> int | None:
    """The number of the first line that was changed, inserted or is missing; None if every line is as written.

    A file that does not exist has no broken line. Raises StoreError when the file cannot be read.
    """
    path = path or paths.audit_file()
    if not path.exists():
        return None
    db = open_for_reading(path)
    try:
        with store_errors("read", path):
            require_known(db, path, len(AUDIT_MIGRATIONS))
            return _first_broken(db)
    finally:
        db.close()


def _first_broken(db: sqlite3.Connection) -> int | None:
    expected, previous = 1, _FIRST
    if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'audit'").fetchone() is None:
        return expected
    for row in db.execute(f"SELECT {', '.join(_HASHED)}, hash FROM audit ORDER BY n"):
        line = tuple(row)[:-1]
        if row["n"] != expected or row["previous"] != previous or row["hash"] != _hash(line):
            return expected
        expected, previous = expected + 1, row["hash"]
    return None if expected - 1 == _count(db) else expected


def _count(db: sqlite3.Connection) -> int:
    """How many lines were ever written, by SQLite's own count, which taking lines out does not lower."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'audit'").fetchone()
    return int(row["seq"]) if row else 0


def _hash(line: tuple[object, ...]) -> str:
    canonical = json.dumps(dict(zip(_HASHED, line, strict=True)), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


class Store(Recorder, Protocol):
    """A recorder with a file that can be opened ahead and closed: TraceStore, or NoTrace for a run that is not kept."""

    def open(self) -> str: ...

    def close(self) -> None: ...


class Recorders:
    """The recorder of the program: audits every run, and hands those with consent on to the trace recorder."""

    def __init__(self, audit: AuditLog, traces: Store) -> None:
        self.audit = audit
        self.traces = traces

    def open(self) -> tuple[str, ...]:
        """Opens both before a run begins, so that a folder that takes no data is known before anything is loaded.

        Gives a sentence for each damaged file that was set aside. Raises StoreError.
        """
        return tuple(notice for notice in (self.audit.open(), self.traces.open()) if notice)

    def close(self) -> None:
        """Closes both; a later write opens them again."""
        self.audit.close()
        self.traces.close()

    def started(self, run: Run, shot: Screenshot | None) -> None:
        """Both learn of the run."""
        self.audit.write(run.id, "run", "", "started", "person")
        if run.consent:
            self.traces.started(run, shot)

    def replied(self, run: Run, turn: Turn) -> None:
        """Nothing was done, so the audit says nothing."""
        if run.consent:
            self.traces.replied(run, turn)

    def decided(self, run: Run, turn: Turn, step: Step) -> None:
        """The audit line first: without it nothing is done."""
        verdict = step.verdict
        self.audit.write(run.id, kind_of(step.action), verdict.tier.value, verdict.decision, verdict.who)
        if run.consent:
            self.traces.decided(run, turn, step)

    def happened(self, run: Run, step: Step, outcome: Outcome, after: Screenshot | None) -> None:
        """Done or failed; the audit does not say more."""
        done = "done" if outcome.ok else "failed"
        self.audit.write(run.id, kind_of(step.action), step.verdict.tier.value, done, "operator")
        if run.consent:
            self.traces.happened(run, step, outcome, after)

    def labelled(self, run: Run, step: int | None, kind: str, text: str) -> None:
        """The audit says of what kind the word was and no more."""
        self.audit.write(run.id, kind, "", "labelled", "person")
        if run.consent:
            self.traces.labelled(run, step, kind, text)

    def ended(self, run: Run, status: Status, text: str) -> None:
        """Closes the run in both; the traces are closed even when the audit cannot be written."""
        try:
            self.audit.write(run.id, "run", "", status.value, "program")
        finally:
            if run.consent:
                self.traces.ended(run, status, text)
