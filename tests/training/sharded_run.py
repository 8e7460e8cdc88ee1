"""What two ranks do in `test_shard`: torchrun starts it with a folder, it leaves gradients and adapters there."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor

from tests.training.small import VISION, actor_critic, rollout_rows
from training.batches import batch_of, packed
from training.policy import ActorCritic
from training.shard import even, ranks, shard, summed

CASES = (("text", (3, 5)), ("vision", (3, 5)), ("vision", (0, 4)))


def main(out: Path) -> None:
    torch.set_num_threads(1)
    with ranks() as mesh:
        assert mesh is not None
        for kind, shares in CASES:
            run(mesh, kind, shares, out / folder_of(kind, shares))


def folder_of(kind: str, shares: tuple[int, int]) -> str:
    return f"{kind}-{shares[0]}-{shares[1]}"


def run(mesh: DeviceMesh, kind: str, shares: tuple[int, int], out: Path) -> None:
    """One backward of all rows, one step, and what is written; gradients in `out`/gradients.safetensors."""
    first = sum(shares[: dist.get_rank()])
    mine = rollout_rows(kind, sum(shares))[first : first + shares[dist.get_rank()]]
    vision = VISION if kind == "vision" else None
    model = shard(actor_critic(kind), mesh)
    sharded = [p for p in model.parameters() if isinstance(p, DTensor) and p.to_local().numel() < p.numel()]
    assert len(sharded) == len(list(model.parameters())) - whole_on_one_rank(model)
    batches = even([batch_of([row], vision) for row in mine], mesh, vision)
    assert len(batches) == max(shares)
    tokens = summed(float(sum(row.learnt for row in mine)), mesh)
    for batch in batches:
        model.reference_logprobs(batch)
        torch.autograd.backward(model.logprobs(batch).sum() / tokens)
        torch.autograd.backward(model.values(batch).square().sum() / tokens)
    found = {n: p.grad.full_tensor() for n, p in model.named_parameters() if isinstance(p.grad, DTensor)}
    torch.optim.SGD([*model.policy_parameters(), *model.critic_parameters()], lr=0.1).step()
    model.save(out)
    if dist.get_rank() == 0:
        save_file({name: t.contiguous() for name, t in found.items()}, str(out / "gradients.safetensors"))
    check_reload(model, kind, out)


def whole_on_one_rank(model: ActorCritic) -> int:
    """Parameters of a single row cannot be cut: rank 0 has all of them."""
    return sum(p.shape[0] == 1 for p in model.parameters()) if dist.get_rank() == 0 else 0


def check_reload(model: ActorCritic, kind: str, out: Path) -> None:
    """What was gathered and written is put back onto the ranks it came from."""
    (batch,) = packed(rollout_rows(kind, 1), 300, VISION if kind == "vision" else None)
    with torch.no_grad():
        before = model.logprobs(batch)
        for parameter in model.policy_parameters():
            parameter.zero_()
        assert not torch.equal(model.logprobs(batch), before)
        model.load(out)
        assert torch.equal(model.logprobs(batch), before)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
