"""Curves of training runs: every metric in a panel of its own, several runs laid over each other.

    python -m training.plots runs/ppo runs/grpo --out curves.png

Reads the `metrics.jsonl` of run folders and writes one PNG (with a single run, by default, into its folder). Where
there are many points, the line is a running mean and the points lie pale behind it. Metrics that only some of the runs
have are drawn for those. Nothing is computed here that a trainer did not log.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # no display is needed

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from training.runs import named, read_metrics

TITLES = {
    "success": "success",
    "reward": "reward",
    "loss": "loss",
    "held_back_loss": "loss on runs held back",
    "entropy": "entropy, nats a token",
    "approx_kl": "KL from the policy that sampled, nats",
    "clipfrac": "share of clipped tokens",
    "clipfrac_high": "clipped above",
    "clipfrac_low": "clipped below",
    "explained_variance": "explained variance of the critic",
    "value_loss": "value loss",
    "thought_length": "thought length, characters",
    "response_length": "reply length, tokens",
    "turns": "turns a rollout",
    "preferred": "share of pairs ranked right",
    "margin": "reward margin of pairs",
    "accuracy": "share of tokens right",
    "grad_norm": "norm of the gradient",
    "lr": "learning rate",
}
"""What is drawn first, in this order; the rest follows by name."""

PLACES = {"samples": "rollouts", "step": "step", "update": "update"}
NOT_DRAWN = {"time", "step", "of", "update", "samples", "version", "tokens", "rows", "pairs", "steps", "phase"}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C5A2B", "#555555")
DASHES = ("-", "--", ":", "-.")
COLUMNS = 3
FEW, MANY = 12, 40  # points up to which each is marked, and from which on a running mean is drawn


@dataclass(frozen=True, slots=True)
class Curves:
    """One run: `series` holds (places, values) of each metric, only finite values."""

    name: str
    series: dict[str, tuple[list[float], list[float]]]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m training.plots", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN_FOLDER", help="folders with a metrics.jsonl")
    parser.add_argument("--out", type=Path, help="the PNG; curves.png in the folder of a single run")
    parser.add_argument("--metrics", default="", help="only these, comma separated, in this order")
    parser.add_argument("--x", choices=sorted(PLACES), help="what lies along the bottom")
    given = parser.parse_args(argv)
    out = given.out or (given.runs[0] if len(given.runs) == 1 else Path()) / "curves.png"
    print(plot(given.runs, out, named(given.metrics), given.x))


def plot(runs: Sequence[Path], out: Path, metrics: Sequence[str] = (), x: str | None = None) -> Path:
    """Writes the PNG and returns its path. Raises SystemExit, saying what to do, when there is nothing to draw."""
    read = [lines_of(folder) for folder in runs]
    along = x or next((name for name in PLACES if all(any(name in line for line in one) for one in read)), "")
    if not along:
        raise SystemExit("These runs have no common axis: name one that each of them logs with --x.")
    curves = [Curves(name, series_of(one, along)) for name, one in zip(names_of(runs), read, strict=True)]
    wanted = list(metrics) or in_order({name for one in curves for name in one.series})
    missing = [name for name in wanted if not any(name in one.series for one in curves)]
    if missing or not wanted:
        raise SystemExit(f"No run has {', '.join(missing) or 'any metric'}: let them train a few steps first.")
    drawn(curves, wanted, PLACES[along]).savefig(out, dpi=110)
    return out


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run's metrics. Raises SystemExit where there are none."""
    file = folder / "metrics.jsonl"
    if not file.exists():
        raise SystemExit(f"There is no metrics.jsonl in {folder}: name the folder of a training run.")
    return read_metrics(file)


def series_of(lines: Sequence[dict[str, Any]], along: str) -> dict[str, tuple[list[float], list[float]]]:
    """(places, values) of each metric. What was measured on held-out tasks is a metric of its own."""
    series: dict[str, tuple[list[float], list[float]]] = {}
    for line in lines:
        if along not in line:
            continue
        before = "held_out " if line.get("phase") == "held_out" else ""
        for name, value in line.items():
            if name not in NOT_DRAWN and isinstance(value, int | float) and math.isfinite(value):
                places, values = series.setdefault(before + name, ([], []))
                places.append(line[along])
                values.append(value)
    return series


def in_order(names: set[str]) -> list[str]:
    """The known ones in the order of TITLES, each with its held-out twin after it; then the others by name."""
    known = [twin for name in TITLES for twin in (name, f"held_out {name}") if twin in names]
    return known + sorted(names - set(known))


def names_of(runs: Sequence[Path]) -> list[str]:
    """As little of each path's end as tells the runs apart."""
    paths = [folder.resolve().parts for folder in runs]
    for depth in range(1, max(map(len, paths)) + 1):
        names = ["/".join(parts[-depth:]) for parts in paths]
        if len(set(names)) == len(set(paths)):
            break
    return names


def drawn(curves: Sequence[Curves], metrics: Sequence[str], along: str) -> Figure:
    """The figure: a panel a metric, three in a row."""
    columns = min(COLUMNS, len(metrics))
    rows = math.ceil(len(metrics) / columns)
    figure = Figure(figsize=(4.3 * columns, 2.7 * rows + 0.6), layout="constrained", facecolor="white")
    panels = figure.subplots(rows, columns, squeeze=False)
    ends = [place for one in curves for metric in metrics for place in one.series.get(metric, ([], []))[0]]
    room = 0.02 * (max(ends) - min(ends)) or 1.0
    for panel, metric in zip(panels.flat, metrics, strict=False):
        for number, one in enumerate(curves):
            if metric in one.series:
                line(panel, number, one.name, *one.series[metric])
        dressed(panel, metric)
        panel.set_xlim(min(ends) - room, max(ends) + room)  # the same in all, to be compared
    for panel in panels.flat[len(metrics) :]:
        panel.set_axis_off()
    for column in range(columns):
        panels[last_row(len(metrics), columns, column), column].set_xlabel(along, fontsize=9, color="#444444")
    shown = {
        text: handle for panel in panels.flat for handle, text in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    ordered = [one.name for one in curves if one.name in shown]
    figure.legend(
        [shown[name] for name in ordered],
        ordered,
        loc="outside upper center",
        ncols=min(4, len(ordered)),
        frameon=False,
    )
    return figure


def last_row(count: int, columns: int, column: int) -> int:
    """The row of the lowest panel in a column."""
    return (count - 1 - column) // columns


def line(panel: Axes, number: int, name: str, places: Sequence[float], values: Sequence[float]) -> None:
    """One run in one panel."""
    look: dict[str, Any] = {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[number // len(COLOURS) % 4]}
    if len(values) >= MANY:
        panel.plot(places, values, linewidth=0.7, alpha=0.22, color=look["color"])
        values = running_mean(values, max(5, len(values) // 25))
    if len(values) <= FEW:
        look |= {"marker": "o", "markersize": 3.5}
    panel.plot(places, values, linewidth=1.7, label=name, solid_capstyle="round", **look)


def running_mean(values: Sequence[float], width: int) -> list[float]:
    """The mean of up to `width` values before and with each, so that nothing is seen before it happened."""
    return [sum(part) / len(part) for i in range(len(values)) for part in [values[max(0, i - width + 1) : i + 1]]]


def dressed(panel: Axes, metric: str) -> None:
    """Title, grid and frame; shares always run from 0 to 1, so that curves of different runs look alike."""
    held_out = metric.startswith("held_out ")
    plain = metric.removeprefix("held_out ")
    title = TITLES.get(plain, plain.replace("_", " ")) + (" on held-out tasks" if held_out else "")
    panel.set_title(title, fontsize=10.5, loc="left", color="#222222")
    if plain in ("success", "preferred", "accuracy"):
        panel.set_ylim(-0.03, 1.03)
    panel.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    panel.ticklabel_format(axis="y", useOffset=False)
    panel.grid(visible=True, color="#E6E6E6", linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["left", "bottom"]].set_color("#999999")
    panel.tick_params(labelsize=8.5, colors="#444444", length=3)


if __name__ == "__main__":
    main()
