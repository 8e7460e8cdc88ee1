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

from training import rollouts, sft


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
    assert sft.latest(tmp_path / "out") is not None  # the last checkpoint before the end

    again = train(tmp_path / "demos", tmp_path / "out", "--save-every", "1")
    assert again.returncode == 0, again.stderr
    after = [json.loads(line) for line in (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()]
    repeated = [line["step"] for line in after[len(lines) :] if "loss" in line]
    assert repeated == [steps[0]["of"]]  # only the step after the last checkpoint


def test_an_empty_store_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="record demonstrations first"):
        sft.require_rows([], str(tmp_path))
