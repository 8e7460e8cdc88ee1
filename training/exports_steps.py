"""Runs step by step for two families of programs: OSWorld's result folders and AgentNet's JSON lines.

OSWorld: one folder a run with traj.jsonl, a picture after each action, and result.txt where somebody judged the run.
Actions are pyautogui source with pixels of the screenshot, or WAIT and DONE. Only what was done stands there.

AgentNet (OpenCUA): one line a run, one entry a step with the picture before it; places are fractions with four
decimals. A wrong step stays, marked as wrong. The shell is no part of the format: a run ends there before its first
command.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from agent_core.actions import Action, CallUser, Finished, Point, Terminal, Wait, in_words
from agent_core.step import Step
from training.exports_python import Inexpressible, python_of
from training.exports_runs import OutRun, OutTurn, Picture

WORD_OF = {Wait: "WAIT", CallUser: "WAIT", Finished: "DONE"}  # as OSWorld's own UI-TARS agent puts a call for the user


def done_steps(run: OutRun) -> Iterator[tuple[OutTurn, Step]]:
    """The steps that were done, each with its turn. What was refused never happened."""
    for turn in run.turns:
        yield from ((turn, step) for step in turn.kept.steps if step.outcome is not None)


def osworld(runs: Iterable[OutRun], folder: Path, png: Callable[[str], bytes]) -> int:
    """Writes the folders; `png` gives the file of a picture by name. Gives the number of runs written."""
    count = 0
    for run in runs:
        lines = _osworld_lines(run, folder / run.kept.run.id, png)
        if lines:
            text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
            (folder / run.kept.run.id / "traj.jsonl").write_text(text, encoding="utf-8")
            if run.score is not None:
                (folder / run.kept.run.id / "result.txt").write_text(f"{run.score}\n", encoding="utf-8")
            count += 1
    return count


def _osworld_lines(run: OutRun, folder: Path, png: Callable[[str], bytes]) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    following = {turn.kept.n: after.before for turn, after in zip(run.turns, run.turns[1:], strict=False)}
    for turn, step in done_steps(run):
        try:
            code = _osworld_action(step.action, turn.before)
        except Inexpressible:
            break
        folder.mkdir(parents=True, exist_ok=True)
        number, at = len(lines) + 1, time.strftime("%Y%m%d@%H%M%S", time.gmtime(turn.kept.at))
        if number == 1:
            (folder / f"step_0_{at}.png").write_bytes(png(turn.before.name))
        last_of_turn = step is turn.kept.steps[-1]
        seen = turn.after.get(step.n) or (following.get(turn.kept.n) if last_of_turn else None)
        file = f"step_{number}_{at}.png" if seen else ""
        if seen:
            (folder / file).write_bytes(png(seen.name))
        lines.append(
            {
                "step_num": number,
                "action_timestamp": at,
                "action": code,
                "response": turn.kept.reply.text,
                "reward": 0,
                "done": isinstance(step.action, Finished),
                "info": {"done": True} if isinstance(step.action, Finished) else {},
                "screenshot_file": file,
                "instruction": run.kept.run.task,
                "screen_size": [turn.before.width, turn.before.height],
            }
        )
    return lines


def _osworld_action(action: Action, picture: Picture) -> str:
    def place(point: Point) -> str:
        x, y = picture.pixel(point)
        return f"x={x}, y={y}"

    return WORD_OF.get(type(action)) or python_of(action, place)


def agentnet(runs: Iterable[OutRun], folder: Path) -> int:
    """Writes agentnet.jsonl; pictures lie in images/. Gives the number of runs written."""
    count = 0
    with (folder / "agentnet.jsonl").open("w", encoding="utf-8") as file:
        for run in runs:
            row = agentnet_row(run)
            if row["traj"]:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                count += 1
    return count


def agentnet_row(run: OutRun) -> dict[str, Any]:
    """One line of AgentNet. What language models score in AgentNet (alignment, efficiency, difficulty) is null here."""
    entries: list[dict[str, Any]] = []
    for turn, step in done_steps(run):
        try:
            entries.append(_entry(len(entries), turn, step, _agentnet_code(step.action, run)))
        except Inexpressible:
            break
    return {
        "task_id": run.kept.run.id,
        "instruction": run.kept.run.task,
        "task_completed": None if run.score is None else run.score >= 1,
        "alignment_score": None,
        "efficiency_score": None,
        "task_difficulty": None,
        "natural_language_task": run.kept.run.task,
        "actual_task": run.kept.run.task,
        "reason": run.kept.text,
        "traj": entries,
    }


def _entry(index: int, turn: OutTurn, step: Step, code: str) -> dict[str, Any]:
    came = step.outcome
    told = came.text if came is not None and not came.ok else ""
    where = f" on {step.element.text!r}" if step.element and step.element.text else ""
    value = {
        "observation": "\n".join(f"{e.kind}: {e.text or e.value}" for e in turn.kept.elements),
        "thought": turn.kept.thought,
        "action": in_words(step.action) + where,
        "code": code,
        "last_step_correct": step.n not in turn.wrong,
        "last_step_redundant": came is not None and came.changed is False and not isinstance(step.action, Wait),
        "reflection": told or turn.kept.reflection,
    }
    return {"index": index, "image": f"{turn.before.name}.png", "value": value}


def _agentnet_code(action: Action, run: OutRun) -> str:
    match action:
        case Finished():
            return f"computer.terminate(status='{run.ending or 'success'}')"
        case Wait() | CallUser():
            return "computer.wait()"
        case Terminal():
            raise Inexpressible("AgentNet has no shell")
        case _:
            return python_of(action, lambda point: f"x={point.x:.4f}, y={point.y:.4f}")
