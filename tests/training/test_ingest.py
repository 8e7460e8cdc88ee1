"""A team's bundles become one store in which nothing is lost and everything is accounted for."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from agent_core.traces.bundle_write import export_bundle
from agent_core.traces.reads import Traces
from agent_core.traces.store import TraceStore
from tests.traces.bundles import manifest_of, rewrite_manifest, store_at
from tests.traces.old_bundle import old_bundle
from training.curate import read_rows, sources
from training.ingest import REPORT, ingest, main

ROOT = Path(__file__).resolve().parents[2]
PEOPLE, RUNS_EACH = 20, 5


@dataclass
class Team:
    """What the people have, what they sent, and what may be in no store."""

    folder: Path
    kept: dict[str, Traces] = field(default_factory=dict)
    bundles: list[Path] = field(default_factory=list)
    copies: int = 0
    never: str = ""


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Team:
    """Twenty people with five bundles each, of which some are the same, overlap, are old, new, damaged or forged."""
    team = Team(tmp_path_factory.mktemp("team"))
    sent = team.folder / "incoming"
    for person in range(PEOPLE):
        runs = [f"p{person:02d}r{n}" for n in range(RUNS_EACH)]
        traces = store_at(team.folder / f"person{person}", {run: f"Task of {run}" for run in runs})
        team.kept |= dict.fromkeys(runs, traces)
        name = sent / f"p{person:02d}"
        first = export_bundle(name.with_name(f"{name.name}-a"), runs[:2], traces).path
        again = Path(shutil.copytree(first, name.with_name(f"{name.name}-a-again")))
        overlapping = export_bundle(name.with_name(f"{name.name}-b"), runs[1:3], traces).path
        everything = export_bundle(name.with_name(f"{name.name}-all.zip"), traces=traces).path
        if person < 5:
            last = old_bundle(name.with_name(f"{name.name}-old.zip"), traces, runs[3:])
        else:
            last = export_bundle(name.with_name(f"{name.name}-c"), runs[3:], traces).path
        team.bundles += [first, again, overlapping, everything, last]
        team.copies += 2 + 2 + 2 + 5 + 2
        harm(person, first, overlapping, everything)
    strange = store_at(team.folder / "stranger", {"withdrawn": "A task nobody agreed to share"})
    forged = export_bundle(sent / "zz-forged", traces=strange).path
    rewrite_manifest(forged, consent={"runs": {}})
    shutil.rmtree(team.bundles.pop())  # a hundred in all; its runs are also in the person's zip file
    team.bundles.append(forged)
    team.copies += 1 - 2
    team.never = "withdrawn"
    return team


def harm(person: int, first: Path, overlapping: Path, everything: Path) -> None:
    """What happens to bundles on their way."""
    match person:
        case 5 | 6:  # cut off among the pictures, and among the tables
            data = everything.read_bytes()
            everything.write_bytes(data[: len(data) * 8 // 10 if person == 5 else 9000])
        case 7:
            table = overlapping / "turns-0000.parquet"
            table.write_bytes(table.read_bytes()[:1000])
        case 8:
            rewrite_manifest(overlapping, schema=3)
        case 9:
            table = overlapping / "steps-0000.parquet"
            table.write_bytes(table.read_bytes()[:-1] + b"!")
        case 10:
            shutil.rmtree(overlapping / "images")
        case 11:
            (overlapping / "manifest.json").unlink()
        case 12:
            consent = manifest_of(first)["consent"]
            del consent["runs"]["p12r0"]
            rewrite_manifest(first, consent=consent)


def dump(folder: Path) -> list[str]:
    db = sqlite3.connect(folder / "traces.db")
    lines = list(db.iterdump())
    db.close()
    return [*lines, *sorted(file.name for file in (folder / "images").glob("??/*.png"))]


@pytest.fixture(scope="module")
def taken_in(team: Team) -> Path:
    """The store of all of them, made in one go."""
    out = team.folder / "store"
    began = time.process_time()
    ingest([team.folder / "incoming"], out, "never")
    assert time.process_time() - began < 30  # of the processor, whatever else runs here; about 3 s where it was written
    return out


def test_a_hundred_bundles_are_accounted_for(team: Team, taken_in: Path) -> None:
    told = json.loads((taken_in / REPORT).read_text())
    assert told["bundles"] == len(team.bundles) == 100
    assert told["runs"] == len(told["lines"]) == team.copies
    assert told["kept"] + told["duplicate"] + told["refused"] == told["runs"]
    assert told["kept"] == PEOPLE * RUNS_EACH
    assert told["schemas"] == {"0": 1, "1": 5, "2": 93, "3": 1}
    refused = {
        (line["run"], Path(line["bundle"]).name): line["why"] for line in told["lines"] if line["result"] == "refused"
    }
    assert "was cut off" in refused.pop(("p07r1", "p07-b")) + refused.pop(("p07r2", "p07-b"))
    assert "newer Deskhand" in refused.pop(("p08r1", "p08-b")) + refused.pop(("p08r2", "p08-b"))
    assert "hash differs" in refused.pop(("p09r1", "p09-b")) + refused.pop(("p09r2", "p09-b"))
    assert "The manifest of p11-b is missing" in refused.pop(("p11r1", "p11-b")) + refused.pop(("p11r2", "p11-b"))
    assert refused.pop(("p12r0", "p12-a")) == "nothing proves consent to use it"
    assert refused.pop(("withdrawn", "zz-forged")) == "nothing proves consent to use it"
    assert {bundle for _, bundle in refused} == {"p06-all.zip"}  # the one that was cut off among its tables
    assert told["unreadable"] == []
    assert {Path(name).name for name in told["missing_images"]} == {"p05-all.zip", "p10-b"}


def test_nothing_is_lost_and_nothing_comes_in_without_consent(team: Team, taken_in: Path) -> None:
    store = Traces(taken_in / "traces.db", taken_in / "images")
    assert {kept.run.id for kept in store.runs(limit=-1)} == set(team.kept)
    assert store.faults() == ()
    for run, traces in team.kept.items():
        assert store.run(run).text == traces.run(run).text
        ours, theirs = store.turns(run), traces.turns(run)
        assert [turn.steps for turn in ours] == [turn.steps for turn in theirs]
        assert [turn.prompt for turn in ours] == [turn.prompt for turn in theirs]
        assert [turn.screenshot for turn in ours] == [turn.screenshot for turn in theirs]
        assert store.labels(run) == traces.labels(run)
    forbidden = Traces(team.folder / "stranger" / "traces.db", team.folder / "stranger" / "images")
    for turn in forbidden.turns(team.never):
        assert not store.image_file(turn.screenshot).exists()
    assert "nobody agreed" not in "\n".join(dump(taken_in))


def test_curate_reads_the_store_as_any_folder(taken_in: Path) -> None:
    rows = read_rows(sources(str(taken_in)))
    assert rows
    assert {row.group for row in rows} <= {f"team/p{p:02d}r{n}" for p in range(PEOPLE) for n in range(RUNS_EACH)}


def test_a_second_time_changes_nothing(team: Team, taken_in: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(taken_in, tmp_path / "store"))
    before = dump(copy)
    report = ingest(team.bundles, copy, "never")
    assert (report.count("kept"), report.labels) == (0, 0)
    assert report.count("duplicate") + report.count("refused") == len(report.lines) == team.copies
    assert dump(copy) == before


def test_killed_and_started_again_it_ends_with_the_same_store(team: Team, taken_in: Path, tmp_path: Path) -> None:
    out = tmp_path / "store"
    command = [sys.executable, "-m", "training.ingest", str(team.folder / "incoming"), "--out", str(out)]
    for runs in (1, 40):
        program = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while program.poll() is None and counted(out) < runs:
            time.sleep(0.002)
        program.kill()
        program.communicate()
    assert 0 < counted(out) < PEOPLE * RUNS_EACH
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"100 bundles, {team.copies} runs:" in done.stdout
    assert dump(out) == dump(taken_in)


def counted(out: Path) -> int:
    if not (out / "traces.db").exists():
        return 0
    db = sqlite3.connect(f"file:{out / 'traces.db'}?mode=ro", uri=True)
    try:
        return int(db.execute("SELECT count(*) FROM runs").fetchone()[0])
    except sqlite3.OperationalError:
        return 0  # its tables are being made
    finally:
        db.close()


def test_what_a_later_copy_brings_is_added(tmp_path: Path) -> None:
    traces = store_at(tmp_path / "ann", {"run0": "Task"})
    early = export_bundle(tmp_path / "early", traces=traces).path
    shutil.rmtree(early / "images")
    with TraceStore(traces.path, traces.folder) as store:
        store.label("run0", None, "thumb", 1.0, "Well done", "person")
    late = export_bundle(tmp_path / "late.zip", traces=traces).path
    first = ingest([early], tmp_path / "store", "never")
    assert (first.count("kept"), first.missing_images) == (1, {str(early): 3})
    second = ingest([late], tmp_path / "store", "never")
    assert (second.count("duplicate"), second.labels) == (1, 1)
    store_now = Traces(tmp_path / "store" / "traces.db", tmp_path / "store" / "images")
    assert store_now.labels("run0") == traces.labels("run0")
    assert store_now.faults() == ()
    both = ingest([early, late], tmp_path / "both", "never")
    kept = [Path(line.bundle).name for line in both.lines if line.result == "kept"]
    assert kept == ["late.zip"]  # the fuller copy


def test_the_command_tells_what_it_cannot_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.zip").write_bytes(b"PK\x03\x04 and then nothing")
    assert main([str(tmp_path / "bad.zip"), "--out", str(tmp_path / "store")]) == 0
    said = capsys.readouterr().out
    assert "1 bundles, 0 runs: 0 kept + 0 duplicate + 0 refused" in said
    assert "not even its runs could be counted" in said
    with pytest.raises(SystemExit, match="There is no bundle at"):
        main([str(tmp_path / "nowhere"), "--out", str(tmp_path / "store")])
    (tmp_path / "file").write_text("")
    assert main([str(tmp_path / "bad.zip"), "--out", str(tmp_path / "file")]) == 1
    assert "Remove the file in its place" in capsys.readouterr().err


@pytest.fixture
def ray_here() -> Iterator[None]:
    import ray

    quiet = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
    as_us = {"worker_niceness": 0}  # a nice worker never gets its turn where the cores are busy
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": quiet},
        _system_config=as_us,
    )
    yield
    ray.shutdown()


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.filterwarnings("ignore")  # Ray's own, at its start and end
def test_ray_data_gives_the_same(team: Team, tmp_path: Path, ray_here: None) -> None:
    some = team.bundles[25:45]  # of the people whose bundles were damaged on their way
    here = ingest(some, tmp_path / "here", "never")
    there = ingest(some, tmp_path / "there", "auto", many=10)
    assert dump(tmp_path / "there") == dump(tmp_path / "here")
    assert replace(there, seconds=0.0) == replace(here, seconds=0.0)
    assert there.count("kept") == 4 * RUNS_EACH
