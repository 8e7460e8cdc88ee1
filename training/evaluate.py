"""Success of a model on a suite: real programs, held-out seeds and wordings, scored from the outside.

    python -m training.evaluate --suite desk --split held_out --json out.json

Prints a row per task, success with a 95 % interval (Wilson), and the median seconds per step, split into capture,
read, think and act. An episode whose sandbox failed is run once more, and left out if it fails again.

With `--mode ask_risky` or `ask_all` the gate asks as it would ask a person, is always told yes, and the questions are
counted; `--model teacher` lets the suite's own teachers act, who make the moves that a good agent would make.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from agent_core.dialects.elements import Elements
from agent_core.errors import DeskhandError
from agent_core.protocols import Model, Recorder
from agent_core.safety.policy import Mode
from agent_core.screen.elements import ElementReader
from agent_core.traces.store import NoTrace, TraceStore
from training import questions
from training.curate import is_solved
from training.deltas import hash_of
from training.rollouts import Rollout, run_episode
from training.runs import knob, named, parse, write_json
from training.serving import served
from training.tasks import SUITES, consequential, suite
from training.tasks.task import Split, Suite, seed_of

MODES: tuple[str, ...] = tuple(mode for mode in get_args(Mode) if mode != "watch")
TEACHER = "teacher"


@dataclass(frozen=True, slots=True)
class Args:
    """What to evaluate."""

    suite: str = knob("desk", "which suite: " + ", ".join(SUITES))
    mode: str = knob("sandbox", "the gate's mode", MODES)
    split: str = knob("held_out", "which seeds and wordings", ("train", "held_out"))
    model: str = knob("bundled", "name of a manifest, or teacher")
    adapter: str = knob("", "adapter folder to use instead of the manifest's")
    tasks: str = knob("", "task names, comma separated; the evaluated ones if empty")
    episodes: int = knob(0, "episodes a task; 0 takes the suite's own number")
    max_steps: int = knob(12, "most actions an episode")
    best_of: int = knob(1, "replies asked for at each step, of which the majority counts")
    threads: int = knob(2, "threads of reader and model")
    db: str = knob("", "folder of a trace store to keep the runs in; not kept if empty")
    json: str = knob("", "file for the result")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Args, argv, "python -m training.evaluate", __doc__)
    split: Split = "train" if args.split == "train" else "held_out"
    result = evaluate(args, split)
    print(table(result))
    if args.json:
        write_json(Path(args.json), result)


def evaluate(args: Args, split: Split) -> dict[str, Any]:
    """Runs the episodes and returns the result in the shape that `--json` writes."""
    source = suite(args.suite)
    tasks = named(args.tasks) or list(source.evaluated)
    episodes = args.episodes or source.episodes
    recorder = (
        TraceStore(Path(args.db) / "traces.db", Path(args.db) / "images", sandbox_as_is=True) if args.db else NoTrace()
    )
    model = None if args.model == TEACHER else served(args.model, args.adapter, args.threads)
    rollouts: dict[str, list[Rollout]] = {}
    try:
        for task in tasks:
            for n in range(episodes):
                one = attempt(args, source, task, seed_of(n, split), split, model, recorder)
                if one is None:
                    continue
                rollouts.setdefault(task, []).append(one)
                mark = "solved" if is_solved(one.reward) else "failed"
                print(f"{task} {n}: {mark} in {len(one.turns)} turns, {one.seconds:.1f} s  {one.text[:80]}", flush=True)
    finally:
        if model is not None:
            model.close()
        source.close()
        recorder.close()
    return summary(args, rollouts)


def attempt(
    args: Args, source: Suite, task: str, seed: int, split: Split, model: Model | None, recorder: Recorder
) -> Rollout | None:
    """One episode, by the teacher without a model; None when the sandbox failed twice."""
    mode = cast(Mode, args.mode)
    text = ""
    for _ in range(2):
        try:
            episode = source.open(task, seed, split)
        except DeskhandError as error:
            text = str(error)
            continue
        try:
            acts, reader = model or episode.teacher, None if model else episode.reader
            reads = reader or ElementReader(threads=args.threads)
            one = run_episode(
                args.suite, task, seed, episode, acts, reads, recorder, Elements(), args.max_steps, mode, args.best_of
            )
        finally:
            episode.close()
        if one.reward is not None:
            return one
        text = one.text
    print(f"{task} seed {seed}: left out, {text}")
    return None


def summary(args: Args, rollouts: dict[str, list[Rollout]]) -> dict[str, Any]:
    """The figures of all rollouts."""
    every = [r for of_task in rollouts.values() for r in of_task]
    wins = sum(is_solved(r.reward) for r in every)
    turns = [t for r in every for t in r.turns]
    parts = {
        "capture": [t.screenshot.capture_ms / 1000 for t in turns],
        "read": [t.screenshot.read_ms / 1000 for t in turns],
        "think": [t.reply.think_ms / 1000 for t in turns],
        "act": [sum(s.outcome.duration_ms for s in t.steps if s.outcome) / 1000 for t in turns],
    }
    whole = [sum(split) for split in zip(*parts.values(), strict=True)]
    return {
        "suite": args.suite,
        "split": args.split,
        "model": args.adapter or args.model,
        "adapter_sha256": hash_of(Path(args.adapter)) if args.adapter else "",
        "success": wins / len(every) if every else math.nan,
        "ci95": wilson(wins, len(every)),
        "tasks": {
            task: {
                "success": sum(is_solved(r.reward) for r in of_task) / len(of_task),
                "n": len(of_task),
                "solved": {str(r.seed): is_solved(r.reward) for r in of_task},
            }
            for task, of_task in rollouts.items()
        },
        "seconds_per_step": {
            "median": statistics.median(whole) if whole else math.nan,
            **{name: statistics.median(values) if values else math.nan for name, values in parts.items()},
        },
        "mode": args.mode,
        "best_of": args.best_of,
        **questions.summary(
            {task: [r.turns for r in of_task] for task, of_task in rollouts.items()}, consequential(args.suite)
        ),
    }


def wilson(wins: int, n: int, z: float = 1.96) -> list[float]:
    """The 95 % interval of a share (Wilson 1927); [0, 1] without any trial."""
    if n == 0:
        return [0.0, 1.0]
    share = wins / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return [max(0.0, middle - half), min(1.0, middle + half)]


def table(result: dict[str, Any]) -> str:
    """The result for reading."""
    width = max([len(t) for t in result["tasks"]] + [4])
    lines = [f"{'task':<{width}}  success  n"]
    lines += [f"{task:<{width}}  {r['success']:7.0%}  {r['n']}" for task, r in result["tasks"].items()]
    low, high = result["ci95"]
    s = result["seconds_per_step"]
    lines.append(
        f"{result['suite']} {result['split']}: success {result['success']:.1%} (95 % interval {low:.1%} to {high:.1%})"
    )
    lines.append(
        f"median seconds per step {s['median']:.2f} "
        f"(capture {s['capture']:.2f}, read {s['read']:.2f}, think {s['think']:.2f}, act {s['act']:.2f})"
    )
    if result["mode"] != "sandbox":
        asked = result["questions"]
        lines.append(f"questions per task {asked['mean']:.2f}, per harmless task {asked['harmless']:.2f}")
        lines.append("acts by tier: " + ", ".join(f"{tier} {n}" for tier, n in result["acts"].items()))
        lines += [
            f"not asked: {u['tier']} {u['act']} {u['on']!r} in {u['task']} ({u['who']}: {u['reason']})"
            for u in result["unasked"]
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
