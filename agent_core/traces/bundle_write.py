"""Writes a bundle: redacted, with proof of consent for every run, whole or not at all.

Everything is written into a hidden folder beside the place and moved there at the end, so a bundle that can be seen is
a whole one. Left out, and counted: runs without consent, runs that have not ended. In the file are random ids only,
no names of a person, a computer or a folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_core import __version__
from agent_core.errors import StoreError
from agent_core.redaction import NAMES
from agent_core.traces.bundle import (
    KIND,
    MANIFEST,
    RUNS_PER_PART,
    SCHEMA,
    TABLES,
    RunRows,
    image_name,
    parquet_bytes,
    part_name,
)
from agent_core.traces.bundle_rows import leaving_rows
from agent_core.traces.reads import Traces
from agent_core.traces.rows import KeptRun
from agent_core.traces.texts import json_text

SHARED = "The person who kept these runs wrote them into this bundle, to be trained on by others."


@dataclass(frozen=True, slots=True)
class Exported:
    """What a bundle holds. `left_out` says of each run that is not in it why."""

    path: Path
    runs: int
    turns: int
    steps: int
    images: int
    images_left_out: int
    left_out: dict[str, str]


def export_bundle(
    out: Path, run_ids: Sequence[str] = (), traces: Traces | None = None, runs_per_part: int = RUNS_PER_PART
) -> Exported:
    """Writes the runs of these ids, or all, to `out`: one file if its name ends in .zip, else a folder.

    Raises StoreError when there is nothing that may leave, no such run, something at that place, or no room.
    """
    traces = traces or Traces()
    kept = [traces.run(run_id) for run_id in dict.fromkeys(run_ids)] or list(reversed(traces.runs(limit=-1)))
    left_out = {one.run.id: why for one in kept if (why := _why_not(one))}
    leaving = [one for one in kept if one.run.id not in left_out]
    if not leaving:
        raise StoreError("No kept run may leave: " + ("; ".join(sorted(set(left_out.values()))) or "there is none."))
    with whole(out) as folder:
        counts = _write(folder, leaving, traces, runs_per_part)
    return Exported(
        out, len(leaving), counts["turns"], counts["steps"], counts["images"], counts["images_left_out"], left_out
    )


@contextmanager
def whole(out: Path) -> Iterator[Path]:
    """A new folder to write into, which becomes `out` at the end; a zip file if the name ends in .zip.

    Nothing is left of it when something goes wrong. Raises StoreError when there is something at that place already.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise StoreError(f"There is something at {out} already. Choose another place, or remove it first.")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}-"))
        packed = folder.with_name(f"{folder.name}.part")
        try:
            yield folder
            if out.suffix == ".zip":
                _pack(folder, packed)
                packed.replace(out)
            else:
                folder.chmod(0o755)
                folder.replace(out)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            packed.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{out} could not be written: {error.strerror or error}. Choose another place.") from error


def _why_not(kept: KeptRun) -> str:
    """Why a run may not leave; empty when it may."""
    if not kept.run.consent.strip():
        return "no consent was given for it"
    return "" if kept.ended is not None else "it has not ended"


def _write(folder: Path, leaving: Sequence[KeptRun], traces: Traces, runs_per_part: int) -> dict[str, int]:
    """Tables, pictures, and the manifest at the end. Gives its counts."""
    files: dict[str, Any] = {}
    proofs: dict[str, Any] = {}
    counts: dict[str, int] = dict.fromkeys((*TABLES, "images_left_out"), 0)
    pictures: set[str] = set()

    def keep(name: str, data: bytes) -> None:
        if name not in pictures:
            pictures.add(name)
            target = folder / image_name(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)

    for part, first in enumerate(range(0, len(leaving), runs_per_part)):
        rows: list[RunRows] = []
        for kept in leaving[first : first + runs_per_part]:
            one = leaving_rows(traces, kept.run.id, keep)
            rows.append(one.rows)
            counts["images_left_out"] += one.images_left_out
            told = {"consent": kept.run.consent, "started": kept.run.started, "part": part}
            proofs[kept.run.id] = {**told, "sha256": one.rows.fingerprint}
        for table in TABLES:
            of_part = [row for one in rows for row in one.of(table)]
            data = parquet_bytes(table, of_part)
            (folder / part_name(table, part)).write_bytes(data)
            sha256 = hashlib.sha256(data).hexdigest()
            files[part_name(table, part)] = {"sha256": sha256, "bytes": len(data), "rows": len(of_part)}
            counts[table] += len(of_part)
    counts["images"] = len(pictures)
    consent = {"statement": SHARED, "runs": proofs}
    manifest = {
        "kind": KIND,
        "schema": SCHEMA,
        "app_version": __version__,
        "made": time.time(),
        "redacted": list(NAMES),
        "consent": consent,
        "counts": counts,
        "files": files,
    }
    (folder / MANIFEST).write_text(json_text(manifest) + "\n", encoding="utf-8")
    return counts


def _pack(folder: Path, packed: Path) -> None:
    """One zip file, not compressed again; the manifest first, so that a file cut off later can still be accounted."""
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    names.sort(key=lambda name: (name != MANIFEST, os.sep in name))
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as file:
        for name in names:
            file.write(folder / name, name.replace(os.sep, "/"))
