"""Reads the trace store for windows and training: typed values, through a connection that cannot write.

A missing file reads as an empty history. A file of an older format is brought up to date first. Use one `Traces` in one
thread. What a run is made of comes back as the same values it was recorded from (Step, Verdict, Reply, Element), with
pictures named by their hash; `picture` and `image_file` give the pixels.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path

from agent_core import paths
from agent_core.errors import StoreError
from agent_core.step import Box, Step
from agent_core.traces import images
from agent_core.traces.connection import open_for_reading, open_for_writing, require_known, store_errors
from agent_core.traces.migrations import MIGRATIONS, migrate, version_of
from agent_core.traces.rows import (
    KeptRun,
    KeptTurn,
    Label,
    Stats,
    TrainingRow,
    Wanted,
    kept_run_of,
    kept_turn_of,
    step_of,
    training_row_of,
)

ANY = Wanted()


class Traces:
    """The kept runs, read only. Every method raises StoreError when the file cannot be read."""

    def __init__(self, path: Path | None = None, folder: Path | None = None) -> None:
        self.path = path or paths.traces_file()
        self.folder = folder or paths.images_folder()

    def runs(
        self, search: str = "", limit: int = 200, before: float | None = None, wanted: Wanted = ANY
    ) -> tuple[KeptRun, ...]:
        """The newest first. `search` looks for a text in the task, the ending, thoughts and actions, in any case."""
        like = "%" + search.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_") + "%"
        sql = f"""{_RUNS} WHERE (:search = '' OR r.task LIKE :like ESCAPE '\\' OR e.text LIKE :like ESCAPE '\\'
              OR EXISTS (SELECT 1 FROM turns t WHERE t.run = r.id AND t.thought LIKE :like ESCAPE '\\')
              OR EXISTS (SELECT 1 FROM steps s WHERE s.run = r.id AND s.words LIKE :like ESCAPE '\\'))
            AND (:before IS NULL OR r.started < :before) AND {_WANTED}
            ORDER BY r.started DESC, r.rowid DESC LIMIT :limit"""
        with self._reading() as db:
            given = {"search": search, "like": like, "before": before, "limit": limit, **asdict(wanted)}
            rows = db.execute(sql, given)
            return tuple(kept_run_of(row) for row in rows)

    def models(self) -> tuple[str, ...]:
        """The names of the models that the kept runs were made with."""
        with self._reading() as db:
            return tuple(row["model"] for row in db.execute("SELECT DISTINCT model FROM runs ORDER BY 1"))

    def run(self, run_id: str) -> KeptRun:
        """One run. Raises StoreError when there is none with this id."""
        with self._reading() as db:
            row = db.execute(f"{_RUNS} WHERE r.id = ?", (run_id,)).fetchone()
        if row is None:
            raise StoreError(f"No kept run has the id {run_id}. List the kept ones with: agent_core.traces show")
        return kept_run_of(row)

    def turns(self, run_id: str) -> tuple[KeptTurn, ...]:
        """The turns of a run in order, each with its steps and their outcomes."""
        with self._reading() as db:
            steps: dict[int, list[Step]] = {}
            after: dict[int, str] = {}
            for row in db.execute(_STEPS, (run_id,)):
                steps.setdefault(row["turn"], []).append(step_of(row))
                if row["after"]:
                    after[row["n"]] = row["after"]
            asked: dict[int, list[str]] = {}
            for row in db.execute(
                "SELECT turn, image FROM prompt_images WHERE run = ? ORDER BY turn, place", (run_id,)
            ):
                asked.setdefault(row["turn"], []).append(row["image"])
            rows = db.execute("SELECT * FROM turns WHERE run = ? ORDER BY n", (run_id,)).fetchall()
        return tuple(kept_turn_of(r, tuple(steps.get(r["n"], ())), after, tuple(asked.get(r["n"], ()))) for r in rows)

    def labels(self, run_id: str) -> tuple[Label, ...]:
        """Every label of the run and its steps, oldest first."""
        with self._reading() as db:
            rows = db.execute("SELECT * FROM labels WHERE run = ? ORDER BY id", (run_id,))
            return tuple(Label(r["step"], r["kind"], r["score"], r["value"], r["who"], r["at"]) for r in rows)

    def scores(self) -> dict[str, Label]:
        """The newest score of every run that has one, by run id. A score without a number: the judge could not tell."""
        with self._reading() as db:
            rows = db.execute("SELECT * FROM labels WHERE kind = 'score' AND step IS NULL ORDER BY id")
            return {r["run"]: Label(None, r["kind"], r["score"], r["value"], r["who"], r["at"]) for r in rows}

    def training_rows(self, tag: str = "") -> Iterator[TrainingRow]:
        """Every turn of every run that has ended, oldest run first; with a `tag`, of the runs that carry it.

        Turns of which nothing was kept (see discretion.py) are left out.
        Reads as it goes: one snapshot, little memory, whatever is written meanwhile.
        """
        where = "WHERE (:tag = '' OR EXISTS (SELECT 1 FROM json_each(r.tags) WHERE value = :tag))"
        with self._reading() as db:
            for row in db.execute(_TRAINING.format(where=where), {"tag": tag}):
                yield training_row_of(row)

    def image_file(self, sha256: str) -> Path:
        """Where the picture lies, whether it is still there or not."""
        return images.file_of(self.folder, sha256)

    def picture(self, sha256: str) -> images.Pixels:
        """The pixels. Raises StoreError when the file is missing or damaged."""
        return images.load(self.folder, sha256)

    def is_judged(self, sha256: str) -> bool:
        """Whether what had to be covered in the picture is covered. False in stores of the first format."""
        with self._reading() as db:
            row = db.execute("SELECT judged FROM images WHERE sha256 = ?", (sha256,)).fetchone()
        return row is not None and bool(row["judged"])

    def redactions(self, sha256: str) -> tuple[tuple[str, Box], ...]:
        """What was covered in the picture: names of rules and places."""
        with self._reading() as db:
            row = db.execute("SELECT redactions FROM images WHERE sha256 = ?", (sha256,)).fetchone()
        return tuple((r["rule"], Box(*r["box"])) for r in json.loads(row["redactions"])) if row else ()

    def stats(self) -> Stats:
        """Counts and sizes."""
        with self._reading() as db:
            one = db.execute(_STATS).fetchone()
            by_status = db.execute(
                "SELECT coalesce(e.status, 'running') AS status, count(*) AS n FROM runs r "
                "LEFT JOIN run_ends e ON e.run = r.id GROUP BY 1 ORDER BY 1"
            ).fetchall()
        files = (Path(f"{self.path}{tail}") for tail in ("", "-wal"))
        size = sum(file.stat().st_size for file in files if file.exists())
        return Stats(by_status={r["status"]: r["n"] for r in by_status}, database_bytes=size, **dict(one))

    def faults(self) -> tuple[str, ...]:
        """Checks the whole store: the file, its references, every picture against its hash. One sentence a fault."""
        found = []
        with self._reading() as db:
            found += [f"database: {row[0]}" for row in db.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
            found += [f"{row[0]}: row {row[1]} names nothing" for row in db.execute("PRAGMA foreign_key_check")]
            hashes = [row["sha256"] for row in db.execute("SELECT sha256 FROM images ORDER BY 1")]
        for sha256 in hashes:
            try:
                if images.hash_of(self.picture(sha256)) != sha256:
                    found.append(f"The picture {self.image_file(sha256)} was changed after it was kept.")
            except StoreError as error:
                found.append(str(error))
        return tuple(found)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with closing(self._open()) as db, store_errors("read", self.path):
            yield db

    def _open(self) -> sqlite3.Connection:
        if not self.path.exists():
            db = sqlite3.connect(":memory:", isolation_level=None)
            db.row_factory = sqlite3.Row
            migrate(db, MIGRATIONS)
            return db
        db = open_for_reading(self.path)
        with store_errors("read", self.path):
            version = version_of(db)
            if version < len(MIGRATIONS):
                db.close()
                open_for_writing(self.path, MIGRATIONS).db.close()
                db = open_for_reading(self.path)
            require_known(db, self.path, len(MIGRATIONS))
        return db


_RUNS = """SELECT r.*, e.at AS ended, e.status, coalesce(e.text, '') AS text,
       (SELECT count(*) FROM turns WHERE run = r.id) AS turn_count,
       (SELECT count(*) FROM steps WHERE run = r.id) AS step_count
    FROM runs r LEFT JOIN run_ends e ON e.run = r.id"""

_WANTED = """(:since IS NULL OR r.started >= :since) AND (:model = '' OR r.model = :model)
    AND (:status = '' OR coalesce(e.status, 'running') = :status)
    AND (:reviewed IS NULL OR :reviewed = EXISTS (SELECT 1 FROM labels l WHERE l.run = r.id AND l.who = 'person'
         AND l.kind IN ('thumb', 'wrong_step', 'correction')))"""

_STEPS = """SELECT s.*, o.ok, o.text AS said, o.changed, o.duration_ms, o.screenshot AS after
    FROM steps s LEFT JOIN outcomes o ON o.run = s.run AND o.step = s.n WHERE s.run = ? ORDER BY s.n"""

_TRAINING = """SELECT t.run, r.task, t.n, t.prompt, t.reply, t.token_ids, t.logprobs, t.stop_reason, e.status,
       r.dialect, r.model, r.tags, count(s.n) AS steps,
       coalesce(min(s.decision = 'allow'), 0) AS allowed, min(coalesce(o.ok, 0)) AS ok,
       (SELECT json_group_array(image) FROM (SELECT image FROM prompt_images p
        WHERE p.run = t.run AND p.turn = t.n ORDER BY place)) AS prompt_images
    FROM turns t JOIN runs r ON r.id = t.run JOIN run_ends e ON e.run = t.run
    LEFT JOIN steps s ON s.run = t.run AND s.turn = t.n
    LEFT JOIN outcomes o ON o.run = s.run AND o.step = s.n
    {where} AND t.withheld = '' GROUP BY t.run, t.n ORDER BY r.started, r.rowid, t.n"""

_STATS = """SELECT (SELECT count(*) FROM runs) AS runs, (SELECT count(*) FROM turns) AS turns,
       (SELECT count(*) FROM steps) AS steps, (SELECT count(*) FROM steps WHERE decision <> 'allow') AS refused,
       (SELECT count(*) FROM labels) AS labels, (SELECT count(*) FROM images) AS images,
       (SELECT coalesce(sum(bytes), 0) FROM images) AS image_bytes,
       (SELECT min(started) FROM runs) AS first, (SELECT max(started) FROM runs) AS last"""
