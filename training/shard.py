"""One model on several devices: weights cut up by torch's own `fully_shard`, rows dealt out, sums agreed on.

Started by torchrun; without it there is one rank, and everything here leaves things as they are. Gradients are summed
over the ranks, not averaged: each rank divides its loss by the count of the whole batch (`summed`) and nothing else.
The ranks need not have equally many rows, only equally many batches (`even`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from transformers.modeling_layers import GradientCheckpointingLayer

from training.batches import Batch, Vision, spare
from training.policy import ActorCritic


@contextmanager
def ranks() -> Iterator[DeviceMesh | None]:
    """The ranks that torchrun started, over NCCL on GPUs and gloo on CPUs; None for one process alone."""
    if not dist.is_torchelastic_launched():
        yield None
        return
    kind = "cuda" if torch.cuda.is_available() else "cpu"
    if kind == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    mesh = init_device_mesh(kind, (int(os.environ["WORLD_SIZE"]),))
    try:
        yield mesh
        dist.barrier()  # a rank that leaves while another is still at work can take it down with it
    finally:
        dist.destroy_process_group()


def shard(model: ActorCritic, mesh: DeviceMesh | None) -> ActorCritic:
    """The same model with its weights spread over the ranks; make the optimiser afterwards.

    Each layer of the language model is gathered when it is its turn. Everything else, a vision tower included, is
    gathered with the whole, so that a rank without pictures waits for nobody.
    """
    if mesh is None:
        return model
    layers = [
        module
        for name, module in model.named_modules()
        if isinstance(module, GradientCheckpointingLayer) and ".visual." not in name
    ]
    for module in (*layers, model):
        fully_shard(module, mesh=mesh, reshard_after_forward=True)
        assert isinstance(module, FSDPModule)
        module.set_gradient_divide_factor(1.0)
        module.set_force_sum_reduction_for_comms(True)
    return model


def even(batches: Sequence[Batch], mesh: DeviceMesh | None, vision: Vision | None = None) -> list[Batch]:
    """As many batches on every rank, the missing ones spare: a rank that stops early leaves the others waiting."""
    if mesh is None:
        return list(batches)
    most = torch.tensor(len(batches), device=mesh.device_type)
    dist.all_reduce(most, dist.ReduceOp.MAX)
    return [*batches, *[spare(vision)] * (int(most) - len(batches))]


def summed(value: float, mesh: DeviceMesh | None) -> float:
    """The sum over all ranks."""
    if mesh is None:
        return value
    total = torch.tensor(value, dtype=torch.float64, device=mesh.device_type)
    dist.all_reduce(total)
    return float(total)
