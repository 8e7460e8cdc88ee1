"""Runs the real command in a process of its own, with a data folder that the test has prepared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120  # how long a run may take on a busy machine
SESSION = ("DISPLAY", "WAYLAND_DISPLAY", "XDG_SESSION_TYPE")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command left behind: its exit code and what it said."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """The one sentence on standard error. Fails when there is none, more than one line, or a traceback."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        assert lines[0].endswith((".", "?")), self.err
        return lines[0]

    @property
    def events(self) -> list[dict[str, Any]]:
        """The JSON lines on standard output."""
        return [json.loads(line) for line in self.out.splitlines()]


def environment(changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """This process's environment without a desktop session, then changed; None takes a name out."""
    values: dict[str, str | None] = {**os.environ, **dict.fromkeys(SESSION), **(changes or {})}
    return {name: value for name, value in values.items() if value is not None}


def command(*arguments: str) -> list[str]:
    """The command as a person types it."""
    return [sys.executable, "-m", "agent_core", *arguments]


def run(
    *arguments: str, env: Mapping[str, str | None] | None = None, under: Sequence[str] = (), stdin: str = ""
) -> Ran:
    """Runs `python -m agent_core` to its end. `under` is a program that it is started by."""
    done = subprocess.run(
        [*under, *command(*arguments)],
        cwd=ROOT,
        env=environment(env),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def write_model(home: Path, name: str, manifest: str) -> Path:
    """Puts a manifest into the data folder and gives the folder it lies in."""
    folder = home / "models"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.toml").write_text(manifest, encoding="utf-8")
    return folder


def write_script(home: Path, replies: Sequence[str], name: str = "script", dialect: str = "uitars") -> None:
    """A model that gives these replies in order, and reads no elements."""
    write_model(home, name, f'dialect = "{dialect}"\nkind = "scripted"\nreplies = {json.dumps(list(replies))}\n')


def allow_keeping(home: Path) -> None:
    """The person agreed to keep runs."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "settings.toml").write_text('[privacy]\nconsent = "yes"\n', encoding="utf-8")
