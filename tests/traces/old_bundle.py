"""Writes a bundle of schema 1 the way schema 1 was written: one file a table, outcomes inside steps, lists as JSON.

    python -m tests.traces.old_bundle tests/data/bundle_v1.zip

This is the old format, frozen: it must not change when the present one does.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_core.step import Transform
from agent_core.traces.reads import Traces
from agent_core.traces.store import TraceStore
from agent_core.traces.texts import Texts, transform_json
from tests.traces.bundles import small_turns
from tests.traces.sample import RUN, record

pa: Any = importlib.import_module("pyarrow")  # it has no types
pq: Any = importlib.import_module("pyarrow.parquet")
MADE = 1_760_100_000.0


def old_bundle(out: Path, traces: Traces, run_ids: Sequence[str]) -> Path:
    """Writes these runs, which must hold nothing secret, as a zip file of schema 1."""
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in ("runs", "turns", "steps", "labels", "images")}
    pictures: dict[str, bytes] = {}
    for run_id in run_ids:
        _add(tables, pictures, traces, run_id)
    files = {f"{name}.parquet": _parquet(rows) for name, rows in tables.items()}
    manifest = {
        "kind": "deskhand-bundle",
        "schema": 1,
        "app_version": "0.0.9",
        "made": MADE,
        "consent": {row["id"]: {"consent": row["consent"], "started": row["started"]} for row in tables["runs"]},
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("manifest.json", json.dumps(manifest))
        for name, data in files.items():
            file.writestr(name, data)
        for name, data in pictures.items():
            file.writestr(f"images/{name[:2]}/{name}.png", data)
    return out


def _add(tables: dict[str, list[dict[str, Any]]], pictures: dict[str, bytes], traces: Traces, run_id: str) -> None:
    kept = traces.run(run_id)
    run = kept.run
    names = ("id", "task", "started", "consent", "app_version", "dialect", "model", "model_hash", "adapter_hash")
    row = {name: getattr(run, name) for name in (*names, "mode", "operator")}
    ending = {"transform": None, "tags": list(run.tags), "ended": kept.ended, "status": kept.status.value}
    tables["runs"].append({**row, **ending, "text": kept.text})
    texts = Texts()
    named: set[str] = set()
    for turn in traces.turns(run_id):
        size = traces.picture(turn.screenshot)
        named |= {turn.screenshot, *turn.prompt_images, *turn.after.values()}
        tables["turns"].append(
            {
                "run": run_id, "n": turn.n, "at": turn.at, "screenshot": turn.screenshot, "window": turn.window,
                "transform": transform_json(Transform("1", 0, 0, size.width, size.height)),
                "elements": texts.elements(turn.elements), "prompt": turn.prompt,
                "prompt_images": json.dumps(turn.prompt_images), "reply": turn.reply.text,
                "stop_reason": turn.reply.stop_reason, "thought": turn.thought, "reflection": turn.reflection,
                "problems": json.dumps(turn.problems), "capture_ms": turn.capture_ms, "read_ms": turn.read_ms,
                "think_ms": turn.reply.think_ms, "prompt_tokens": turn.reply.prompt_tokens,
                "reused_tokens": turn.reply.reused_tokens, "withheld": turn.withheld,
            }
        )  # fmt: skip
        for step in turn.steps:
            action, words = texts.action(step.action)
            verdict, came = step.verdict, step.outcome
            tables["steps"].append(
                {
                    "run": run_id, "n": step.n, "turn": turn.n, "kind": json.loads(action)["kind"], "action": action,
                    "words": words, "element": texts.element(step.element), "decision": verdict.decision,
                    "tier": verdict.tier.value, "reason": verdict.reason, "who": verdict.who,
                    "instead": verdict.instead, "waited_ms": verdict.waited_ms, "ok": came.ok if came else None,
                    "said": came.text if came else None, "changed": came.changed if came else None,
                    "duration_ms": came.duration_ms if came else None, "after": turn.after.get(step.n),
                }
            )  # fmt: skip
    for label in traces.labels(run_id):
        said = {"kind": label.kind, "score": label.score, "value": label.value, "who": label.who}
        tables["labels"].append({"run": run_id, "step": label.step, "at": label.at, **said})
    for name in sorted(named):
        data = traces.image_file(name).read_bytes()
        pictures[name] = data
        size = traces.picture(name)
        row = {"run": run_id, "sha256": name, "width": size.width, "height": size.height, "bytes": len(data)}
        tables["images"].append(row)


def _parquet(rows: Sequence[dict[str, Any]]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), out)
    return out.getvalue()


def main(out: Path) -> None:
    """A bundle of two made-up runs with small pictures."""
    with tempfile.TemporaryDirectory() as folder:
        path, pictures = Path(folder) / "traces.db", Path(folder) / "images"
        with TraceStore(path, pictures) as store:
            for name in ("old1", "old2"):
                record(store, replace(RUN, id=name), small_turns(name))
        old_bundle(out, Traces(path, pictures), ("old1", "old2"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
