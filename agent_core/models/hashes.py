"""Hashes of model files: worked out, remembered once they were right, and noted by a download.

A hash of some gigabytes takes many seconds, so a good one is kept with the file's size and time of change.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from agent_core import paths
from agent_core.errors import ModelError

SAFE = "Your runs are safe."
HASHES = "hashes.json"  # noted by the download beside a model's files


def sha256_of(path: Path) -> str:
    """The file's SHA-256 in hex. Raises ModelError when it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"The model file {path} cannot be read ({error.strerror}). {SAFE} Check the disk.") from error


def noted_hashes(name: str) -> dict[str, str]:
    """The hashes that the download of a model noted beside its files; empty before that."""
    try:
        noted = json.loads((paths.models_folder() / name / HASHES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    found = noted if isinstance(noted, dict) else {}
    return {key: found[key] for key in ("sha256", "mmproj_sha256") if isinstance(found.get(key), str)}


def verify(path: Path, sha256: str) -> None:
    """Raises ModelError when the file is not the one the manifest means.

    A hash takes seconds for a large file, so a good one is remembered with the file's size and time of change.
    """
    known = _remembered(paths.models_folder() / "verified.json")
    if known.get(str(path)) == [sha256, *_stamp(path)]:
        return
    if sha256_of(path) != sha256:
        raise ModelError(
            f"The model file is damaged (its hash differs). {SAFE} Install the model again; the file is {path}."
        )
    remember(path, sha256)


def remember(path: Path, sha256: str) -> None:
    """Keeps that this file, as it is now, has this hash."""
    memory = paths.models_folder() / "verified.json"
    known = _remembered(memory) | {str(path): [sha256, *_stamp(path)]}
    try:
        memory.parent.mkdir(parents=True, exist_ok=True)
        memory.write_text(json.dumps(known), encoding="utf-8")
    except OSError:
        return  # A read-only folder costs a second hash next time, nothing else.


def _stamp(path: Path) -> list[int]:
    try:
        stat = path.stat()
    except OSError as error:
        raise ModelError(f"The model file {path} is missing. {SAFE} Put it back or choose another model.") from error
    return [stat.st_size, stat.st_mtime_ns]


def _remembered(memory: Path) -> dict[str, Any]:
    try:
        known = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
