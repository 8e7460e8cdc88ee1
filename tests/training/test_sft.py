"""The trainer as a person runs it: a few steps on demonstrations, a checkpoint, an adapter that can be shipped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.training import tiny_runs
from training import checkpoints, rollouts, sft
from training.runs import read_metrics


def train(data: Path, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    options = ["--batch-tokens", "450", "--epochs", "1", "--warmup", "1", "--threads", "1", "--held-back", "0.2"]
    command = [sys.executable, "-m", "training.sft", "--data", str(data), "--out", str(out), *options, *more]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "HF_HUB_OFFLINE": "1"}
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_short_run_learns_and_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    rollouts.record(rollouts.Args(suite="pretend", db=str(tmp_path / "demos"), tasks="click,fill", episodes=2))
    ran = train(tmp_path / "demos", tmp_path / "out", "--save-every", "1")
    assert ran.returncode == 0, ran.stderr
    lines = [json.loads(line) for line in (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()]
    steps = [line for line in lines if "loss" in line]
    assert [line["step"] for line in steps] == list(range(1, steps[0]["of"] + 1))
    assert len(steps) >= 3
    assert steps[-1]["loss"] < steps[0]["loss"]

    adapter = tmp_path / "out" / "adapter"
    weights = load_file(adapter / "adapter_model.safetensors")
    assert all(tensor.dtype == np.float16 for tensor in weights.values())
    assert all("lora_" in name for name in weights)
    assert sum(file.stat().st_size for file in adapter.iterdir()) < 12_000_000
    assert checkpoints.latest(tmp_path / "out") is not None  # the last checkpoint before the end

    again = train(tmp_path / "demos", tmp_path / "out", "--save-every", "1")
    assert again.returncode == 0, again.stderr
    after = [json.loads(line) for line in (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()]
    assert [line.get("step") for line in after] == [line.get("step") for line in lines]  # none stands there twice
    assert {name: after[-2][name] for name in ("loss", "tokens")} == {
        name: steps[-1][name] for name in ("loss", "tokens")
    }  # the step after the checkpoint, learnt once more


def test_a_step_of_several_batches_is_the_step_of_one_large_batch(tmp_path: Path) -> None:
    """The loss is the mean over all learnt tokens of the step, not a mean of means."""
    base = tiny_runs.model_folder(tmp_path / "model")
    data = tiny_runs.lesson_folder(tmp_path / "data")
    weights = []
    for name, tokens, accumulate in (("one", 100_000, 1), ("many", 300, 100)):
        sizes = ("--batch-tokens", str(tokens), "--accumulate", str(accumulate))
        learning = ("--epochs", "1", "--warmup", "1", "--precision", "float32", "--lr", "1e-3")
        running = tiny_runs.start("sft", "--base", base, "--data", data, "--out", tmp_path / name, *sizes, *learning)
        said, _ = running.communicate()
        assert running.returncode == 0, said
        (step, end) = read_metrics(tmp_path / name / "metrics.jsonl")
        assert end["steps"] == 1
        weights.append((step["loss"], step["grad_norm"], step["tokens"]))
    assert weights[0][:2] == pytest.approx(weights[1][:2], rel=1e-5)
    assert weights[0][2] == weights[1][2]


def test_an_empty_store_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="record demonstrations first"):
        sft.require_rows([], str(tmp_path))
