"""One set of weights as policy, critic and reference, on a Llama and on Qwen2.5-VL."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, PeftModel
from safetensors.torch import load_file

from agent_core.errors import ModelError
from tests.training.small import IMAGE, VISION, conversation, stirred, text_model, vision_model
from training.adapters import config_of
from training.batches import Batch, batch_of, packed
from training.policy import PROJECTIONS, ActorCritic, load_base, lora
from training.rows import Row, rows_of

Make = Callable[[], Any]
both = pytest.mark.parametrize("make", [text_model, vision_model])


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def made(make: Make, **options: Any) -> ActorCritic:
    base = make()
    return stirred(ActorCritic(base, lora(base, 4, 8), **options))


def rows(make: Make, rollouts: int = 4, seed: int = 0) -> list[Row]:
    rng = random.Random(seed)
    images = make is vision_model
    turns = [conversation(rng, rng.randint(1, 4), images=images) for _ in range(rollouts)]
    return [row for n, one in enumerate(turns) for row in rows_of(one, rollout=str(n), image_token=IMAGE)]


def batch(make: Make, some: list[Row]) -> Batch:
    return batch_of(some, VISION if make is vision_model else None)


def plain_logprobs(base: Any, make: Make, row: Row) -> torch.Tensor:
    """Of every token of one row, from transformers alone: no packing, no positions of ours."""
    alone = batch(make, [row])
    seen: dict[str, Any] = {}
    if alone.pixels is not None:
        kinds = (alone.ids == IMAGE).int()
        seen = {"pixel_values": alone.pixels, "image_grid_thw": alone.grids, "mm_token_type_ids": kinds}
    with torch.no_grad():
        logits = base(input_ids=alone.ids, attention_mask=torch.ones_like(alone.ids), **seen).logits
    said = torch.log_softmax(logits[0, :-1].float(), -1).gather(1, alone.ids[0, 1:, None])[:, 0]
    return torch.cat([torch.zeros(1), said]) * torch.tensor(row.mask)


@both
def test_the_reference_is_the_base_exactly_however_rows_are_packed(make: Make) -> None:
    some = rows(make)
    base = make().eval()
    expected = [plain_logprobs(base, make, row) for row in some]
    model = made(make)
    together = batch(make, some)
    assert torch.equal(model.reference_logprobs(together), together.place(expected))


@both
def test_a_row_is_not_moved_by_its_neighbours(make: Make) -> None:
    model, some = made(make), rows(make)
    alone = [(model.logprobs(batch(make, [row]))[0], model.values(batch(make, [row]))[0]) for row in some]
    together = batch(make, some)
    said, valued = together.cut(model.logprobs(together)), together.cut(model.values(together))
    for (logprobs, values), one, other in zip(alone, said, valued, strict=True):
        assert torch.allclose(logprobs, one, atol=1e-6)
        assert torch.allclose(values, other, atol=1e-6)


@both
def test_a_step_of_one_part_leaves_the_others_bit_equal(make: Make) -> None:
    model, one = made(make), batch(make, rows(make))

    def parts() -> list[torch.Tensor]:
        with torch.no_grad():
            return [model.logprobs(one), *model.values_and_ends(one), model.reference_logprobs(one)]

    said, valued, ends, reference = parts()
    torch.autograd.backward(model.values(one).square().sum())
    assert all(p.grad is None for p in model.policy_parameters())
    torch.optim.AdamW(model.critic_parameters(), lr=0.1).step()
    after = parts()
    assert torch.equal(after[0], said)
    assert torch.equal(after[3], reference)
    assert not torch.equal(after[1], valued)

    model.zero_grad()
    torch.autograd.backward(model.logprobs(one).sum())
    assert all(p.grad is None for p in model.critic_parameters())
    torch.optim.AdamW(model.policy_parameters(), lr=0.1).step()
    last = parts()
    assert not torch.equal(last[0], said)
    assert torch.equal(last[1], after[1])
    assert torch.equal(last[2], after[2])
    assert torch.equal(last[3], reference)
    assert ends.shape == (len(one.rows),)


@both
def test_only_adapters_and_head_are_trained(make: Make) -> None:
    model = made(make)
    trained = {id(p) for p in (*model.policy_parameters(), *model.critic_parameters())}
    assert trained == {id(p) for p in model.parameters() if p.requires_grad}
    for part in (model.logprobs, model.reference_logprobs, model.values):
        part(batch(make, rows(make)))
        assert trained == {id(p) for p in model.parameters() if p.requires_grad}
    assert not any("visual" in name for name, p in model.named_parameters() if p.requires_grad)


@both
def test_a_value_is_of_the_state_before_the_token(make: Make) -> None:
    """It moves with the last token of the observation and not with the token itself; after the row, with the last."""
    model, (row, *_) = made(make), rows(make, 1, seed=2)
    first = row.mask.index(1)
    values = model.values(batch(make, [row]))[0]

    def changed(at: int) -> torch.Tensor:
        ids = (*row.ids[:at], 11 if row.ids[at] != 11 else 12, *row.ids[at + 1 :])
        return model.values(batch(make, [replace(row, ids=ids)]))[0]

    assert changed(first - 1)[first] != values[first]
    assert changed(first)[first] == values[first]
    assert torch.equal(changed(first)[:first], values[:first])
    _, (end,) = model.values_and_ends(batch(make, [row]))
    longer = Row(
        (*row.ids, 11), (*row.mask, 1), (*row.logprobs, 0), (*row.turns, 9), (*row.rewards, 0), images=row.images
    )
    assert torch.allclose(model.values(batch(make, [longer]))[0, -1], end, atol=1e-6)


def test_junk_off_the_mask_changes_nothing() -> None:
    """What stands at masked tokens is not looked at, and results there are 0."""
    model, one = made(text_model), batch(text_model, rows(text_model))
    for result in (*model.logprobs_and_entropy(one), model.values(one), model.reference_logprobs(one)):
        assert result.dtype == torch.float32
        assert result.shape == one.ids.shape
        assert (result[~one.mask] == 0).all()
        assert (result[one.mask] != 0).all()


def test_entropy_is_that_of_the_distribution_and_carries_no_gradient() -> None:
    model, (row, *_) = made(text_model), rows(text_model, 1)
    one = batch(text_model, [row])
    _, entropy = model.logprobs_and_entropy(one)
    model.reference_logprobs(one)  # leaves the adapters off
    _, again = model.logprobs_and_entropy(one)
    assert torch.equal(entropy, again)
    assert not entropy.requires_grad
    with torch.no_grad():
        logits = model.model(input_ids=one.ids).logits[0]
    expected = torch.special.entr(logits.softmax(-1)).sum(-1)
    assert torch.allclose(entropy[0, 1:], (expected[:-1] * one.mask[0, 1:]), atol=1e-5)


def test_logits_are_made_for_learnt_positions_only_and_some_at_a_time() -> None:
    some = rows(text_model)
    model, one = made(text_model), batch(text_model, some)
    counted: list[int] = []
    model.model.get_base_model().lm_head.register_forward_hook(lambda _, args, out: counted.append(len(out)))
    whole = model.logprobs(one)
    torch.autograd.backward(whole.sum())
    gradients = [p.grad.clone() for p in model.policy_parameters() if p.grad is not None]
    assert counted == [one.learnt] != [one.ids.numel()]
    small = made(text_model, chunk=7)
    small.model.get_base_model().lm_head.register_forward_hook(lambda _, args, out: counted.append(len(out)))
    in_parts = small.logprobs(one)
    torch.autograd.backward(in_parts.sum())
    assert max(counted[1:]) == 7
    assert torch.allclose(whole, in_parts, atol=1e-6)
    for before, parameter in zip(gradients, small.policy_parameters(), strict=True):
        assert parameter.grad is not None
        assert torch.allclose(before, parameter.grad, atol=1e-5)


@both
def test_micro_batches_of_any_number_give_the_same_gradient(make: Make) -> None:
    some = rows(make, 5)
    model = made(make)
    tokens = sum(row.learnt for row in some)
    found: list[list[torch.Tensor]] = []
    for size in (5, 3, 1):
        model.zero_grad()
        for at in range(0, 5, size):
            one = batch(make, some[at : at + size])
            torch.autograd.backward(model.logprobs(one).sum() / tokens)
            torch.autograd.backward(model.values(one).square().sum() / tokens)
        found.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert torch.allclose(a, b, atol=1e-6)


@both
def test_checkpointing_computes_the_same_even_after_another_part_was_used(make: Make) -> None:
    one = batch(make, rows(make))
    gradients = []
    for checkpointing in (False, True):
        model = made(make, checkpointing=checkpointing)
        loss = model.logprobs(one).sum() + model.values(one).square().sum()
        model.reference_logprobs(one)
        torch.autograd.backward(loss)
        gradients.append([p.grad for p in model.parameters() if p.grad is not None])
    assert len(gradients[0]) == len(gradients[1]) > 0
    for a, b in zip(*gradients, strict=True):
        assert torch.allclose(a, b, atol=1e-5)


@both
def test_results_are_float32_under_autocast(make: Make) -> None:
    one = batch(make, rows(make))
    exact, rough = made(make), made(make, autocast=torch.bfloat16)
    for a, b in ((exact.logprobs(one), rough.logprobs(one)), (exact.values(one), rough.values(one))):
        assert b.dtype == torch.float32
        assert 0 < (a - b).abs().max() < 0.1


@pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT asks transformers by an old name
@both
def test_saved_weights_are_the_adapters_and_nothing_else(make: Make, tmp_path: Path) -> None:
    model, one = made(make), batch(make, rows(make))
    model.save(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"policy", "critic"}
    saved = load_file(tmp_path / "policy" / "adapter_model.safetensors")
    assert len(saved) == len(model.policy_parameters())
    assert all("lora_" in name and "visual" not in name for name in saved)
    assert json.loads((tmp_path / "policy" / "adapter_config.json").read_text())["inference_mode"] is True

    base = make()
    other = ActorCritic(base, config_of(tmp_path / "policy"))
    assert not torch.equal(other.logprobs(one), model.logprobs(one))
    other.load(tmp_path)
    assert torch.equal(other.logprobs(one), model.logprobs(one))
    assert torch.equal(other.values(one), model.values(one))

    served = PeftModel.from_pretrained(make(), str(tmp_path / "policy")).eval()  # as PEFT reads it by itself
    some = one.rows[0]
    said = plain_logprobs(served, make, some)
    assert torch.allclose(one.cut(model.logprobs(one))[0], said, atol=1e-6)


def test_training_can_start_from_a_fine_tuned_adapter(tmp_path: Path) -> None:
    one = batch(text_model, rows(text_model))
    tuned = made(text_model)
    tuned.save(tmp_path)
    base = text_model()
    model = ActorCritic(base, config_of(tmp_path / "policy"))
    model.start(tmp_path / "policy")
    assert torch.equal(model.logprobs(one), tuned.logprobs(one))
    assert (model.values(one) == 0).all()  # a new head knows nothing yet


def test_weights_that_do_not_match_are_refused(tmp_path: Path) -> None:
    made(text_model).save(tmp_path)
    base = text_model()
    with pytest.raises(ModelError, match="rank 4 and alpha 8, and rank 8"):
        ActorCritic(base, lora(base, 8, 8)).load(tmp_path)
    deeper = text_model(num_hidden_layers=3)
    with pytest.raises(ModelError, match="14 tensors do not match"):
        ActorCritic(deeper, lora(deeper, 4, 8)).load(tmp_path)
    with pytest.raises(ModelError, match="There is no adapter"):
        config_of(tmp_path / "nothing")
    (tmp_path / "critic" / "head.safetensors").unlink()
    base = text_model()
    with pytest.raises(ModelError, match="cannot be read"):
        ActorCritic(base, lora(base, 4, 8)).load(tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        {"alpha_pattern": {"q_proj": 4}},
        {"use_rslora": True},
        {"use_dora": True},
        {"modules_to_save": ["lm_head"]},
        {"bias": "all"},
        {"lora_dropout": 0.1},
        {"target_modules": list(PROJECTIONS)},
        {"target_modules": r".*\.(qkv|proj)"},
        {"target_modules": "all-linear"},
    ],
)
def test_what_cannot_be_exported_is_refused(options: dict[str, Any]) -> None:
    base = vision_model()
    allowed: dict[str, Any] = {"r": 4, "lora_alpha": 8, "target_modules": r".*language_model.*\.q_proj"}
    ActorCritic(vision_model(), LoraConfig(**allowed))
    with pytest.raises(ModelError):
        ActorCritic(base, LoraConfig(**{**allowed, **options}))


@both
def test_a_folder_is_loaded_by_what_it_holds(make: Make, tmp_path: Path) -> None:
    """A base saved by transformers comes back as what it is, with its tokenizer."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    base = make()
    base.save_pretrained(str(tmp_path))
    PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE())).save_pretrained(str(tmp_path))
    found, _ = load_base(tmp_path)
    assert type(found) is type(base)
    some = rows(make)
    model, again = made(lambda: base), ActorCritic(found, lora(found, 4, 8))
    assert torch.equal(model.reference_logprobs(batch(make, some)), again.reference_logprobs(batch(make, some)))


def test_padded_rows_and_generation_are_attended_as_by_transformers() -> None:
    """The same weights can sample: only calls that say their segments are attended segment by segment."""
    ids = torch.tensor([[0, 0, 5, 6, 7], [11, 12, 13, 14, 15]])
    padded = {"input_ids": ids, "attention_mask": (ids > 0).long()}
    plain, packing = text_model().eval(), text_model().eval()
    ActorCritic(packing, lora(packing, 4, 8))
    with torch.no_grad():
        assert torch.equal(plain(**padded).logits, packing(**padded).logits)
        greedy = {"max_new_tokens": 5, "do_sample": False, "pad_token_id": 0}
        assert torch.equal(plain.generate(**padded, **greedy), packing.generate(**padded, **greedy))


def test_packed_batches_learn_what_the_rows_hold() -> None:
    some = rows(text_model, 6)
    model = made(text_model)
    apart = sum(model.logprobs(batch(text_model, [row])).sum().item() for row in some)
    together = sum(model.logprobs(one).sum().item() for one in packed(some, 120))
    assert together == pytest.approx(apart, rel=1e-5)
