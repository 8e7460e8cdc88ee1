"""Only a winner is promoted, the program takes it up at its next run, and it can be taken back."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file, save_file

from agent_core import paths, settings
from agent_core.settings import PrivacySettings, Settings
from agent_core.traces.reads import Traces
from training.deltas import hash_of
from training.promote import Evaluation, Verdict, history, judged, kept, main, promote, recorded, use

SHIPPED = Path("assets/models/bundled").resolve()


def evaluation(file: Path, adapter: str, solved: dict[str, list[bool]], suite: str = "pretend", **other: Any) -> Path:
    """What training.evaluate writes, as far as it is compared: episodes by task."""
    tasks = {
        task: {"success": sum(won) / len(won), "n": len(won), "solved": {str(n): one for n, one in enumerate(won)}}
        for task, won in solved.items()
    }
    data = {"suite": suite, "split": "held_out", "mode": "sandbox", "adapter_sha256": adapter, "tasks": tasks, **other}
    file.write_text(json.dumps(data))
    return file


def candidate(folder: Path, factor: float) -> Path:
    """The shipped adapter, weaker by a factor: it fits the model and has a hash of its own."""
    shutil.copytree(SHIPPED, folder)
    weights = load_file(SHIPPED / "adapter_model.safetensors")
    save_file(
        {k: v * v.dtype.type(factor) if "lora_B" in k else v for k, v in weights.items()},
        folder / "adapter_model.safetensors",
    )
    return folder


def verdict(new: list[bool], old: list[bool]) -> Verdict:
    def one(won: list[bool]) -> Evaluation:
        tasks = {"task": {"solved": {str(n): w for n, w in enumerate(won)}}}
        data = {"suite": "pretend", "split": "train", "mode": "sandbox", "adapter_sha256": "", "tasks": tasks}
        return Evaluation.of(data, "here")

    return judged([one(new)], [one(old)])


def test_the_rule_by_hand() -> None:
    same = [True] * 6 + [False] * 4
    assert not verdict(same, same).won
    three = verdict([True] * 9 + [False], same)
    assert (three.gained, three.lost, three.luck) == (3, 0, 1 / 8)
    assert not three.won  # a coin does as well in one case of eight
    four = verdict([True] * 10, same)
    assert (four.gained, four.luck, four.won) == (4, 1 / 16, True)
    mixed = verdict([False] + [True] * 9, [True] + [False] * 9)
    assert (mixed.gained, mixed.lost) == (9, 1)
    assert mixed.luck == pytest.approx(11 / 1024)
    assert mixed.won
    assert not verdict([True] + [False] * 9, [False] + [True] * 9).won


def test_a_suite_that_falls_spoils_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = candidate(tmp_path / "one", 0.9)
    sha = hash_of(one)
    new = [
        evaluation(tmp_path / "a", sha, {"t": [True] * 20}),
        evaluation(tmp_path / "b", sha, {"t": [False, False] + [True] * 18}, "desk"),
    ]
    old = [
        evaluation(tmp_path / "c", "", {"t": [False] * 20}),
        evaluation(tmp_path / "d", "", {"t": [True] * 20}, "desk"),
    ]
    code = main([str(one), "--evaluation", *map(str, new), "--against", *map(str, old)])
    assert code == 1
    assert "desk fell by more than 5%" in capsys.readouterr().err
    assert settings.load()[0].model.adapter == ""
    assert not (paths.home() / "adapters").exists()


@pytest.mark.parametrize(
    "other", ["loser", "other weights", "other tasks", "other split", "no episodes", "no --against"]
)
def test_what_did_not_win_is_not_promoted(tmp_path: Path, other: str, capsys: pytest.CaptureFixture[str]) -> None:
    one = candidate(tmp_path / "one", 0.9)
    sha = "0" * 64 if other == "other weights" else hash_of(one)
    won = [False] * 10 if other == "loser" else [True] * 10
    new = evaluation(
        tmp_path / "new.json", sha, {"other" if other == "other tasks" else "t": won},
        split="train" if other == "other split" else "held_out",
    )  # fmt: skip
    if other == "no episodes":
        new.write_text(json.dumps({"suite": "pretend", "tasks": {"t": {"success": 1, "n": 10}}}))
    old = evaluation(tmp_path / "old.json", "", {"t": [False] * 10})
    against = [] if other == "no --against" else ["--against", str(old)]
    assert main([str(one), "--evaluation", str(new), *against]) == 1
    said = capsys.readouterr().err
    words = {
        "loser": "did not win",
        "other weights": "evaluate it again",
        "no episodes": "again",
        "no --against": "--against",
    }
    assert words.get(other, "run them alike") in said
    assert not paths.settings_file().exists()


def headless(task: str) -> str:
    """Runs the program without a window on a blank screen; returns the adapter hash that the kept run names."""
    command = [sys.executable, "-m", "agent_core", task, "--operator", "dry_run", "--json", "--max-steps", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    assert '"status"' in done.stdout, done.stderr
    run = Traces().runs()[0].run
    assert run.task == task
    return run.adapter_hash


@pytest.mark.slow
def test_the_next_run_uses_what_was_promoted_and_what_was_rolled_back_to(tmp_path: Path) -> None:
    settings.save(replace(Settings(), privacy=PrivacySettings(consent="yes")))
    one, two = candidate(tmp_path / "one", 0.98), candidate(tmp_path / "two", 0.96)
    old = evaluation(tmp_path / "old.json", "", {"t": [False] * 8})
    new = evaluation(tmp_path / "new.json", hash_of(one), {"t": [True] * 4 + [False] * 4})
    _, folder = promote(one, [new], [old])
    assert folder.parent == paths.home() / "adapters"
    shutil.rmtree(one)  # the program has its own copy
    assert headless('Click "OK".') == hash_of(folder) != hash_of(SHIPPED)
    told = json.loads((folder / "manifest.json").read_text())
    assert told["sha256"] == hash_of(folder)
    assert told["verdict"]["gained"] == 4

    better = evaluation(tmp_path / "better.json", hash_of(two), {"t": [True] * 8})
    won = judged([Evaluation.read(better)], recorded(str(folder)))  # against what the first was promoted with
    second = kept(two, [Evaluation.read(better)], [Evaluation.read(new)], won)
    use(second, "promote", settings.load()[0])
    assert settings.load()[0].model.adapter == str(second)
    assert settings.load()[0].privacy.consent == "yes"
    assert main(["--roll-back"]) == 0
    assert settings.load()[0].model.adapter == str(folder)
    assert main(["--roll-back"]) == 0
    assert settings.load()[0].model.adapter == ""
    assert main(["--roll-back"]) == 1
    assert [line["what"] for line in history()] == ["promote", "promote", "roll back", "roll back"]


def test_a_running_program_takes_a_promoted_adapter_up(tmp_path: Path) -> None:
    """The settings that a program read at its start, when it begins a run or saves them."""
    settings.save(Settings())
    held = replace(Settings(), model=replace(Settings().model, threads=2))
    promoted = replace(Settings(), model=replace(Settings().model, adapter="/adapters/0001"))
    settings.save(promoted)
    assert settings.with_adapter_of_file(held).model == replace(held.model, adapter="/adapters/0001")
    chosen = replace(held, model=replace(held.model, adapter="/mine"))
    assert settings.with_adapter_of_file(chosen, before=held).model.adapter == "/mine"
    assert settings.with_adapter_of_file(held, before=held).model.adapter == "/adapters/0001"
    paths.settings_file().unlink()
    assert settings.with_adapter_of_file(held) == held
