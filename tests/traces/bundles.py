"""Real stores of several people with small pictures, and the bundles they would send."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from agent_core.step import Screenshot, Turn
from agent_core.traces.bundle import MANIFEST
from agent_core.traces.reads import Traces
from agent_core.traces.store import TraceStore
from tests.traces.sample import RUN, desktop, record, turns

SMALL = (128, 80)


def small_turns(line: str) -> list[Turn]:
    """The turns of the sample with small pictures of their own: one for each different frame of the sample."""
    shots: dict[bytes, Screenshot] = {}
    made = []
    for turn in _sample():
        rgb = turn.screenshot.rgb
        if rgb not in shots:
            shots[rgb] = desktop(f"{line} {len(shots)}", SMALL)
        shot = shots[rgb]
        messages = tuple(replace(m, images=(shot,) if m.images else ()) for m in turn.prompt.messages)
        made.append(replace(turn, screenshot=shot, prompt=replace(turn.prompt, messages=messages)))
    return made


@cache
def _sample() -> tuple[Turn, ...]:
    return tuple(turns())


def store_at(folder: Path, runs: dict[str, str], consent: str = "settings") -> Traces:
    """A store in which these runs (id -> task) were recorded."""
    with TraceStore(folder / "traces.db", folder / "images") as store:
        for n, (run_id, task) in enumerate(runs.items()):
            run = replace(RUN, id=run_id, task=task, started=RUN.started + n, consent=consent, tags=())
            record(store, run, small_turns(run_id))
            store.label(run_id, None, "score", float(n % 2), f"team/{run_id}/0", "verifier")
    return Traces(folder / "traces.db", folder / "images")


def manifest_of(bundle: Path) -> dict[str, Any]:
    """The manifest of a bundle that is a folder."""
    data: dict[str, Any] = json.loads((bundle / MANIFEST).read_text())
    return data


def rewrite_manifest(bundle: Path, **changes: Any) -> None:
    """Changes the manifest of a bundle that is a folder, as somebody else might."""
    (bundle / MANIFEST).write_text(json.dumps({**manifest_of(bundle), **changes}))


def replace_file(bundle: Path, name: str, data: bytes) -> None:
    """Puts another file in place of a table, with its hash made to fit."""
    (bundle / name).write_bytes(data)
    files = manifest_of(bundle)["files"]
    files[name] = {**files[name], "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    rewrite_manifest(bundle, files=files)
