"""Turns of the flywheel: the policy plays, what it did is curated, trained on and evaluated; the better one plays on.

    python -m training.flywheel --turns 3 --suite miniwob --start runs/sft/adapter --out runs/flywheel

After the data flywheel of UI-TARS-2 (2509.02544, section 3): no rollout is thrown away. What was solved, V(s) = 1, is
imitated (SFT); what was not, V(s) = 0, is read (CT); solved and unsolved siblings become pairs (DPO); and at the end
of a turn the policy goes on by trial (PPO). A candidate plays in the next turn unless it solved less than the one
before; with `--promote 1` the program takes it up too, if it won by the rules of `training.promote`.

Every stage is the command that a person would type, in a process of its own, and goes on where it was stopped when the
flywheel is started again with the same arguments. `report.html` in the run folder shows curves and tasks.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from agent_core import settings
from agent_core.errors import DeskhandError, ModelError
from agent_core.traces.reads import Traces
from training import flywheel_report, promote
from training.curate import curate, is_solved
from training.deltas import CONFIG
from training.runs import FREE, RunFolder, knob, named, parse, write_json
from training.serving import shipped_adapter
from training.stages import command
from training.tasks import suite

PARTS = ("ct", "sft", "dpo", "ppo")
FINAL = {"ct": "adapter", "sft": "adapter", "dpo": "adapter", "ppo": "final/policy"}
IN_USE = "in_use.json"  # the evaluation of the policy that a turn ended with
FILES = {"ct": "ct.jsonl", "sft": "sft.jsonl", "dpo": "pairs.jsonl"}


@dataclass(frozen=True, slots=True)
class Args:
    """One flywheel; saved as args.json."""

    out: str = knob("runs/flywheel", "run folder")
    model: str = knob("bundled", "name of the manifest of the model that plays")
    base: str = knob("", "GGUF file or Hugging Face folder that is trained; the bundled one if empty")
    start: str = knob("", "adapter folder that the first turn begins with; the one in use if empty")
    suite: str = knob("miniwob", "suite of tasks")
    tasks: str = knob("", "task names, comma separated; the evaluated ones if empty")
    data: str = knob("", "more folders with traces to curate, comma separated: kept runs, what a team sent")
    demonstrations: str = knob("", "what SFT reads besides in every turn, as its --data: what the start was made from")
    turns: int = knob(3, "turns")
    seeds: int = knob(8, "training seeds of each task that a turn plays, new ones in every turn")
    samples: int = knob(2, "how often each seed is played, sampled at temperature 1")
    episodes: int = knob(10, "held-out episodes of each task in an evaluation, played greedily")
    max_steps: int = knob(12, "most actions an episode")
    parts: str = knob("ct,sft,dpo", "what trains, of " + ", ".join(PARTS) + ", in this order")
    per_task: int = knob(40, "most solved turns of a task that are imitated")
    ct_epochs: float = knob(0.5, "passes over what was not solved")
    ct_lr: float = knob(5e-5, "highest learning rate of CT")
    sft_epochs: float = knob(2.0, "passes over what was solved")
    sft_lr: float = knob(4e-4, "highest learning rate of SFT")
    dpo_epochs: float = knob(1.0, "passes over the pairs")
    dpo_lr: float = knob(2e-5, "highest learning rate of DPO")
    ppo_config: str = knob("", "configuration of PPO")
    ppo_updates: int = knob(8, "updates of PPO")
    warmup: int = knob(3, "steps of linear warm-up: a turn has few")
    max_tokens: int = knob(1400, "longest row")
    each_part: int = knob(0, "1: every part's adapter is evaluated, not only the last of a turn")
    promote: int = knob(0, "1: a winner becomes the adapter that the program uses")
    seed: int = knob(0, "seed of training and of the rows that are drawn")
    threads: int = knob(2, "threads of reader, model and trainers")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the turns; returns the exit code."""
    args = parse(Args, argv, "python -m training.flywheel", __doc__)
    unknown = [part for part in named(args.parts) if part not in PARTS]
    if unknown:
        print(f"There is no part {unknown[0]!r}; choose from {', '.join(PARTS)}.", file=sys.stderr)
        return 2
    try:
        turn_all(args)
    except DeskhandError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def turn_all(args: Args) -> list[dict[str, Any]]:
    """All turns; returns their records, the state before the first turn as the first. Raises DeskhandError."""
    out = Path(args.out)
    RunFolder(out, args, done=int((out / "turn-0" / "evaluation.json").exists())).close()
    start = args.start or settings.load()[0].model.adapter
    first = evaluated(args, start, out / "turn-0")
    write_json(out / "turn-0" / IN_USE, first)
    records = [{"turn": 0, "adapter": start, **figures(first)}]
    write(out, args, records)
    for number in range(1, args.turns + 1):
        policy = str(records[-1]["adapter"])
        records.append(turn(args, number, policy))
        write(out, args, records)
        print(in_words(records[-1], records[-2]), flush=True)
    return records


def turn(args: Args, number: int, policy: str) -> dict[str, Any]:
    """One turn from the policy that plays it to its record: what was played, learnt and solved, and who plays next."""
    folder = Path(args.out) / f"turn-{number}"
    if (folder / "turn.json").exists():
        done: dict[str, Any] = json.loads((folder / "turn.json").read_text(encoding="utf-8"))
        return done
    seconds: dict[str, float] = {}
    began = time.monotonic()
    play(args, number, policy, folder)
    seconds["play"] = time.monotonic() - began
    tried, solved = outcome_of(folder / "rollouts")
    played = [Path(args.out) / f"turn-{n}" / "rollouts" for n in range(1, number + 1)]
    given = [Path(one) for one in named(args.data)]
    curate([*given, *played], folder / "set", held=0.0, seed=args.seed)  # evaluation has seeds of its own
    candidate, each = policy or shipped_adapter(args.model), {}
    for part in named(args.parts):
        began = time.monotonic()
        made = train(args, part, folder, candidate)
        seconds[part] = time.monotonic() - began
        if made is None:
            continue
        candidate = made
        if args.each_part:
            each[part] = figures(evaluated(args, candidate, folder / part))
    before = Path(args.out) / f"turn-{number - 1}"
    began = time.monotonic()
    new = evaluated(args, candidate, folder)
    seconds["evaluate"] = time.monotonic() - began
    old = json.loads((before / IN_USE).read_text(encoding="utf-8"))
    verdict = promote.judged([promote.Evaluation.of(new, str(folder))], [promote.Evaluation.of(old, str(before))])
    stays = new["success"] < old["success"]
    record = {
        "turn": number,
        "played_by": policy,
        "candidate": candidate,
        "adapter": policy if stays else candidate,
        "rollouts": tried,
        "share_solved": solved / tried if tried else 0.0,
        "rows": {name: rows_in(folder / "set" / name) for name in FILES.values()},
        "parts": each,
        "won": verdict.won,
        "luck": verdict.luck,
        "gained": verdict.gained,
        "lost": verdict.lost,
        "promoted": promoted(candidate, folder, before) if args.promote and verdict.won else "",
        "seconds": seconds,
        **figures(new),
    }
    write_json(folder / IN_USE, old if stays else new)
    write_json(folder / "turn.json", record)
    return record


def play(args: Args, number: int, policy: str, folder: Path) -> None:
    """The policy alone, on training seeds that no turn before has seen."""
    options = {
        "suite": args.suite,
        "tasks": ",".join(tasks(args)),
        "db": folder / "rollouts",
        "model": args.model,
        "policy": policy,
        "alone": 1,
        "samples": args.samples,
        "episodes": args.seeds,
        "first": (number - 1) * args.seeds,
        "max_steps": args.max_steps,
        "threads": args.threads,
    }
    command("rollouts", options, folder)


def train(args: Args, part: str, folder: Path, start: str) -> str | None:
    """The adapter that a part made, None where the turn gave it nothing to learn from."""
    out = folder / part
    final = out / FINAL[part]
    if (out / "result.json").exists():
        return str(final)
    options: dict[str, Any] = {"out": out, "start": start, "seed": args.seed, "threads": args.threads}
    if part == "ppo":
        options |= {"base": args.base or "bundled", "suite": args.suite, "tasks": ",".join(tasks(args))}
        options |= {"updates": args.ppo_updates, "max_steps": args.max_steps}
        options |= {"config": args.ppo_config} if args.ppo_config else {}
        shape = json.loads((Path(start) / CONFIG).read_text(encoding="utf-8"))  # PPO goes on with the adapter as it is
        options |= {"rank": shape["r"], "lora_alpha": shape["lora_alpha"]}
    else:
        data = folder / "set" / FILES[part]
        if not rows_in(data):
            return None
        options |= {"base": args.base, "max_tokens": args.max_tokens, "warmup": args.warmup}
        options |= {"epochs": getattr(args, f"{part}_epochs"), "lr": getattr(args, f"{part}_lr")}
        options["data"] = data
        if part == "sft":
            demonstrations = f",{args.demonstrations}" if args.demonstrations else ""
            options |= {"data": f"{folder / 'set'}:{args.per_task}{demonstrations}", "held_back": 0.0}
    command(part, options, folder)
    return str(final)


def evaluated(args: Args, adapter: str, folder: Path) -> dict[str, Any]:
    """The evaluation of an adapter on held-out seeds; kept in the folder, and not run twice."""
    file = folder / "evaluation.json"
    if not file.exists():
        options = {
            "suite": args.suite,
            "tasks": ",".join(tasks(args)),
            "model": args.model,
            "adapter": adapter,
            "episodes": args.episodes,
            "max_steps": args.max_steps,
            "threads": args.threads,
            "json": file,
        }
        command("evaluate", options, folder)
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def promoted(candidate: str, folder: Path, before: Path) -> str:
    """The version that the program uses from its next run on; the reason instead where it was not to be had."""
    try:
        _, kept = promote.promote(Path(candidate), [folder / "evaluation.json"], [before / IN_USE])
    except ModelError as error:
        return f"not promoted: {error}"
    return str(kept)


@cache
def tasks(args: Args) -> list[str]:
    """The tasks that are played and evaluated."""
    if args.tasks:
        return named(args.tasks)
    source = suite(args.suite)
    try:
        return list(source.evaluated)
    finally:
        source.close()


def outcome_of(folder: Path) -> tuple[int, int]:
    """(rollouts that were scored, of them solved) in a trace store."""
    scores = [label.score for label in Traces(folder / "traces.db", folder / "images").scores().values()]
    scored = [score for score in scores if score is not None]
    return len(scored), sum(is_solved(score) for score in scored)


def rows_in(file: Path) -> int:
    """Lines of a JSONL file; 0 where there is none."""
    if not file.exists():
        return 0
    with file.open(encoding="utf-8") as lines:
        return sum(1 for _ in lines)


def figures(evaluation: dict[str, Any]) -> dict[str, Any]:
    """What is kept of an evaluation in a turn's record."""
    each = {task: one["success"] for task, one in evaluation["tasks"].items()}
    count = sum(one["n"] for one in evaluation["tasks"].values())
    return {"success": evaluation["success"], "ci95": evaluation["ci95"], "episodes": count, "tasks": each}


def write(out: Path, args: Args, records: Sequence[dict[str, Any]]) -> None:
    """`report.json` and the page made of it."""
    told = {"args": {name: value for name, value in asdict(args).items() if name not in FREE}, "turns": list(records)}
    write_json(out / "report.json", told)
    flywheel_report.write(out, told)


def in_words(record: dict[str, Any], before: dict[str, Any]) -> str:
    """A turn in one line."""
    kept = "it plays on" if record["adapter"] == record["candidate"] else "the one before plays on"
    return (
        f"turn {record['turn']}: {record['share_solved']:.1%} of {record['rollouts']} rollouts solved; "
        f"held out {record['success']:.1%} after {before['success']:.1%} "
        f"({record['gained']} gained, {record['lost']} lost), {kept}"
    )


if __name__ == "__main__":
    sys.exit(main())
