"""Reads many people's bundles into one trace store, which curate and the trainers read as any folder.

    python -m training.ingest incoming/ more/ann.zip --out runs/team

First every bundle is looked through (over Ray Data when there are many), then the whole runs are taken in one by one,
of several copies the fullest first. Killed in between and started again, it ends with the same store. Every run of
every bundle is accounted for: kept + duplicate + refused = all. The account is printed and written to ingest.json.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from agent_core.errors import StoreError
from agent_core.traces.bundle import MANIFEST, RunRows
from agent_core.traces.bundle_intake import Intake, Put
from agent_core.traces.bundle_read import Bundle, BundleError, Copy, Inspected, inspect
from training.runs import write_json

MANY = 200  # bundles from which on Ray Data pays for its start
REPORT = "ingest.json"
Result = Literal["kept", "duplicate", "refused"]
Spread = Literal["auto", "always", "never"]


@dataclass(frozen=True, slots=True)
class Line:
    """What became of one run of one bundle."""

    bundle: str
    run: str
    result: Result
    why: str = ""


@dataclass(slots=True)
class Report:
    """The account. `faults` are sentences about files; `unreadable` are bundles whose runs could not even be counted.

    `labels` counts runs that another copy brought labels for; `missing_images` is by bundle.
    """

    bundles: int
    lines: list[Line] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    schemas: dict[str, int] = field(default_factory=dict)
    missing_images: dict[str, int] = field(default_factory=dict)
    labels: int = 0
    notice: str = ""
    seconds: float = 0.0

    def count(self, result: Result) -> int:
        return sum(line.result == result for line in self.lines)

    def to_json(self) -> dict[str, Any]:
        """With the totals, which add up."""
        totals = {"runs": len(self.lines), **{r: self.count(r) for r in ("kept", "duplicate", "refused")}}
        return {**totals, **asdict(self)}


def ingest(places: Sequence[Path], out: Path, spread: Spread = "auto", many: int = MANY) -> Report:
    """Takes the bundles at these places into the store of the folder `out` and gives the account.

    Raises StoreError when the store cannot be written; a bad bundle raises nothing.
    """
    began = time.monotonic()
    found = inspect_all(bundles_at(places), spread, many)
    report = Report(len(found), unreadable=[str(one.path) for one in found if not one.known])
    report.schemas = {str(k): n for k, n in sorted(Counter(one.schema for one in found).items())}
    for one in found:
        report.faults += one.faults
        report.lines += [Line(str(one.path), run, "refused", why) for run, why in one.refused]
        if missing := sum(copy.missing_images for copy in one.copies):
            report.missing_images[str(one.path)] = missing
    with Intake(out) as intake:
        report.notice = intake.notice
        _take_in(found, intake, report)
    report.seconds = round(time.monotonic() - began, 2)
    write_json(out / REPORT, report.to_json())
    return report


def bundles_at(places: Sequence[Path]) -> list[Path]:
    """The bundles at these places, each once: a zip file, a bundle's folder, or a folder with such things in it.

    Raises SystemExit for a place that is not there.
    """
    found: list[Path] = []
    for place in places:
        if not place.exists():
            raise SystemExit(f"There is no bundle at {place}.")
        if place.is_dir() and not _is_bundle(place):
            found += [one for one in sorted(place.iterdir()) if one.suffix == ".zip" or _is_bundle(one)]
        else:
            found.append(place)
    distinct = {path.resolve(): path for path in reversed(found)}
    return list(reversed(distinct.values()))


def _is_bundle(place: Path) -> bool:
    """Also one whose manifest is lost: it has to be accounted for."""
    return (
        place.is_dir()
        and not place.name.startswith(".")
        and ((place / MANIFEST).exists() or any(place.glob("*.parquet")))
    )


def inspect_all(paths: Sequence[Path], spread: Spread = "auto", many: int = MANY) -> list[Inspected]:
    """Looks through all bundles, in their order: here, or over Ray Data. The result is the same."""
    has_ray = importlib.util.find_spec("ray") is not None
    if spread == "always" and not has_ray:
        raise SystemExit("Ray is not installed. Install it with: pip install 'ray[data]', or leave --ray at auto.")
    if spread == "always" or (spread == "auto" and has_ray and len(paths) >= many):
        from training.ingest_ray import inspect_over_ray  # here, because it takes seconds to import and start

        return inspect_over_ray(paths)
    return [inspect(path) for path in paths]


def _take_in(found: Sequence[Inspected], intake: Intake, report: Report) -> None:
    """The fullest copy of each run in the order of the bundles, then what other copies add to it."""
    best = _fullest(found)
    lines: dict[tuple[int, str], Line] = {}
    for n, one in enumerate(found):
        mine = {copy.run: copy for copy in one.copies if best[copy.run][0] == n}
        for copy, rows, bundle in _rows(one, mine):
            put = intake.put(rows, bundle.picture)
            report.labels += put == "labels"
            lines[n, copy.run] = _line(one, copy.run, put, "it was in the store already")
    for n, one in enumerate(found):
        others = {copy.run: copy for copy in one.copies if best[copy.run][0] != n}
        for run in others:
            lines[n, run] = Line(str(one.path), run, "duplicate", _also(found, best, run))
        adding = {run: copy for run, copy in others.items() if _may_add(copy, best[run][1])}
        for copy, rows, bundle in _rows(one, adding):
            put = intake.put(rows, bundle.picture)
            report.labels += put == "labels"
            lines[n, copy.run] = _line(one, copy.run, put, _also(found, best, copy.run))
    for n, one in enumerate(found):
        gone = [Line(str(one.path), copy.run, "refused", "it could not be read a second time") for copy in one.copies]
        report.lines += [lines.get((n, line.run), line) for line in gone]


def _line(one: Inspected, run: str, put: Put, duplicate: str) -> Line:
    match put:
        case "new":
            return Line(str(one.path), run, "kept")
        case "other":
            return Line(str(one.path), run, "refused", "another run has its id")
        case "deleted":
            return Line(str(one.path), run, "refused", "it was deleted from this store")
        case _:
            return Line(str(one.path), run, "duplicate", duplicate)


def _also(found: Sequence[Inspected], best: dict[str, tuple[int, Copy]], run: str) -> str:
    return f"the copy in {found[best[run][0]].path.name} is taken"


def _may_add(copy: Copy, taken: Copy) -> bool:
    """Whether another copy of a run may hold labels or pictures that the one that is taken has not."""
    return copy.fingerprint != taken.fingerprint or taken.missing_images > 0


def _fullest(found: Sequence[Inspected]) -> dict[str, tuple[int, Copy]]:
    """Run -> (number of its bundle, the copy that is taken): most turns, most labels, least missing, newest, first."""
    best: dict[str, tuple[tuple[float, ...], int, Copy]] = {}
    for n, one in enumerate(found):
        for copy in one.copies:
            rank = (copy.turns, copy.labels, -copy.missing_images, one.schema, one.made, -n)
            if copy.run not in best or rank > best[copy.run][0]:
                best[copy.run] = (rank, n, copy)
    return {run: (n, copy) for run, (_, n, copy) in best.items()}


def _rows(one: Inspected, wanted: dict[str, Copy]) -> Iterator[tuple[Copy, RunRows, Bundle]]:
    """The rows of these runs, part by part; a bundle is opened only if something of it is wanted."""
    if not wanted:
        return
    try:
        bundle = Bundle(one.path)
    except BundleError:
        return  # it went away meanwhile: its runs are told as refused
    for part in sorted({copy.part for copy in wanted.values()}):
        for rows in bundle.part(part)[0]:
            if rows.id in wanted:
                yield wanted[rows.id], rows, bundle


def told(report: Report) -> str:
    """The account in words."""
    total = report.to_json()
    lines = [
        f"{report.bundles} bundles, {total['runs']} runs: {total['kept']} kept + {total['duplicate']} duplicate "
        f"+ {total['refused']} refused, in {report.seconds:.1f} s"
    ]
    lines += [report.notice] if report.notice else []
    reasons = Counter((line.result, line.why) for line in report.lines if line.result == "refused")
    lines += [f"  refused {n:5d}: {why}" for (_, why), n in reasons.most_common()]
    lines += [f"  {fault}" for fault in report.faults]
    lines += [f"  {path}: not even its runs could be counted" for path in report.unreadable]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0 when everything was accounted for, 1 when the store could not be written."""
    parser = argparse.ArgumentParser(prog="python -m training.ingest", description="Reads bundles into one store.")
    parser.add_argument("bundles", nargs="+", type=Path, metavar="BUNDLE", help="bundles, or folders of bundles")
    parser.add_argument("--out", type=Path, default=Path("runs/team"), help="folder of the trace store")
    parser.add_argument("--ray", choices=("auto", "always", "never"), default="auto", help="look through over Ray Data")
    parser.add_argument("--many", type=int, default=MANY, help="bundles from which on auto uses Ray Data")
    args = parser.parse_args(argv)
    try:
        report = ingest(args.bundles, args.out, args.ray, args.many)
    except StoreError as error:
        print(error, file=sys.stderr)
        return 1
    print(told(report))
    print(args.out / REPORT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
