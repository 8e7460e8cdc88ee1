"""The flywheel, turned once with the bundled model on pretend forms: as short as it can be with its stages in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from training import flywheel
from training.curate import curate
from training.deltas import hash_of
from training.promote import Evaluation

SMALL = (
    "--suite pretend --tasks click,tick --turns 1 --seeds 1 --samples 2 --episodes 1 --max-steps 3 --parts ct,sft "
    "--per-task 1 --ct-epochs 0.4 --sft-epochs 1 --sft-lr 1e-6 --ct-lr 1e-6 --threads 1"
)


@pytest.fixture(scope="module")
def turned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A flywheel of one turn."""
    out = tmp_path_factory.mktemp("flywheel")
    assert flywheel.main([*SMALL.split(), "--out", str(out)]) == 0
    return out


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_turn_plays_curates_trains_evaluates_and_reports(turned: Path) -> None:
    told = json.loads((turned / "report.json").read_text())
    first, second = told["turns"]
    assert second["rollouts"] == 4  # two tasks, one seed each, played twice
    assert 0 <= second["share_solved"] <= 1
    assert second["rows"]["sft.jsonl"] + second["rows"]["ct.jsonl"] > 0
    kept = Path(second["adapter"] or ".")
    assert second["success"] >= first["success"] or second["adapter"] == first["adapter"]
    candidate = Path(second["candidate"])
    evaluation = json.loads((turned / "turn-1" / "evaluation.json").read_text())
    assert Evaluation.of(evaluation, "").adapter == hash_of(candidate)
    assert kept == candidate or first["adapter"] == second["adapter"]
    page = (turned / "report.html").read_text()
    assert all(word in page for word in ("Turns", "click", "data:image/png;base64,"))
    assert "http" not in page.split("</style>")[1].split("data:image")[0]  # nothing is fetched from elsewhere


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_started_again_it_does_nothing_twice(turned: Path) -> None:
    stamps = {file: file.stat().st_mtime_ns for file in turned.rglob("*.log")}
    assert flywheel.main([*SMALL.split(), "--out", str(turned)]) == 0
    assert {file: file.stat().st_mtime_ns for file in turned.rglob("*.log")} == stamps


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_other_arguments_need_another_folder(turned: Path) -> None:
    with pytest.raises(SystemExit, match="other arguments"):
        flywheel.main([*SMALL.split(), "--episodes", "2", "--out", str(turned)])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_rollouts_are_curated_alike_twice(turned: Path, tmp_path: Path) -> None:
    manifests = [curate([turned / "turn-1" / "rollouts"], tmp_path / name, held=0.0) for name in "ab"]
    assert manifests[0].files == manifests[1].files


def test_an_unknown_part_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert flywheel.main(["--parts", "sft,magic"]) == 2
    assert "no part 'magic'" in capsys.readouterr().err


def test_a_stage_that_fails_says_where_to_look(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert flywheel.main(["--suite", "pretend", "--start", str(tmp_path / "gone"), "--out", str(tmp_path / "f")]) == 1
    said = capsys.readouterr().err
    assert all(word in said for word in ("training.evaluate ended with", "evaluate.log"))
