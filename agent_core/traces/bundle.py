"""What a bundle is: kept runs as they may leave this computer, for a team that trains on many people's runs.

A folder, or one zip file, of
    manifest.json                    schema, app version, proof of consent a run, counts, SHA-256 of every table
    <table>-<part>.parquet           runs, turns, steps, outcomes, labels, images; a part holds the same runs in each
    images/<first two>/<sha256>.png  the pictures, named by their pixels; the images table has the hash of each file

Parts keep damage small: what is broken in one costs its runs and no others. Writing is in bundle_write.py, reading in
bundle_read.py, older schemas in bundle_old.py, the way into a store in bundle_intake.py. Parquet needs pyarrow, which
is imported only when a table is written or read.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent_core.errors import StoreError

KIND = "deskhand-bundle"
SCHEMA = 2
MANIFEST = "manifest.json"
RUNS_PER_PART = 25

Row = dict[str, Any]
Table = Literal["runs", "turns", "steps", "outcomes", "labels", "images"]
ColumnType = Literal["text", "real", "int", "bool", "texts", "ints", "reals"]

TABLES: dict[Table, dict[str, ColumnType]] = {
    "runs": {
        "id": "text", "task": "text", "started": "real", "consent": "text", "app_version": "text", "dialect": "text",
        "model": "text", "model_hash": "text", "adapter_hash": "text", "mode": "text", "operator": "text",
        "transform": "text", "tags": "texts", "ended": "real", "status": "text", "text": "text",
    },
    "turns": {
        "run": "text", "n": "int", "at": "real", "screenshot": "text", "window": "text", "transform": "text",
        "elements": "text", "prompt": "text", "prompt_images": "texts", "reply": "text", "stop_reason": "text",
        "token_ids": "ints", "logprobs": "reals", "thought": "text", "reflection": "text", "problems": "texts",
        "capture_ms": "real", "read_ms": "real", "think_ms": "real", "prompt_tokens": "int", "reused_tokens": "int",
        "withheld": "text",
    },
    "steps": {
        "run": "text", "n": "int", "turn": "int", "at": "real", "kind": "text", "action": "text", "words": "text",
        "element": "text", "decision": "text", "tier": "text", "reason": "text", "who": "text", "instead": "text",
        "waited_ms": "real",
    },
    "outcomes": {
        "run": "text", "step": "int", "at": "real", "ok": "bool", "text": "text", "changed": "bool",
        "duration_ms": "real", "screenshot": "text",
    },
    "labels": {
        "run": "text", "step": "int", "at": "real", "kind": "text", "score": "real", "value": "text", "who": "text",
    },
    "images": {
        "run": "text", "sha256": "text", "width": "int", "height": "int", "bytes": "int", "file_sha256": "text",
        "redactions": "text", "judged": "bool",
    },
}  # fmt: skip
"""The columns. `transform`, `elements`, `action`, `element` and `redactions` are JSON, as in the store."""

NULLABLE = frozenset(
    {
        ("runs", "transform"), ("runs", "ended"), ("runs", "status"), ("runs", "text"), ("turns", "screenshot"),
        ("steps", "element"), ("outcomes", "changed"), ("outcomes", "screenshot"), ("labels", "step"),
        ("labels", "score"),
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunRows:
    """Every row of one run, each with exactly the columns of its table. `images` are those that its rows name."""

    run: Row
    turns: Sequence[Row]
    steps: Sequence[Row]
    outcomes: Sequence[Row]
    labels: Sequence[Row]
    images: Sequence[Row]

    @property
    def id(self) -> str:
        return str(self.run["id"])

    @property
    def fingerprint(self) -> str:
        """64 hex digits over all rows but those of images, whose names stand in the others."""
        rows = [self.run, self.turns, self.steps, self.outcomes, self.labels]
        whole = json.dumps(rows, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()

    def of(self, table: Table) -> Sequence[Row]:
        """The rows of one table."""
        return [self.run] if table == "runs" else getattr(self, table)


def image_name(sha256: str) -> str:
    """Where a picture lies in a bundle."""
    return f"images/{sha256[:2]}/{sha256}.png"


def part_name(table: Table, part: int) -> str:
    """Where a table's part lies in a bundle."""
    return f"{table}-{part:04d}.parquet"


def parquet_bytes(table: Table, rows: Sequence[Row]) -> bytes:
    """The rows as a Parquet file. Raises StoreError when pyarrow is not installed."""
    pa, pq = _pyarrow()
    kinds = {
        "text": pa.string(), "real": pa.float64(), "int": pa.int64(), "bool": pa.bool_(),
        "texts": pa.list_(pa.string()), "ints": pa.list_(pa.int64()), "reals": pa.list_(pa.float64()),
    }  # fmt: skip
    schema = pa.schema([(name, kinds[kind]) for name, kind in TABLES[table].items()])
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), sink, compression="zstd")
    return bytes(sink.getvalue())


def parquet_rows(data: bytes) -> list[Row]:
    """The rows of a Parquet file. Raises ValueError when it is damaged, StoreError when pyarrow is not installed."""
    pa, pq = _pyarrow()
    try:
        rows: list[Row] = pq.read_table(pa.BufferReader(data)).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise ValueError(str(error).splitlines()[0]) from error
    return rows


def _pyarrow() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise StoreError(
            "Bundles are Parquet tables, and the package pyarrow is not installed. Install it with: pip install pyarrow"
        ) from error
