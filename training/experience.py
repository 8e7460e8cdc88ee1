"""From rollouts to what the losses read: rows, and for every sampled token its advantage, its return and its weight.

One `Experience` is what one update learns from. Advantages run over whole rollouts, however many rows each was cut
into. Three estimators: PPO's with a critic, and the two without one that it is compared with, GRPO and REINFORCE.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh

from training import advantages as adv
from training.batches import Batch, Vision, packed
from training.jobs import Trajectory
from training.losses import importance_weights
from training.policy import ActorCritic
from training.rows import Row, rows_of
from training.shard import even

Algorithm = Literal["ppo", "grpo", "reinforce"]


@dataclass(frozen=True, slots=True)
class Credit:
    """How rewards become advantages. A lambda of None is the length-adaptive one; `critic_lam` None is the policy's.

    `bootstrap_cut`: a rollout that a limit cut goes on from its last state's value; otherwise the
    limit counts as an end.
    """

    algorithm: Algorithm = "ppo"
    gamma: float = 1.0
    policy_lam: float | None = None
    critic_lam: float | None = 1.0
    alpha: float = 0.05
    bootstrap_cut: bool = True
    whiten: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Experience:
    """All tensors are (rows, longest row) float32, 0 off the mask; `rollout` is (rows,) int64, `solved` (rows,) bool.

    `old` are the log-probabilities by the weights as the update begins, `weights` the truncated importance weights
    against the sampler's. `learnt` is the mask of what is learnt: GRPO leaves out groups in which all did the same.
    """

    rows: tuple[Row, ...]
    rollout: Tensor
    mask: Tensor
    learnt: Tensor
    old: Tensor
    sampled: Tensor
    values: Tensor
    advantages: Tensor
    returns: Tensor
    weights: Tensor
    reference: Tensor
    entropy: float
    solved: Tensor

    def tokens(self, rows: Sequence[int]) -> int:
        """Tokens to learn from in these rows."""
        return int(self.learnt[list(rows)].sum())

    def at(self, name: str, part: Part) -> Tensor:
        """A tensor's rows as (1, width), as they lie in a batch, and where it lies."""
        table: Tensor = getattr(self, name)
        if not part.rows:
            return torch.zeros(part.batch.ids.shape, dtype=table.dtype, device=part.batch.ids.device)
        line = part.batch.place([table[i, : len(self.rows[i])] for i in part.rows])
        return line.to(part.batch.ids.device)

    def solved_at(self, part: Part) -> Tensor:
        """(1, width) bool: the tokens of solved rollouts."""
        if not part.rows:
            return torch.zeros_like(part.batch.mask)
        line = part.batch.place([self.solved[i].expand(len(self.rows[i])) for i in part.rows])
        return line.to(part.batch.ids.device)


def experience(
    policy: ActorCritic,
    trajectories: Sequence[Trajectory],
    credit: Credit,
    *,
    budget: int,
    max_tokens: int = 0,
    fork_threshold: int = 0,
    cap: float = 1.0,
    with_reference: bool = False,
    vision: Vision | None = None,
    mesh: DeviceMesh | None = None,
    device: str = "cpu",
) -> Experience:
    """Reads every row with the weights as they are; with a mesh each rank its own rollouts, whitened over all ranks.

    `vision` is for a policy that sees. Raises ValueError when there is not a single token to learn from.
    """
    rows, rollout = _rows(trajectories, max_tokens, fork_threshold, vision)
    mask, sampled, rewards = (_table(rows, name) for name in ("mask", "logprobs", "rewards"))
    mask = mask.bool()
    if not mask.any():
        raise ValueError("there is nothing to learn from: not one token was sampled in these rollouts")
    parts = parts_of(rows, range(len(rows)), budget, mesh, device, vision)
    read = _read(policy, parts, mask, credit.algorithm == "ppo", with_reference)
    sampled = torch.where(mask & sampled.isfinite(), sampled, read.logprobs)
    if credit.algorithm == "ppo":
        ended = ["cut" if rows[i].ended == "cut" else "end" for i in _last_rows(rollout)]
        cut = torch.tensor([end == "cut" and credit.bootstrap_cut for end in ended])
        bootstrap = torch.where(cut, read.ends[_last_rows(rollout)], 0.0)
        gains, returns = _credited(rewards, read.values, mask, rollout, bootstrap, credit)
        gains = adv.whiten(gains, mask, mesh.get_group() if mesh else None) if credit.whiten else gains
        learnt = mask
    else:
        gains, learnt = _compared(trajectories, rollout, mask, credit.algorithm == "grpo")
        returns = torch.zeros_like(gains)
    solved = torch.tensor([one.reward is not None and one.reward >= 1 for one in trajectories])[rollout]
    return Experience(
        rows=tuple(rows),
        rollout=rollout,
        mask=mask,
        learnt=learnt,
        old=read.logprobs,
        sampled=sampled,
        values=read.values,
        advantages=gains.float(),
        returns=returns.float(),
        weights=importance_weights(read.logprobs, sampled, mask, cap),
        reference=read.reference,
        entropy=read.entropy,
        solved=solved,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A packed batch and the numbers of its rows; a spare one has none."""

    batch: Batch
    rows: tuple[int, ...]


def parts_of(
    rows: Sequence[Row],
    which: Sequence[int],
    budget: int,
    mesh: DeviceMesh | None = None,
    device: str = "cpu",
    vision: Vision | None = None,
) -> list[Part]:
    """The rows with these numbers in packed batches of at most `budget` tokens, equally many on every rank."""
    numbered = [replace(rows[i], rollout=str(i)) for i in which]
    batches = packed(numbered, budget, vision) if numbered else []
    owned = [tuple(int(row.rollout) for row in batch.rows) for batch in batches]
    every = even(batches, mesh, vision)
    owned += [()] * (len(every) - len(owned))
    return [Part(batch.to(device), numbers) for batch, numbers in zip(every, owned, strict=True)]


def summary(trajectories: Sequence[Trajectory], seen: Experience) -> dict[str, float]:
    """What the rollouts of an update were like. Lengths are per turn, `thought_length` in characters, the other in
    tokens; `off_policy` is the mean of |old - sampled| over tokens, `off_policy_tail` the share beyond 10 %."""
    turns = [turn for one in trajectories for turn in one.turns if turn.reply_ids]
    rewards = [one.reward for one in trajectories if one.reward is not None]
    apart = (seen.old - seen.sampled)[seen.mask].abs()
    return {
        "reward": sum(rewards) / max(1, len(rewards)),
        "success": sum(one.solved for one in trajectories) / max(1, len(trajectories)),
        "cut": sum(one.ended == "cut" for one in trajectories) / max(1, len(trajectories)),
        "turns": len(turns) / max(1, len(trajectories)),
        "thought_length": sum(turn.thought_chars for turn in turns) / max(1, len(turns)),
        "response_length": sum(len(turn.reply_ids) for turn in turns) / max(1, len(turns)),
        "entropy": seen.entropy,
        "zero_advantage_frac": float((seen.advantages == 0)[seen.mask].float().mean()),
        "off_policy": float(apart.mean()),
        "off_policy_tail": float((apart > math.log(1.1)).float().mean()),
    }


# -- inside ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    logprobs: Tensor
    values: Tensor
    ends: Tensor
    reference: Tensor
    entropy: float


def _rows(
    trajectories: Sequence[Trajectory], max_tokens: int, fork_threshold: int, vision: Vision | None
) -> tuple[list[Row], Tensor]:
    token = vision.image_token if vision else None
    rows: list[Row] = []
    owners: list[int] = []
    for n, one in enumerate(trajectories):
        made = rows_of(
            one.turns, rollout=str(n), ended=one.ended, max_tokens=max_tokens, fork_threshold=fork_threshold,
            image_token=token,
        )  # fmt: skip
        rows += made
        owners += [n] * len(made)
    return rows, torch.tensor(owners)


def _table(rows: Sequence[Row], name: str) -> Tensor:
    """One number per token of every row, 0 behind its end: (rows, longest) float32."""
    table = torch.zeros((len(rows), max(len(row) for row in rows)))
    for n, row in enumerate(rows):
        table[n, : len(row)] = torch.tensor(getattr(row, name), dtype=torch.float32)
    return table


def _last_rows(rollout: Tensor) -> list[int]:
    """The number of the last row of every rollout that has rows, by rollout."""
    last: dict[int, int] = {}
    for row, owner in enumerate(rollout.tolist()):
        last[owner] = row
    return [last[owner] for owner in sorted(last)]


@torch.no_grad()
def _read(policy: ActorCritic, parts: Sequence[Part], mask: Tensor, with_values: bool, with_reference: bool) -> _Read:
    """One pass of policy, critic and reference over all rows."""
    logprobs, values, reference = (torch.zeros(mask.shape) for _ in range(3))
    ends = torch.zeros(len(mask))
    entropy = 0.0
    for part in parts:
        said, spread = policy.logprobs_and_entropy(part.batch)
        entropy += float(spread.sum())
        _put(logprobs, said, part)
        if with_values:
            valued, after = policy.values_and_ends(part.batch)
            _put(values, valued, part)
            if part.rows:
                ends[list(part.rows)] = after.cpu()
        if with_reference:
            _put(reference, policy.reference_logprobs(part.batch), part)
    return _Read(logprobs, values, ends, reference, entropy / max(1, int(mask.sum())))


def _put(table: Tensor, line: Tensor, part: Part) -> None:
    if part.rows:
        for number, values in zip(part.rows, part.batch.cut(line.cpu()), strict=True):
            table[number, : len(values)] = values


def _credited(
    rewards: Tensor, values: Tensor, mask: Tensor, rollout: Tensor, bootstrap: Tensor, credit: Credit
) -> tuple[Tensor, Tensor]:
    """Decoupled GAE over whole rollouts. `bootstrap` is (rollouts that have rows,)."""
    whole = adv.by_rollout(mask, rollout)
    owners = torch.unique(rollout)
    after = bootstrap[torch.searchsorted(owners, whole.numbers)]
    policy_lam: float | Tensor
    policy_lam = adv.length_adaptive_lambda(whole.lengths, credit.alpha).float()
    if credit.policy_lam is not None:
        policy_lam = credit.policy_lam
    critic_lam = policy_lam if credit.critic_lam is None else credit.critic_lam
    gathered = (whole.gather(rewards), whole.gather(values), whole.mask)
    gains, returns = adv.decoupled(*gathered, credit.gamma, policy_lam, critic_lam, after)
    return whole.scatter(gains, mask), whole.scatter(returns, mask)


def _compared(trajectories: Sequence[Trajectory], rollout: Tensor, mask: Tensor, scale: bool) -> tuple[Tensor, Tensor]:
    """The same advantage for all tokens of a rollout, from its group; and what is learnt from."""
    rewards = torch.tensor([math.nan if one.reward is None else one.reward for one in trajectories])
    groups = torch.tensor([one.job.group for one in trajectories])
    found = adv.group_advantages(rewards, groups, scale)
    gains = torch.where(mask, found.advantages[rollout][:, None], 0.0)
    return gains, mask & found.kept[rollout][:, None] if scale else mask
