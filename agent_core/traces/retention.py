"""Keeps the kept runs within the days and megabytes of the settings: the oldest are deleted for good.

A run that has not ended is left alone until nothing was written of it for a day; it may still go on.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from agent_core import paths
from agent_core.traces.connection import empty_wal, open_for_writing, store_errors
from agent_core.traces.erase import Deleted, delete_runs
from agent_core.traces.migrations import MIGRATIONS

DAY = 86_400.0
MEGABYTE = 1_000_000
ROUNDS = 4  # what a run takes is estimated; what is left is measured

# Text bytes of each run, and bytes of the pictures that no newer run uses.
_SIZES = """
    WITH naming (image, run) AS (
        SELECT screenshot, run FROM turns UNION SELECT image, run FROM prompt_images
        UNION SELECT screenshot, run FROM outcomes),
    owner AS (SELECT n.image, r.id AS run, max(r.started) FROM naming n JOIN runs r ON r.id = n.run GROUP BY n.image)
    SELECT r.id, r.started, e.at AS ended,
        max(r.started, coalesce((SELECT max(at) FROM turns WHERE run = r.id), 0),
            coalesce((SELECT max(at) FROM steps WHERE run = r.id), 0),
            coalesce((SELECT max(at) FROM outcomes WHERE run = r.id), 0)) AS active,
        (SELECT coalesce(sum(length(prompt) + length(reply) + length(elements) + 500), 0) FROM turns WHERE run = r.id)
        + (SELECT coalesce(sum(i.bytes), 0) FROM owner o JOIN images i ON i.sha256 = o.image WHERE o.run = r.id) AS size
    FROM runs r LEFT JOIN run_ends e ON e.run = r.id ORDER BY r.started, r.rowid"""


def tidy(
    days: int, megabytes: int, path: Path | None = None, folder: Path | None = None, now: float | None = None
) -> Deleted:
    """Deletes the oldest runs until all are younger than `days` and take at most `megabytes`; 0 sets no limit.

    Called when the program starts and after each run. Raises StoreError, also when another window still reads.
    """
    path, folder = path or paths.traces_file(), folder or paths.images_folder()
    now = time.time() if now is None else now
    runs = images = 0
    left: tuple[str, ...] = ()
    for _ in range(ROUNDS):
        if not path.exists():
            break
        doomed = _doomed(path, folder, days, megabytes, now)
        if not doomed:
            break
        gone = delete_runs(doomed, path, folder)
        runs, images, left = runs + gone.runs, images + gone.images, gone.left
    return Deleted(runs, images, left)


def bytes_kept(path: Path, folder: Path) -> int:
    """What database and pictures take on the disk."""
    files = [Path(f"{path}{tail}") for tail in ("", "-wal")] + list(folder.glob("??/*"))
    return sum(file.stat().st_size for file in files if file.exists())


def _doomed(path: Path, folder: Path, days: int, megabytes: int, now: float) -> list[str]:
    """The oldest runs that have to go."""
    with closing(open_for_writing(path, MIGRATIONS).db) as db, store_errors("read", path):
        empty_wal(db)  # it counts, and holds nothing that has to stay
        rows = [row for row in db.execute(_SIZES) if _may_go(row, now)]
    over = bytes_kept(path, folder) - megabytes * MEGABYTE if megabytes else 0
    doomed = []
    for row in rows:
        too_old = days > 0 and row["started"] < now - days * DAY
        if not too_old and over <= 0:
            break
        doomed.append(row["id"])
        over -= row["size"]
    return doomed


def _may_go(row: sqlite3.Row, now: float) -> bool:
    return row["ended"] is not None or row["active"] < now - DAY
