"""A kept run as rows: as they stand in the store, and as they may leave it.

What leaves goes through the same redaction as the other exports (outside.py): every text once more, and of the
pictures only those that are covered where they have to be. A picture that was covered anew has a new name.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from agent_core.errors import StoreError
from agent_core.screen.redact import review
from agent_core.traces import images
from agent_core.traces.bundle import TABLES, Row, RunRows, Table
from agent_core.traces.connection import open_for_reading, store_errors
from agent_core.traces.discretion import default_redactor
from agent_core.traces.outside import Outside
from agent_core.traces.reads import Traces
from agent_core.traces.rows import KeptTurn, element_of
from agent_core.traces.texts import Texts, json_text

KeepPicture = Callable[[str, bytes], None]
"""Takes a picture's name and the bytes of its PNG file."""

_RUN = """SELECT r.*, e.at AS ended, e.status, e.text FROM runs r LEFT JOIN run_ends e ON e.run = r.id
    WHERE r.id = ?"""
_TURNS = """SELECT t.*, (SELECT json_group_array(image) FROM (SELECT image FROM prompt_images p
    WHERE p.run = t.run AND p.turn = t.n ORDER BY place)) AS prompt_images FROM turns t WHERE t.run = ? ORDER BY t.n"""
_IMAGES = """SELECT i.* FROM images i WHERE i.sha256 IN (
    SELECT screenshot FROM turns WHERE run = :run UNION SELECT image FROM prompt_images WHERE run = :run
    UNION SELECT screenshot FROM outcomes WHERE run = :run) ORDER BY i.sha256"""
_LISTS = ("texts", "ints", "reals")


@dataclass(frozen=True, slots=True)
class Leaving:
    """A run's rows as they may leave, and how many of its pictures may not."""

    rows: RunRows
    images_left_out: int


def stored_rows(db: sqlite3.Connection, run_id: str) -> RunRows | None:
    """The rows of a run as they stand in the store, None when it is not there. Raises sqlite3.Error."""
    run = db.execute(_RUN, (run_id,)).fetchone()
    if run is None:
        return None
    return RunRows(
        _row("runs", run),
        [_row("turns", row) for row in db.execute(_TURNS, (run_id,))],
        [_row("steps", row) for row in db.execute("SELECT * FROM steps WHERE run = ? ORDER BY n", (run_id,))],
        [_row("outcomes", row) for row in db.execute("SELECT * FROM outcomes WHERE run = ? ORDER BY step", (run_id,))],
        [_row("labels", row) for row in db.execute("SELECT * FROM labels WHERE run = ? ORDER BY id", (run_id,))],
        [_row("images", row, run_id) for row in db.execute(_IMAGES, {"run": run_id})],
    )


def leaving_rows(traces: Traces, run_id: str, keep: KeepPicture) -> Leaving:
    """The rows of a run as they may leave the store; `keep` gets each picture. Raises StoreError when there is none."""
    outside = Outside(traces, run_id)
    with closing(open_for_reading(traces.path)) as db, store_errors("read", traces.path):
        stored = stored_rows(db, run_id)
    if stored is None:
        raise StoreError(f"The run {run_id} was deleted just now.")
    names, rows = _pictures(traces, outside, stored, keep)
    steps = {step.n: step for turn in outside.turns for step in turn.steps}
    texts = Texts()
    turns = [_turn(row, turn, names) for row, turn in zip(stored.turns, outside.turns, strict=True)]
    made = [dict(row) for row in stored.steps]
    for row in made:
        step = steps[row["n"]]
        row["action"], row["words"] = texts.action(step.action)
        row["element"] = texts.element(step.element)
        row["reason"], row["instead"] = step.verdict.reason, step.verdict.instead
    outcomes = [
        {**row, "text": outside.text(row["text"]), "screenshot": names.get(row["screenshot"])}
        for row in stored.outcomes
    ]
    labels = [{**row, "value": outside.text(row["value"])} for row in stored.labels]
    run = {**stored.run, "task": outside.kept.run.task, "text": outside.kept.text}
    return Leaving(RunRows(run, turns, made, outcomes, labels, rows), len(stored.images) - len(names))


def _turn(row: Row, turn: KeptTurn, names: dict[str, str]) -> Row:
    """A turn's row with the texts of the redacted turn."""
    return {
        **row,
        "screenshot": names.get(row["screenshot"]),
        "prompt_images": [names[name] for name in row["prompt_images"] if name in names],
        "window": turn.window,
        "elements": Texts().elements(turn.elements),
        "prompt": turn.prompt,
        "reply": turn.reply.text,
        "token_ids": list(turn.reply.token_ids),
        "logprobs": list(turn.reply.logprobs),
        "thought": turn.thought,
        "reflection": turn.reflection,
        "problems": list(turn.problems),
    }


def _pictures(traces: Traces, outside: Outside, stored: RunRows, keep: KeepPicture) -> tuple[dict[str, str], list[Row]]:
    """Hands on what may leave. Gives old name -> new name, and the rows of the pictures under their new names."""
    names: dict[str, str] = {}
    rows: dict[str, Row] = {}
    for row in stored.images:
        old = row["sha256"]
        picture = outside.picture(old)
        if picture is None:
            continue
        name, fit = images.hash_of(picture), outside.is_fit(old)
        if fit and name != old:
            continue  # it was changed after it was kept: nobody has judged what it shows
        data = traces.image_file(old).read_bytes() if name == old else images.png_bytes(picture)
        keep(name, data)
        names[old] = name
        redactions = row["redactions"] if fit else json_text(_covers(stored, old))
        rows[name] = {
            **row,
            "sha256": name,
            "bytes": len(data),
            "file_sha256": hashlib.sha256(data).hexdigest(),
            "redactions": redactions,
            "judged": row["judged"] or not fit,
        }
    return names, [rows[name] for name in sorted(rows)]


def _covers(stored: RunRows, sha256: str) -> list[dict[str, Any]]:
    """What is covered in a picture that nobody had judged."""
    read = [json.loads(turn["elements"]) for turn in stored.turns if turn["screenshot"] == sha256]
    elements = tuple(element_of(one) for one in (read[-1] if read else []))
    return [
        {"rule": cover.rule, "box": [round(x, 5) for x in (box.left, box.top, box.right, box.bottom)]}
        for cover in review(elements, default_redactor()).covers
        for box in (cover.box,)
    ]


def _row(table: Table, found: sqlite3.Row, run_id: str = "") -> Row:
    """A row of the store as a row of a bundle."""
    names = found.keys()
    made: Row = {}
    for name, kind in TABLES[table].items():
        value = found[name] if name in names else run_id if name == "run" else ""
        if kind in _LISTS:
            value = json.loads(value)
        elif kind == "bool" and value is not None:
            value = bool(value)
        made[name] = value
    return made
