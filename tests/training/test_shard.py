"""Two ranks with gloo give the gradients of one process, on a Llama and on Qwen2.5-VL, with rows dealt unevenly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file

from tests.training import sharded_run
from tests.training.small import VISION, actor_critic, base_model, rollout_rows
from training.batches import packed
from training.shard import even, ranks, shard, summed

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which two ranks left what they found, started as a team starts them."""
    out = tmp_path_factory.mktemp("ranks")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    quiet = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [*command, sharded_run.__file__, str(out)],
        env={**os.environ, **quiet},
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
    )
    assert ran.returncode == 0, ran.stderr
    return out


@pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT asks transformers by an old name
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "shares"), sharded_run.CASES)
def test_two_ranks_give_the_gradients_of_one_process(
    two_ranks: Path, kind: str, shares: tuple[int, int], tmp_path: Path
) -> None:
    torch.set_num_threads(1)
    of_ranks = two_ranks / sharded_run.folder_of(kind, shares)
    found = load_file(of_ranks / "gradients.safetensors")
    model = actor_critic(kind)
    rows = rollout_rows(kind, sum(shares))
    tokens = sum(row.learnt for row in rows)
    for batch in packed(rows, 150, VISION if kind == "vision" else None):
        torch.autograd.backward(model.logprobs(batch).sum() / tokens)
        torch.autograd.backward(model.values(batch).square().sum() / tokens)
    expected = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    assert found.keys() == expected.keys()
    worst = max((found[name] - gradient).abs().max().item() for name, gradient in expected.items())
    largest = max(gradient.abs().max().item() for gradient in expected.values())
    print(f"{kind}, rows {shares}: worst difference {worst:.1e}, largest gradient {largest:.1e}")
    assert worst < 1e-6 < largest

    torch.optim.SGD([*model.policy_parameters(), *model.critic_parameters()], lr=0.1).step()
    saved = load_file(of_ranks / "policy" / "adapter_model.safetensors")
    assert all("lora_" in name for name in saved)
    model.save(tmp_path)
    alone = load_file(tmp_path / "policy" / "adapter_model.safetensors")
    assert saved.keys() == alone.keys()
    assert all(torch.allclose(saved[name], alone[name], atol=1e-6) for name in saved)

    served = PeftModel.from_pretrained(base_model(kind), str(of_ranks / "policy")).eval()
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.no_grad():
        model.logprobs(packed(rows, 300, VISION if kind == "vision" else None)[0])
        assert torch.allclose(served(input_ids=ids).logits, model.model(input_ids=ids).logits, atol=1e-5)


def test_one_process_alone_is_left_as_it_is() -> None:
    model = actor_critic("text")
    batches = packed(rollout_rows("text", 2), 300)
    with ranks() as mesh:
        assert mesh is None
        assert shard(model, mesh) is model
        assert even(batches, mesh) == batches
        assert summed(3.0, mesh) == 3.0
