"""Advantages against the written cases, against deleting the masked tokens, and against what must not matter."""

from __future__ import annotations

import math
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.multiprocessing.spawn import start_processes

from tests import cases
from training.advantages import (
    by_rollout,
    critic_is_ready,
    decoupled,
    explained_variance,
    fold_rewards,
    gae,
    group_advantages,
    length_adaptive_lambda,
    value_targets,
    whiten,
)

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "data" / "gae_cases.json"
SEEDS = st.integers(0, 2**31)


class Drawn:
    """A random batch: rewards only on action tokens, junk (nan among it) in the values under mask 0."""

    def __init__(self, seed: int, rows: int = 3, time: int = 9, dtype: torch.dtype = torch.float64) -> None:
        g = torch.Generator().manual_seed(seed)
        self.mask = torch.rand(rows, time, generator=g) < 0.6
        self.rewards = torch.randn(rows, time, generator=g, dtype=dtype) * self.mask
        self.values = torch.randn(rows, time, generator=g, dtype=dtype)
        self.bootstrap = torch.randn(rows, generator=g, dtype=dtype)
        self.lam = torch.rand(rows, generator=g, dtype=dtype)
        self.junk = torch.tensor([math.nan, math.inf, 1e30, -7.0], dtype=dtype)[
            torch.randint(0, 4, (rows, time), generator=g)
        ]


def backwards(rewards: list[float], values: list[float], gamma: float, lam: float, bootstrap: float) -> list[float]:
    """GAE as the paper prints it, a sum over all later tokens: slow, and written another way round."""
    n = len(rewards)
    nexts = [*values[1:], bootstrap]
    deltas = [rewards[t] + gamma * nexts[t] - values[t] for t in range(n)]
    return [sum((gamma * lam) ** (k - t) * deltas[k] for k in range(t, n)) for t in range(n)]


def test_every_written_case_passes_as_a_person_runs_it() -> None:
    command = [sys.executable, str(ROOT / "tests" / "cases.py"), str(CASES)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.rstrip().endswith("over 1e-06: none")
    assert len(ran.stdout.splitlines()) == len(cases.KINDS) + 1


def test_a_wrong_number_a_wrong_shape_and_an_unknown_kind_are_found() -> None:
    lam = {"alpha": 0.5, "l": 4, "lam": 0.5}
    worst = cases.check(
        {"length_adaptive_lambda": [lam, {**lam, "lam": 0.51}], "gea": [{}], "kl": {}, "about": "prose"}
    )
    assert worst["length_adaptive_lambda"][1] == pytest.approx(0.01)
    assert worst["gea"] == (1, math.inf, "0: no such kind")
    assert worst["kl"][2] == "0: not to be read, KeyError: 'logp'"
    assert "about" not in worst
    assert cases.distance([1.0, 2.0], torch.tensor([1.0])) == math.inf
    assert cases.distance(None, math.nan) == 0


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_masked_tokens_may_hold_anything_and_may_as_well_be_deleted(seed: int) -> None:
    d = Drawn(seed)
    whole = gae(d.rewards, d.values, d.mask, 0.9, d.lam, d.bootstrap)
    dirty = torch.where(d.mask, d.values, d.junk)
    assert torch.equal(gae(d.rewards, dirty, d.mask, 0.9, d.lam, d.bootstrap), whole)
    assert not whole[~d.mask].any()
    for row in range(len(d.mask)):
        kept = d.mask[row]
        if not kept.any():
            continue
        short = gae(
            d.rewards[row][kept], d.values[row][kept], torch.ones(int(kept.sum())), 0.9, float(d.lam[row]),
            float(d.bootstrap[row]),
        )  # fmt: skip
        assert torch.equal(whole[row][kept], short)
        plain = backwards(
            d.rewards[row][kept].tolist(), d.values[row][kept].tolist(), 0.9, float(d.lam[row]), float(d.bootstrap[row])
        )
        assert np.allclose(short.numpy(), plain, atol=1e-12)


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_a_rollout_cut_into_rows_is_the_rollout(seed: int) -> None:
    """The rows come in any order, and the prompt of each repeats what came before under mask 0."""
    d = Drawn(seed, rows=2, time=8)
    wanted = gae(d.rewards, d.values, d.mask, 0.95, d.lam, d.bootstrap)
    g = torch.Generator().manual_seed(seed)
    shuffled = torch.randperm(4, generator=g)
    first, second = torch.arange(8) < 5, torch.arange(8) >= 5
    parts = torch.stack((first, second, first, second))[shuffled]
    rollout, order = torch.tensor([7, 7, 3, 3])[shuffled], torch.tensor([0, 1, 0, 1])[shuffled]
    source = torch.tensor([0, 0, 1, 1])[shuffled]
    mask = d.mask[source] & parts
    rollouts = by_rollout(mask, rollout, order)
    per_rollout = torch.tensor([1 if number == 3 else 0 for number in rollouts.numbers.tolist()])
    ours = gae(
        rollouts.gather(d.rewards[source]), rollouts.gather(d.values[source]), rollouts.mask, 0.95, d.lam[per_rollout],
        d.bootstrap[per_rollout],
    )  # fmt: skip
    assert torch.equal(rollouts.scatter(ours, mask), torch.where(mask, wanted[source], 0.0))
    assert rollouts.lengths.tolist() == d.mask[per_rollout].sum(dim=1).tolist()


@given(SEEDS, st.floats(0.5, 1.0))
@settings(max_examples=30, deadline=None)
def test_a_critic_lambda_of_one_gives_the_discounted_sum_of_rewards(seed: int, gamma: float) -> None:
    d = Drawn(seed)
    _, targets = decoupled(d.rewards, d.values, d.mask, gamma, d.lam, 1.0, d.bootstrap)
    torch.testing.assert_close(targets, value_targets(d.rewards, d.mask, gamma, d.bootstrap), atol=1e-9, rtol=0)
    still, row = float(d.bootstrap[0]), d.mask[0].nonzero().flatten().tolist()
    for t in reversed(row):
        still = float(d.rewards[0, t]) + gamma * still
        assert float(targets[0, t]) == pytest.approx(still, abs=1e-9)


def test_a_cut_bootstraps_and_a_real_end_does_not() -> None:
    rewards, values, mask = torch.zeros(2, 3), torch.full((2, 3), 0.5), torch.ones(2, 3)
    ended, cut = value_targets(rewards, mask, 0.5, torch.tensor([0.0, 0.8])).tolist()
    assert ended == [0, 0, 0]
    assert cut == pytest.approx([0.1, 0.2, 0.4])
    assert gae(rewards, values, mask, 1.0, 0.0, torch.tensor([0.0, 0.8]))[:, 2].tolist() == pytest.approx([-0.5, 0.3])


def test_a_reward_that_would_be_lost_is_refused_or_folded_back() -> None:
    rewards, mask = torch.tensor([[0.0, 0.0, 0.5, 1.0]]), torch.tensor([[0, 1, 0, 1]])
    with pytest.raises(ValueError, match="would be lost"):
        gae(rewards, rewards, mask, 1.0, 1.0)
    assert fold_rewards(rewards, mask).tolist() == [[0, 0.5, 0, 1]]
    with pytest.raises(ValueError, match="before the first sampled token"):
        fold_rewards(torch.tensor([1.0, 0.0]), torch.tensor([0, 1]))


def test_half_precision_is_computed_in_float32() -> None:
    values = torch.tensor([0.1, 0.2, 0.3], dtype=torch.bfloat16)
    ours = gae(torch.zeros(3), values, torch.ones(3), 1.0, 0.95)
    assert ours.dtype == torch.float32
    assert torch.equal(ours, gae(torch.zeros(3), values.float(), torch.ones(3), 1.0, 0.95))


def test_lambda_is_held_within_zero_and_one() -> None:
    lengths = torch.tensor([0, 1, 5, 20, 100, 2000])
    assert length_adaptive_lambda(lengths, 0.05).tolist() == pytest.approx([0, 0, 0, 0, 0.8, 0.99])
    assert float(length_adaptive_lambda(10**9)) < 1


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_whitened_action_tokens_have_mean_0_and_deviation_1(seed: int) -> None:
    d = Drawn(seed)
    if int(d.mask.sum()) < 2:
        return
    ours = whiten(torch.where(d.mask, d.values, d.junk), d.mask)
    assert torch.equal(ours, whiten(d.values, d.mask))
    assert float(ours[d.mask].mean()) == pytest.approx(0, abs=1e-9)
    assert float(ours[d.mask].std()) == pytest.approx(1, abs=1e-4)
    assert not ours[~d.mask].any()


def test_whitening_one_token_is_refused() -> None:
    with pytest.raises(ValueError, match="two action tokens"):
        whiten(torch.ones(1, 3), torch.tensor([[0, 1, 0]]))


def test_whitening_keeps_advantages_that_lie_close_together() -> None:
    close = 1000 + torch.tensor([[0.001, 0.002, 0.003]], dtype=torch.float64)
    assert whiten(close, torch.ones(1, 3)).tolist()[0] == pytest.approx([-0.995, 0, 0.995], abs=0.001)


def two_ranks(rank: int, port: int, out: str) -> None:
    """One of two processes with uneven rows: 1 and 3."""
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    d = Drawn(5, rows=4)
    mine = slice(0, 1) if rank == 0 else slice(1, 4)
    group = dist.group.WORLD
    whitened = whiten(d.values[mine], d.mask[mine], group)
    explained = explained_variance(d.values[mine], d.rewards[mine], d.mask[mine], group)
    torch.save((whitened, explained), f"{out}/{rank}.pt")
    dist.destroy_process_group()


def test_two_ranks_whiten_like_one(tmp_path: Path, free_port: int) -> None:
    start_processes(two_ranks, args=(free_port, str(tmp_path)), nprocs=2)  # type: ignore[no-untyped-call]
    d = Drawn(5, rows=4)
    parts: list[tuple[Tensor, float]] = [torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1)]
    torch.testing.assert_close(torch.cat([p[0] for p in parts]), whiten(d.values, d.mask), atol=1e-12, rtol=0)
    whole = explained_variance(d.values, d.rewards, d.mask)
    assert [p[1] for p in parts] == pytest.approx([whole, whole])


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_explained_variance_of_equal_targets_is_undefined_and_never_stops_pretraining() -> None:
    values, mask = torch.rand(2, 3), torch.tensor([[1, 1, 0], [1, 0, 0]])
    targets = torch.tensor([[0.1, 0.1, 5.0], [0.1, 7.0, math.nan]])
    assert math.isnan(explained_variance(values, targets, mask))
    assert math.isnan(explained_variance(values, targets, torch.zeros(2, 3)))
    flat = [1.0] * 40
    assert critic_is_ready(flat, explained=0.9)
    assert not critic_is_ready(flat, explained=math.nan)
    assert not critic_is_ready(flat, explained=0.1)
    assert not critic_is_ready([1 / (n + 1) for n in range(40)], explained=0.9)
    assert not critic_is_ready([1.0], explained=0.9)


def test_groups_of_one_reward_of_one_member_and_of_failed_environments_are_dropped() -> None:
    rewards = torch.tensor([0.1, 0.1, 0.1, 1.0, 0.0, math.nan, 1.0, math.nan, math.nan, 0.5])
    groups = torch.tensor([9, 9, 9, 2, 2, 2, 4, 4, 5, 6])
    for scale in (False, True):
        ours = group_advantages(rewards, groups, scale)
        assert ours.kept.tolist() == [False] * 3 + [True, True] + [False] * 5
        assert not ours.advantages[~ours.kept].any()
        assert torch.isfinite(ours.advantages).all()
    assert group_advantages(rewards, groups).advantages[3:5].tolist() == [0.5, -0.5]
    assert len(group_advantages(torch.zeros(0), torch.zeros(0, dtype=torch.int64)).kept) == 0


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=8))
def test_the_advantages_of_a_group_sum_to_nothing(rewards: list[float]) -> None:
    ours = group_advantages(torch.tensor(rewards, dtype=torch.float64), torch.zeros(len(rewards), dtype=torch.int64))
    assert float(ours.advantages.sum()) == pytest.approx(0, abs=1e-12)
    assert bool(ours.kept.any()) == (len(set(rewards)) > 1)
