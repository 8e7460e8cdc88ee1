"""PPO against its baselines at two learning rates, and with each of its parts changed: as many rollouts for all.

    python -m training.compare --base runs/tiny/model --out runs/compare --picture compare.png

Runs `training.ppo` as a person would, one process after the other, and goes on where it was stopped. A run is judged on
held-out seeds: while it learns by sampling at temperature 1, at its end by that and greedily. `results.json` holds the
curves and the ends, the picture shows the mean over seeds with the lowest and the highest as a band.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # no display is needed

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from training import ppo, ppo_args
from training.evaluate import wilson
from training.playing import held_out
from training.plots import COLOURS
from training.runs import knob, parse, read_metrics, write_json
from training.serving import TransformersActor

TWICE = {"lr": 4e-3}
REINFORCE = {"algorithm": "reinforce", "group": 8}
GRPO = {"algorithm": "grpo", "group": 8}
ALGORITHMS: dict[str, dict[str, Any]] = {
    "PPO": {},
    "REINFORCE": REINFORCE,
    "GRPO": GRPO,
    "PPO, twice the rate": TWICE,
    "REINFORCE, twice the rate": {**REINFORCE, **TWICE},
    "GRPO, twice the rate": {**GRPO, **TWICE},
}
PARTS: dict[str, dict[str, Any]] = {
    "without value pretraining": {"pretraining": 0},
    "coupled GAE": {"critic_lam": -1.0},
    "lambda 0.95, not by length": {"policy_lam": 0.95},
    "without the stop at a KL": {"target_kl": 0.0},
    "without clip-higher": {"clip_high": 0.2},
    "lockstep": {"rollouts": "lockstep"},
    "with the positive-example loss": {"positive": 0.1},
    "a cut goes on from its value": {"bootstrap_cut": 1},
}


@dataclass(frozen=True, slots=True)
class Args:
    """What to compare. A variant's own arguments win over these."""

    base: str = knob("runs/tiny/model", "folder of the model to start from")
    out: str = knob("runs/compare", "folder of all runs; what stands there is not run again")
    picture: str = knob("", "PNG file for the curves; in the folder of the runs if empty")
    only: str = knob("", "names of variants, comma separated; all if empty")
    seeds: int = knob(3, "seeds")
    batches: int = knob(64, "batches of rollouts in all, those that the critic is pretrained on among them")
    config: str = knob("training/configs/cpu.toml", "TOML file of PPO's arguments for all variants")
    rollouts: int = knob(300, "held-out rollouts at the end, for sampling and for greedy replies each")
    threads: int = knob(1, "torch threads")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Args, argv, "python -m training.compare", __doc__)
    chosen = {**ALGORITHMS, **PARTS}
    if args.only:
        chosen = {name: chosen[name] for name in args.only.split(",")}
    for seed in range(args.seeds):  # one seed of everything first, so that a comparison cut short compares the same
        for name, changes in chosen.items():
            run(args, name, changes, seed)
            write_json(Path(args.out) / "results.json", results(args, chosen))
    found = results(args, chosen)
    print(table(found))
    draw(found, Path(args.picture) if args.picture else Path(args.out) / "compare.png")


def run(args: Args, name: str, changes: dict[str, Any], seed: int) -> None:
    """One run and its end, unless it stands there already. Raises SystemExit when it fails."""
    out = folder_of(args, name, seed)
    if (out / "end.json").exists():
        return
    told = {**changes, "base": args.base, "out": out, "seed": seed, "threads": args.threads}
    options = [text for key, value in told.items() for text in (f"--{key.replace('_', '-')}", str(value))]
    config = ["--config", args.config] if args.config else []
    planned = ppo_args.parse([*config, *options], ppo.__doc__)
    pretraining = planned.pretraining if planned.algorithm == "ppo" else 0
    command = [sys.executable, "-m", "training.ppo", *config, *options, "--updates", str(args.batches - pretraining)]
    print(f"{name}, seed {seed}", flush=True)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "log.txt").open("a", encoding="utf-8") as log:
        if subprocess.run(command, stdout=log, stderr=log, check=False).returncode:
            raise SystemExit(f"The run {out} failed; its log says why.")
    write_json(out / "end.json", end(planned, out / "final" / "policy", args.rollouts, args.threads))


def folder_of(args: Args, name: str, seed: int) -> Path:
    return Path(args.out) / f"{name.replace(' ', '-').replace(',', '')}-{seed}"


def end(planned: ppo_args.Args, adapter: Path, rollouts: int, threads: int) -> dict[str, Any]:
    """{sampled, greedy: {success, ci95, n}} on held-out seeds."""
    torch.set_num_threads(threads)
    told = {}
    for name, temperature in (("sampled", 1.0), ("greedy", 0.0)):
        actor = TransformersActor.of_folder(Path(planned.base), planned.max_new_tokens, temperature)
        actor.load(adapter, 0)
        share = held_out(actor, planned, rollouts)
        wins = round(share["success"] * share["n"])
        told[name] = {**share, "ci95": wilson(wins, int(share["n"]))}
    return told


def results(args: Args, chosen: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """By variant and seed: held-out success over rollouts, how the critic explains, how long it took, and the end."""
    found: dict[str, Any] = {}
    for name, changes in chosen.items():
        of_seeds = []
        for seed in range(args.seeds):
            out = folder_of(args, name, seed)
            if not (out / "end.json").exists():
                continue
            lines = read_metrics(out / "metrics.jsonl")
            held = [line for line in lines if line["phase"] == "held_out"]
            learnt = [line for line in lines if line["phase"] != "held_out"]
            of_seeds.append(
                {
                    "seed": seed,
                    "samples": [line["samples"] for line in held],
                    "success": [line["success"] for line in held],
                    "train_success": [line["success"] for line in learnt],
                    "entropy": [line["entropy"] for line in learnt],
                    "explained_variance": [line.get("explained_variance") for line in learnt],
                    "staleness_mean": statistics.fmean(line["staleness_mean"] for line in learnt),
                    "environment_idle": statistics.fmean(line["environment_idle"] for line in learnt),
                    "trainer_idle": statistics.fmean(line["trainer_idle"] for line in learnt),
                    "seconds": sum(line["seconds"] for line in learnt),
                    "end": json.loads((out / "end.json").read_text(encoding="utf-8")),
                }
            )
        if of_seeds:
            found[name] = {"changes": changes, "runs": of_seeds}
    return found


def table(found: dict[str, Any]) -> str:
    """A row per variant: success at the end and over the whole run, over seeds."""
    width = max(len(name) for name in found)
    lines = [f"{'':<{width}}  end, sampled      greedy  mean of the run  rollouts to 80 %  seconds"]
    for name, variant in found.items():
        runs = variant["runs"]
        ends = [one["end"]["sampled"]["success"] for one in runs]
        greedy = statistics.fmean(one["end"]["greedy"]["success"] for one in runs)
        area = statistics.fmean(statistics.fmean(one["success"]) for one in runs)
        first = [rollouts_to(one, 0.8) for one in runs]
        reached = f"{statistics.fmean(first):.0f}" if all(map(math.isfinite, first)) else "not by all"
        spent = statistics.fmean(one["seconds"] for one in runs)
        sampled = f"{statistics.fmean(ends):.3f} ({min(ends):.2f} to {max(ends):.2f})"
        lines.append(f"{name:<{width}}  {sampled}  {greedy:.3f}  {area:15.3f}  {reached:>16}  {spent:7.0f}")
    return "\n".join(lines)


def rollouts_to(one: dict[str, Any], share: float) -> float:
    """Rollouts after which held-out success had reached the share; infinite if it never did."""
    reached = [n for n, success in zip(one["samples"], one["success"], strict=True) if success >= share]
    return float(reached[0]) if reached else math.inf


def draw(found: dict[str, Any], to: Path) -> None:
    """Two panels: the algorithms, and PPO with its parts switched off."""
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    panel(left, "algorithms, the same rollouts", {name: found[name] for name in ALGORITHMS if name in found})
    panel(right, "PPO, one part changed", {name: found[name] for name in ("PPO", *PARTS) if name in found})
    left.set_ylabel("forms solved, held-out seeds, temperature 1")
    to.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(to, dpi=90)


def panel(axes: Axes, title: str, found: dict[str, Any]) -> None:
    for number, (name, variant) in enumerate(found.items()):
        runs = variant["runs"]
        places = runs[0]["samples"]
        every = list(zip(*(one["success"] for one in runs), strict=False))
        colour = COLOURS[number % len(COLOURS)]
        style = "--" if "twice the rate" in name else "-"
        axes.plot(places, [statistics.fmean(at) for at in every], style, color=colour, label=name, linewidth=1.6)
        axes.fill_between(places, [min(at) for at in every], [max(at) for at in every], color=colour, alpha=0.13)
    axes.axhline(0.8, color="#999999", linewidth=0.8, linestyle=":")
    axes.set_title(title)
    axes.set_xlabel("rollouts")
    axes.set_ylim(0, 1)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, loc="lower right")


if __name__ == "__main__":
    main()
