"""Curves from real metrics files: a picture is written, the right runs are in it, and faults are said in a sentence."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from training import plots
from training.runs import RunFolder


def run_folder(to: Path, lines: list[dict[str, Any]]) -> Path:
    to.mkdir(parents=True)
    (to / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return to


def sft(to: Path, count: int = 8) -> Path:
    lines: list[dict[str, Any]] = [{"step": n, "of": count, "loss": 1 / n, "lr": 0.1} for n in range(1, count + 1)]
    return run_folder(to, [*lines, {"rows": 3, "held_back_loss": 0.2}])


def ppo(to: Path) -> Path:
    lines: list[dict[str, Any]] = []
    for n in range(60):
        lines.append(
            {"phase": "ppo", "update": n, "samples": 16 * n, "success": n / 60, "explained_variance": math.nan}
        )
        if n % 20 == 0:
            lines.append({"phase": "held_out", "update": n, "samples": 16 * n, "success": n / 80})
    return run_folder(to, lines)


def colours(png: Path) -> set[tuple[int, ...]]:
    with Image.open(png) as image:
        pixels = np.asarray(image.convert("RGB"))
    assert pixels.shape[0] > 200
    return {tuple(int(part) for part in colour) for colour in np.unique(pixels.reshape(-1, 3), axis=0)}


def rgb(text: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(text[1:]))


def test_one_run_is_drawn_into_its_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = sft(tmp_path / "sft")
    plots.main([str(folder)])
    assert capsys.readouterr().out.strip() == str(folder / "curves.png")
    found = colours(folder / "curves.png")
    assert rgb(plots.COLOURS[0]) in found
    assert rgb(plots.COLOURS[1]) not in found


def test_several_runs_lie_over_each_other(tmp_path: Path) -> None:
    runs = [sft(tmp_path / name / "sft", count) for name, count in (("a", 8), ("b", 50), ("c", 3))]
    png = plots.plot(runs, tmp_path / "all.png", ["loss"])
    assert {rgb(colour) for colour in plots.COLOURS[:3]} <= colours(png)
    assert plots.names_of(runs) == ["a/sft", "b/sft", "c/sft"]


def test_what_was_measured_on_held_out_tasks_is_a_curve_of_its_own(tmp_path: Path) -> None:
    lines = plots.lines_of(ppo(tmp_path / "ppo"))
    series = plots.series_of(lines, "samples")
    places, values = series["held_out success"]
    assert (places, values) == ([0, 320, 640], [0, 0.25, 0.5])
    assert len(series["success"][0]) == 60
    assert "explained_variance" not in series  # never a number
    names = {"zeal", "held_out success", "loss", "success"}
    assert plots.in_order(names) == ["success", "held_out success", "loss", "zeal"]
    assert plots.plot([tmp_path / "ppo"], tmp_path / "curves.png").exists()


def test_a_running_mean_looks_back_only() -> None:
    assert plots.running_mean([1, 2, 3, 4], 2) == [1, 1.5, 2.5, 3.5]


def test_faults_are_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"There is no metrics\.jsonl in"):
        plots.plot([tmp_path], tmp_path / "x.png")
    with pytest.raises(SystemExit, match="No run has zeal"):
        plots.plot([sft(tmp_path / "sft")], tmp_path / "x.png", ["zeal"])
    with pytest.raises(SystemExit, match="no common axis"):
        plots.plot([tmp_path / "sft", ppo(tmp_path / "ppo")], tmp_path / "x.png")
    run_folder(tmp_path / "new", [])
    with pytest.raises(SystemExit, match="no common axis"):
        plots.plot([tmp_path / "new"], tmp_path / "x.png")


def test_a_run_that_is_still_being_written_can_be_drawn(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, plots.Curves("x", {}))
    folder.log(step=1, loss=0.5)
    folder.log(step=2, loss=0.25)
    with (tmp_path / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"step": 3, "lo')
    assert plots.plot([tmp_path], tmp_path / "curves.png").stat().st_size > 5000
    folder.close()
