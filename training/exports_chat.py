"""Runs as chat rows for trainers of the UI-TARS family: one row a good turn, loss on its reply only.

The conversation is laid out by the dialect itself, so a row is what such a model would be asked when it is served: past
replies as text, the newest few screenshots as pictures, places in the model's own numbers. Wrong turns stay in the
history, where they belong, and are never learnt.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from agent_core.actions import CallUser
from agent_core.dialects.uitars import UiTars
from agent_core.step import Intent, Prompt, Screenshot, Transform, Turn
from agent_core.traces.rows import KeptTurn
from training.exports_runs import OutRun, OutTurn


def uitars_chat(runs: Iterable[OutRun], folder: Path, dialect: UiTars) -> int:
    """Writes uitars_chat.jsonl; pictures lie in images/. Gives the number of runs with a row."""
    count = 0
    with (folder / "uitars_chat.jsonl").open("w", encoding="utf-8") as file:
        for run in runs:
            rows = list(chat_rows(run, dialect))
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            count += bool(rows)
    return count


def chat_rows(run: OutRun, dialect: UiTars) -> Iterator[dict[str, Any]]:
    """The rows of one run. `images` are file names in the order of the <image> places in the messages."""
    turns = [_turn(turn) for turn in run.turns]
    names = {id(turn.screenshot): out.before.name for turn, out in zip(turns, run.turns, strict=True)}
    for n, out in enumerate(run.turns):
        if not out.good:
            continue
        turn = turns[n]
        prompt = dialect.render(run.kept.run.task, turns[:n], turn.screenshot)
        reply = dialect.write(turn.intent.thought, turn.intent.actions, turn.screenshot)
        scale = dialect.scale(turn.screenshot)
        messages = [{"role": m.role, "content": m.text, "loss_mask": 0} for m in prompt.messages]
        yield {
            "run": run.kept.run.id,
            "turn": out.kept.n,
            "messages": [*messages, {"role": "assistant", "content": reply, "loss_mask": 1}],
            "images": [f"images/{names[id(shot)]}.png" for m in prompt.messages for shot in m.images],
            "coordinates": dialect.rules.coordinates,
            "coordinate_size": [scale.width, scale.height],
            "image_size": [out.before.width, out.before.height],
        }


def _turn(out: OutTurn) -> Turn:
    """The turn as the dialect wants it; the pixels stay where they are, its size is all that is asked."""
    kept, picture = out.kept, out.before
    place = Transform("", 0, 0, picture.width, picture.height)
    shot = Screenshot(b"", picture.width, picture.height, place, kept.window, kept.elements)
    intent = Intent(kept.thought, tuple(step.action for step in kept.steps), kept.problems, kept.reflection)
    return Turn(kept.n, shot, Prompt(()), kept.reply, intent, kept.steps, tuple(_notes(kept)))


def _notes(kept: KeptTurn) -> Iterator[str]:
    """What the model was told after the turn, as far as the store knows."""
    yield from kept.problems
    for step in kept.steps:
        if step.verdict.instead:
            yield f"The user refused and says: {step.verdict.instead}"
        elif step.verdict.decision != "allow":
            yield f"Refused: {step.verdict.reason} Do something else or finish."
        elif isinstance(step.action, CallUser) and step.outcome is not None:
            yield f"The user answered: {step.outcome.text}"
