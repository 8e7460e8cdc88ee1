"""Runs as rows for Hugging Face's `datasets`: one a turn, with prompt and completion as they were, and the picture.

As Parquet the pictures are inside and load as pictures; as JSON they are files beside the rows. `actions` is JSON in
fractions of the picture; `pixels` has the same places in its pixels, [x, y] or [x, y, x2, y2], one an action.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from agent_core.actions import Action, Drag, target_of, to_json
from training.exports_runs import OutRun, OutTurn, Picture

_TEXTS = ("run", "task", "status", "dialect", "model", "prompt", "completion", "thought", "actions")
_ROWS_PER_GROUP = 200  # of Parquet; so many rows and their pictures are in memory at once


def hf_json(runs: Iterable[OutRun], folder: Path) -> int:
    """Writes train.jsonl; pictures lie in images/. Gives the number of runs with a row."""
    count = 0
    with (folder / "train.jsonl").open("w", encoding="utf-8") as file:
        for run in runs:
            for turn in run.turns:
                row = {**hf_row(run, turn), "image": f"images/{turn.before.name}.png"}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += bool(run.turns)
    return count


def hf_parquet(runs: Iterable[OutRun], folder: Path, png: Callable[[str], bytes]) -> int:
    """Writes train.parquet with the pictures inside; `png` gives the file of one. Gives the number of runs."""
    pa: Any = importlib.import_module("pyarrow")
    pq: Any = importlib.import_module("pyarrow.parquet")
    schema = _schema(pa)
    counted: set[str] = set()
    with pq.ParquetWriter(folder / "train.parquet", schema, compression="zstd") as file:
        for group in _groups(runs, png):
            counted |= {row["run"] for row in group}
            file.write_table(pa.Table.from_pylist(group, schema=schema))
    return len(counted)


def hf_row(run: OutRun, turn: OutTurn) -> dict[str, Any]:
    """One row without its picture. `good` says whether the turn is an example; `score` is null where nobody judged."""
    kept = turn.kept
    actions = [step.action for step in kept.steps]
    return {
        "run": run.kept.run.id,
        "turn": kept.n,
        "task": run.kept.run.task,
        "status": run.kept.status.value,
        "score": run.score,
        "good": turn.good,
        "dialect": run.kept.run.dialect,
        "model": run.kept.run.model,
        "prompt": kept.prompt,
        "completion": kept.reply.text,
        "thought": kept.thought,
        "actions": json.dumps([to_json(action) for action in actions], ensure_ascii=False),
        "pixels": [_pixels(action, turn.before) for action in actions],
        "width": turn.before.width,
        "height": turn.before.height,
    }


def _pixels(action: Action, picture: Picture) -> list[int]:
    if isinstance(action, Drag):
        return [*picture.pixel(action.start), *picture.pixel(action.end)]
    target = target_of(action)
    return [] if target is None else [*picture.pixel(target)]


def _groups(runs: Iterable[OutRun], png: Callable[[str], bytes]) -> Iterator[list[dict[str, Any]]]:
    group: list[dict[str, Any]] = []
    for run in runs:
        for turn in run.turns:
            picture = {"bytes": png(turn.before.name), "path": f"{turn.before.name}.png"}
            group.append({**hf_row(run, turn), "image": picture})
            if len(group) == _ROWS_PER_GROUP:
                yield group
                group = []
    if group:
        yield group


def _schema(pa: Any) -> Any:
    """The columns, with the note by which `datasets` knows the pictures as pictures."""
    numbers = {"turn": pa.int64(), "score": pa.float64(), "good": pa.bool_(), "width": pa.int64(), "height": pa.int64()}
    others = {"pixels": pa.list_(pa.list_(pa.int64()))}
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    columns = {**dict.fromkeys(_TEXTS, pa.string()), **numbers, **others, "image": image}
    value = {"string": "string", "int64": "int64", "double": "float64", "bool": "bool"}
    features = {
        name: {"dtype": value[str(kind)], "_type": "Value"} for name, kind in columns.items() if str(kind) in value
    }
    places = {"feature": {"feature": {"dtype": "int64", "_type": "Value"}, "_type": "List"}, "_type": "List"}
    told = {"info": {"features": {**features, "pixels": places, "image": {"_type": "Image"}}}}
    return pa.schema(list(columns.items()), metadata={"huggingface": json.dumps(told)})
