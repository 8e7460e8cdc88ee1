"""Brings bundles of older schemas to the present one, manifest first and then rows. Nothing is edited in the bundle.

Schema 1 had one file a table and no parts; what came of a step stood in the steps table; steps had no time of their
own; lists were JSON texts; sampled token ids were left out; the picture files had no hash but their name's; a run had
no fingerprint, so only the hash of its tables vouches for it.
"""

from __future__ import annotations

import json
from typing import Any

from agent_core.traces.bundle import TABLES, Row, Table

_TABLES_1: tuple[Table, ...] = ("runs", "turns", "steps", "labels", "images")


def manifest_of_1(data: dict[str, Any]) -> dict[str, Any]:
    """A manifest of schema 1 as one of the present schema. Raises KeyError or TypeError when it is none."""
    runs = {
        run: {"consent": told["consent"], "started": told["started"], "part": 0, "sha256": ""}
        for run, told in data["consent"].items()
    }
    files = {name: {"sha256": sha256, "bytes": 0} for name, sha256 in data["files"].items()}
    return {**data, "consent": {"runs": runs}, "files": files}


def names_of_1() -> dict[Table, str]:
    """The file of each table that schema 1 had."""
    return {table: f"{table}.parquet" for table in _TABLES_1}


def rows_of_1(tables: dict[Table, list[Row]]) -> dict[Table, list[Row]]:
    """Rows of schema 1 as rows of the present one. Raises KeyError, TypeError or ValueError when they are none."""
    times = {(turn["run"], turn["n"]): turn["at"] for turn in tables["turns"]}
    turns = [
        {
            **turn,
            "prompt_images": json.loads(turn["prompt_images"]),
            "problems": json.loads(turn["problems"]),
            "token_ids": [],
            "logprobs": [],
        }
        for turn in tables["turns"]
    ]
    steps, outcomes = [], []
    for old in tables["steps"]:
        at = times[(old["run"], old["turn"])]
        steps.append({name: at if name == "at" else old[name] for name in TABLES["steps"]})
        if old["ok"] is not None:
            told = {"run": old["run"], "step": old["n"], "at": at, "ok": old["ok"], "text": old["said"]}
            seen = {"changed": old["changed"], "duration_ms": old["duration_ms"], "screenshot": old["after"]}
            outcomes.append({**told, **seen})
    # What was covered was not told then, so that a picture is judged anew when it leaves the next store.
    pictures = [{**image, "file_sha256": "", "redactions": "[]", "judged": False} for image in tables["images"]]
    return {
        "runs": tables["runs"],
        "turns": turns,
        "steps": steps,
        "outcomes": outcomes,
        "labels": tables["labels"],
        "images": pictures,
    }
