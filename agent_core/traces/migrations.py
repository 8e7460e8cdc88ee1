"""The history of the trace store's schema: numbered migrations, appended to a list and never edited.

Each migration is a tuple of SQL statements run in one transaction together with its number in `PRAGMA user_version`,
so a database is always at one version or the next. The audit file has its own list in `audit.py`.

Rows are only ever inserted. Triggers refuse every UPDATE but one (see _REWRITINGS). They refuse a DELETE too, unless
the run's id is already in `deletions`: a tombstone without any text, written first and kept for good. So one person's
wish to delete leaves evidence that a run was there, and no other statement, whatever tool it comes from, can remove or
change a row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

Migration = tuple[str, ...]

_TABLES = (
    """CREATE TABLE runs (            -- one task, as it was started
        id TEXT PRIMARY KEY,
        task TEXT NOT NULL,
        started REAL NOT NULL,           -- seconds since the epoch, here and in every `at`
        consent TEXT NOT NULL CHECK (consent <> ''),
        app_version TEXT NOT NULL, dialect TEXT NOT NULL,
        model TEXT NOT NULL, model_hash TEXT NOT NULL, adapter_hash TEXT NOT NULL,
        mode TEXT NOT NULL, operator TEXT NOT NULL,
        transform TEXT,                  -- JSON: monitor, left, top, width, height, scale of the first screenshot
        tags TEXT NOT NULL               -- JSON list
    ) STRICT""",
    """CREATE TABLE run_ends (        -- how it ended; a run without a row here is going on or was cut off
        run TEXT PRIMARY KEY REFERENCES runs,
        at REAL NOT NULL, status TEXT NOT NULL, text TEXT NOT NULL
    ) STRICT""",
    """CREATE TABLE images (          -- one picture; the pixels are in images/<first two>/<sha256>.png
        sha256 TEXT PRIMARY KEY,         -- of "<width>x<height>\\n" and the RGB bytes, whatever the PNG encoder does
        width INTEGER NOT NULL, height INTEGER NOT NULL, bytes INTEGER NOT NULL,
        redactions TEXT NOT NULL DEFAULT '[]'  -- JSON list of {rule, box}
    ) STRICT""",
    """CREATE TABLE turns (           -- one reply: what was seen, asked and answered
        run TEXT NOT NULL REFERENCES runs, n INTEGER NOT NULL, at REAL NOT NULL,
        screenshot TEXT REFERENCES images, window TEXT NOT NULL,
        transform TEXT NOT NULL, elements TEXT NOT NULL,   -- JSON
        prompt TEXT NOT NULL, reply TEXT NOT NULL, stop_reason TEXT NOT NULL,
        token_ids TEXT NOT NULL, logprobs TEXT NOT NULL,   -- JSON lists, one entry a sampled token, empty if unknown
        thought TEXT NOT NULL, reflection TEXT NOT NULL, problems TEXT NOT NULL,
        capture_ms REAL NOT NULL, read_ms REAL NOT NULL, think_ms REAL NOT NULL,
        prompt_tokens INTEGER NOT NULL, reused_tokens INTEGER NOT NULL,
        PRIMARY KEY (run, n)
    ) STRICT""",
    """CREATE TABLE prompt_images (   -- the pictures in the prompt, as the model got them, in order
        run TEXT NOT NULL, turn INTEGER NOT NULL, place INTEGER NOT NULL,
        image TEXT NOT NULL REFERENCES images,
        PRIMARY KEY (run, turn, place), FOREIGN KEY (run, turn) REFERENCES turns
    ) STRICT""",
    """CREATE TABLE steps (           -- one action decided on; written before it is done
        run TEXT NOT NULL, n INTEGER NOT NULL, turn INTEGER NOT NULL, at REAL NOT NULL,
        kind TEXT NOT NULL, action TEXT NOT NULL, words TEXT NOT NULL,
        element TEXT,                    -- JSON of what was read under the target
        decision TEXT NOT NULL, tier TEXT NOT NULL, reason TEXT NOT NULL, who TEXT NOT NULL,
        instead TEXT NOT NULL, waited_ms REAL NOT NULL,
        PRIMARY KEY (run, n), FOREIGN KEY (run, turn) REFERENCES turns
    ) STRICT""",
    """CREATE TABLE outcomes (        -- what came of a step; a step without one was refused or cut off
        run TEXT NOT NULL, step INTEGER NOT NULL, at REAL NOT NULL,
        ok INTEGER NOT NULL, text TEXT NOT NULL, changed INTEGER, duration_ms REAL NOT NULL,
        screenshot TEXT REFERENCES images,
        PRIMARY KEY (run, step), FOREIGN KEY (run, step) REFERENCES steps
    ) STRICT""",
    """CREATE TABLE labels (          -- a person's or a judge's word on a run or a step
        id INTEGER PRIMARY KEY,
        run TEXT NOT NULL REFERENCES runs, step INTEGER, at REAL NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('allow', 'deny', 'instead', 'thumb', 'wrong_step', 'correction',
                                           'take_over', 'answer', 'score')),
        score REAL, value TEXT NOT NULL, who TEXT NOT NULL,
        FOREIGN KEY (run, step) REFERENCES steps
    ) STRICT""",
    """CREATE TABLE rollouts (        -- training's own: a run made by a policy in a sandbox
        run TEXT PRIMARY KEY REFERENCES runs,
        task_group TEXT NOT NULL, policy TEXT NOT NULL, status TEXT NOT NULL,
        reward REAL, judge TEXT NOT NULL, at REAL NOT NULL
    ) STRICT""",
    """CREATE TABLE checkpoints (     -- training's own: one row for each state a checkpoint comes into
        name TEXT NOT NULL, status TEXT NOT NULL, at REAL NOT NULL,
        parent TEXT NOT NULL, training_run TEXT NOT NULL, path TEXT NOT NULL, detail TEXT NOT NULL,
        PRIMARY KEY (name, status)
    ) STRICT""",
    """CREATE TABLE usage (           -- a training run takes a rollout by inserting this row: the key is the claim
        rollout TEXT NOT NULL REFERENCES rollouts, training_run TEXT NOT NULL, at REAL NOT NULL,
        PRIMARY KEY (rollout, training_run)
    ) STRICT""",
    """CREATE TABLE deletions (       -- tombstones: a run the person had deleted
        run TEXT PRIMARY KEY, at REAL NOT NULL
    ) STRICT""",
)

_INDEXES = (
    "CREATE INDEX runs_by_start ON runs (started)",
    "CREATE INDEX labels_by_run ON labels (run, step)",
    "CREATE INDEX turns_by_image ON turns (screenshot)",
    "CREATE INDEX prompt_images_by_image ON prompt_images (image)",
    "CREATE INDEX outcomes_by_image ON outcomes (screenshot)",
)

_STEP_LOG = """CREATE VIEW step_log AS
    SELECT s.run, r.task, s.n AS step, s.turn, datetime(s.at, 'unixepoch', 'localtime') AS time,
           t.window, t.thought, s.words AS does, s.action, json_extract(s.element, '$.text') AS on_element,
           s.decision, s.who, s.tier, s.reason,
           CASE o.ok WHEN 1 THEN 'ok' WHEN 0 THEN 'failed' ELSE 'not done' END AS outcome, o.text AS result,
           CASE o.changed WHEN 1 THEN 'yes' WHEN 0 THEN 'no' END AS screen_changed,
           round(t.capture_ms) AS capture_ms, round(t.read_ms) AS read_ms, round(t.think_ms) AS think_ms,
           round(o.duration_ms) AS act_ms,
           t.screenshot AS image_before, o.screenshot AS image_after, coalesce(e.status, 'running') AS run_status
    FROM steps s
    JOIN runs r ON r.id = s.run
    JOIN turns t ON t.run = s.run AND t.n = s.turn
    LEFT JOIN outcomes o ON o.run = s.run AND o.step = s.n
    LEFT JOIN run_ends e ON e.run = s.run
    ORDER BY r.started, s.run, s.n"""

# The column that says which run a row belongs to. Rows without one (checkpoints, deletions) are never deleted.
_RUN_COLUMN = {
    "runs": "id",
    "run_ends": "run",
    "turns": "run",
    "prompt_images": "run",
    "steps": "run",
    "outcomes": "run",
    "labels": "run",
    "rollouts": "run",
    "usage": "rollout",
}


def _triggers() -> tuple[str, ...]:
    out = [
        f"""CREATE TRIGGER {table}_are_never_updated BEFORE UPDATE ON {table}
            BEGIN SELECT RAISE(ABORT, 'rows of {table} are never updated'); END"""
        for table in (*_RUN_COLUMN, "images", "checkpoints", "deletions")
    ]
    out += [
        f"""CREATE TRIGGER {table}_deleted_with_a_tombstone BEFORE DELETE ON {table}
            WHEN NOT EXISTS (SELECT 1 FROM deletions WHERE run = OLD.{column})
            BEGIN SELECT RAISE(ABORT, 'rows of {table} are only deleted with their run'); END"""
        for table, column in _RUN_COLUMN.items()
    ]
    out += [
        f"""CREATE TRIGGER {table}_are_never_deleted BEFORE DELETE ON {table}
            BEGIN SELECT RAISE(ABORT, 'rows of {table} are never deleted'); END"""
        for table in ("checkpoints", "deletions")
    ]  # images: the foreign keys keep every picture that is still named
    return tuple(out)


# The one exception to "never updated": a secret that became known after it was written is taken out of its run's rows.
# It needs an open row here, which is closed in the same transaction and stays as evidence that it was done.
_REWRITINGS = (
    "ALTER TABLE turns ADD COLUMN withheld TEXT NOT NULL DEFAULT ''",  # why nothing of it was kept: window, or empty
    "ALTER TABLE images ADD COLUMN judged INTEGER NOT NULL DEFAULT 0",  # 1: what had to be covered is covered
    """CREATE TABLE rewritings (run TEXT NOT NULL REFERENCES runs, at REAL NOT NULL, open INTEGER NOT NULL) STRICT""",
    """CREATE TRIGGER rewritings_deleted_with_a_tombstone BEFORE DELETE ON rewritings
        WHEN NOT EXISTS (SELECT 1 FROM deletions WHERE run = OLD.run)
        BEGIN SELECT RAISE(ABORT, 'rows of rewritings are only deleted with their run'); END""",
    """CREATE TRIGGER rewritings_are_closed_once BEFORE UPDATE ON rewritings
        WHEN NOT (OLD.open = 1 AND NEW.open = 0 AND NEW.run = OLD.run AND NEW.at = OLD.at)
        BEGIN SELECT RAISE(ABORT, 'rows of rewritings are never updated'); END""",
)
_REWRITTEN = ("runs", "run_ends", "turns", "prompt_images", "steps", "outcomes", "labels")


def _rewriting_triggers() -> tuple[str, ...]:
    out = []
    for table in _REWRITTEN:
        column = _RUN_COLUMN[table]
        out += [
            f"DROP TRIGGER {table}_are_never_updated",
            f"""CREATE TRIGGER {table}_are_never_updated BEFORE UPDATE ON {table}
                WHEN NOT EXISTS (SELECT 1 FROM rewritings WHERE run = OLD.{column} AND open = 1)
                BEGIN SELECT RAISE(ABORT, 'rows of {table} are never updated'); END""",
        ]
    return tuple(out)


MIGRATIONS: list[Migration] = [
    (*_TABLES, *_INDEXES, _STEP_LOG, *_triggers()),
    (*_REWRITINGS, *_rewriting_triggers()),
]


def version_of(db: sqlite3.Connection) -> int:
    """The number of the last migration applied; 0 for an empty file."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def migrate(db: sqlite3.Connection, migrations: Sequence[Migration]) -> None:
    """Applies what is pending, one transaction a migration. Safe when two processes open the file at once.

    The connection must be in autocommit mode (`isolation_level=None`). Raises sqlite3.Error.
    """
    for number, statements in enumerate(migrations, start=1):
        if version_of(db) >= number:
            continue
        db.execute("BEGIN IMMEDIATE")
        try:
            if version_of(db) < number:  # another process may have been quicker
                for statement in statements:
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {number:d}")
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise
