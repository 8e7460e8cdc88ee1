"""From rewards and values to advantages: pure functions on tensors, no model and no randomness.

Shapes are (rows, time) or (time,). `mask` is 1 on action tokens, the tokens that the model sampled, and 0 on prompt,
observation, image and pad tokens; what lies under mask 0 changes nothing, and every result is 0 there. `values[t]` is
read before token t. Arithmetic is in float32 at least. Discounting counts action tokens only.

Sources: GAE (arXiv 1506.02438, eq. 16), its multi-turn form (verl pull request 2337, to which the bootstrap at a cut is
added), decoupled and length-adaptive GAE (VC-PPO 2503.01491, VAPO 2504.05118, UI-TARS-2 2509.02544, multi-turn RL).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.distributed import ProcessGroup, ReduceOp, all_reduce

EPSILON = 1e-8


def gae(
    rewards: Tensor,
    values: Tensor,
    mask: Tensor,
    gamma: float,
    lam: float | Tensor,
    bootstrap: float | Tensor = 0.0,
) -> Tensor:
    """Advantages of action tokens, one recursion per row: A_t = delta_t + gamma lam A_next over action tokens.

    rewards, values, mask: (rows, time) or (time,). lam, bootstrap: a number or (rows,). `bootstrap` is the value after
    the last action token: 0 where the rollout really ended, the value of the last state where a limit cut it. A row
    must hold a whole rollout; use `by_rollout` where a rollout lies in several rows.

    Raises ValueError for a reward on a masked token: the recursion would lose it. `fold_rewards` moves it.
    """
    if rewards.dim() == 1:
        return gae(rewards[None], values[None], mask[None], gamma, lam, bootstrap)[0]
    action = mask.bool()
    if bool((rewards.masked_fill(action, 0) != 0).any()):
        raise ValueError("a reward lies on a token that was not sampled and would be lost: call fold_rewards first")
    values = _exact(values)
    rewards = rewards.to(values)
    rate = gamma * _per_row(lam, values)
    after = _per_row(bootstrap, values)
    carried = torch.zeros_like(after)
    advantages = torch.zeros_like(values)
    for t in range(values.shape[1] - 1, -1, -1):
        here = action[:, t]
        delta = rewards[:, t] + gamma * after - values[:, t]
        carried = torch.where(here, delta + rate * carried, carried)
        after = torch.where(here, values[:, t], after)
        advantages[:, t] = torch.where(here, carried, 0.0)
    return advantages


def returns(values: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
    """The critic's targets R = V + A, with A made by the critic's lambda. All (rows, time) or (time,)."""
    return torch.where(mask.bool(), _exact(values) + advantages, 0.0)


def decoupled(
    rewards: Tensor,
    values: Tensor,
    mask: Tensor,
    gamma: float,
    policy_lam: float | Tensor,
    critic_lam: float | Tensor = 1.0,
    bootstrap: float | Tensor = 0.0,
) -> tuple[Tensor, Tensor]:
    """(advantages with the policy's lambda, returns with the critic's), shapes as in `gae`.

    With critic_lam 1, gamma 1 and a real end the returns are the plain sums of the rewards to come, so a reward at the
    end of a long rollout does not fade (VC-PPO 2503.01491, decoupled GAE).
    """
    advantages = gae(rewards, values, mask, gamma, policy_lam, bootstrap)
    critic = gae(rewards, values, mask, gamma, critic_lam, bootstrap)
    return advantages, returns(values, critic, mask)


def value_targets(rewards: Tensor, mask: Tensor, gamma: float, bootstrap: float | Tensor = 0.0) -> Tensor:
    """Monte-Carlo returns for pretraining the critic (VC-PPO 2503.01491, value pretraining): no value enters but
    `bootstrap`. Shapes as in `gae`."""
    return gae(rewards, torch.zeros_like(_exact(rewards)), mask, gamma, 1.0, bootstrap)


def length_adaptive_lambda(n: int | Tensor, alpha: float = 0.05) -> Tensor:
    """1 - 1/(alpha n) held within 0..1 (VAPO 2504.05118, length-adaptive GAE). float64, in the shape of n.

    n is the number of action tokens of the whole rollout, so that the weights 1 + lam + lam^2 ... sum to alpha n.
    Below 1/alpha tokens the formula is negative and the result 0; toy rollouts need an alpha of 0.5.
    """
    count = torch.as_tensor(n, dtype=torch.float64)
    return (1 - 1 / (alpha * count)).clamp(0, 1)


def fold_rewards(rewards: Tensor, mask: Tensor) -> Tensor:
    """Rewards on masked tokens moved back onto the last action token before them; sums per row stay the same.

    rewards, mask: (rows, time) or (time,). Raises ValueError where no action token comes before a reward.
    """
    if rewards.dim() == 1:
        return fold_rewards(rewards[None], mask[None])[0]
    action = mask.bool()
    places = torch.arange(rewards.shape[1], device=rewards.device).expand_as(rewards)
    onto = places.masked_fill(~action, -1).cummax(dim=1).values
    if bool((rewards.masked_fill(onto >= 0, 0) != 0).any()):
        raise ValueError("a reward comes before the first sampled token: nothing can be credited with it")
    return torch.zeros_like(rewards).scatter_add(1, onto.clamp(min=0), rewards)


@dataclass(frozen=True, slots=True)
class Rollouts:
    """Action tokens of rows gathered per rollout, left-aligned: GAE's layout when rows are parts of rollouts.

    index: (rollouts, longest) int64, places in the flattened rows. mask: (rollouts, longest) bool, where index is
    meant. numbers: (rollouts,) the rollout numbers, ascending.
    """

    index: Tensor
    mask: Tensor
    numbers: Tensor

    @property
    def lengths(self) -> Tensor:
        """Action tokens per rollout, (rollouts,) int64: the n of `length_adaptive_lambda`."""
        return self.mask.sum(dim=1)

    def gather(self, rows: Tensor) -> Tensor:
        """(rows, time) -> (rollouts, longest), 0 where there is nothing."""
        return torch.where(self.mask, rows.reshape(-1)[self.index], 0)

    def scatter(self, gathered: Tensor, like: Tensor) -> Tensor:
        """(rollouts, longest) -> the shape of `like`, 0 on tokens that are no action tokens."""
        flat = gathered.new_zeros(like.numel())
        flat[self.index[self.mask]] = gathered[self.mask]
        return flat.reshape(like.shape)


def by_rollout(mask: Tensor, rollout: Tensor, order: Tensor | None = None) -> Rollouts:
    """Where each rollout's action tokens lie, in the order of its rows.

    mask: (rows, time). rollout: (rows,) int64. order: (rows,) int64, the place of a row within its rollout; the order
    of the rows if None. GAE over each row by itself would lose the last reward for every row but the last (UI-TARS-2
    trains on windows cut from one rollout; the rule is ours). Rollouts without an action token do not appear.
    """
    action = mask.bool()
    order = torch.arange(len(rollout), device=rollout.device) if order is None else order
    by_order = torch.argsort(order, stable=True)
    rows = by_order[torch.argsort(rollout[by_order], stable=True)]
    places = torch.arange(mask.numel(), device=mask.device).reshape(mask.shape)[rows][action[rows]]
    owners = rollout[rows].repeat_interleave(action[rows].sum(dim=1))
    numbers, counts = torch.unique_consecutive(owners, return_counts=True)
    longest = int(counts.max()) if counts.numel() else 0
    there = torch.arange(longest, device=mask.device) < counts[:, None]
    index = torch.zeros(there.shape, dtype=torch.int64, device=mask.device)
    index[there] = places
    return Rollouts(index, there, numbers)


def whiten(advantages: Tensor, mask: Tensor, group: ProcessGroup | None = None) -> Tensor:
    """(A - mean) / sqrt(var + 1e-8) over all action tokens, var with n-1; 0 under mask 0 (VAPO; verl masked_whiten).

    With a process group mean and variance are those of all its ranks: every rank must call. For policy advantages
    only, never for returns. Raises ValueError with fewer than two action tokens in all.
    """
    action = mask.bool()
    count, mean, squares = _moments(advantages, action, group)
    if count < 2:
        raise ValueError(f"whitening needs two action tokens and the batch has {count}")
    scaled = (advantages.to(torch.float64) - mean) / torch.sqrt(squares / (count - 1) + EPSILON)
    return torch.where(action, scaled, 0.0).to(_exact(advantages).dtype)


def explained_variance(values: Tensor, targets: Tensor, mask: Tensor, group: ProcessGroup | None = None) -> float:
    """1 - Var(R - V) / Var(R) over action tokens; 0 for a constant predictor, nan when all targets are equal."""
    action = mask.bool()
    reals = targets.to(torch.float64)
    spread = torch.stack((_largest(reals, action, group), _largest(-reals, action, group))).sum()
    if not float(spread) > 0:  # exact: a rounded variance of equal numbers need not be 0
        return math.nan
    _, _, of_targets = _moments(reals, action, group)
    _, _, left = _moments(reals - values.to(torch.float64), action, group)
    return 1.0 - float(left / of_targets)


def critic_is_ready(losses: Sequence[float], explained: float, bar: float = 0.6, flat: float = 0.02) -> bool:
    """Whether value pretraining may stop: the loss is flat AND the explained variance is high.

    losses: one per step, oldest first. Flat: the mean of the last quarter is within the share `flat` of the mean of
    the quarter before. A nan, no spread in the targets, never stops it. (UI-TARS-2 2509.02544, value
    pretraining: until both have converged.)
    """
    quarter = len(losses) // 4
    if quarter < 2 or not explained >= bar:
        return False
    late = sum(losses[-quarter:]) / quarter
    before = sum(losses[-2 * quarter : -quarter]) / quarter
    return before - late <= flat * before


@dataclass(frozen=True, slots=True)
class GroupAdvantages:
    """Per rollout: its advantage, and whether it is trained on (the weight of its loss). Both (rollouts,)."""

    advantages: Tensor
    kept: Tensor


def group_advantages(rewards: Tensor, groups: Tensor, scale: bool = False) -> GroupAdvantages:
    """r - mean of its group, divided by (std + 1e-6) if `scale` (GRPO 2402.03300; without std: Dr. GRPO 2503.20783).

    rewards: (rollouts,), nan where the environment failed; such a rollout is in no mean, has advantage 0 and is not
    kept. groups: (rollouts,) int64. std has n-1. A group whose rewards are exactly equal, so also a group of one, has
    advantage 0 and is not kept.
    """
    rewards = _exact(rewards)
    _, member = torch.unique(groups, return_inverse=True)
    scored = ~rewards.isnan()
    clean = torch.where(scored, rewards, 0.0)
    empty = rewards.new_zeros(int(member.max()) + 1 if len(member) else 0)
    counts = empty.index_add(0, member, scored.to(rewards))
    means = empty.index_add(0, member, clean) / counts
    away = torch.where(scored, clean - means[member], 0.0)
    highest = empty.scatter_reduce(0, member[scored], clean[scored], "amax", include_self=False)
    lowest = empty.scatter_reduce(0, member[scored], clean[scored], "amin", include_self=False)
    kept = scored & (highest != lowest)[member]
    if scale:
        std = torch.sqrt(empty.index_add(0, member, away.square()) / (counts - 1).clamp(min=1))
        away = away / (std[member] + 1e-6)
    return GroupAdvantages(torch.where(kept, away, 0.0), kept)


def _exact(numbers: Tensor) -> Tensor:
    """float32 or better."""
    return numbers if numbers.dtype in (torch.float32, torch.float64) else numbers.float()


def _per_row(number: float | Tensor, like: Tensor) -> Tensor:
    """A number or (rows,) as (rows,)."""
    return torch.as_tensor(number, dtype=like.dtype, device=like.device).expand(like.shape[0])


def _moments(numbers: Tensor, action: Tensor, group: ProcessGroup | None) -> tuple[int, Tensor, Tensor]:
    """(count, mean, sum of squared distances from the mean) over action tokens of all ranks, float64.

    Two passes: a sum of squares less a squared sum would lose the variance of advantages that lie close together.
    """
    held = torch.where(action, numbers.to(torch.float64), 0.0)
    sums = torch.stack((action.sum().to(torch.float64), held.sum()))
    if group is not None:
        all_reduce(sums, group=group)
    mean = sums[1] / sums[0]
    squares = torch.where(action, (held - mean).square(), 0.0).sum()
    if group is not None:
        all_reduce(squares, group=group)
    return int(sums[0]), mean, squares


def _largest(numbers: Tensor, action: Tensor, group: ProcessGroup | None) -> Tensor:
    """The largest number under the mask on all ranks; -inf for none."""
    found = numbers.masked_fill(~action, -math.inf).max()
    if group is not None:
        all_reduce(found, op=ReduceOp.MAX, group=group)
    return found
