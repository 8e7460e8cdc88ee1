"""Losses: gradients by finite differences, what lies under the mask, and micro-batches against the whole."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from training import losses
from training.losses import Aggregation, aggregate, count_rollouts, count_tokens, policy_loss

SEEDS = st.integers(0, 2**31)
WAYS: tuple[Aggregation, ...] = (
    "token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm",
)  # fmt: skip


class Drawn:
    """A random batch in float64, with log-ratios spread over and beyond the clip ranges, and junk."""

    def __init__(self, seed: int, rows: int = 10, time: int = 6) -> None:
        g = torch.Generator().manual_seed(seed)
        self.mask = torch.rand(rows, time, generator=g) < 0.7
        self.old = -torch.rand(rows, time, generator=g, dtype=torch.float64) * 3
        self.logp = self.old + torch.randn(rows, time, generator=g, dtype=torch.float64)
        self.gain = torch.randn(rows, time, generator=g, dtype=torch.float64)
        self.junk = torch.tensor([math.nan, math.inf, -1e30, 7.0], dtype=torch.float64)[
            torch.randint(0, 4, (rows, time), generator=g)
        ]

    def dirty(self, numbers: Tensor) -> Tensor:
        return torch.where(self.mask, numbers, self.junk)


def total(d: Drawn, logp: Tensor, low: float = 0.2, dual: float = 3.0) -> Tensor:
    return aggregate(policy_loss(logp, d.old, d.gain, d.mask, low, 0.28, dual).loss, d.mask)


@given(SEEDS)
@settings(max_examples=15, deadline=None)
def test_gradients_are_those_of_finite_differences(seed: int) -> None:
    d = Drawn(seed, rows=2, time=4)
    logp = d.logp.clone().requires_grad_()
    values = d.gain.clone().requires_grad_()
    pair = d.logp[:, 0].clone().requires_grad_()
    functions: list[tuple[Callable[[Tensor], Tensor], Tensor]] = [
        (lambda x: total(d, x), logp),
        (lambda x: total(d, x, low=0.1, dual=1.5), logp),
        (lambda x: losses.value_loss(x, d.old, d.mask).sum(), values),
        (lambda x: losses.value_loss(x, d.old, d.mask, d.logp, 0.3).sum(), values),
        (lambda x: losses.kl(x, d.old, "k1").sum(), logp),
        (lambda x: losses.kl(x, d.old, "k2").sum(), logp),
        (lambda x: losses.kl(x, d.old, "k3").sum(), logp),
        (lambda x: losses.positive_nll(x, d.mask, torch.tensor([True, False])), logp),
        (lambda x: losses.dpo_loss(x, d.old[:, 0], d.old[:, 1], d.old[:, 2], 0.3).loss.sum(), pair),
        (lambda x: losses.dpo_loss(d.old[:, 0], x, d.old[:, 1], d.old[:, 2], 0.3).loss.sum(), pair),
        (lambda x: losses.sum_logp(x, d.mask).sum(), logp),
    ]
    for function, at in functions:
        assert torch.autograd.gradcheck(function, (at,), eps=1e-7, atol=1e-5)


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_the_policy_gradient_is_minus_a_rho_or_exactly_nothing(seed: int) -> None:
    d = Drawn(seed)
    logp = d.logp.clone().requires_grad_()
    ours = policy_loss(logp, d.old, d.gain, d.mask, 0.2, 0.28, 3.0)
    (slope,) = torch.autograd.grad(ours.loss.sum(), logp)
    rho = torch.exp(d.logp - d.old)
    cut = ((d.gain > 0) & (rho > 1.28)) | ((d.gain < 0) & ((rho < 0.8) | (rho > 3)))
    assert not slope[cut | ~d.mask].any()
    torch.testing.assert_close(slope[~cut & d.mask], (-d.gain * rho)[~cut & d.mask], atol=1e-12, rtol=0)
    assert torch.equal(ours.high | ours.low | ours.dual, cut & d.mask)
    text = -torch.minimum(rho * d.gain, rho.clamp(0.8, 1.28) * d.gain)  # the formula as it is printed
    text = torch.where(d.gain < 0, torch.minimum(text, -3.0 * d.gain), text)
    torch.testing.assert_close(ours.loss.detach(), torch.where(d.mask, text, 0.0), atol=1e-12, rtol=0)


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_junk_under_the_mask_changes_no_bit_of_loss_or_gradient(seed: int) -> None:
    d = Drawn(seed)

    def everything(logp: Tensor, old: Tensor, gain: Tensor) -> Tensor:
        weights = losses.importance_weights(old, gain, d.mask, 2.0)
        policy = policy_loss(logp, old, gain, d.mask, weights=weights)
        value = losses.value_loss(logp, gain, d.mask, old, 0.2)
        solved = torch.arange(len(logp)) % 2 == 0
        parts = [aggregate(policy.loss + value, d.mask, how) for how in WAYS]
        return torch.stack([*parts, losses.positive_nll(logp, d.mask, solved), losses.sum_logp(logp, d.mask).sum()])

    clean = d.logp.clone().requires_grad_()
    dirty = d.dirty(d.logp).requires_grad_()
    ours, theirs = everything(clean, d.old, d.gain), everything(dirty, d.dirty(d.old), d.dirty(d.gain))
    assert torch.equal(ours, theirs)
    (one,), (other,) = torch.autograd.grad(ours.sum(), clean), torch.autograd.grad(theirs.sum(), dirty)
    assert torch.equal(one[d.mask], other[d.mask])
    assert not one[~d.mask].any()
    assert not other[~d.mask].any()


@given(SEEDS, st.sampled_from((1, 2, 5)), st.sampled_from(WAYS))
@settings(max_examples=40, deadline=None)
def test_micro_batches_give_the_gradient_of_the_whole(seed: int, parts: int, how: Aggregation) -> None:
    """Siblings, rows 2k and 2k+1, stay in one micro-batch; only the width of a part may differ from the whole's."""
    d = Drawn(seed)
    rollout = torch.arange(10) // 2
    share = count_tokens(d.mask) if how == "token-mean" else count_rollouts(d.mask, rollout)
    whole = d.logp.clone().requires_grad_()
    aggregate(policy_loss(whole, d.old, d.gain, d.mask).loss, d.mask, how, rollout).backward()  # type: ignore[no-untyped-call]
    pieces = d.logp.clone().requires_grad_()
    for index in torch.arange(5).tensor_split(parts):
        rows = (rollout[:, None] == index).any(dim=1).nonzero().flatten()
        mask = d.mask[rows]
        loss = policy_loss(pieces[rows], d.old[rows], d.gain[rows], mask).loss
        aggregate(loss, mask, how, rollout[rows], total=share, width=6).backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(pieces.grad, whole.grad, atol=1e-9, rtol=0)


def test_the_mean_of_micro_batch_means_is_another_number() -> None:
    loss, mask = torch.tensor([[1.0, 3.0, 0], [2.0, 2.0, 8.0]]), torch.tensor([[1, 1, 0], [1, 1, 1]])
    means = torch.stack([aggregate(loss[i : i + 1], mask[i : i + 1]) for i in (0, 1)])
    assert float(aggregate(loss, mask)) == pytest.approx(3.2)
    assert float(means.mean()) == 3


def test_siblings_count_together_and_rows_without_action_tokens_do_not() -> None:
    loss = torch.tensor([[1.0, 1.0], [4.0, 9.0], [2.0, 2.0], [9.0, 9.0]])
    mask = torch.tensor([[1, 1], [1, 0], [1, 1], [0, 0]])
    rollout = torch.tensor([3, 3, 5, 8])
    assert count_rollouts(mask, rollout) == 2
    assert count_rollouts(mask) == 3
    assert float(aggregate(loss, mask, "seq-mean-token-mean", rollout)) == 2
    assert float(aggregate(loss, mask, "seq-mean-token-sum", rollout)) == 5
    assert float(aggregate(loss, mask, "seq-mean-token-sum-norm", rollout)) == 2.5
    assert float(aggregate(loss, mask, "seq-mean-token-sum", rollout, world=3)) == 15
    nothing = torch.ones(2, 2, requires_grad=True)
    for how in WAYS:
        aggregate(nothing, torch.zeros(2, 2), how).backward()  # type: ignore[no-untyped-call]
    assert nothing.grad is not None
    assert not nothing.grad.any()


def test_k3_with_the_gradient_of_k2() -> None:
    logp, ref = torch.tensor([-1.0, -2.0, -0.3]).requires_grad_(), torch.tensor([-1.5, -1.0, -0.3])
    both = losses.kl(logp, ref, "k3+")
    assert torch.allclose(both, losses.kl(logp, ref, "k3"))
    (slope,) = torch.autograd.grad(both.sum(), logp)
    assert torch.allclose(slope, (logp - ref).detach())
    assert bool((losses.kl(logp, ref, "k3") >= 0).all())


def test_off_policy_weights_are_cut_and_whole_rows_can_be_dropped() -> None:
    rollout = torch.tensor([[-1.0, -1.0, -9.0], [-1.0, -1.0, -1.0]]).requires_grad_()
    old, mask = torch.tensor([[-0.5, -2.0, 0.0], [-1.0, -1.2, -1.0]]), torch.tensor([[1, 1, 0], [1, 1, 1]])
    weights = losses.importance_weights(old, rollout, mask)
    assert weights[0].tolist() == pytest.approx([1, math.exp(-1), 0])
    assert not weights.requires_grad
    ratio, mean = losses.sequence_ratios(old, rollout, mask)
    assert ratio.tolist() == pytest.approx([math.exp(-0.5), math.exp(-0.2)])
    assert mean.tolist() == pytest.approx([math.exp(-0.25), math.exp(-0.2 / 3)])
    assert losses.importance_weights(old, rollout, mask, drop_above=0.7)[:, 0].tolist() == [1, 0]


def test_weights_and_advantages_take_no_gradient() -> None:
    gain, weights = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    logp = torch.zeros(3, requires_grad=True)
    loss = policy_loss(logp, torch.zeros(3), gain, torch.ones(3), weights=weights).loss.sum()
    slopes = torch.autograd.grad(loss, (logp, gain, weights), allow_unused=True)
    assert [slope is None for slope in slopes] == [False, True, True]


def test_the_rates_that_are_logged() -> None:
    ratio = torch.tensor([1.0, 1.5, 0.5, 4.0, 1.5])
    gain = torch.tensor([1.0, 1.0, -1.0, -1.0, 1.0])
    sums = policy_loss(ratio.log(), torch.zeros(5), gain, torch.tensor([1, 1, 1, 1, 0])).sums()
    assert (sums["clipfrac_high"], sums["clipfrac_low"], sums["clipfrac_dual"]) == (1, 1, 1)
    wanted = sum(r - 1 - math.log(r) for r in (1.0, 1.5, 0.5, 4.0))
    assert sums["approx_kl"] == pytest.approx(wanted)


def test_a_reward_less_the_kl_and_the_first_dpo_loss() -> None:
    rewards, mask = torch.tensor([0.0, 0.0, 1.0]), torch.tensor([0, 1, 1])
    shaped = losses.kl_rewards(rewards, torch.tensor([5.0, -1.0, -1.0]), torch.tensor([0.0, -1.5, -1.0]), mask, 0.1)
    assert shaped.tolist() == pytest.approx([0, -0.05, 1])
    alike = torch.tensor([-5.0])
    first = losses.dpo_loss(alike, alike, alike, alike, beta=0.1)
    assert float(first.loss) == pytest.approx(math.log(2))


def test_what_cannot_be_meant_is_refused() -> None:
    one = torch.zeros(1, 1)
    with pytest.raises(ValueError, match="dual clip"):
        policy_loss(one, one, one, one, dual_clip=0.9)
    with pytest.raises(ValueError, match="values at sampling time"):
        losses.value_loss(one, one, one, clip=0.2)
