"""A kept run as JSON lines, for scripts: one line for the run, one a turn with its steps, one a label.

Every line has a `type`. Pictures are named by hash and by the path of their file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from agent_core.actions import in_words, to_json
from agent_core.step import Step
from agent_core.traces.outside import Outside
from agent_core.traces.reads import Traces
from agent_core.traces.rows import KeptRun, KeptTurn, Label


def run_json(kept: KeptRun) -> dict[str, Any]:
    """A run as a plain dict; times in seconds since the epoch."""
    counts = {"status": kept.status.value, "ended": kept.ended, "text": kept.text}
    return {**asdict(kept.run), **counts, "turns": kept.turns, "steps": kept.steps}


def turn_json(turn: KeptTurn, traces: Traces, run: Outside) -> dict[str, Any]:
    """A turn as a plain dict, actions in their own JSON form. A picture that may not go out as it is has no file."""
    data = asdict(turn)
    del data["after"]
    fit = turn.screenshot and run.is_fit(turn.screenshot)
    data["screenshot_file"] = str(traces.image_file(turn.screenshot)) if fit else ""
    data["steps"] = [_step_json(step, turn.after.get(step.n, "")) for step in turn.steps]
    return data


def label_json(label: Label, run: Outside) -> dict[str, Any]:
    """A label as a plain dict."""
    return {**asdict(label), "value": run.text(label.value)}


def json_lines(run_id: str, traces: Traces) -> Iterator[str]:
    """The lines of the export. Raises StoreError when there is no such run."""
    run = Outside(traces, run_id)
    yield _line("run", run_json(run.kept))
    for turn in run.turns:
        yield _line("turn", turn_json(turn, traces, run))
    for label in traces.labels(run_id):
        yield _line("label", label_json(label, run))


def _step_json(step: Step, after: str) -> dict[str, Any]:
    return {
        "n": step.n,
        "action": to_json(step.action),
        "words": in_words(step.action),
        "element": asdict(step.element) if step.element else None,
        "verdict": asdict(step.verdict),
        "outcome": asdict(step.outcome) if step.outcome else None,
        "after": after,
    }


def _line(kind: str, data: dict[str, Any]) -> str:
    return json.dumps({"type": kind, **data}, ensure_ascii=False)
