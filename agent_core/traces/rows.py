"""What is read back from the trace store, as values, and how a row becomes one."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Any

from agent_core.actions import from_json
from agent_core.step import Box, Element, Outcome, Reply, Run, Status, Step, Tier, Verdict


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run in the history. `ended` is None while it goes on, or for good if the program was cut off."""

    run: Run
    status: Status
    ended: float | None
    text: str
    turns: int
    steps: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which runs of the history are meant. `since` is in seconds since the epoch; empty and None mean any.

    `reviewed`: whether a person has said something about the run or a step of it afterwards.
    """

    since: float | None = None
    status: str = ""
    model: str = ""
    reviewed: bool | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """A person's or a judge's word on a run or one step of it."""

    step: int | None
    kind: str
    score: float | None
    value: str
    who: str
    at: float


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """One turn as it was kept. `screenshot`, `prompt_images` and the values of `after` (by step number) are hashes.

    `withheld` says why nothing of it was kept but that it was there; empty for all others.
    """

    n: int
    at: float
    screenshot: str
    window: str
    elements: tuple[Element, ...]
    prompt: str
    prompt_images: tuple[str, ...]
    reply: Reply
    thought: str
    reflection: str
    problems: tuple[str, ...]
    capture_ms: float
    read_ms: float
    steps: tuple[Step, ...]
    after: dict[int, str]
    withheld: str = ""


@dataclass(frozen=True, slots=True)
class TrainingRow:
    """One turn as an example for training. `allowed` and `ok` say whether there was a step and all of them were.

    `token_ids` and `logprobs` are empty where the sampler did not give them.
    """

    run: str
    task: str
    n: int
    prompt: str
    reply: str
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    stop_reason: str
    status: Status
    dialect: str
    model: str
    tags: tuple[str, ...]
    steps: int
    allowed: bool
    ok: bool
    prompt_images: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stats:
    """What is kept. Sizes in bytes; `first` and `last` are the starts of the oldest and newest run."""

    runs: int
    by_status: dict[str, int]
    turns: int
    steps: int
    refused: int
    labels: int
    images: int
    image_bytes: int
    database_bytes: int
    first: float | None
    last: float | None


def kept_run_of(row: sqlite3.Row) -> KeptRun:
    """From a row of reads' run query."""
    names = ("id", "task", "started", "consent", "app_version", "dialect", "model", "model_hash", "adapter_hash")
    run = Run(**{n: row[n] for n in (*names, "mode", "operator")}, tags=tuple(json.loads(row["tags"])))
    status = Status(row["status"] or Status.RUNNING)
    return KeptRun(run, status, row["ended"], row["text"], row["turn_count"], row["step_count"])


def kept_turn_of(row: sqlite3.Row, steps: tuple[Step, ...], after: dict[int, str], asked: tuple[str, ...]) -> KeptTurn:
    """From a row of `turns`; `after` is of the whole run."""
    reply = Reply(
        text=row["reply"],
        token_ids=tuple(json.loads(row["token_ids"])),
        logprobs=tuple(json.loads(row["logprobs"])),
        stop_reason=row["stop_reason"],
        think_ms=row["think_ms"],
        prompt_tokens=row["prompt_tokens"],
        reused_tokens=row["reused_tokens"],
    )
    return KeptTurn(
        n=row["n"],
        at=row["at"],
        screenshot=row["screenshot"] or "",
        window=row["window"],
        elements=tuple(element_of(e) for e in json.loads(row["elements"])),
        prompt=row["prompt"],
        prompt_images=asked,
        reply=reply,
        thought=row["thought"],
        reflection=row["reflection"],
        problems=tuple(json.loads(row["problems"])),
        capture_ms=row["capture_ms"],
        read_ms=row["read_ms"],
        steps=steps,
        after={s.n: after[s.n] for s in steps if s.n in after},
        withheld=row["withheld"],
    )


def step_of(row: sqlite3.Row) -> Step:
    """From a row of reads' step query."""
    verdict = Verdict(
        row["decision"], Tier(row["tier"]), row["reason"], row["who"], row["instead"], waited_ms=row["waited_ms"]
    )
    outcome = None
    if row["ok"] is not None:
        changed = None if row["changed"] is None else bool(row["changed"])
        outcome = Outcome(bool(row["ok"]), row["said"], changed, row["duration_ms"])
    element = element_of(json.loads(row["element"])) if row["element"] else None
    return Step(row["n"], row["turn"], from_json(json.loads(row["action"])), verdict, element, outcome)


def element_of(data: dict[str, Any]) -> Element:
    """The inverse of texts.Texts.elements for one element."""
    return Element(data["kind"], data["text"], Box(*data["box"]), data["value"], data["on"])


def training_row_of(row: sqlite3.Row) -> TrainingRow:
    """From a row of reads' training query."""
    values = dict(row)
    for name in ("token_ids", "logprobs", "tags", "prompt_images"):
        values[name] = tuple(json.loads(values[name]))
    return TrainingRow(
        **{**values, "status": Status(values["status"]), "allowed": bool(row["allowed"]), "ok": bool(row["ok"])}
    )
