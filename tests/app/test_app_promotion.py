"""The program is running; training promotes another adapter meanwhile, and takes it back. Each next run uses what
counts then, without a restart."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from agent_core import paths, settings
from agent_core.models import manifest
from agent_core.settings import ModelSettings, PrivacySettings, Settings
from app.desk import Desk
from app.states import State
from tests.app.conftest import Person, Start, send
from tests.training.small import stirred
from tests.training.tiny_exports import saved
from training.deltas import hash_of
from training.gguf_source import source
from training.gguf_write import write_merged
from training.policy import load_base, with_adapter

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings("ignore::FutureWarning"),  # PEFT asks transformers by an old name
]

MANIFEST = """
dialect = "elements"
kind = "llama_cpp"
[base]
file = "tiny.base.gguf"
sha256 = "{base}"
[adapter]
folder = "{folder}"
sha256 = "{adapter}"
[serving]
quantisation = "F32"
context = 4096
max_new_tokens = 16
"""


def adapter(base: Path, folder: Path, seed: int) -> Path:
    """An adapter that does something."""
    torch.manual_seed(seed)
    model, _ = load_base(base)
    stirred(with_adapter(model, 2, 4, 0.0), seed).save_pretrained(str(folder))
    return folder


def tiny_model(tmp_path: Path) -> Path:
    """The smallest real model there is, as a user's manifest in the data folder; returns the adapter it ships with."""
    base = saved(tmp_path / "base", "llama")
    shipped = adapter(base, tmp_path / "shipped", 1)
    folder = paths.models_folder()
    folder.mkdir(parents=True)
    write_merged(folder / "tiny.base.gguf", source(base), {}, "F32")
    text = MANIFEST.format(base=manifest.sha256_of(folder / "tiny.base.gguf"), folder=shipped, adapter=hash_of(shipped))
    (folder / "tiny.toml").write_text(text, encoding="utf-8")
    return shipped


def evaluation(file: Path, adapter_sha256: str, won: list[bool]) -> Path:
    """What training.evaluate writes, as far as it is compared."""
    task = {"success": sum(won) / len(won), "n": len(won), "solved": {str(n): one for n, one in enumerate(won)}}
    data = {"suite": "desk", "split": "held_out", "mode": "sandbox", "adapter_sha256": adapter_sha256}
    file.write_text(json.dumps(data | {"tasks": {"task": task}}))
    return file


def promote(*options: object) -> None:
    """As a team does it, in a process of its own."""
    command = [sys.executable, "-m", "training.promote", *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, done.stderr


def shown(desk: Desk) -> list[str]:
    """What the task window says."""
    return [each.text() for each in desk.window.findChildren(QLabel) if not each.isHidden() and each.text()]


def hash_of_run(desk: Desk, person: Person, qtbot: QtBot, task: str) -> str:
    """Sends a task, waits for the run to end, and reads from the kept run which adapter it was made with."""
    send(desk, person, task)
    qtbot.waitUntil(lambda: desk.state.busy, timeout=10_000)
    began = time.monotonic()
    while desk.state.busy and time.monotonic() - began < 100:  # with the reader of screens, on a busy machine
        qtbot.wait(50)
        if desk.state is State.WAITING:  # what so small a model says may mean anything, a question too
            desk.stop()
    print(f"{task}: {time.monotonic() - began:.1f} s, {desk.state}, {shown(desk)}")
    assert not desk.state.busy
    with closing(sqlite3.connect(f"file:{paths.traces_file()}?mode=ro", uri=True)) as db:
        told = db.execute("SELECT task, adapter_hash, model FROM runs ORDER BY started DESC LIMIT 1").fetchone()
    assert told is not None, shown(desk)
    assert told[::2] == (task, "tiny")
    return str(told[1])


def test_a_running_program_acts_with_what_was_promoted_and_with_what_was_rolled_back_to(
    start: Start, person: Person, qtbot: QtBot, tmp_path: Path
) -> None:
    shipped = tiny_model(tmp_path)
    chosen = replace(Settings(), model=ModelSettings("tiny", threads=1), privacy=PrivacySettings(consent="yes"))
    settings.save(chosen)
    candidate = adapter(tmp_path / "base", tmp_path / "candidate", 2)
    new = evaluation(tmp_path / "new.json", hash_of(candidate), [True] * 8)
    old = evaluation(tmp_path / "old.json", "", [False] * 8)

    desk = start([], model="tiny")
    desk.settings = replace(desk.settings, model=chosen.model)
    assert hash_of_run(desk, person, qtbot, "Press one") == hash_of(shipped)

    promote(candidate, "--evaluation", new, "--against", old)
    desk.choose_mode("ask_all")  # what the program saves itself does not undo it
    assert Path(settings.load()[0].model.adapter).parent == paths.home() / "adapters"
    assert hash_of_run(desk, person, qtbot, "Press two") == hash_of(candidate) != hash_of(shipped)

    promote("--roll-back")
    assert hash_of_run(desk, person, qtbot, "Press three") == hash_of(shipped)
    assert settings.load()[0].model.adapter == ""
