"""From log-probabilities to losses: pure functions on tensors, one loss per token, no model inside.

Shapes are (rows, time) unless a docstring says otherwise; `mask` is 1 on action tokens. Log-probabilities are natural.
Losses are 0 and have no gradient under mask 0, whatever lies there. `aggregate` turns tokens into the number to
descend on; it is the one place that divides.

Sources: PPO (arXiv 1707.06347), dual clip (1912.09729), clip-higher and token-mean (DAPO 2503.14476, VAPO 2504.05118,
UI-TARS-2 2509.02544), DPO (2305.18290), reflection pairs (UI-TARS 2501.12326).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.distributed import ProcessGroup, all_reduce
from torch.nn.functional import logsigmoid

LOG_RATIO_LIMIT = 20.0
Aggregation = Literal["token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"]
Divergence = Literal["k1", "k2", "k3", "k3+"]


@dataclass(frozen=True, slots=True)
class PolicyLoss:
    """`loss` per token, with gradient; the rest without: where the clip above, the clip below and the dual clip took
    the gradient away (bool), and log(pi_now / pi_old). All (rows, time), 0 under mask 0."""

    loss: Tensor
    high: Tensor
    low: Tensor
    dual: Tensor
    log_ratio: Tensor

    def sums(self) -> dict[str, float]:
        """Sums over tokens of what is logged: add them up over micro-batches and ranks, divide by all tokens.

        `approx_kl` sums exp(d) - 1 - d of d = log_ratio, an estimate of KL(old, now) that is never negative.
        """
        drift = (torch.expm1(self.log_ratio) - self.log_ratio).sum()
        clips = {"clipfrac_high": self.high, "clipfrac_low": self.low, "clipfrac_dual": self.dual}
        return {"approx_kl": float(drift), **{name: float(where.sum()) for name, where in clips.items()}}


def policy_loss(
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    mask: Tensor,
    clip_low: float = 0.2,
    clip_high: float = 0.28,
    dual_clip: float | None = 3.0,
    weights: Tensor | None = None,
) -> PolicyLoss:
    """-min(rho A, clip(rho, 1 - clip_low, 1 + clip_high) A) per token, with rho = exp(logp - old_logp).

    PPO 1707.06347 eq. 7; clip-higher: DAPO 2503.14476; dual clip: 1912.09729, at most -c A where A < 0.

    dL/dlogp is -A rho, and exactly 0 where A > 0 and rho > 1 + clip_high, where A < 0 and rho < 1 - clip_low, and
    where A < 0 and rho > dual_clip. `weights` (from `importance_weights`) multiply the loss and take no gradient.
    All tensors (rows, time) or (time,). Raises ValueError for a dual clip that is not above 1.
    """
    if dual_clip is not None and dual_clip <= 1:
        raise ValueError(f"a dual clip of {dual_clip} would cut replies that have not moved: it must be above 1")
    action = mask.bool()
    gain = torch.where(action, advantages, 0.0).detach()
    log_ratio = _difference(logp, old_logp, action)
    rho = torch.exp(log_ratio)
    high = (gain > 0) & (rho > 1 + clip_high)
    low = (gain < 0) & (rho < 1 - clip_low)
    dual = (gain < 0) & (rho > dual_clip) if dual_clip is not None else torch.zeros_like(low)
    ratio = torch.where(high, 1 + clip_high, torch.where(low, 1 - clip_low, rho))
    if dual_clip is not None:
        ratio = torch.where(dual, dual_clip, ratio)
    loss = -gain * ratio
    if weights is not None:
        loss = loss * torch.where(action, weights, 0.0).detach()
    return PolicyLoss(loss, high, low, dual, log_ratio.detach())


def value_loss(
    values: Tensor, targets: Tensor, mask: Tensor, old_values: Tensor | None = None, clip: float | None = None
) -> Tensor:
    """0.5 max((v - R)^2, (clip(v, v_old - clip, v_old + clip) - R)^2) per token (PPO's reference code, value clipping).

    Plain 0.5 (v - R)^2 where clip is None, as always in value pretraining. All (rows, time) or (time,). Raises
    ValueError for a clip without old values.
    """
    action = mask.bool()
    goal = torch.where(action, targets, 0.0).detach()
    values = torch.where(action, values, 0.0)
    square = (values - goal).square()
    if clip is not None:
        if old_values is None:
            raise ValueError("value clipping needs the values at sampling time")
        old = torch.where(action, old_values, 0.0).detach()
        held = (values.clamp(old - clip, old + clip) - goal).square()
        square = torch.where(held > square, held, square)
    return 0.5 * square


def aggregate(
    loss: Tensor,
    mask: Tensor,
    how: Aggregation = "token-mean",
    rows: Tensor | None = None,
    total: float | None = None,
    width: float | None = None,
    world: int = 1,
) -> Tensor:
    """The scalar to descend on, from per-token losses (rows, time). Names as in verl; token-mean: DAPO 2503.14476.

    rows: (rows,) int64, the rollout of each row; a row is a rollout by itself if None. `total`: what the GLOBAL batch
    divides by (`count_tokens` for token-mean, `count_rollouts` for the others); this call's own count if None, which
    is right only where this call holds the whole batch. So each micro-batch gives its share, and the shares add up.
    Siblings of one rollout must be in one call for seq-mean-token-mean. `width`: the constant of
    seq-mean-token-sum-norm, the padded width if None. `world`: ranks whose gradients are averaged (DDP, FSDP).
    Rollouts without action tokens are left out of the means; without any token at all the result is 0.
    """
    action = mask.bool()
    held = torch.where(action, loss, 0.0)
    if how == "token-mean":
        return held.sum() * world / max(total if total is not None else int(action.sum()), 1)
    member = torch.arange(len(loss), device=loss.device) if rows is None else torch.unique(rows, return_inverse=True)[1]
    empty = held.new_zeros(int(member.max()) + 1 if len(member) else 0)
    sums = empty.index_add(0, member, held.sum(dim=1))
    tokens = torch.zeros_like(empty).index_add(0, member, action.sum(dim=1).to(held))
    if how == "seq-mean-token-mean":
        sums = sums / tokens.clamp(min=1)
    elif how == "seq-mean-token-sum-norm":
        sums = sums / (width if width is not None else loss.shape[1])
    return sums.sum() * world / max(total if total is not None else int((tokens > 0).sum()), 1)


def count_tokens(mask: Tensor, group: ProcessGroup | None = None) -> int:
    """Action tokens of the batch, of all ranks where a process group is given: token-mean's `total`."""
    count = mask.bool().sum()
    if group is not None:
        all_reduce(count, group=group)
    return int(count)


def count_rollouts(mask: Tensor, rows: Tensor | None = None, group: ProcessGroup | None = None) -> int:
    """Rollouts with an action token, of all ranks: the `total` of the seq-means. A rollout lies on one rank only."""
    active = mask.bool().any(dim=1)
    found = active.sum() if rows is None else torch.tensor(torch.unique(rows[active]).numel(), device=mask.device)
    if group is not None:
        all_reduce(found, group=group)
    return int(found)


def kl(logp: Tensor, ref_logp: Tensor, kind: Divergence = "k3") -> Tensor:
    """Estimate of KL(policy, reference) per token, any shape (Schulman 2020, "Approximating KL divergence").

    k1 = d = logp - ref, unbiased; k2 = d^2/2; k3 = exp(-d) - 1 + d, unbiased and never negative, but its gradient is
    not the KL's; k3+ has the value of k3 and the gradient of k2 (verl), which is the KL's.
    """
    d = logp - ref_logp
    if kind == "k1":
        return d
    if kind == "k2":
        return d.square() / 2
    k3 = torch.exp((-d).clamp(max=LOG_RATIO_LIMIT)) - 1 + d
    if kind == "k3":
        return k3
    k2 = d.square() / 2
    return k3.detach() + k2 - k2.detach()


def kl_rewards(rewards: Tensor, old_logp: Tensor, ref_logp: Tensor, mask: Tensor, beta: float) -> Tensor:
    """r_t - beta (old_logp - ref_logp) on action tokens, rewards as they are elsewhere (RLHF's KL in the reward)."""
    return rewards - beta * _difference(old_logp, ref_logp, mask.bool(), limit=math.inf)


def importance_weights(
    old_logp: Tensor, rollout_logp: Tensor, mask: Tensor, cap: float = 1.0, drop_above: float | None = None
) -> Tensor:
    """min(exp(old - rollout), cap) per token, no gradient, 0 under mask 0 (truncated weights: IMPALA 1802.01561;
    cap 1: DART-GUI; TRL: 3).

    rollout_logp is what the engine that sampled says, old_logp what the trainer says of the same weights. Rows whose
    sequence ratio is above `drop_above` get weight 0 altogether. All (rows, time).
    """
    action = mask.bool()
    weights = torch.exp(_difference(old_logp, rollout_logp, action)).clamp(max=cap)
    weights = torch.where(action, weights, 0.0)
    if drop_above is not None:
        weights = weights * (sequence_ratios(old_logp, rollout_logp, mask)[0] <= drop_above)[:, None]
    return weights.detach()


def sequence_ratios(old_logp: Tensor, rollout_logp: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Per row exp(sum(old - rollout)) and its geometric mean exp(mean(old - rollout)) over action tokens, to be logged;
    (rows, time) -> twice (rows,). 1 for a row without action tokens."""
    action = mask.bool()
    total = _difference(old_logp, rollout_logp, action, limit=math.inf).detach().sum(dim=-1)
    return torch.exp(total), torch.exp(total / action.sum(dim=-1).clamp(min=1))


def positive_nll(logp: Tensor, mask: Tensor, solved: Tensor, total: float | None = None, world: int = 1) -> Tensor:
    """Mean NLL of the action tokens of solved rollouts, scalar; VAPO (2504.05118) adds 0.1 of it to the policy loss.

    logp, mask: (rows, time). solved: (rows,) bool. `total`: such tokens in the global batch, as in `aggregate`.
    """
    positive = mask.bool() & solved.bool()[:, None]
    return aggregate(-logp, positive, total=total, world=world)


@dataclass(frozen=True, slots=True)
class DpoLoss:
    """Per pair, (pairs,): the loss, and the implicit rewards without gradient."""

    loss: Tensor
    reward_chosen: Tensor
    reward_rejected: Tensor


def dpo_loss(
    policy_chosen: Tensor, policy_rejected: Tensor, ref_chosen: Tensor, ref_rejected: Tensor, beta: float
) -> DpoLoss:
    """-log sigmoid(beta ((pc - rc) - (pr - rr))) (DPO 2305.18290 eq. 7). All (pairs,), sums over action tokens.

    The same for reflection pairs (UI-TARS 2501.12326): in an error-correction pair both replies answer the state of
    the wrong step; in a post-reflection pair both answer the state after it. With the adapter still 0 the loss is ln 2.
    """
    chosen = policy_chosen - ref_chosen.detach()
    rejected = policy_rejected - ref_rejected.detach()
    loss = -logsigmoid(beta * (chosen - rejected))
    return DpoLoss(loss, (beta * chosen).detach(), (beta * rejected).detach())


def sum_logp(logp: Tensor, mask: Tensor) -> Tensor:
    """Log-probability of a row's action tokens together: (rows, time) -> (rows,), what `dpo_loss` reads."""
    return torch.where(mask.bool(), logp, 0.0).sum(dim=-1)


def _difference(logp: Tensor, other: Tensor, action: Tensor, limit: float = LOG_RATIO_LIMIT) -> Tensor:
    """logp - other (without gradient to it) on action tokens, 0 elsewhere, within +-limit."""
    return torch.where(action, logp, 0.0).sub(torch.where(action, other, 0.0).detach()).clamp(-limit, limit)
