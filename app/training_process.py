"""Training as a process of its own: `python -m training.flywheel`, started, stopped and gone on with from its folder.

A flywheel goes on where it was stopped when it is started again with the same arguments, so stopping loses little. It
keeps the quiet hours of the settings by itself.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from agent_core import paths

LOOK_MS = 2000
PATIENCE_S = 5.0
LOG = "flywheel.log"


def can_train() -> bool:
    """Whether the trainer and what it needs are installed beside the program."""
    return all(importlib.util.find_spec(name) is not None for name in ("training", "torch"))


def training_folder() -> Path:
    """Where the app's flywheels lie, one numbered folder each."""
    return paths.home() / "training"


class TrainingProcess(QObject):
    """The one flywheel of the program. `changed` says that it began or ended."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process: subprocess.Popen[bytes] | None = None
        self._look = QTimer(self)
        self._look.setInterval(LOOK_MS)
        self._look.timeout.connect(self.look)

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def folder(self) -> Path | None:
        """The newest flywheel's folder, None before the first."""
        found = sorted(training_folder().glob("[0-9][0-9][0-9][0-9]/args.json"))
        return found[-1].parent if found else None

    @property
    def unfinished(self) -> bool:
        """Whether the newest flywheel has turns left that it can go on with."""
        return self.folder is not None and len(turns_of(self.folder)) < int(args_of(self.folder).get("turns", 0))

    def start(self, turns: int, episodes: int, own_runs: bool) -> None:
        """Starts a new flywheel. With `own_runs` the kept runs of this computer are learned from as well."""
        number = int(self.folder.name) + 1 if self.folder is not None else 1
        data = str(paths.home()) if own_runs and paths.traces_file().exists() else ""
        options = {"turns": turns, "episodes": episodes, "seeds": episodes, "data": data}
        out = training_folder() / f"{number:04d}"
        self._begin(out, {"out": str(out), **options})

    def resume(self) -> None:
        """Goes on with the newest one, with the arguments that it was begun with."""
        if self.folder is not None:
            self._begin(self.folder, args_of(self.folder))

    def stop(self) -> None:
        """Stops it with everything that it started, and waits until it is over: at most a few seconds."""
        process, self._process = self._process, None
        if process is None:
            return
        if sys.platform == "win32":
            subprocess.run(["taskkill", "/PID", str(process.pid), "/T", "/F"], capture_output=True, check=False)
        else:
            _end_group(process)
        self.changed.emit()

    def look(self) -> None:
        """Notices that it has ended by itself."""
        if not self.running:
            self._look.stop()
            self.changed.emit()

    def _begin(self, out: Path, options: dict[str, Any]) -> None:
        if self.running:
            return
        out.mkdir(parents=True, exist_ok=True)
        words = [sys.executable, "-m", "training.flywheel"]
        for name, value in options.items():
            words += [f"--{name.replace('_', '-')}", str(value)]
        if nice := shutil.which("nice"):
            words = [nice, "-n", "10", *words]  # whatever the person does comes first
        with (out / LOG).open("ab") as log:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=paths.assets_folder().parent,
            )
        self._look.start()
        self.changed.emit()


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and all that it started: asked first, then not asked."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
        limit = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < limit:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def args_of(folder: Path) -> dict[str, Any]:
    """What a flywheel was begun with; empty where that cannot be read."""
    return _read(folder / "args.json") or {}


def turns_of(folder: Path) -> list[dict[str, Any]]:
    """The records of the turns that are done, in order."""
    files = sorted(folder.glob("turn-*/turn.json"), key=lambda file: int(file.parent.name.removeprefix("turn-")))
    return [record for file in files if (record := _read(file)) is not None]


def newest_curve(folder: Path) -> tuple[str, list[tuple[float, float]]]:
    """The part that trains or trained last, as in turn-1/sft, and its loss by step; empty before anything trained."""
    files = [file for file in folder.rglob("metrics.jsonl") if file.stat().st_size]
    if not files:
        return "", []
    newest = max(files, key=lambda file: file.stat().st_mtime)
    points = []
    for line in newest.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.endswith("\n"):  # the last one may still be being written
            told = json.loads(line)
            if "loss" in told and "step" in told:
                points.append((float(told["step"]), float(told["loss"])))
    return str(newest.parent.relative_to(folder)), points


def last_line(folder: Path) -> str:
    """What the flywheel said last."""
    try:
        lines = (folder / LOG).read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""


def _read(file: Path) -> dict[str, Any] | None:
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) else None
