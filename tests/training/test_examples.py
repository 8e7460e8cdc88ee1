"""Rows for training: what is learnt, how rows are split and batched, and what a store gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from training import curate, evaluate, rollouts
from training.curate import Row, Source, read_rows, sources, split_rows
from training.examples import IGNORED, Example, by_length, collate, example
from training.policy import bundled_base


@pytest.fixture(scope="module")
def tokenizer() -> object:
    from transformers import AutoTokenizer

    gguf = bundled_base()
    return AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_only_the_reply_and_its_stop_token_are_learnt(tokenizer: object) -> None:
    prompt = "<|im_start|>user\nTask: x<|im_end|>\n<|im_start|>assistant\n"
    one = example(tokenizer, prompt, "Thought: y")  # type: ignore[arg-type]
    assert tokenizer.decode(one.ids[-one.learnt :]) == "Thought: y<|im_end|>"  # type: ignore[attr-defined]
    assert tokenizer.decode(one.ids[: -one.learnt]) == prompt  # type: ignore[attr-defined]
    batch = collate([one, Example(one.ids[-5:], 2)], pad=0)
    assert batch.learnt == one.learnt + 2
    assert (batch.labels[1, 5:] == IGNORED).all()
    assert batch.labels[0, -1] == one.ids[-1] == tokenizer.eos_token_id  # type: ignore[attr-defined]


def test_an_empty_reply_is_refused(tokenizer: object) -> None:
    with pytest.raises(ValueError, match="empty"):
        example(tokenizer, "p", "")  # type: ignore[arg-type]


def test_batches_hold_every_row_once_within_the_token_limit() -> None:
    rows = [Example(tuple(range(n)), 1) for n in (5, 50, 7, 300, 6, 48, 52, 9)]
    batches = by_length(rows, 120, torch.Generator().manual_seed(1))
    assert sorted(len(e.ids) for b in batches for e in b) == sorted(len(e.ids) for e in rows)
    assert all(max(len(e.ids) for e in b) * len(b) <= 120 or len(b) == 1 for b in batches)
    again = by_length(rows, 120, torch.Generator().manual_seed(1))
    assert [[e.ids for e in b] for b in batches] == [[e.ids for e in b] for b in again]


def test_whole_runs_are_held_back() -> None:
    rows = [Row(f"p{i}", "r", "g", f"run{i // 4}") for i in range(40)]
    kept, held = split_rows(rows, 0.2, 0)
    assert {r.run for r in kept}.isdisjoint({r.run for r in held})
    assert len(held) == 8
    assert len(kept) + len(held) == 40


def test_recording_gives_rows_of_solved_runs_and_can_go_on(tmp_path: Path) -> None:
    args = rollouts.Args(suite="pretend", db=str(tmp_path), episodes=2)
    assert rollouts.record(args) == 8
    rows = read_rows([Source(tmp_path)])
    assert {r.group for r in rows} == {"pretend/click", "pretend/fill", "pretend/tick", "pretend/choose"}
    assert all(r.reply.startswith("Thought: ") and r.prompt.startswith("<|im_start|>user\nTask: ") for r in rows)
    assert rollouts.record(args) == 0  # nothing is recorded twice
    assert len(read_rows([Source(tmp_path, 1)])) == 4


def test_a_failed_run_gives_no_rows(tmp_path: Path) -> None:
    args = rollouts.Args(suite="pretend", db=str(tmp_path), tasks="tick", episodes=2, max_steps=1)
    assert rollouts.record(args) == 0
    assert read_rows([Source(tmp_path)]) == []


def test_lessons_are_read_beside_the_store(tmp_path: Path) -> None:
    rollouts.keep_lessons(tmp_path, [("p", "Thought: t"), ("p", "Thought: t")], "desk/editor_write/3")
    assert read_rows([Source(tmp_path)]) == [Row("p", "Thought: t", "desk/editor_write", "desk/editor_write/3")]
    assert (tmp_path / curate.LESSONS).exists()


def test_sources_are_folders_with_an_optional_number_of_rows() -> None:
    assert sources("a/b,c:12") == [Source(Path("a/b")), Source(Path("c"), 12)]


def test_the_evaluation_counts_from_outside(home: Path, tmp_path: Path) -> None:
    """A model that always says it is done solves nothing."""
    models = home / "models"
    models.mkdir(parents=True)
    replies = json.dumps(["Thought: Done.\nAction: finished()"] * 50)
    (models / "idle.toml").write_text(f'dialect = "elements"\nkind = "scripted"\nreplies = {replies}\n')
    out = tmp_path / "out.json"
    evaluate.main(["--suite", "pretend", "--model", "idle", "--episodes", "3", "--json", str(out)])
    result = json.loads(out.read_text())
    assert set(result) >= {"suite", "split", "model", "adapter_sha256", "success", "ci95", "tasks", "seconds_per_step"}
    assert result["success"] == 0.0
    click = result["tasks"]["click"]
    assert (click["success"], click["n"], list(click["solved"].values())) == (0.0, 3, [False] * 3)
    assert set(result["seconds_per_step"]) == {"median", "capture", "read", "think", "act"}


@pytest.mark.parametrize(
    ("wins", "n", "low", "high"), [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634)]
)
def test_the_interval_is_wilsons(wins: int, n: int, low: float, high: float) -> None:
    assert evaluate.wilson(wins, n) == pytest.approx([low, high], abs=2e-4)
