"""Bundles from elsewhere: broken, old, new and forged ones. What is whole is handed on, never half a run."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_core.traces.bundle import MANIFEST, parquet_bytes, parquet_rows
from agent_core.traces.bundle_intake import Intake
from agent_core.traces.bundle_read import Bundle, inspect
from agent_core.traces.bundle_write import export_bundle
from agent_core.traces.erase import delete_run
from agent_core.traces.reads import Traces
from tests.traces.bundles import manifest_of, replace_file, rewrite_manifest, store_at
from tests.traces.old_bundle import old_bundle

DATA = Path(__file__).resolve().parents[1] / "data"
RUNS = {f"run{n}": f"Task {n}" for n in range(3)}


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Traces:
    return store_at(tmp_path_factory.mktemp("ann"), RUNS)


@pytest.fixture(scope="module")
def made(traces: Traces, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of three runs in three parts."""
    return export_bundle(tmp_path_factory.mktemp("made") / "bundle", traces=traces, runs_per_part=1).path


@pytest.fixture
def bundle(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "bundle"))


def taken_in(bundle: Path, folder: Path) -> Traces:
    opened = Bundle(bundle)
    with Intake(folder) as intake:
        for part in opened.parts:
            for rows in opened.part(part)[0]:
                intake.put(rows, opened.picture)
    return Traces(folder / "traces.db", folder / "images")


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize(
    ("harm", "why"),
    [(cut, "was cut off"), (flip, "is not as it was written"), (lambda file: file.unlink(), "is missing")],
)
def test_a_damaged_table_costs_its_part_only(bundle: Path, harm: Callable[[Path], None], why: str) -> None:
    harm(bundle / "steps-0001.parquet")
    found = inspect(bundle)
    assert [copy.run for copy in found.copies] == ["run0", "run2"]
    assert [run for run, _ in found.refused] == ["run1"]
    assert why in found.refused[0][1]
    assert len(found.faults) == 1


def test_a_table_that_is_no_table_is_told(bundle: Path) -> None:
    replace_file(bundle, "turns-0000.parquet", b"PAR1 nonsense PAR1")
    assert "is no readable table" in inspect(bundle).refused[0][1]


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.8, 0.95, 0.999])
def test_a_file_cut_off_gives_what_is_whole(traces: Traces, tmp_path: Path, share: float) -> None:
    file = export_bundle(tmp_path / "b.zip", traces=traces, runs_per_part=1).path
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * share)])
    found = inspect(file)
    if not found.known:
        assert share < 0.1  # not even the manifest is there
        return
    told = {copy.run for copy in found.copies} | {run for run, _ in found.refused}
    assert told == set(RUNS)
    assert any("cut off" in fault for fault in found.faults)
    if share > 0.9:
        assert len(found.copies) == 3
        team = taken_in(file, tmp_path / "team")
        assert all(team.turns(run) == traces.turns(run) for run in RUNS)


def test_missing_and_changed_pictures_do_not_cost_the_run(bundle: Path, traces: Traces, tmp_path: Path) -> None:
    first, second, *_ = sorted((bundle / "images").glob("??/*.png"))
    first.unlink()
    flip(second)
    found = inspect(bundle)
    assert sum(copy.missing_images for copy in found.copies) == 2
    team = taken_in(bundle, tmp_path / "team")
    assert all(team.turns(run) == traces.turns(run) for run in RUNS)
    assert len(team.faults()) == 2
    healed = taken_in(export_bundle(tmp_path / "again", traces=traces).path, tmp_path / "team")
    assert healed.faults() == ()


def test_a_picture_that_shows_something_else_is_not_kept(bundle: Path, tmp_path: Path) -> None:
    """Its hash fits, but not its name: only who wrote the bundle could do that."""
    images = parquet_rows((bundle / "images-0000.parquet").read_bytes())
    one, other = (bundle / f"images/{row['sha256'][:2]}/{row['sha256']}.png" for row in images[:2])
    one.write_bytes(other.read_bytes())
    images[0]["file_sha256"] = images[1]["file_sha256"]
    replace_file(bundle, "images-0000.parquet", parquet_bytes("images", images))
    assert sum(copy.missing_images for copy in inspect(bundle).copies) == 0
    team = taken_in(bundle, tmp_path / "team")
    assert len(team.faults()) == 1
    assert not team.image_file(images[0]["sha256"]).exists()


def test_without_proof_of_consent_nothing_is_used(bundle: Path, tmp_path: Path) -> None:
    consent = manifest_of(bundle)["consent"]
    consent["runs"]["run0"]["consent"] = ""
    consent["runs"]["run1"]["consent"] = "forged"
    rewrite_manifest(bundle, consent=consent)
    found = inspect(bundle)
    assert [copy.run for copy in found.copies] == ["run2"]
    assert {why for _, why in found.refused} == {"nothing proves consent to use it"}
    team = taken_in(bundle, tmp_path / "team")
    assert [kept.run.id for kept in team.runs()] == ["run2"]
    named = {name for turn in team.turns("run2") for name in (turn.screenshot, *turn.after.values())}
    assert {file.stem for file in team.folder.glob("??/*")} == named


def test_rows_that_consent_was_not_given_for_are_refused(bundle: Path) -> None:
    rows = parquet_rows((bundle / "turns-0000.parquet").read_bytes())
    replace_file(bundle, "turns-0000.parquet", parquet_bytes("turns", rows[:-1]))  # half of a run
    labels = parquet_rows((bundle / "labels-0001.parquet").read_bytes())
    labels[-1]["score"] = 0.5
    replace_file(bundle, "labels-0001.parquet", parquet_bytes("labels", labels))
    found = inspect(bundle)
    assert [copy.run for copy in found.copies] == ["run2"]
    assert {why for _, why in found.refused} == {"its rows are not those that consent was given for"}


@pytest.mark.parametrize(
    ("table", "column", "value", "why"),
    [
        ("steps", "action", '{"kind":"format_disk"}', "cannot be read"),
        ("steps", "tier", "R9", "cannot be read"),
        ("steps", "turn", 77, "belongs to nothing"),
        ("labels", "kind", "praise", "'praise' is not known"),
        ("turns", "elements", "[{]", "cannot be read"),
        ("turns", "screenshot", "../../etc/passwd", "not in its index"),
        ("images", "sha256", "../../etc/passwd", "not in its index"),
    ],
)
def test_rows_that_could_not_stand_in_a_store_are_refused(
    bundle: Path, table: str, column: str, value: object, why: str
) -> None:
    name = f"{table}-0000.parquet"
    rows = parquet_rows((bundle / name).read_bytes())
    rows[0][column] = value
    replace_file(bundle, name, parquet_bytes(table, rows))  # type: ignore[arg-type]
    consent = manifest_of(bundle)["consent"]
    consent["runs"]["run0"]["sha256"] = ""  # as if nobody had made a fingerprint
    rewrite_manifest(bundle, consent=consent)
    found = inspect(bundle)
    assert [run for run, _ in found.refused] == ["run0"]
    assert why in found.refused[0][1]


def test_a_newer_schema_is_refused_in_words_and_counted(bundle: Path) -> None:
    rewrite_manifest(bundle, schema=3)
    found = inspect(bundle)
    assert [run for run, _ in found.refused] == sorted(RUNS)
    assert "written by a newer Deskhand (schema 3; this one knows 2). Update Deskhand" in found.faults[0]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"kind": "other", "schema": 2}', '{"kind": "deskhand-bundle"}'])
def test_a_broken_manifest_is_no_proof(bundle: Path, text: str) -> None:
    (bundle / MANIFEST).write_text(text)
    found = inspect(bundle)
    assert found.copies == ()
    assert len(found.faults) == 1
    if not text.startswith('{"'):
        assert [run for run, _ in found.refused] == sorted(RUNS)  # counted from the tables


def test_what_is_no_bundle_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"not a zip")
    (tmp_path / "empty").mkdir()
    for name in ("x.zip", "empty", "nowhere"):
        found = inspect(tmp_path / name)
        assert (found.copies, found.refused, found.known) == ((), (), False)
        assert found.faults


def test_the_older_schema_is_brought_up_to_date(tmp_path: Path) -> None:
    """The file was written when schema 1 was frozen (tests/traces/old_bundle.py)."""
    found = inspect(DATA / "bundle_v1.zip")
    assert (found.schema, [copy.run for copy in found.copies], found.faults) == (1, ["old1", "old2"], ())
    team = taken_in(DATA / "bundle_v1.zip", tmp_path / "team")
    assert team.faults() == ()
    for run in ("old1", "old2"):
        turns = team.turns(run)
        assert [len(turn.steps) for turn in turns] == [2, 1, 1, 0, 1, 2]
        assert turns[4].steps[0].outcome is not None
        assert not turns[4].steps[0].outcome.ok
        assert [label.kind for label in team.labels(run)] == ["allow", "instead"]
        assert not team.is_judged(turns[0].screenshot)  # it is judged when it leaves again
    again = inspect(export_bundle(tmp_path / "again", traces=team).path)
    assert (len(again.copies), again.refused) == (2, ())


def test_old_and_new_copies_of_a_run_are_one_run(traces: Traces, made: Path, tmp_path: Path) -> None:
    old = old_bundle(tmp_path / "old.zip", traces, ["run1"])
    team = taken_in(old, tmp_path / "team")
    opened = Bundle(made)
    with Intake(tmp_path / "team") as intake:
        assert intake.put(opened.part(1)[0][0], opened.picture) == "same"
    assert len(team.runs()) == 1


def test_a_run_deleted_here_does_not_come_back(made: Path, tmp_path: Path) -> None:
    team = taken_in(made, tmp_path / "team")
    delete_run("run0", team.path, team.folder)
    opened = Bundle(made)
    with Intake(tmp_path / "team") as intake:
        assert intake.put(opened.part(0)[0][0], opened.picture) == "deleted"
    assert {kept.run.id for kept in team.runs()} == {"run1", "run2"}


def test_another_run_under_the_same_id_is_told_apart(made: Path, tmp_path: Path) -> None:
    taken_in(made, tmp_path / "team")
    strange = store_at(tmp_path / "bob", {"run9": "Other", "run0": "Not the same"})
    opened = Bundle(export_bundle(tmp_path / "theirs", ["run0"], strange).path)
    with Intake(tmp_path / "team") as intake:
        assert intake.put(opened.part(0)[0][0], opened.picture) == "other"


def test_names_in_a_zip_lead_nowhere(made: Path, tmp_path: Path) -> None:
    file = tmp_path / "evil.zip"
    with zipfile.ZipFile(file, "w") as packed:
        for path in sorted(made.rglob("*")):
            if path.is_file():
                packed.write(path, path.relative_to(made).as_posix())
        packed.writestr("../../evil.txt", "evil")
    taken_in(file, tmp_path / "team")
    assert not list(tmp_path.parent.rglob("evil.txt"))
    assert json.loads((made / MANIFEST).read_text())["schema"] == 2
