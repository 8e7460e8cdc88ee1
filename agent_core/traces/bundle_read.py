"""Reads bundles that other people made, and trusts nothing in them: what is whole and consented to is handed on.

A run is whole when every table of its part has the hash that the manifest says, when the manifest holds the person's
consent for it and the fingerprint of just these rows, and when all of its values can be read. Otherwise the run is
refused with a sentence; never is a part of a run handed on. A picture that is missing or damaged does not cost the run.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_core.errors import StoreError
from agent_core.traces import images
from agent_core.traces.bundle import (
    KIND,
    MANIFEST,
    SCHEMA,
    TABLES,
    Row,
    RunRows,
    Table,
    image_name,
    parquet_rows,
    part_name,
)
from agent_core.traces.bundle_checks import fault_of
from agent_core.traces.bundle_files import Files, files_of
from agent_core.traces.bundle_old import manifest_of_1, names_of_1, rows_of_1

_PART = re.compile(r"runs-(\d{1,9})\.parquet")


@dataclass(frozen=True, slots=True)
class Proof:
    """What the manifest says of a run: the consent to keep it, when it began, its part and its fingerprint."""

    consent: str
    started: float
    part: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Copy:
    """A run that is whole in a bundle."""

    run: str
    part: int
    fingerprint: str
    turns: int
    labels: int
    missing_images: int


@dataclass(frozen=True, slots=True)
class Inspected:
    """What there is in a bundle. `refused` has run and reason; `faults` are sentences about its files.

    `known` is False where not even the runs could be counted. `schema` is 0 where it could not be read.
    """

    path: Path
    schema: int = 0
    made: float = 0.0
    copies: tuple[Copy, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    faults: tuple[str, ...] = ()
    known: bool = True


class BundleError(StoreError):
    """The whole bundle cannot be used. `runs` are those in it, as far as they are known; `schema` as read."""

    def __init__(self, why: str, runs: tuple[str, ...] = (), schema: int = 0) -> None:
        super().__init__(why)
        self.runs, self.schema = runs, schema


class Bundle:
    """An opened bundle. Raises BundleError when its manifest cannot be used."""

    def __init__(self, path: Path) -> None:
        try:
            self._files: Files = files_of(path)
        except (ValueError, OSError) as error:
            raise BundleError(f"{path.name} is no bundle: {_words(error)}.") from error
        self.cut_off = self._files.cut_off
        data = _manifest(path, self._files)
        try:
            self.schema, self.made = int(data["schema"]), float(data["made"])
            data = manifest_of_1(data) if self.schema == 1 else data
            self.proofs = {
                str(run): Proof(str(told["consent"]), float(told["started"]), int(told["part"]), str(told["sha256"]))
                for run, told in data["consent"]["runs"].items()
            }
            self._hashes = {str(name): str(told["sha256"]) for name, told in data["files"].items()}
            self._sizes = {str(name): int(told["bytes"]) for name, told in data["files"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BundleError(f"The manifest of {path.name} is not one of a bundle.", _runs_told(data)) from error
        told = {int(found[1]) for name in self._hashes if (found := _PART.fullmatch(name))}
        self.parts = tuple(sorted({proof.part for proof in self.proofs.values()} | told))

    def part(self, part: int) -> tuple[list[RunRows], dict[str, str], str]:
        """(the runs of the part that are whole, run -> why it is refused, a sentence about a damaged file or "")."""
        expected = {run: proof for run, proof in self.proofs.items() if proof.part == part}
        try:
            tables = self._tables(part)
        except ValueError as error:
            return [], dict.fromkeys(expected, str(error)), str(error)
        good: list[RunRows] = []
        refused = dict.fromkeys(expected, "its rows are missing")
        for rows in _by_run(tables):
            why = _why_not(rows, expected.get(rows.id))
            if why:
                refused[rows.id] = why
            else:
                refused.pop(rows.id)
                good.append(rows)
        return good, refused, ""

    def picture(self, row: Row) -> bytes | None:
        """The PNG file that a row of images is about; None when it is missing or not as it was written."""
        try:
            data = self._files.read(image_name(row["sha256"]))
        except (KeyError, ValueError):
            return None
        if row["file_sha256"]:
            return data if hashlib.sha256(data).hexdigest() == row["file_sha256"] else None
        return data if images.shows(data, row["sha256"]) else None

    def _tables(self, part: int) -> dict[Table, list[Row]]:
        """The tables of a part. Raises ValueError with a sentence when one of them is not as it was written."""
        names = names_of_1() if self.schema == 1 else {table: part_name(table, part) for table in TABLES}
        found = {table: self._table(name) for table, name in names.items()}
        if self.schema == 1:
            try:
                return rows_of_1(found)
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError("Its tables are not those of schema 1.") from error
        return found

    def _table(self, name: str) -> list[Row]:
        if name not in self._hashes:
            raise ValueError(f"{name} is not in the manifest.")
        try:
            data = self._files.read(name)
        except KeyError as error:
            raise ValueError(f"{name} is missing.") from error
        except ValueError as error:
            raise ValueError(f"{name} cannot be read: {error}.") from error
        if len(data) < self._sizes[name]:
            raise ValueError(f"{name} was cut off: {len(data)} of {self._sizes[name]} bytes are there.")
        if hashlib.sha256(data).hexdigest() != self._hashes[name]:
            raise ValueError(f"{name} is not as it was written (its hash differs).")
        try:
            return parquet_rows(data)
        except ValueError as error:
            raise ValueError(f"{name} is no readable table: {error}.") from error


def inspect(path: Path) -> Inspected:
    """Looks through a whole bundle, pictures included, and says what of it can be used. Never raises for a bad one."""
    try:
        bundle = Bundle(path)
    except BundleError as error:
        refused = tuple((run, str(error)) for run in error.runs)
        return Inspected(path, error.schema, refused=refused, faults=(str(error),), known=bool(error.runs))
    copies: list[Copy] = []
    refused_runs: dict[str, str] = {}
    faults = [f"{path.name} was cut off; what is whole in it is used."] if bundle.cut_off else []
    for part in bundle.parts:
        good, bad, fault = bundle.part(part)
        refused_runs |= bad
        faults += [f"{path.name}: {fault}"] if fault else []
        for rows in good:
            missing = sum(bundle.picture(row) is None for row in rows.images)
            if missing:
                faults.append(f"{path.name}: {missing} pictures of the run {rows.id} are missing or damaged.")
            copies.append(Copy(rows.id, part, rows.fingerprint, len(rows.turns), len(rows.labels), missing))
    return Inspected(
        path, bundle.schema, bundle.made, tuple(copies), tuple(sorted(refused_runs.items())), tuple(faults)
    )


def _manifest(path: Path, files: Files) -> dict[str, Any]:
    """The manifest, of a schema that can be read. Raises BundleError."""
    try:
        data = json.loads(files.read(MANIFEST))
        schema = int(data["schema"]) if data["kind"] == KIND else 0
    except (KeyError, ValueError, TypeError) as error:
        why = "is missing" if isinstance(error, KeyError) and MANIFEST not in files.names else "is damaged"
        raise BundleError(
            f"The manifest of {path.name} {why}, so nothing proves consent to use its runs. Ask for it again.",
            _runs_in_tables(files),
        ) from error
    if schema > SCHEMA:
        raise BundleError(
            f"{path.name} was written by a newer Deskhand (schema {schema}; this one knows {SCHEMA}). "
            "Update Deskhand to use it.",
            _runs_told(data),
            schema,
        )
    if schema < 1:
        raise BundleError(f"The manifest of {path.name} is not one of a bundle.", _runs_told(data))
    known: dict[str, Any] = data
    return known


def _runs_told(data: Any) -> tuple[str, ...]:
    """The runs that a manifest names, of whatever schema it is."""
    consent = data.get("consent") if isinstance(data, dict) else None
    runs = consent.get("runs", consent) if isinstance(consent, dict) else None
    return tuple(sorted(map(str, runs))) if isinstance(runs, dict) else ()


def _runs_in_tables(files: Files) -> tuple[str, ...]:
    """The runs that stand in the tables, for the account alone."""
    found: set[str] = set()
    for name in files.names:
        if name.startswith("runs") and name.endswith(".parquet"):
            try:
                found |= {str(row["id"]) for row in parquet_rows(files.read(name))}
            except (ValueError, KeyError):
                continue  # the bundle is refused in any case
    return tuple(sorted(found))


def _by_run(tables: dict[Table, list[Row]]) -> Iterator[RunRows]:
    """The rows of each run, in the order of the runs."""
    of: dict[tuple[Table, str], list[Row]] = {}
    for table, rows in tables.items():
        for row in rows:
            of.setdefault((table, str(row.get("id" if table == "runs" else "run"))), []).append(row)
    for run in dict.fromkeys(str(row.get("id")) for row in tables["runs"]):
        turns, steps, outcomes, labels, pictures = (of.get((table, run), []) for table in list(TABLES)[1:])
        yield RunRows(of[("runs", run)][0], turns, steps, outcomes, labels, pictures)


def _why_not(rows: RunRows, proof: Proof | None) -> str:
    """Why a run may not be used; empty when it may."""
    if proof is None or not proof.consent.strip() or proof.consent != rows.run.get("consent"):
        return "nothing proves consent to use it"
    if proof.sha256 and rows.fingerprint != proof.sha256:
        return "its rows are not those that consent was given for"
    return fault_of(rows)


def _words(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
