"""Whether the rows of a run from elsewhere can stand in a store: right types, known words, references that hold."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

from agent_core.actions import from_json, kind_of
from agent_core.step import Status, StopReason, Tier
from agent_core.traces.bundle import NULLABLE, TABLES, ColumnType, Row, RunRows, Table
from agent_core.traces.images import MOST_PIXELS
from agent_core.traces.rows import element_of
from agent_core.traces.store import LabelKind

_RUN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")  # it becomes a part of file names
_HASH = re.compile(r"[0-9a-f]{64}")
_TYPES: dict[ColumnType, tuple[type, ...]] = {"text": (str,), "real": (float, int), "int": (int,), "bool": (bool,)}
_INSIDE: dict[ColumnType, tuple[type, ...]] = {"texts": (str,), "ints": (int,), "reals": (float, int)}


def fault_of(rows: RunRows) -> str:
    """What is wrong with the rows of a run, in words that complete "refused: ..."; empty when nothing is."""
    for table in TABLES:
        for row in rows.of(table):
            if wrong := _misfit(table, row):
                return f"{table} holds a wrong {wrong}"
    if not _RUN_ID.fullmatch(rows.id):
        return "its id is not one of a run"
    try:
        return _unknown(rows) or _loose(rows)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return f"it holds something that cannot be read ({type(error).__name__}: {error})"


def _misfit(table: Table, row: Row) -> str:
    """The first column that has the wrong type, or is not known; empty when all are right."""
    columns = TABLES[table]
    if unknown := sorted(set(row) ^ set(columns)):
        return f"column {unknown[0]}"
    for name, kind in columns.items():
        value = row[name]
        if not (((table, name) in NULLABLE) if value is None else _is_of(value, kind)):
            return f"column {name}"
    return ""


def _is_of(value: Any, kind: ColumnType) -> bool:
    if kind in _INSIDE:
        return isinstance(value, list) and all(isinstance(one, _INSIDE[kind]) for one in value)
    return isinstance(value, _TYPES[kind]) and not (kind == "int" and isinstance(value, bool))


def _unknown(rows: RunRows) -> str:
    """A word that this program does not know; raises where a value cannot be read at all."""
    if rows.run["ended"] is not None:
        Status(rows.run["status"])
    for turn in rows.turns:
        json.loads(turn["transform"])
        for element in json.loads(turn["elements"]):
            element_of(element)
        if turn["stop_reason"] not in get_args(StopReason):
            return f"stop reason {turn['stop_reason']!r} is not known"
    for step in rows.steps:
        if kind_of(from_json(json.loads(step["action"]))) != step["kind"]:
            return "an action is not of the kind it says"
        Tier(step["tier"])
        if step["decision"] not in ("allow", "deny", "ask"):
            return f"decision {step['decision']!r} is not known"
        if step["element"] is not None:
            element_of(json.loads(step["element"]))
    for label in rows.labels:
        if label["kind"] not in get_args(LabelKind):
            return f"label {label['kind']!r} is not known"
    return ""


def _loose(rows: RunRows) -> str:
    """A row that names what is not there, or is there twice."""
    turns = [turn["n"] for turn in rows.turns]
    steps = [step["n"] for step in rows.steps]
    told = [outcome["step"] for outcome in rows.outcomes]
    for name, numbers in (("turn", turns), ("step", steps), ("outcome", told)):
        if len(set(numbers)) < len(numbers):
            return f"a {name} is there twice"
    if not {step["turn"] for step in rows.steps} <= set(turns) or not set(told) <= set(steps):
        return "a step or an outcome belongs to nothing"
    if not {label["step"] for label in rows.labels} <= {None, *steps}:
        return "a label belongs to no step"
    there = {image["sha256"] for image in rows.images}
    named = {turn["screenshot"] for turn in rows.turns} | {outcome["screenshot"] for outcome in rows.outcomes}
    named |= {name for turn in rows.turns for name in turn["prompt_images"]}
    if not named - {None} <= there:
        return "a picture is not in its index"
    for image in rows.images:
        if not _HASH.fullmatch(image["sha256"]) or not 0 < image["width"] * image["height"] <= MOST_PIXELS:
            return "a picture has no proper name or size"
        json.loads(image["redactions"])
    return ""
