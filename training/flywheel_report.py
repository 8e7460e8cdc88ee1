"""The flywheel's report: one page that needs nothing but itself, with curves, turns and tasks.

Texts of tasks and runs are not in here, only names and figures, so that a team can pass it on.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # no display is needed

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from training import plots
from training.runs import write_text

STYLE = """
:root { color-scheme: light dark; --back:#FAFAF8; --card:#FFFFFF; --text:#1F2328; --second:#646A73; --line:#E3E3DF;
  --good:#1A7F4B; --bad:#C5362B; }
@media (prefers-color-scheme: dark) { :root { --back:#1E1F22; --card:#2A2B2F; --text:#E6E6E6; --second:#A2A7B0;
  --line:#3A3B40; --good:#4CC38A; --bad:#FF7B72; } }
body { margin:0 auto; max-width:1080px; padding:24px; background:var(--back); color:var(--text);
  font:14px/1.5 system-ui,"Segoe UI","Noto Sans",sans-serif; }
h1 { font-size:22px; margin:0 0 4px; } h2 { font-size:16px; margin:32px 0 8px; } p { margin:4px 0 12px; }
.second { color:var(--second); } .better { color:var(--good); } .worse { color:var(--bad); }
table { border-collapse:collapse; background:var(--card); border:1px solid var(--line); }
th, td { padding:5px 12px; text-align:right; border-bottom:1px solid var(--line); white-space:nowrap; }
th:first-child, td:first-child { text-align:left; } th { font-weight:600; }
.wide { overflow-x:auto; } img { max-width:100%; border:1px solid var(--line); border-radius:8px; }
"""
BLUE, ORANGE = "#0072B2", "#D55E00"


def write(out: Path, told: dict[str, Any]) -> Path:
    """Writes `report.html` into the run folder from what `report.json` tells; returns its path."""
    turns: list[dict[str, Any]] = told["turns"]
    args = told["args"]
    first, last = turns[0], turns[-1]
    gain = (last["success"] - first["success"]) * 100
    count = len(turns) - 1
    lead = f"{args['suite']}, {len(first['tasks'])} tasks, {first['episodes']} held-out episodes an evaluation."
    if count:
        lead += f" From {first['success']:.1%} to {last['success']:.1%} in {count} turns, "
        lead += f"{gain / count:+.1f} points a turn."
    body = [
        f"<h1>Flywheel of {escape(str(args['model']))}</h1><p class=second>{escape(lead)}</p>",
        picture(curves(turns), "success and share solved by turn"),
        "<h2>Turns</h2>" + turns_table(turns),
        *(["<h2>What each part came to</h2>" + parts_table(turns)] if any(t.get("parts") for t in turns) else []),
        "<h2>Tasks, held out</h2>" + tasks_table(turns),
        *trained(out, turns),
    ]
    page = (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>Flywheel</title><style>{STYLE}</style>{''.join(body)}</html>"
    )
    write_text(out / "report.html", page)
    return out / "report.html"


def turns_table(turns: Sequence[dict[str, Any]]) -> str:
    head = "turn,held out,95 % interval,against before,rollouts,V=1,SFT rows,CT texts,pairs,minutes,plays on"
    rows = [[0, *success(turns[0]), "", "", "", "", "", "", "", ""]]
    for turn in turns[1:]:
        files = turn["rows"]
        compared = f"{turn['gained']} gained, {turn['lost']} lost" + (", won" if turn["won"] else "")
        minutes = f"{sum(turn['seconds'].values()) / 60:.0f}"
        plays = "yes" if turn["adapter"] == turn["candidate"] else "the one before"
        counts = [files.get(name, 0) for name in ("sft.jsonl", "ct.jsonl", "pairs.jsonl")]
        share = f"{turn['share_solved']:.1%}"
        rows.append([turn["turn"], *success(turn), compared, turn["rollouts"], share, *counts, minutes, plays])
    return table(head.split(","), rows)


def parts_table(turns: Sequence[dict[str, Any]]) -> str:
    """Held-out success after each part of a turn, and what the part changed, in points."""
    names = list(dict.fromkeys(name for turn in turns for name in turn.get("parts", {})))
    rows = []
    for before, turn in pairwise(turns):
        cells: list[Any] = [turn["turn"]]
        last = before["success"]
        for name in names:
            if name not in turn["parts"]:
                cells.append("nothing to learn")
                continue
            now = turn["parts"][name]["success"]
            cells.append(f"{now:.1%} ({(now - last) * 100:+.1f})")
            last = now
        rows.append(cells)
    return table(["turn", *names], rows)


def tasks_table(turns: Sequence[dict[str, Any]]) -> str:
    rows = []
    for task in turns[0]["tasks"]:
        shares = [turn["tasks"].get(task) for turn in turns]
        rows.append([task, *("" if share is None else f"{share:.0%}" for share in shares)])
    return table(["task", *(f"turn {turn['turn']}" for turn in turns)], rows)


def success(turn: dict[str, Any]) -> list[str]:
    low, high = turn["ci95"]
    return [f"{turn['success']:.1%}", f"{low:.1%} to {high:.1%}"]


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<div class=wide><table><tr>{cells}</tr>{lines}</table></div>"


def curves(turns: Sequence[dict[str, Any]]) -> Figure:
    """Held-out success with its interval, and the share of a turn's own rollouts that were solved."""
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    panel = figure.add_subplot()
    x = [turn["turn"] for turn in turns]
    y = [turn["success"] for turn in turns]
    spread = [[t["success"] - t["ci95"][0] for t in turns], [t["ci95"][1] - t["success"] for t in turns]]
    panel.errorbar(x, y, yerr=spread, color=BLUE, marker="o", capsize=4, label="held out, greedy")
    if len(turns) > 1:
        shares = [turn["share_solved"] for turn in turns[1:]]
        played = [number - 1 for number in x[1:]]  # a turn is played by the policy before it
        panel.plot(played, shares, color=ORANGE, marker="s", linestyle="--", label="V=1 in play, temperature 1")
    panel.set_ylim(0, 1)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.yaxis.set_major_formatter(PercentFormatter(1.0))
    panel.set_xlabel("turns behind the policy")
    panel.set_ylabel("episodes solved")
    panel.legend(frameon=False, loc="lower right")
    panel.spines[["top", "right"]].set_visible(False)
    return figure


def trained(out: Path, turns: Sequence[dict[str, Any]]) -> list[str]:
    """The trainers' own curves, one picture for each part over all turns."""
    found = []
    for part in ("ct", "sft", "dpo", "ppo"):
        runs = [out / f"turn-{turn['turn']}" / part for turn in turns[1:]]
        runs = [run for run in runs if (run / "metrics.jsonl").exists()]
        if runs:
            file = plots.plot(runs, out / f"{part}.png")
            data = base64.b64encode(file.read_bytes()).decode()
            found.append(f"<h2>{part.upper()}</h2><img alt='curves of {part}' src='data:image/png;base64,{data}'>")
    return found


def picture(figure: Figure, alt: str) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=150)
    data = base64.b64encode(buffer.getvalue()).decode()
    return f"<img alt='{escape(alt)}' src='data:image/png;base64,{data}'>"
