"""A merged adapter is the weighted sum of its parts, whatever their ranks and scales; what cannot be summed is said."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel, get_peft_model

from agent_core.errors import ModelError
from tests.training.small import stirred, text_model, vision_model
from training import deltas
from training.merge import cut_to, main, merge, summed, weighted
from training.policy import lora

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # PEFT asks by an old name


def adapter(folder: Path, seed: int, rank: int = 4, alpha: int = 8, make: Any = text_model, **options: Any) -> Path:
    """A random adapter of a small random model, saved by PEFT."""
    base = make()
    config = lora(base, rank, alpha)
    for name, value in options.items():
        setattr(config, name, value)
    torch.manual_seed(seed)
    model = stirred(get_peft_model(base, config), seed)
    model.save_pretrained(str(folder))
    return folder


def by_peft(folder: Path, make: Any = text_model) -> dict[str, torch.Tensor]:
    """What PEFT itself adds to each weight: merged weights less the base's."""
    before = {name: weight.clone() for name, weight in make().named_parameters()}
    merged = PeftModel.from_pretrained(make(), str(folder)).merge_and_unload()
    return {name: weight.detach() - before[name] for name, weight in merged.named_parameters()}


@pytest.mark.parametrize("make", [text_model, vision_model])
def test_the_merged_change_is_the_weighted_sum(tmp_path: Path, make: Any) -> None:
    one = adapter(tmp_path / "one", 1, rank=4, alpha=8, make=make)
    two = adapter(tmp_path / "two", 2, rank=6, alpha=3, make=make)
    assert merge([(one, Fraction("0.7")), (two, Fraction("0.3"))], tmp_path / "sum") == 0
    a, b, together = by_peft(one, make), by_peft(two, make), by_peft(tmp_path / "sum", make)
    assert any(change.abs().max() > 0.1 for change in together.values())
    for name, change in together.items():
        torch.testing.assert_close(change, 0.7 * a[name] + 0.3 * b[name], atol=1e-6, rtol=0)
    assert json.loads((tmp_path / "sum" / "adapter_config.json").read_text())["r"] == 10


def test_patterns_and_rank_stabilised_scales_are_summed_as_peft_means_them(tmp_path: Path) -> None:
    one = adapter(tmp_path / "one", 1, use_rslora=True, rank_pattern={"down_proj": 2})
    two = adapter(tmp_path / "two", 2, alpha_pattern={"q_proj": 32, "layers.1.mlp.up_proj": 1})
    merge([(one, Fraction(1, 2)), (two, Fraction(1, 2))], tmp_path / "sum")
    a, b, together = by_peft(one), by_peft(two), by_peft(tmp_path / "sum")
    for name, change in together.items():
        torch.testing.assert_close(change, (a[name] + b[name]) / 2, atol=1e-6, rtol=0)


def test_one_adapter_alone_becomes_a_plain_one(tmp_path: Path) -> None:
    one = adapter(tmp_path / "one", 1, use_rslora=True, alpha_pattern={"q_proj": 32})
    assert main([f"{one}=1", "--out", str(tmp_path / "plain")]) == 0
    config = json.loads((tmp_path / "plain" / "adapter_config.json").read_text())
    assert (config["use_rslora"], config["alpha_pattern"], config["r"]) == (False, {}, 4)
    before, after = by_peft(one), by_peft(tmp_path / "plain")
    for name, change in after.items():
        torch.testing.assert_close(change, before[name], atol=1e-6, rtol=0)


def test_three_thirds_are_one(tmp_path: Path) -> None:
    parts = [f"{adapter(tmp_path / str(n), n)}=1/3" for n in range(3)]
    assert main([*parts, "--out", str(tmp_path / "sum")]) == 0


def test_a_cut_is_the_best_of_its_rank_and_says_what_it_lost(tmp_path: Path) -> None:
    one, two = adapter(tmp_path / "one", 1), adapter(tmp_path / "two", 2)
    lost = merge([(one, Fraction(1, 2)), (two, Fraction(1, 2))], tmp_path / "cut", rank=5)
    module = "model.layers.0.mlp.up_proj"
    changes = [deltas.read(folder).changes[module] for folder in (one, two)]
    whole = summed([(changes[0], 0.5), (changes[1], 0.5)])
    cut, left = cut_to(whole, 5)
    values = torch.linalg.svdvals(whole.delta())
    assert left == pytest.approx(float(values[5:].norm() / values.norm()), rel=1e-4)
    assert float((whole.delta() - cut.delta()).norm()) == pytest.approx(float(values[5:].norm()), rel=1e-4)
    assert 0 < left <= lost < 1
    torch.testing.assert_close(deltas.read(tmp_path / "cut").changes[module].delta(), cut.delta(), atol=1e-6, rtol=0)
    exact, nothing = cut_to(whole, 64)
    torch.testing.assert_close(exact.delta(), whole.delta(), atol=1e-6, rtol=0)
    assert nothing < 1e-6


@pytest.mark.parametrize("weights", ["0.5 0.4", "1.5 -0.5", "1 0"])
def test_weights_that_do_not_sum_to_one_are_refused(
    tmp_path: Path, weights: str, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = weights.split()
    assert main([f"{tmp_path / 'a'}={one}", f"{tmp_path / 'b'}={two}", "--out", str(tmp_path / "sum")]) == 1
    assert "sum to" in capsys.readouterr().err
    assert not (tmp_path / "sum").exists()


def test_different_bases_and_targets_are_refused(tmp_path: Path) -> None:
    one = adapter(tmp_path / "one", 1)
    fewer = adapter(tmp_path / "fewer", 2, target_modules=["q_proj"])
    wider = adapter(tmp_path / "wider", 3, make=lambda: text_model(intermediate_size=64))
    named = adapter(tmp_path / "named", 4)
    config = json.loads((named / "adapter_config.json").read_text())
    (named / "adapter_config.json").write_text(json.dumps({**config, "base_model_name_or_path": "another"}))
    for other, words in ((fewer, "different modules"), (wider, "different bases"), (named, "different bases")):
        with pytest.raises(ModelError, match=words):
            merge([(one, Fraction(1, 2)), (other, Fraction(1, 2))], tmp_path / "sum")


def test_what_is_more_than_a_change_of_weights_is_refused(tmp_path: Path) -> None:
    for name, options in (("use_dora", {"use_dora": True}), ("bias", {"bias": "all"})):
        folder = adapter(tmp_path / name, 1, **options)
        with pytest.raises(ModelError, match=f"{name}|no part of a LoRA"):
            deltas.read(folder)
    with pytest.raises(ModelError, match="no adapter"):
        deltas.read(tmp_path / "nowhere")
    with pytest.raises(ModelError, match="FOLDER=WEIGHT"):
        weighted("runs/adapter")
