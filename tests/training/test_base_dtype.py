"""A frozen base in bfloat16: adapters stay float32, and what acts keeps changes that bfloat16 would round away."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.training.small import stirred
from tests.training.tiny_runs import model_folder
from training import adapters
from training.batches import batch_of
from training.policy import DTYPES, load_base
from training.ppo_args import Args, check
from training.ppo_parts import made_policy
from training.rows import SampledTurn, rows_of
from training.serving import TransformersActor

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT asks transformers by an old name


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return model_folder(tmp_path_factory.mktemp("base"))


def test_adapters_and_head_are_float32_and_learn(base: Path) -> None:
    batch = batch_of(rows_of([SampledTurn((5, 6, 7), (8, 9, 2)), SampledTurn((5, 6, 7, 8, 9, 2, 4), (3, 2))]))
    said = {}
    for dtype in DTYPES:
        torch.manual_seed(0)  # the same adapters on both
        policy = stirred(made_policy(Args(base=str(base), base_dtype=dtype, rank=4)))
        trained = [*policy.policy_parameters(), *policy.critic_parameters()]
        assert {p.dtype for p in trained} == {torch.float32}
        frozen = {p.dtype for name, p in policy.model.named_parameters() if "lora_" not in name}
        assert frozen == {DTYPES[dtype]}
        said[dtype] = policy.logprobs(batch)
        assert said[dtype].dtype == policy.values(batch).dtype == torch.float32
        torch.autograd.backward(said[dtype].sum() + policy.values(batch).sum())
        assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in trained)
    apart = (said["bf16"] - said["float32"]).detach().abs().max()
    print(f"log-probabilities differ by {float(apart):.1e} at most")
    assert 0 < float(apart) < 0.1
    with pytest.raises(SystemExit, match="--base-dtype is one of float32, bf16"):
        check(Args(base_dtype="fp8"))


def test_what_acts_keeps_a_small_change(base: Path, tmp_path: Path) -> None:
    policy = made_policy(Args(base=str(base), base_dtype="bf16", rank=4))
    with torch.no_grad():
        for name, parameter in policy.named_parameters():
            if "lora_B" in name:
                parameter.fill_(1e-5)
    adapters.save(policy.model, "policy", tmp_path / "adapter")
    model, tokenizer = load_base(base, torch.bfloat16)
    actor = TransformersActor.of_model(model.eval(), tokenizer, 4)
    weight = actor.model.model.layers[0].mlp.up_proj.weight
    before = weight.detach().clone()
    actor.load(tmp_path / "adapter", 1)
    change = (weight - before).abs()
    assert weight.dtype == torch.float32
    assert float((change > 0).float().mean()) > 0.9
    assert torch.equal(before.bfloat16().float(), before)  # the base itself is exact
    actor.load(None, 2)
    assert torch.equal(weight, before)
