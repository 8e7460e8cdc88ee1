"""Goes over the earlier rows of a run when a secret has become known: a task may say a password that is typed later.

Only a run's own rows change, only by the secret's token, and a row in `rewritings` says that it was done. Pictures
whose elements show the secret are covered anew and stored under their new name.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_core.errors import StoreError
from agent_core.screen.redact import Cover, covered
from agent_core.step import Box, Element, Screenshot, Transform
from agent_core.traces import images
from agent_core.traces.texts import json_text, mapped

_TEXTS = {
    "runs": ("id", ("task",)),
    "turns": ("run", ("window", "elements", "prompt", "reply", "thought", "reflection", "problems")),
    "steps": ("run", ("action", "words", "element", "reason", "instead")),
    "outcomes": ("run", ("text",)),
    "labels": ("run", ("value",)),
    "run_ends": ("run", ("text",)),
}
_JSON = ("elements", "problems", "action", "element")
_NAMING = (("turns", "screenshot"), ("outcomes", "screenshot"), ("prompt_images", "image"))


def go_over(
    db: sqlite3.Connection,
    run_id: str,
    without: Callable[[str], str],
    folder: Path,
    read: MutableMapping[str, tuple[Element, ...]],
) -> int:
    """Takes what `without` takes out of every text of the run, and covers it in its pictures. Gives how many changed.

    `read` are the elements of pictures by name, also of those that no turn has elements for.
    Called inside a transaction. Raises sqlite3.Error, OSError.
    """
    seen = _frames_showing(db, run_id, without, read)
    changes = [
        (table, f"UPDATE {table} SET {name} = ? WHERE rowid = ?", clean, row["rowid"])
        for table, (column, names) in _TEXTS.items()
        for row in db.execute(f"SELECT rowid, {', '.join(names)} FROM {table} WHERE {column} = ?", (run_id,))
        for name in names
        if row[name] is not None and (clean := _clean(name, row[name], without)) != row[name]
    ]
    if not changes and not seen:
        return 0
    db.execute("INSERT INTO rewritings VALUES (?, ?, 1)", (run_id, time.time()))
    for _, sql, clean, rowid in changes:
        db.execute(sql, (clean, rowid))
        if sql.startswith("UPDATE turns SET reply"):  # the sampled ids would spell it out
            db.execute("UPDATE turns SET token_ids = '[]', logprobs = '[]' WHERE rowid = ?", (rowid,))
    for sha256, covers in seen.items():
        name = _cover_again(db, run_id, sha256, covers, folder)
        if sha256 in read:
            read[name] = read[sha256]
    db.execute("UPDATE rewritings SET open = 0 WHERE run = ? AND open = 1", (run_id,))
    return len(changes) + len(seen)


def _clean(name: str, text: str, without: Callable[[str], str]) -> str:
    """A column's text. In JSON only the texts change: the digits of a number may be a secret's by chance."""
    return json_text(mapped(json.loads(text), without)) if name in _JSON else without(text)


def _frames_showing(
    db: sqlite3.Connection, run_id: str, without: Callable[[str], str], read: Mapping[str, Sequence[Element]]
) -> dict[str, list[Cover]]:
    """The pictures of the run whose elements show the secret, and where."""
    found: dict[str, list[Cover]] = {}
    for sha256, elements in read.items():
        for e in elements:
            if without(e.text) != e.text or without(e.value) != e.value:
                found.setdefault(sha256, []).append(Cover("secret", e.box))
    for row in db.execute("SELECT screenshot, elements FROM turns WHERE run = ?", (run_id,)):
        for element in json.loads(row["elements"]):
            if (
                row["screenshot"]
                and row["screenshot"] not in read
                and any(without(element[name]) != element[name] for name in ("text", "value"))
            ):
                found.setdefault(row["screenshot"], []).append(Cover("secret", Box(*element["box"])))
    return found


def _cover_again(db: sqlite3.Connection, run_id: str, sha256: str, covers: list[Cover], folder: Path) -> str:
    """Gives the new name of the picture."""
    try:
        old = images.load(folder, sha256)
    except StoreError:
        return sha256  # it is gone, and with it what it showed
    shot = Screenshot(old.rgb, old.width, old.height, Transform("", 0, 0, old.width, old.height))
    new = covered(shot, covers)
    name = images.hash_of(new)
    if name == sha256:
        return name
    before = json.loads(db.execute("SELECT redactions FROM images WHERE sha256 = ?", (sha256,)).fetchone()[0])
    told: list[dict[str, Any]] = [*before, *({"rule": c.rule, "box": _sides(c.box)} for c in covers)]
    size = images.save(folder, replace(shot, rgb=new.rgb), name)
    db.execute(
        "INSERT INTO images (sha256, width, height, bytes, redactions, judged) VALUES (?, ?, ?, ?, ?, 1) "
        "ON CONFLICT DO NOTHING",
        (name, new.width, new.height, size, json_text(told)),
    )
    for table, column in _NAMING:
        db.execute(f"UPDATE {table} SET {column} = ? WHERE run = ? AND {column} = ?", (name, run_id, sha256))
    used = any(db.execute(f"SELECT 1 FROM {t} WHERE {c} = ? LIMIT 1", (sha256,)).fetchone() for t, c in _NAMING)
    if not used:
        db.execute("DELETE FROM images WHERE sha256 = ?", (sha256,))
        images.file_of(folder, sha256).unlink(missing_ok=True)
    return name


def _sides(box: Box) -> list[float]:
    return [box.left, box.top, box.right, box.bottom]
