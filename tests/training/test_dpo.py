"""Pairs from files and from traces, and preference learning and continual training as a person runs them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from agent_core.traces.reads import Traces
from agent_core.traces.store import TraceStore
from tests.training import tiny_runs
from training import ct, dpo, rollouts
from training.curate import is_solved
from training.losses import dpo_loss, sum_logp
from training.pairs import Pair, acts_otherwise, lessons, of_traces, outcomes, read_pairs
from training.policy import load_base, with_adapter
from training.runs import read_metrics

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT asks transformers by an old name

CLICK = "Thought: {}\nAction: click(point='<point>{} 500</point>')"


def test_pairs_of_a_file(tmp_path: Path) -> None:
    file = tiny_runs.pair_file(tmp_path / "pairs.jsonl", 3)
    file.write_text(file.read_text() * 2)  # repeats count once
    pairs = read_pairs(str(file))
    assert len(pairs) == 3
    assert all(pair.kind == "given" and pair.chosen != pair.rejected for pair in pairs)
    file.write_text('{"prompt": "a", "chosen": "b"}\n')
    with pytest.raises(ValueError, match=r"pairs\.jsonl, line 1 is no pair"):
        read_pairs(str(file))
    file.write_text('{"prompt": "a", "chosen": "b", "rejected": "b"}\n')
    with pytest.raises(ValueError, match="two different replies"):
        read_pairs(str(file))


def test_replies_that_only_talk_differently_are_no_pair() -> None:
    assert not acts_otherwise(CLICK.format("Press it.", 10), CLICK.format("Now press it.", 10))
    assert acts_otherwise(CLICK.format("Press it.", 10), CLICK.format("Press it.", 20))
    assert acts_otherwise(CLICK.format("Press it.", 1010), CLICK.format("Press it.", 1020))  # pixels
    assert acts_otherwise(CLICK.format("Press it.", 10), "I do not know.")


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real store with solved runs of the teachers."""
    folder = tmp_path_factory.mktemp("traces")
    rollouts.record(rollouts.Args(suite="pretend", db=str(folder), tasks="click,fill", episodes=2))
    return folder


def stored(folder: Path) -> Traces:
    return Traces(folder / "traces.db", folder / "images")


def test_a_persons_correction_of_a_step_is_a_pair(traces: Path) -> None:
    row = next(iter(stored(traces).training_rows()))
    (step,) = next(turn.steps for turn in stored(traces).turns(row.run) if turn.n == row.n)
    better = CLICK.format("That one.", 3)
    with TraceStore(traces / "traces.db", traces / "images") as store:
        store.label(row.run, step.n, "correction", None, better, "person")
    pairs = list(of_traces(traces))
    assert pairs == [Pair(row.prompt, better, row.reply, "correction", row.run)]


def test_a_teachers_word_on_a_policys_step_is_a_pair(tmp_path: Path, traces: Path) -> None:
    rows = list(stored(traces).training_rows())
    acted = [replace(row, model="bundled+teacher", reply=CLICK.format("Hm.", 1)) for row in rows]
    lesson = {"prompt": rows[0].prompt, "reply": rows[0].reply, "group": "pretend/click", "run": "r"}
    (tmp_path / "lessons.jsonl").write_text(json.dumps(lesson) + "\n", encoding="utf-8")
    wanted = Pair(rows[0].prompt, rows[0].reply, CLICK.format("Hm.", 1), "lesson", "r")
    assert set(lessons(tmp_path, acted)) == {wanted}
    assert list(lessons(tmp_path, rows)) == []  # a teacher's own rows


def test_success_against_failure_where_they_part(traces: Path) -> None:
    rows = list(stored(traces).training_rows())
    wrong = [replace(row, run="bad", reply=CLICK.format("Hm.", 1)) for row in rows]
    elsewhere = [replace(row, run="bad") for row in rows]
    assert len(list(outcomes(rows, wrong))) == len({row.prompt for row in rows})
    assert list(outcomes(rows, elsewhere)) == []


def test_texts_of_runs_that_failed(traces: Path, tmp_path: Path) -> None:
    scores = stored(traces).scores()
    assert all(is_solved(label.score) for label in scores.values())
    assert ct.of_traces(traces) == []
    run = next(iter(scores))
    with TraceStore(traces / "traces.db", traces / "images") as store:
        store.label(run, None, "score", 0.0, "again", "verifier")
    rows = [row for row in stored(traces).training_rows() if row.run == run]
    assert ct.of_traces(traces) == [row.prompt + row.reply + tiny_runs.STOP for row in rows]
    with TraceStore(traces / "traces.db", traces / "images") as store:
        store.label(run, None, "score", 1.0, scores[run].value, "verifier")
    (tmp_path / "bad.jsonl").write_text('{"words": 1}\n')
    with pytest.raises(ValueError, match=r"bad\.jsonl, line 1 has no"):
        ct.read_texts(str(tmp_path / "bad.jsonl"))


def test_only_replies_and_stop_tokens_are_learnt_and_long_pairs_left_out(tmp_path: Path) -> None:
    _, tokenizer = load_base(tiny_runs.model_folder(tmp_path / "model"))
    pairs = read_pairs(str(tiny_runs.pair_file(tmp_path / "pairs.jsonl", 4)))
    rows, left_out = dpo.tokenise(tokenizer, pairs, 10_000)
    assert left_out == 0
    for pair, row in zip(pairs, rows, strict=True):
        assert tokenizer.decode(row["prompt_ids"]) == pair.prompt
        assert tokenizer.decode(row["chosen_ids"]) == pair.chosen + tiny_runs.STOP
        assert row["rejected_ids"][-1] == tokenizer.eos_token_id
        assert row["rejected_ids"].count(tokenizer.eos_token_id) == 1
    longest = max(len(r["prompt_ids"]) + max(len(r["chosen_ids"]), len(r["rejected_ids"])) for r in rows)
    assert dpo.tokenise(tokenizer, pairs, longest - 1)[1] >= 1
    text = ct.tokenise(tokenizer, [pairs[0].prompt], 7)
    assert [i for part in text for i in part["input_ids"]] == tokenizer.encode(pairs[0].prompt)[: 7 * len(text)]
    assert all(part["labels"] == part["input_ids"] and len(part["labels"]) <= 7 for part in text)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_loss_begins_with_ln_2_and_falls_and_is_the_one_that_is_written_down(tmp_path: Path) -> None:
    base = tiny_runs.model_folder(tmp_path / "model")
    data = tiny_runs.pair_file(tmp_path / "pairs.jsonl")
    options = ("--base", base, "--data", data, "--precision", "float32", "--beta", "1")
    whole = ("--batch", "24", "--accumulate", "1")  # all pairs in every step
    ran(("dpo", *options, *whole, "--out", tmp_path / "one", "--epochs", "30", "--lr", "3e-3", "--warmup", "2"))
    steps = [line for line in read_metrics(tmp_path / "one" / "metrics.jsonl") if "loss" in line]
    assert steps[0]["loss"] == pytest.approx(math.log(2), abs=1e-6)
    assert steps[-1]["loss"] < 0.5
    assert steps[-1]["margin"] > steps[0]["margin"]
    assert {"step", "of", "loss", "lr", "grad_norm", "tokens", "reward_chosen", "reward_rejected"} <= set(steps[0])

    start = tmp_path / "one" / "adapter"  # its adapter is the reference of a second run, which so begins with ln 2 too
    ran(("dpo", *options, "--out", tmp_path / "two", "--start", start))
    again = [line for line in read_metrics(tmp_path / "two" / "metrics.jsonl") if "loss" in line]
    assert again[0]["loss"] == pytest.approx(math.log(2), abs=1e-6)
    assert sorted(p.name for p in (tmp_path / "two" / "adapter").iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]
    assert json.loads((start / "adapter_config.json").read_text())["base_model_name_or_path"] == "model"

    ours = [loss_by_hand(base, start, pair) for pair in read_pairs(str(data))]
    assert sum(ours) / len(ours) == pytest.approx(steps[-1]["loss"], abs=0.01)  # its last step was next to nothing


def loss_by_hand(base: Path, adapter: Path, pair: Pair) -> float:
    """The loss of one pair by our own function, the model with and without its adapter."""
    model, tokenizer = load_base(base)
    (row,), _ = dpo.tokenise(tokenizer, [pair], 10_000)
    policy = with_adapter(model, 1, 1, 0.0, adapter).eval()

    @torch.no_grad()
    def said(reply: str) -> torch.Tensor:
        ids = torch.tensor([row["prompt_ids"] + row[reply]])
        logp = torch.log_softmax(policy(input_ids=ids).logits[:, :-1].float(), -1).gather(2, ids[:, 1:, None])[..., 0]
        return sum_logp(logp, torch.arange(logp.shape[1])[None] >= len(row["prompt_ids"]) - 1)

    now = [said("chosen_ids"), said("rejected_ids")]
    with policy.disable_adapter():
        before = [said("chosen_ids"), said("rejected_ids")]
    return float(dpo_loss(now[0], now[1], before[0], before[1], beta=1.0).loss)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_continual_training_learns_whole_texts(tmp_path: Path) -> None:
    base, data = tiny_runs.model_folder(tmp_path / "model"), tiny_runs.text_file(tmp_path / "texts.jsonl")
    knobs = ("--epochs", "8", "--lr", "1e-2", "--warmup", "1")
    ran(("ct", "--base", base, "--data", data, "--out", tmp_path / "ct", *knobs))
    steps = [line for line in read_metrics(tmp_path / "ct" / "metrics.jsonl") if "loss" in line]
    assert steps[-1]["loss"] < steps[0]["loss"] - 0.3
    _, tokenizer = load_base(base)
    every = sum(len(tokenizer.encode(text)) for text in ct.read_texts(str(data)))
    assert steps[-1]["tokens"] == 8 * every


def ran(command: tuple[str | Path, ...]) -> None:
    running = tiny_runs.start(str(command[0]), *command[1:])
    said, _ = running.communicate()
    assert running.returncode == 0, said
