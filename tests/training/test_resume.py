"""A run that is killed and started again ends with the very weights and metrics of a run that was left alone."""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training import tiny_runs
from training import checkpoints, trl_runs
from training.runs import RunFolder, knob, parse, read_metrics

COMMON = ("--save-every", "2", "--warmup", "2", "--lr", "1e-3", "--epochs", "3")
OPTIONS: dict[str, tuple[str, ...]] = {
    "sft": ("--dropout", "0.1", "--accumulate", "2", "--batch-tokens", "250"),
    "dpo": ("--batch", "4", "--accumulate", "2"),
    "ct": ("--dropout", "0.1", "--batch", "4", "--accumulate", "2"),
}


def data_for(script: str, folder: Path) -> Path:
    if script == "sft":
        return tiny_runs.lesson_folder(folder / "data")
    make = tiny_runs.pair_file if script == "dpo" else tiny_runs.text_file
    return make(folder / "data.jsonl")


def killed_at(script: str, step: int, options: tuple[str | Path, ...], out: Path) -> bool:
    """Starts the script and kills it, the hard way, once it has logged that step; whether it was still running."""
    running = tiny_runs.start(script, *options, "--out", out)
    while running.poll() is None and steps_in(out) < step:
        time.sleep(0.002)
    alive = running.poll() is None
    running.kill()
    running.communicate()
    return alive


def steps_in(out: Path) -> int:
    file = out / "metrics.jsonl"
    return max((line.get("step", 0) for line in read_metrics(file)), default=0) if file.exists() else 0


def finished(script: str, options: tuple[str | Path, ...], out: Path) -> None:
    running = tiny_runs.start(script, *options, "--out", out)
    said, _ = running.communicate()
    assert running.returncode == 0, said


def figures(out: Path) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in line.items() if name != "time"} for line in read_metrics(out / "metrics.jsonl")
    ]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("script", OPTIONS)
def test_kill_9_at_a_random_step_changes_no_bit(script: str, tmp_path: Path) -> None:
    model = tiny_runs.model_folder(tmp_path / "model")
    options: tuple[str | Path, ...] = ("--base", model, "--data", data_for(script, tmp_path), *COMMON, *OPTIONS[script])
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    finished(script, options, whole)
    steps = steps_in(whole)
    at = random.SystemRandom().randint(1, steps - 1)
    assert killed_at(script, at, options, broken)
    finished(script, options, broken)
    weights = [(out / "adapter" / "adapter_model.safetensors").read_bytes() for out in (whole, broken)]
    assert weights[0] == weights[1], f"killed at step {at} of {steps}"
    assert figures(whole) == figures(broken), f"killed at step {at} of {steps}"


def test_a_checkpoint_that_a_kill_cut_off_does_not_count(tmp_path: Path) -> None:
    for n in (2, 4):
        (tmp_path / f"checkpoint-{n}").mkdir()
    (tmp_path / "checkpoint-2" / "trainer_state.json").write_text('{"global_step": 2}')
    (tmp_path / "checkpoint-4" / "trainer_state.json").write_text('{"global_st')
    assert trl_runs.latest(tmp_path) == (tmp_path / "checkpoint-2", 2)
    assert not (tmp_path / "checkpoint-4").exists()
    assert trl_runs.latest(tmp_path / "nothing") == (None, 0)
    (tmp_path / "checkpoint-000002").mkdir()
    (tmp_path / "checkpoint-000002" / "state.part").touch()
    assert checkpoints.latest(tmp_path) is None


class Saved(torch.nn.Linear):
    """Weights that can be saved as PEFT saves an adapter."""

    def save_pretrained(self, to: str, save_embedding_layers: bool) -> None:
        Path(to).mkdir(exist_ok=True)


def test_random_numbers_go_on_where_they_were(tmp_path: Path) -> None:
    model = Saved(2, 1)
    optimiser = torch.optim.AdamW(model.parameters())
    torch.manual_seed(3)
    checkpoints.save(model, optimiser, tmp_path, 1, tokens=5)
    checkpoints.save(model, optimiser, tmp_path, 2, tokens=7)
    wanted = torch.rand(3)
    torch.manual_seed(99)
    newest = checkpoints.latest(tmp_path)
    assert newest == tmp_path / "checkpoint-000002"
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint-000002"]
    assert checkpoints.restore(newest, optimiser) == (2, {"tokens": 7})
    assert torch.equal(torch.rand(3), wanted)


@dataclass(frozen=True, slots=True)
class Args:
    """A run's knobs."""

    out: str = knob("runs/x", "run folder")
    lr: float = knob(1e-3, "learning rate")
    threads: int = knob(2, "threads")
    precision: str = knob("bf16", "type", ("bf16", "float32"))


def test_metrics_after_the_checkpoint_are_dropped(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, Args())
    for step in range(1, 6):
        folder.log(step=step, loss=1 / step)
    folder.log(rows=7)
    folder.close()
    file = tmp_path / "metrics.jsonl"
    file.write_text(file.read_text() + '{"step": 6, "lo')
    RunFolder(tmp_path, Args(), done=3).close()
    assert [line["step"] for line in read_metrics(file)] == [1, 2, 3]
    RunFolder(tmp_path, Args()).close()
    assert len(read_metrics(file)) == 3
    RunFolder(tmp_path, Args(), done=0).close()
    assert read_metrics(file) == []


def test_a_run_does_not_go_on_with_other_arguments(tmp_path: Path) -> None:
    RunFolder(tmp_path, Args()).close()
    RunFolder(tmp_path, Args(threads=4), done=2).close()
    with pytest.raises(SystemExit, match=r"lr was 0\.001 and is 0\.1.*another --out"):
        RunFolder(tmp_path, Args(lr=0.1), done=2)
    RunFolder(tmp_path, Args(lr=0.1), done=0).close()  # nothing was done yet
    assert json.loads((tmp_path / "args.json").read_text())["lr"] == 0.1


def test_a_command_line_is_made_from_the_knobs(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse(Args, ["--lr", "0.5"], "x", None) == Args(lr=0.5)
    with pytest.raises(SystemExit):
        parse(Args, ["--precision", "fp8"], "x", None)
    assert "invalid choice" in capsys.readouterr().err
