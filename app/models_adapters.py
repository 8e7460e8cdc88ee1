"""What was trained here and what of it is in use: read from the files that training wrote, changed by its commands."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_core import paths, settings
from agent_core.errors import ModelError
from app.training_process import training_folder, turns_of


@dataclass(frozen=True, slots=True)
class Version:
    """A promoted adapter. `results` are (suite, success before, success now), the successes as shares."""

    name: str
    date: str
    results: tuple[tuple[str, float, float], ...]
    in_use: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a turn of a flywheel trained, with its evaluation and the one of the adapter that it is measured against."""

    name: str
    adapter: Path
    evaluation: Path
    against: Path
    success: float


def versions() -> tuple[Version, ...]:
    """The promoted adapters, the newest first. What cannot be read is left out."""
    chosen = settings.load()[0].model.adapter
    out = []
    for file in sorted((paths.home() / "adapters").glob("*/manifest.json"), reverse=True):
        try:
            told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            suites = tuple(
                (suite, float(was), float(now)) for suite, (was, now, _) in told["verdict"]["suites"].items()
            )
            out.append(Version(str(told["version"]), str(told["date"])[:10], suites, str(file.parent) == chosen))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    return tuple(out)


def candidates() -> tuple[Candidate, ...]:
    """What the program's own trainings made and evaluated, the newest first."""
    out = []
    for folder in sorted(training_folder().glob("[0-9][0-9][0-9][0-9]")):
        for turn in turns_of(folder):
            here, before = folder / f"turn-{turn.get('turn')}", folder / f"turn-{int(turn.get('turn', 1)) - 1}"
            against = before / "in_use.json"
            against = against if against.exists() else before / "evaluation.json"
            adapter, evaluation = Path(str(turn.get("candidate", ""))), here / "evaluation.json"
            if adapter.is_dir() and evaluation.exists() and against.exists():
                name = f"{int(folder.name)}.{turn.get('turn')}"
                out.append(Candidate(name, adapter, evaluation, against, float(turn.get("success", 0.0))))
    return tuple(reversed(out))


def promote(one: Candidate) -> str:
    """Makes it the adapter in use if it won; what the command said. Raises ModelError with its words if it did not."""
    return _command([str(one.adapter), "--evaluation", str(one.evaluation), "--against", str(one.against)])


def roll_back() -> str:
    """Goes back to the adapter before the newest promotion. Raises ModelError when there is none."""
    return _command(["--roll-back"])


def _command(options: Sequence[str]) -> str:
    words = [sys.executable, "-m", "training.promote", *options]
    done = subprocess.run(words, cwd=paths.assets_folder().parent, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ModelError(done.stderr.strip() or "The command ended without saying why. Nothing was changed.")
    return done.stdout.strip()
