"""What would be trained on: asks `python -m training.curate` and reads the manifest that it writes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from agent_core import paths
from agent_core.errors import StoreError
from agent_core.traces.reads import Traces


@dataclass(frozen=True, slots=True)
class Used:
    """A kept run that training would use: its value is solved, unsolved or unknown, its split train or held."""

    run: str
    task: str
    value: str
    split: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """What curation chose. `found` counts all kept runs, `rows` the examples by kind of training."""

    runs: tuple[Used, ...]
    found: int
    rows: dict[str, int]


def curated(out: Path) -> Chosen:
    """Curates the kept runs into `out`; takes seconds. Raises StoreError with what curation said if it failed."""
    if not paths.traces_file().exists():
        return Chosen((), 0, {})
    words = [sys.executable, "-m", "training.curate", "--data", str(paths.home()), "--out", str(out)]
    done = subprocess.run(words, cwd=paths.assets_folder().parent, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or "It said nothing.").splitlines()[-1]
        raise StoreError(f"The kept runs could not be looked through for training. Your runs are safe. {said}")
    try:
        told = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"What training would use cannot be read ({error}). Try again.") from error
    tasks = {kept.run.id: kept.run.task for kept in Traces().runs(limit=-1)}
    runs = [Used(run, tasks[run], one["value"], one["split"]) for run, one in told["consent"].items() if run in tasks]
    return Chosen(tuple(reversed(runs)), int(told["runs"]["found"]), {str(k): int(n) for k, n in told["rows"].items()})
