"""A training run's folder: its arguments, its metrics, its checkpoints. Read by people and by the next stage alike.

A run's knobs are one frozen dataclass, `Args`, at the top of its script; the command line is made from it. Names of
metrics are the same in every trainer: step, of, loss, lr, grad_norm, tokens; entropy, approx_kl, clipfrac,
explained_variance, reward, thought_length, response_length where there are such things.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import time
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, TextIO, TypeVar

FREE = ("threads",)  # arguments that may differ when a run goes on: they do not change what it computes
T = TypeVar("T")


def knob(default: Any, help: str, choices: Sequence[str] | None = None) -> Any:
    """An argument with its help text, and what it may be if not anything."""
    return field(default=default, metadata={"help": help, "choices": choices})


def parse(kind: type[T], argv: Sequence[str] | None, prog: str, description: str | None) -> T:
    """The dataclass `kind`, made of knobs, from a command line: `--batch-tokens 2400` sets `batch_tokens`."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    for f in dataclasses.fields(kind):  # type: ignore[arg-type]
        option = f"--{f.name.replace('_', '-')}"
        parser.add_argument(option, type=type(f.default), default=f.default, **f.metadata)
    return kind(**vars(parser.parse_args(argv)))


def named(text: str) -> list[str]:
    """What an argument lists, separated by commas."""
    return [name for name in text.split(",") if name]


class RunFolder:
    """`args.json` once at the start, one JSON object a line in `metrics.jsonl`. The folder may exist: a run resumes.

    `done` is the number of steps that the run goes on from, 0 for a run from the beginning: lines after that step, left
    by a run that was killed, are dropped, so that no step stands there twice. None keeps every line. Raises SystemExit
    when a run would go on with other arguments than it began with, for then it would be neither run.
    """

    def __init__(self, path: Path, args: Any, done: int | None = None) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        given = json.loads(json.dumps(dataclasses.asdict(args), default=str))
        if done:
            require_same(path / "args.json", given)
        write_json(path / "args.json", given)
        metrics = path / "metrics.jsonl"
        if done is not None and metrics.exists():
            write_text(metrics, "".join(line + "\n" for line in up_to(metrics, done)))
        self._metrics: TextIO = metrics.open("a", encoding="utf-8")

    def log(self, **values: float | int | str) -> None:
        """One line of metrics, with the time added; flushed, so that a killed run keeps what it measured."""
        self._metrics.write(json.dumps({"time": round(time.time(), 1), **values}) + "\n")
        self._metrics.flush()

    def close(self) -> None:
        self._metrics.close()


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of a metrics.jsonl; a last line that was cut off by a kill is left out."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.endswith("\n"):
            lines.append(json.loads(line))
    return lines


def up_to(metrics: Path, done: int) -> list[str]:
    """The lines before the first one of a step after `done`, as they stand."""
    kept = []
    for line in read_metrics(metrics):
        if line.get("step", 0) > done:
            break
        kept.append(json.dumps(line))
    return kept


def require_same(file: Path, given: dict[str, Any]) -> None:
    """Raises SystemExit, naming what differs, unless the arguments in the file are the given ones."""
    before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else given
    changed = [name for name in given if name not in FREE and before.get(name) != given[name]]
    if changed:
        told = ", ".join(f"{name} was {before.get(name)!r} and is {given[name]!r}" for name in changed)
        raise SystemExit(f"The run in {file.parent} cannot go on with other arguments ({told}): name another --out.")


def write_json(path: Path, value: Any) -> None:
    """Whole or not at all."""
    write_text(path, json.dumps(value, indent=2, default=str) + "\n")


def write_text(path: Path, text: str) -> None:
    """Whole or not at all."""
    temporary = path.with_suffix(path.suffix + ".part")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)
