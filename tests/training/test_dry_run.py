"""What a run needs is counted right, the example configurations are sound, and what does not go together is named."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.training.small import text_model, vision_model
from training import dry_run, ppo
from training.dry_run import SHAPES, Machine, Shape
from training.policy import ActorCritic, lora
from training.ppo_args import Args

CONFIGS = sorted(Path("training/configs").glob("*.toml"))


@pytest.mark.parametrize("make", [text_model, vision_model])
def test_weights_and_adapters_are_counted_exactly(make: Any) -> None:
    base = make()
    shape = Shape.of(base.config.to_dict())
    assert shape.weights == sum(p.numel() for p in base.parameters())
    policy = ActorCritic(base, lora(base, 3, 8))
    assert shape.lora(3) == sum(p.numel() for p in policy.policy_parameters())


def test_the_models_that_are_named() -> None:
    assert SHAPES["UI-TARS-1.5-7B"].weights == pytest.approx(8.29e9, rel=0.001)
    assert SHAPES["SmolLM2-135M"].weights == 134_515_008


@pytest.mark.parametrize("file", CONFIGS, ids=lambda path: path.stem)
def test_the_example_configurations_are_sound(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ppo.main(["--config", str(file), "--dry-run"])
    said = capsys.readouterr().out
    assert "trainer: " in said
    assert "updates of" in said


def test_there_is_one_for_each_size() -> None:
    assert {"cpu", "one_gpu", "eight_gpus", "ray_cluster"} <= {path.stem for path in CONFIGS}


SERVED = replace(Args(), actor="http://localhost:8000/v1", base="models/x", bf16=1, rank=16, budget=1024)
ON = Machine("UI-TARS-1.5-7B", 2, 2, max_loras=3, max_lora_rank=16)
WRONG: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "multiple of 2 ranks": ({"batch": 33}, {}),
    "minibatches are more": ({"batch": 4}, {}),
    "rank 12 cannot be served": ({"rank": 12}, {}),
    "max_lora_rank 8 must be": ({}, {"max_lora_rank": 8}),
    "at least max_stale + 2, 4": ({"max_stale": 2}, {}),
    "shorter than max_tokens": ({"max_tokens": 9000, "budget": 9000}, {}),
    "lower budget": ({"budget": 16384}, {}),
    "does not even hold the weights": ({}, {"server_share": 0.1}),
    "less than one context": ({}, {"server_share": 0.115, "context": 32768}),
    "cannot cut 28 attention heads into 3": ({}, {"rollout_gpus": 3}),
    "of no use to actor": ({"actor": "transformers"}, {}),
    "of no use to actor = llama_cpp": ({"actor": "llama_cpp"}, {}),
    "context 4096 is shorter": ({"actor": "llama_cpp", "max_tokens": 5000}, {}),
    "5 screenshots of max_pixels alone have 5000 tokens": (
        {"dialect": "uitars", "max_pixels": 784000, "max_tokens": 4096},
        {},
    ),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_does_not_go_together_is_named(words: str) -> None:
    args, on = WRONG[words]
    changed = asdict(replace(SERVED, **args))
    machine = replace(ON, **on)
    found = dry_run.problems(changed, machine)
    shape = SHAPES[machine.shape]
    found += dry_run.too_much(machine, shape, dry_run.memory(changed, machine, shape))
    assert any(words in one for one in found), found


def test_a_sound_one_has_no_problems() -> None:
    changed, shape = asdict(SERVED), SHAPES[ON.shape]
    assert dry_run.problems(changed, ON) == []
    assert dry_run.too_much(ON, shape, dry_run.memory(changed, ON, shape)) == []


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    for text, words in (
        ("batsh = 3", "'batsh'"),
        ("[machine]\ngpus = 3", "machine.gpus"),
        ("[machine]\nshape = 3", "another type"),
    ):
        file.write_text(text)
        with pytest.raises(SystemExit, match=words):
            ppo.main(["--config", str(file), "--dry-run"])


def test_a_base_in_bfloat16_takes_half_the_memory() -> None:
    shape = SHAPES[ON.shape]
    whole = dry_run.memory(asdict(SERVED), ON, shape)
    half = dry_run.memory(asdict(replace(SERVED, base_dtype="bf16")), ON, shape)
    assert half["trainer: frozen base, bf16"] == whole["trainer: frozen base, float32"] / 2
    gathered = "trainer: what is gathered at once"
    assert half[gathered] == whole[gathered] / 2
    assert {name: size for name, size in half.items() if "base, bf16" not in name and name != gathered} == {
        name: size for name, size in whole.items() if "base, float32" not in name and name != gathered
    }
    child = dry_run.memory(asdict(replace(SERVED, actor="llama_cpp")), ON, shape)
    assert not any(name.startswith(("server", "actor")) for name in child)  # it lies in the computer's own memory
