"""Learning from a person's single words, on a model small enough for one thread."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.training import tiny_runs
from training import kto
from training.curate_rows import Vote
from training.policy import load_base
from training.runs import read_metrics

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT asks transformers by an old name


def vote_file(to: Path, count: int) -> Path:
    """Every third reply presses another button than it should, and a person said so."""
    rows: list[dict[str, Any]] = [
        {"prompt": tiny_runs.prompt(n), "reply": tiny_runs.reply(n + (n % 3 == 0)), "good": n % 3 > 0, "run": str(n)}
        for n in range(count)
    ]
    to.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return to


def test_votes_of_a_file(tmp_path: Path) -> None:
    file = vote_file(tmp_path / "kto.jsonl", 4)
    assert kto.read_votes(str(tmp_path)) == kto.read_votes(f"{file},{file}")
    assert sorted(vote.good for vote in kto.read_votes(str(file))) == [False, False, True, True]
    file.write_text('{"prompt": "a", "reply": "b", "good": 1}\n')
    with pytest.raises(ValueError, match=r"kto\.jsonl, line 1 is no reply"):
        kto.read_votes(str(file))


def test_rows_are_learnt_as_they_were_said_and_set_beside_each_other(tmp_path: Path) -> None:
    _, tokenizer = load_base(tiny_runs.model_folder(tmp_path / "model"))
    votes = [Vote(tiny_runs.prompt(n), tiny_runs.reply(n), n > 0, str(n)) for n in range(5)]
    rows, left_out = kto.tokenise(tokenizer, votes, 10_000)
    assert left_out == 0
    assert [tokenizer.decode(row["completion_ids"]) for row in rows] == [v.reply + tiny_runs.STOP for v in votes]
    beside = [row["KL_completion_ids"] for row in kto.beside(rows, 3)]
    assert beside == [rows[n]["completion_ids"] for n in (2, 0, 1, 4, 3)]
    assert kto.weights(30, 10) == (1.0, 3.0)
    assert kto.weights(5, 10) == (2.0, 1.0)
    assert kto.weights(5, 0) == (1.0, 1.0)


def test_good_replies_become_likelier_than_bad_ones(tmp_path: Path) -> None:
    vote_file(tmp_path / "kto.jsonl", 12)
    base = tiny_runs.model_folder(tmp_path / "model")
    adapter = kto.train(
        kto.Args(
            data=str(tmp_path), out=str(tmp_path / "out"), base=str(base), epochs=8, lr=2e-2, warmup=1, beta=0.5,
            batch=6, accumulate=1, precision="float32", threads=1,
        )
    )  # fmt: skip
    assert (adapter / "adapter_model.safetensors").is_file()
    steps = [line for line in read_metrics(tmp_path / "out" / "metrics.jsonl") if "loss" in line]
    assert steps[0]["loss"] == pytest.approx(0.5 * 1.5, rel=0.35)  # nothing is preferred yet: half of the weights
    assert steps[-1]["margin"] > steps[0]["margin"]
    assert steps[-1]["loss"] < steps[0]["loss"]
