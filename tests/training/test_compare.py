"""The comparison as a person runs it: two variants of two batches, what it writes, and going on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from tests.training.tiny_runs import model_folder
from training import compare

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT asks transformers by an old name

CONFIG = """
suite = "pretend_small"
tasks = "press"
rollouts = "lockstep"
batch = 8
environments = 8
max_steps = 2
max_new_tokens = 8
rank = 4
pretraining = 1
evaluate_every = 1
evaluate_rollouts = 6
"""


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_variants_are_run_once_and_drawn(tmp_path: Path) -> None:
    base = model_folder(tmp_path / "base")
    (tmp_path / "run.toml").write_text(CONFIG, encoding="utf-8")
    options = [
        "--base", str(base), "--out", str(tmp_path / "out"), "--config", str(tmp_path / "run.toml"), "--seeds", "1",
        "--batches", "2", "--only", "PPO,GRPO", "--rollouts", "6", "--picture", str(tmp_path / "curves.png"),
    ]  # fmt: skip
    compare.main(options)
    found = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert list(found) == ["PPO", "GRPO"]
    ppo, grpo = (found[name]["runs"][0] for name in found)
    assert ppo["samples"] == [16]  # one batch of eight for the critic, one for both
    assert grpo["samples"] == [8, 16]
    assert set(ppo["end"]) == {"sampled", "greedy"}
    assert ppo["end"]["greedy"]["n"] == 6
    with Image.open(tmp_path / "curves.png") as picture:
        assert picture.width > 600

    before = (tmp_path / "out" / "PPO-0" / "metrics.jsonl").stat().st_mtime_ns
    compare.main(options)
    assert (tmp_path / "out" / "PPO-0" / "metrics.jsonl").stat().st_mtime_ns == before


def test_the_table_says_who_reached_what() -> None:
    end = {"sampled": {"success": 0.9, "n": 10}, "greedy": {"success": 1.0, "n": 10}}
    quick = {"samples": [64, 128], "success": [0.5, 0.85], "end": end, "seconds": 12.0}
    slow = {**quick, "success": [0.2, 0.3]}
    lines = compare.table({"PPO": {"runs": [quick, quick]}, "GRPO": {"runs": [quick, slow]}}).splitlines()
    assert "0.900 (0.90 to 0.90)" in lines[1]
    assert "128" in lines[1]
    assert "not by all" in lines[2]
