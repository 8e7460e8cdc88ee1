"""Opening the SQLite files, and turning SQLite's and the disk's faults into one sentence for the person.

Journal: WAL, so that windows and training read while a run writes. `synchronous=NORMAL`: in WAL mode a commit is then
in the hands of the system but not yet forced onto the disk. A crash or kill of this program loses nothing that was
committed; a power cut may lose the last commits but never damages the file. The step row has to survive our own crash
in the middle of an action, which it does, and a forced write for each click would be paid on every slow disk. The
audit, which is tiny, chooses FULL. `secure_delete` overwrites what is deleted.

Known faults become StoreError; anything else (a wrong statement, a wrong thread) is a bug and passes through.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent_core.errors import StoreError
from agent_core.traces.migrations import Migration, migrate, version_of

BUSY_SECONDS = 3.0  # writes take milliseconds; who waits longer than this waits for a stuck program
CHECK_ON_OPEN_BYTES = 64 * 1024 * 1024  # a whole check of 64 MB takes about 0.1 s from a warm disk
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@dataclass(frozen=True, slots=True)
class Opened:
    """A connection in autocommit mode and a sentence for the person, empty when all is well."""

    db: sqlite3.Connection
    notice: str = ""


def open_for_writing(
    path: Path, migrations: Sequence[Migration], synchronous: Literal["NORMAL", "FULL"] = "NORMAL"
) -> Opened:
    """Opens or makes the file and brings its schema up to date, after a copy of what was there.

    A damaged file is set aside under a name with the time and a new one is begun; the notice says so.
    Raises StoreError.
    """
    with store_errors("opened", path):
        _make_private(path)
        try:
            return Opened(_open(path, migrations, synchronous))
        except sqlite3.DatabaseError as error:
            if _code(error) not in _DAMAGE:
                raise
        aside = _set_aside(path)
        db = _open(path, migrations, synchronous)
    return Opened(
        db,
        f"The file {path.name} was damaged and could not be read. It is kept as {aside.name} beside it, "
        "and a new one was begun.",
    )


def open_for_reading(path: Path) -> sqlite3.Connection:
    """A connection that cannot write. The file must exist. Raises StoreError."""
    with store_errors("opened", path):
        db = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS, isolation_level=None
        )
        db.row_factory = sqlite3.Row
        return db


def require_known(db: sqlite3.Connection, path: Path, known: int) -> None:
    """Raises StoreError when a newer program wrote the file."""
    found = version_of(db)
    if found > known:
        raise StoreError(
            f"{path} was written by a newer Deskhand (format {found}; this one knows {known}). "
            "Nothing was changed. Update Deskhand to use it."
        )


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, holding the write lock from the start. On an error what was done is rolled back."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # SQLite itself rolls back when the disk is full
            db.execute("ROLLBACK")
        raise


@contextmanager
def store_errors(doing: str, path: Path) -> Iterator[None]:
    """Turns known faults into StoreError; `doing` completes "... could not be <doing>"."""
    try:
        yield
    except sqlite3.Error as error:
        why = _database_fault(_code(error), path)
        if not why:
            raise
        if _code(error) in _DAMAGE:
            _ask_for_check(path)
        raise StoreError(f"{path.name} could not be {doing}: {why}") from error
    except OSError as error:
        raise StoreError(f"{path.name} could not be {doing}: {_disk_fault(error, path)}") from error


def empty_wal(db: sqlite3.Connection) -> bool:
    """Moves everything into the file and empties the WAL, where older pages lie. False while others still read."""
    return not db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]


def _open(path: Path, migrations: Sequence[Migration], synchronous: str) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {synchronous}")
        for pragma in (
            "foreign_keys",
            "secure_delete",
            "recursive_triggers",
        ):  # the last: REPLACE fires DELETE triggers
            db.execute(f"PRAGMA {pragma} = ON")
        _check(db, path)
        require_known(db, path, len(migrations))
        if 0 < version_of(db) < len(migrations):
            _copy_before_migration(db, path, len(migrations))
        migrate(db, migrations)
    except BaseException:
        db.close()
        raise
    return db


def _check(db: sqlite3.Connection, path: Path) -> None:
    """Raises sqlite3.DatabaseError with SQLITE_CORRUPT when pages are missing or wrong."""
    asked = _check_mark(path)
    if path.stat().st_size > CHECK_ON_OPEN_BYTES and not asked.exists():
        return
    if (found := db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
        damaged = sqlite3.DatabaseError(found)
        damaged.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise damaged
    asked.unlink(missing_ok=True)


def _check_mark(path: Path) -> Path:
    return path.with_name(f"{path.name}.check")


def _ask_for_check(path: Path) -> None:
    """Damage was met while working: the next opening checks the whole file, however big it is."""
    try:
        _check_mark(path).touch()
    except OSError:
        pass  # the fault itself is being reported; files under the size limit are checked in any case


def _copy_before_migration(db: sqlite3.Connection, path: Path, to: int) -> None:
    copy = path.with_name(f"{path.name}.before-v{to}")
    os.close(os.open(copy, os.O_CREAT | os.O_RDWR, 0o600))
    target = sqlite3.connect(copy)
    try:
        db.backup(target)
    finally:
        target.close()


def _make_private(path: Path) -> None:
    """The file is readable by its owner only; SQLite gives its companions the same rights."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def _set_aside(path: Path) -> Path:
    """Renames the file and its companions, so that it can still be opened with what its WAL holds."""
    aside = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
    for tail in ("", "-wal", "-shm"):
        companion = Path(f"{path}{tail}")
        if companion.exists():
            companion.replace(f"{aside}{tail}")
    _check_mark(path).unlink(missing_ok=True)
    _make_private(path)
    return aside


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 for the module's own errors."""
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF


def _database_fault(code: int, path: Path) -> str:
    folder = path.parent
    match code:
        case sqlite3.SQLITE_FULL:
            return (
                f"the disk that holds {folder} is full. Free some space and start again; what was kept so far is safe."
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return f"{folder} cannot be written. Check that the folder is yours and not on a read-only disk."
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return (
                f"another program has held it for {BUSY_SECONDS:g} s. Close other programs that use it, then try again."
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return "it is damaged. The next start keeps it under another name and begins a new one."
        case sqlite3.SQLITE_IOERR:
            return f"the disk that holds {folder} did not take or give the data. It may be full or failing."
        case _:
            return ""


def _disk_fault(error: OSError, path: Path) -> str:
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return _database_fault(sqlite3.SQLITE_FULL, path)
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return _database_fault(sqlite3.SQLITE_READONLY, path)
        case errno.ENOTDIR | errno.EEXIST:
            return (
                f"{path.parent} is not a folder. Remove the file in its place or set DESKHAND_HOME to another folder."
            )
        case _:
            return f"{error.strerror or error}. Check the folder {path.parent}."
