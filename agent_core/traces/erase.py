"""Deletes kept runs for good: rows, pictures no other run uses, copies made before a migration, freed pages.

A tombstone without text stays (see migrations.py), so a recorder that still writes into a deleted run is refused.
Afterwards the text is in none of the store's files: `secure_delete` overwrote it, VACUUM rebuilt the file and the WAL
was emptied. What the disk itself keeps of removed files (snapshots, worn cells, backups) is beyond a program's reach,
and so is what a training run has already learned. The audit holds no text and stays.
"""

from __future__ import annotations

import glob
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from agent_core import paths
from agent_core.errors import StoreError
from agent_core.traces.connection import open_for_writing, store_errors, transaction
from agent_core.traces.migrations import MIGRATIONS

# Children before what they refer to.
_RUN_ROWS = (
    ("usage", "rollout"),
    ("rollouts", "run"),
    ("labels", "run"),
    ("outcomes", "run"),
    ("steps", "run"),
    ("prompt_images", "run"),
    ("turns", "run"),
    ("run_ends", "run"),
    ("rewritings", "run"),
    ("runs", "id"),
)
_UNUSED_IMAGES = """DELETE FROM images WHERE sha256 NOT IN (
    SELECT screenshot FROM turns WHERE screenshot IS NOT NULL
    UNION SELECT image FROM prompt_images
    UNION SELECT screenshot FROM outcomes WHERE screenshot IS NOT NULL)"""


@dataclass(frozen=True, slots=True)
class Deleted:
    """What was deleted. `left` names damaged files that were set aside and may still hold something of it."""

    runs: int
    images: int
    left: tuple[str, ...] = ()


def delete_run(run_id: str, path: Path | None = None, folder: Path | None = None) -> Deleted:
    """Deletes one run. Raises StoreError when there is none with this id or not everything could be removed."""
    path = path or paths.traces_file()
    if not path.exists():
        raise StoreError(f"No kept run has the id {run_id}: nothing is kept yet.")
    gone = delete_runs([run_id], path, folder)
    if not gone.runs:
        raise StoreError(f"No kept run has the id {run_id}. List the kept ones with: agent_core.traces show")
    return gone


def delete_app(word: str, path: Path | None = None, folder: Path | None = None) -> Deleted:
    """Deletes every run in which a window had this word in its title, in any case. Raises StoreError."""
    path, wanted = path or paths.traces_file(), word.strip().lower()
    if not wanted:
        raise StoreError("Say which app: a word that its windows have in their titles.")
    if not path.exists():
        return Deleted(0, 0)
    with closing(open_for_writing(path, MIGRATIONS).db) as db, store_errors("read", path):
        rows = db.execute("SELECT DISTINCT run, window FROM turns")  # SQLite's lower() knows ASCII only
        run_ids = list(dict.fromkeys(row["run"] for row in rows if wanted in row["window"].lower()))
    return delete_runs(run_ids, path, folder)


def delete_all(path: Path | None = None, folder: Path | None = None) -> Deleted:
    """Deletes every run and the damaged files that were set aside. Raises StoreError when something could not be."""
    path = path or paths.traces_file()
    if not path.exists():
        return Deleted(0, 0)
    with closing(open_for_writing(path, MIGRATIONS).db) as db, store_errors("read", path):
        run_ids = [row["id"] for row in db.execute("SELECT id FROM runs")]
    gone = delete_runs(run_ids, path, folder, even_if_none=True)
    with store_errors("deleted", path):
        for damaged in _set_aside(path):
            damaged.unlink()
    return Deleted(gone.runs, gone.images)


def delete_runs(
    run_ids: Sequence[str], path: Path | None = None, folder: Path | None = None, even_if_none: bool = False
) -> Deleted:
    """Deletes the runs of these ids that there are, and what is left over of others. Raises StoreError.

    Without any, nothing is touched unless `even_if_none`.
    """
    path, folder = path or paths.traces_file(), folder or paths.images_folder()
    with closing(open_for_writing(path, MIGRATIONS).db) as db:
        with store_errors("read", path):
            known = {row["id"] for row in db.execute("SELECT id FROM runs")}
        wanted = [run_id for run_id in run_ids if run_id in known]
        images = _delete(db, path, folder, wanted) if wanted or even_if_none else 0
    return Deleted(len(wanted), images, tuple(f.name for f in _set_aside(path)))


def _delete(db: sqlite3.Connection, path: Path, folder: Path, run_ids: Sequence[str]) -> int:
    """Rows and pictures under one write lock, then the pages they were on. Gives the number of pictures removed.

    The files go before the commit: cut off in between, the rows are still there and the same command finishes the work.
    """
    with store_errors("cleaned", path):
        with transaction(db):
            ids = [(run_id,) for run_id in run_ids]
            db.executemany("INSERT INTO deletions VALUES (?, ?)", [(run_id, time.time()) for run_id in run_ids])
            for table, column in _RUN_ROWS:
                db.executemany(f"DELETE FROM {table} WHERE {column} = ?", ids)
            db.execute(_UNUSED_IMAGES)
            removed = _remove_unnamed(db, folder)
            for file in (*_replays(run_ids), *path.parent.glob(f"{path.name}.before-v*")):
                file.unlink(missing_ok=True)
        db.execute("VACUUM")
        busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if busy:
        raise StoreError(
            "The run is deleted, but another window or program still reads the history. The last bytes leave the file "
            "when all of them are closed."
        )
    return removed


def _remove_unnamed(db: sqlite3.Connection, folder: Path) -> int:
    """Removes every picture file without a row, a crash's too. The folder belongs to this database alone."""
    named = {row["sha256"] for row in db.execute("SELECT sha256 FROM images")}
    unnamed = [file for file in folder.glob("??/*") if file.stem not in named]
    for file in unnamed:
        file.unlink(missing_ok=True)
    return len(unnamed)


def _replays(run_ids: Sequence[str]) -> Iterator[Path]:
    """Replay pages of these runs where the program itself writes them, also those that were cut off."""
    for run_id in run_ids:
        yield from paths.replays_folder().glob(f"{glob.escape(run_id)}.html*")


def _set_aside(path: Path) -> list[Path]:
    return sorted(path.parent.glob(f"{path.name}.damaged-*"))
