"""A bundle holds what may leave and nothing else, whole, and says what it holds."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core import settings
from agent_core.actions import Type
from agent_core.errors import StoreError
from agent_core.step import Outcome, Status, Step
from agent_core.traces import images
from agent_core.traces.__main__ import main
from agent_core.traces.bundle import MANIFEST, TABLES, parquet_rows, part_name
from agent_core.traces.bundle_intake import Intake
from agent_core.traces.bundle_read import Bundle, inspect
from agent_core.traces.bundle_write import export_bundle
from agent_core.traces.reads import Traces
from agent_core.traces.store import TraceStore
from tests.traces.bundles import manifest_of, small_turns, store_at
from tests.traces.sample import ALLOWED, RUN, desktop, record, turn_of

ROOT = Path(__file__).resolve().parents[2]
MAIL, KEY = "ann.lee@example.com", "sk-proj-Ab3dEf6hIj9kLm2nOp5qRs8t"


def test_a_bundle_holds_every_row_and_picture_of_the_runs(tmp_path: Path) -> None:
    traces = store_at(tmp_path / "ann", {f"run{n}": f"Task {n}" for n in range(3)})
    made = export_bundle(tmp_path / "out", traces=traces, runs_per_part=2)
    assert (made.runs, made.turns, made.steps, made.images, made.images_left_out) == (3, 18, 21, 9, 0)
    manifest = manifest_of(made.path)
    assert manifest["schema"] == 2
    assert set(manifest["consent"]["runs"]) == {"run0", "run1", "run2"}
    assert all(proof["consent"] == "settings" for proof in manifest["consent"]["runs"].values())
    assert set(manifest["files"]) == {part_name(table, part) for table in TABLES for part in (0, 1)}
    for name, told in manifest["files"].items():
        data = (made.path / name).read_bytes()
        assert (hashlib.sha256(data).hexdigest(), len(data), len(parquet_rows(data))) == (
            told["sha256"],
            told["bytes"],
            told["rows"],
        )
    found = inspect(made.path)
    assert (len(found.copies), found.refused, found.faults) == (3, (), ())


@pytest.mark.parametrize("name", ["bundle", "bundle.zip"])
def test_what_comes_out_of_a_bundle_is_what_was_kept(tmp_path: Path, name: str) -> None:
    traces = store_at(tmp_path / "ann", {"run0": "Task 0", "run1": "Task 1"})
    bundle = Bundle(export_bundle(tmp_path / name, traces=traces).path)
    with Intake(tmp_path / "team") as intake:
        assert [intake.put(rows, bundle.picture) for rows in bundle.part(0)[0]] == ["new", "new"]
        assert [intake.put(rows, bundle.picture) for rows in bundle.part(0)[0]] == ["same", "same"]
    team = Traces(tmp_path / "team" / "traces.db", tmp_path / "team" / "images")
    assert team.runs() == traces.runs()
    assert team.faults() == ()
    assert list(team.training_rows()) == list(traces.training_rows())
    for kept in traces.runs():
        assert team.turns(kept.run.id) == traces.turns(kept.run.id)
        assert team.labels(kept.run.id) == traces.labels(kept.run.id)
        for turn in traces.turns(kept.run.id):
            assert team.picture(turn.screenshot) == traces.picture(turn.screenshot)
            assert team.is_judged(turn.screenshot)


def test_secrets_do_not_leave_in_texts_nor_in_pictures(tmp_path: Path) -> None:
    """Written the way stores of the first format were: nothing was taken out, no picture was judged."""
    shot = desktop(f"Mail {MAIL}")
    typed = Type(f"{MAIL}\n")
    turn = turn_of(1, shot, f"Write to {MAIL}.", typed, reply=f"Thought: key {KEY}\nAction: type(content='{MAIL}')")
    turn = replace(turn, steps=(turn_step(typed),))
    folder = tmp_path / "old"
    with TraceStore(folder / "traces.db", folder / "images", sandbox_as_is=True) as store:
        record(store, replace(RUN, task=f"Mail {MAIL} the key {KEY}", consent="sandbox"), [turn])
        store.label(RUN.id, 1, "correction", None, f"Not {MAIL}", "person")
    make_a_persons(folder / "traces.db")
    out = export_bundle(tmp_path / "out", traces=Traces(folder / "traces.db", folder / "images")).path
    whole = b"".join(
        json.dumps(parquet_rows(file.read_bytes())).encode() if file.suffix == ".parquet" else file.read_bytes()
        for file in out.rglob("*")
        if file.is_file()
    )
    assert MAIL.encode() not in whole
    assert KEY.encode() not in whole
    assert "«email»" in json.dumps(parquet_rows((out / "steps-0000.parquet").read_bytes()), ensure_ascii=False)
    [row] = parquet_rows((out / "turns-0000.parquet").read_bytes())
    assert (row["token_ids"], row["logprobs"]) == ([], [])  # they would spell it out
    [image] = parquet_rows((out / "images-0000.parquet").read_bytes())
    assert image["sha256"] == row["screenshot"] != images.hash_of(shot)
    assert row["prompt_images"] == [row["screenshot"]]
    assert [cover["rule"] for cover in json.loads(image["redactions"])] == ["email"]
    assert image["judged"]
    pixels = images.load(out / "images", image["sha256"])
    line = shot.elements[1].box
    at = (int(line.centre.y * 800) * 1280 + int(line.centre.x * 1280)) * 3
    column = {pixels.rgb[at + n * 3 : at + n * 3 + 3] for n in range(-100, 100)}
    assert len(column) == 1  # one colour where the words stood


def turn_step(action: Type) -> Step:
    return Step(1, 1, action, ALLOWED, None, Outcome(True, changed=True))


def make_a_persons(file: Path) -> None:
    """The same rows as of a person's run, as an early program would have left them."""
    db = sqlite3.connect(file)
    db.execute("DROP TRIGGER runs_are_never_updated")
    db.execute("UPDATE runs SET consent = 'settings'")
    db.commit()
    db.close()


def test_runs_that_may_not_leave_are_left_out_and_told(tmp_path: Path) -> None:
    traces = store_at(tmp_path / "ann", {"run0": "Task 0"})
    with TraceStore(traces.path, traces.folder) as store:
        going_on = replace(RUN, id="going")
        store.started(going_on, None)
    made = export_bundle(tmp_path / "out", traces=traces)
    assert made.left_out == {"going": "it has not ended"}
    assert set(manifest_of(made.path)["consent"]["runs"]) == {"run0"}
    with pytest.raises(StoreError, match="it has not ended"):
        export_bundle(tmp_path / "other", ["going"], traces)
    assert not (tmp_path / "other").exists()
    with pytest.raises(StoreError, match="there is none"):
        export_bundle(tmp_path / "none", traces=Traces(tmp_path / "no.db", tmp_path / "no"))


def test_a_picture_that_was_changed_or_is_gone_is_left_out(tmp_path: Path) -> None:
    traces = store_at(tmp_path / "ann", {"run0": "Task 0"})
    first, second, third = sorted(traces.folder.glob("??/*.png"))
    first.write_bytes(second.read_bytes())
    third.unlink()
    made = export_bundle(tmp_path / "out", traces=traces)
    assert (made.images, made.images_left_out) == (1, 2)
    assert [f.stem for f in (made.path / "images").glob("??/*")] == [second.stem]
    assert inspect(made.path).faults == ()


def test_nothing_names_the_person_or_the_computer(tmp_path: Path) -> None:
    traces = store_at(tmp_path / "bartholomew", {"run0": "Task 0"})
    out = export_bundle(tmp_path / "out.zip", traces=traces).path
    with zipfile.ZipFile(out) as file:
        told = b"".join(file.read(name) for name in file.namelist())
    for word in (str(tmp_path), "bartholomew", os.uname().nodename):
        assert word.encode() not in told


def test_it_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    traces = store_at(tmp_path / "ann", {"run0": "Task 0"})
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "mine.txt").write_text("mine")
    with pytest.raises(StoreError, match="something at"):
        export_bundle(taken, traces=traces)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="could not be written"):
        export_bundle(tmp_path / "file" / "out", traces=traces)
    empty = tmp_path / "empty"
    empty.mkdir()
    export_bundle(empty, traces=traces)
    assert (empty / MANIFEST).exists()
    assert sorted(f.name for f in tmp_path.iterdir()) == ["ann", "empty", "file", "taken"]


def test_the_command_writes_and_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with TraceStore() as store:
        for name in ("run1", "run2"):
            record(store, replace(RUN, id=name), small_turns(name))
    assert main(["export", "--bundle", str(tmp_path / "all.zip")]) == 0
    assert "all.zip: 2 runs, 14 steps" in capsys.readouterr().out
    assert main(["export", "run2", "--bundle", str(tmp_path / "one")]) == 0
    assert set(manifest_of(tmp_path / "one")["consent"]["runs"]) == {"run2"}
    assert main(["export", "nope", "--bundle", str(tmp_path / "two")]) == 1
    assert "No kept run has the id nope" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["export", "run1", "run2"])


def test_consent_taken_back_holds_everything_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with TraceStore() as store:
        record(store, RUN, small_turns("a"))
    mine, _ = settings.load()
    settings.save(replace(mine, privacy=replace(mine.privacy, consent="no")))
    assert main(["export", "--bundle", str(tmp_path / "out")]) == 1
    assert "no run leaves this computer" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_killed_while_writing_leaves_no_bundle(tmp_path: Path) -> None:
    with TraceStore() as store:
        for n in range(8):
            record(store, replace(RUN, id=f"run{n}"), small_turns(f"{n}"))
    out = tmp_path / "out"
    command = [sys.executable, "-m", "agent_core.traces", "export", "--bundle", str(out)]
    program = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    while not list(tmp_path.glob(".out-*/images/*/*")) and program.poll() is None:
        time.sleep(0.005)
    program.kill()
    program.communicate()
    assert not out.exists()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    assert len(inspect(out).copies) == 8


def test_the_app_can_do_without_pyarrow() -> None:
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from agent_core.traces.__main__ import main\n"
        "from agent_core.errors import StoreError\n"
        "from agent_core.traces.bundle import parquet_bytes\n"
        "try: parquet_bytes('labels', [])\n"
        "except StoreError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "Install it with: pip install pyarrow" in done.stdout


def test_importing_the_traces_stays_light() -> None:
    code = "import sys, agent_core.traces.__main__; print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_status_survives(tmp_path: Path) -> None:
    traces = store_at(tmp_path / "ann", {"run0": "Task 0"})
    rows = Bundle(export_bundle(tmp_path / "out", traces=traces).path).part(0)[0][0]
    assert (rows.run["status"], rows.run["text"]) == (Status.FINISHED.value, "They are in Invoices.")
