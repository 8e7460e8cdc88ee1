"""The way of bundled runs into a trace store: each run whole in one transaction, or not at all.

Rows of the store are never changed. A run that is there already gets the labels that another copy of it brings, and
pictures whose files were missing; a run that the store's owner deleted stays deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from agent_core.traces import images
from agent_core.traces.bundle import Row, RunRows
from agent_core.traces.bundle_rows import stored_rows
from agent_core.traces.connection import open_for_writing, store_errors, transaction
from agent_core.traces.migrations import MIGRATIONS
from agent_core.traces.texts import json_text

Put = Literal["new", "same", "labels", "other", "deleted"]
"""new: now in the store. same: it was there. labels: it was, and now has more labels. other: another run has its id."""

_COLUMNS = {
    "runs": "id task started consent app_version dialect model model_hash adapter_hash mode operator transform tags",
    "turns": "run n at screenshot window transform elements prompt reply stop_reason token_ids logprobs thought "
    "reflection problems capture_ms read_ms think_ms prompt_tokens reused_tokens withheld",
    "steps": "run n turn at kind action words element decision tier reason who instead waited_ms",
    "outcomes": "run step at ok text changed duration_ms screenshot",
    "labels": "run step at kind score value who",
    "images": "sha256 width height bytes redactions judged",
}


class Intake:
    """Opens the store of a folder, making it where there is none. Every method raises StoreError."""

    def __init__(self, folder: Path) -> None:
        self._path, self._images = folder / "traces.db", folder / "images"
        opened = open_for_writing(self._path, MIGRATIONS)
        self._db, self.notice = opened.db, opened.notice

    def __enter__(self) -> Intake:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def put(self, rows: RunRows, picture: Callable[[Row], bytes | None]) -> Put:
        """Takes a run in. `picture` gives the PNG file of a row of images, None when there is none."""
        with store_errors("written", self._path), transaction(self._db):
            if self._db.execute("SELECT 1 FROM deletions WHERE run = ?", (rows.id,)).fetchone():
                return "deleted"
            kept = stored_rows(self._db, rows.id)
            if kept is not None and not _is_same(kept, rows):
                return "other"
            for row in rows.images:
                self._keep_picture(row, picture)
            if kept is None:
                self._insert_run(rows)
                return "new"
            known = {(label["step"], label["kind"], label["at"]) for label in kept.labels}
            more = [label for label in rows.labels if (label["step"], label["kind"], label["at"]) not in known]
            self._insert("labels", more)
            return "labels" if more else "same"

    def _insert_run(self, rows: RunRows) -> None:
        run = rows.run
        self._insert("images", rows.images, "ON CONFLICT DO NOTHING")
        self._insert("runs", [run])
        if run["ended"] is not None:
            ending = (run["id"], run["ended"], run["status"], run["text"] or "")
            self._db.execute("INSERT INTO run_ends (run, at, status, text) VALUES (?, ?, ?, ?)", ending)
        self._insert("turns", rows.turns)
        asked = [(run["id"], t["n"], place, name) for t in rows.turns for place, name in enumerate(t["prompt_images"])]
        self._db.executemany("INSERT INTO prompt_images (run, turn, place, image) VALUES (?, ?, ?, ?)", asked)
        self._insert("steps", rows.steps)
        self._insert("outcomes", rows.outcomes)
        self._insert("labels", rows.labels)

    def _insert(self, table: str, rows: Sequence[Row], otherwise: str = "") -> None:
        names = _COLUMNS[table].split()
        sql = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))}) {otherwise}"
        self._db.executemany(sql, [[_value(row[name]) for name in names] for row in rows])

    def _keep_picture(self, row: Row, picture: Callable[[Row], bytes | None]) -> None:
        """Keeps the file unless it is there. What does not show what its name says is left out, as if missing."""
        sha256 = row["sha256"]
        if images.file_of(self._images, sha256).exists():
            return
        data = picture(row)
        if data is not None and images.shows(data, sha256):
            images.save_file(self._images, data, sha256)


def _is_same(kept: RunRows, found: RunRows) -> bool:
    """Whether two copies are of one run: texts may differ by what the redaction of their time took out."""

    def bones(rows: RunRows) -> dict[Any, Any]:
        turns: dict[Any, Any] = {("turn", turn["n"]): turn["at"] for turn in rows.turns}
        return turns | {("step", step["n"]): (step["turn"], step["kind"], step["decision"]) for step in rows.steps}

    ours, theirs = bones(kept), bones(found)
    return kept.run["started"] == found.run["started"] and ours == theirs


def _value(value: Any) -> Any:
    return json_text(value) if isinstance(value, list) else value
