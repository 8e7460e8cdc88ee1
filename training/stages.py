"""One stage of the flywheel: a command of this package in a process of its own, begun outside the quiet hours."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from agent_core import settings
from agent_core.errors import ModelError

QUIET_LOOK_S = 2.0


def command(module: str, options: dict[str, Any], folder: Path) -> None:
    """Runs `python -m training.MODULE`, what it prints in a log in the folder. Raises ModelError with its last line."""
    wait_for_quiet_end(module)
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{module}.log"
    words = [sys.executable, "-m", f"training.{module}"]
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    with log.open("a", encoding="utf-8") as file:
        code = subprocess.run(words, stdout=file, stderr=subprocess.STDOUT, check=False).returncode
    if code:
        last = (log.read_text(encoding="utf-8").strip().splitlines() or ["it said nothing"])[-1]
        raise ModelError(f"training.{module} ended with {code}: {last} The whole of it is in {log}.")


def wait_for_quiet_end(module: str) -> None:
    """Returns outside the quiet hours of the settings, which are read anew until then: they may be lifted."""
    told = False
    while (hours := settings.load()[0].training).is_quiet(time.localtime().tm_hour):
        if not told:
            print(f"quiet until {hours.quiet_until}:00: {module} begins then", flush=True)
        told = True
        time.sleep(QUIET_LOOK_S)
