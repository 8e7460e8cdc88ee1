"""A training run's folder: its arguments, its metrics, its checkpoints. Read by people and by the next stage alike."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from pathlib import Path
from typing import Any, TextIO


class RunFolder:
    """`args.json` once at the start, one JSON object a line in `metrics.jsonl`. The folder may exist: a run resumes."""

    def __init__(self, path: Path, args: Any) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        write_json(path / "args.json", dataclasses.asdict(args))
        self._metrics: TextIO = (path / "metrics.jsonl").open("a", encoding="utf-8")

    def log(self, **values: float | int | str) -> None:
        """One line of metrics, with the time added; flushed, so that a killed run keeps what it measured."""
        self._metrics.write(json.dumps({"time": round(time.time(), 1), **values}) + "\n")
        self._metrics.flush()

    def close(self) -> None:
        self._metrics.close()


def write_json(path: Path, value: Any) -> None:
    """Whole or not at all."""
    temporary = path.with_suffix(path.suffix + ".part")
    temporary.write_text(json.dumps(value, indent=2, default=str) + "\n", encoding="utf-8")
    os.replace(temporary, path)
