"""Numeric cases against the trainers' own functions: `python tests/cases.py FILE`.

FILE is JSON in the shape of tests/data/gae_cases.json: a kind's name, then one case or a list of them; any subset of
the kinds will do. Prints the worst absolute error of each kind and exits with 1 when one is over 1e-6, when a known
wrong answer (`wrong_...`, `..._if_dropped`, `verl_...`) is what we give, or when a kind is unknown: nothing passes
unread. Whole numbers, masks, names and bins must be the same: an error is 0 or inf.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from torch import Tensor

from tests import cases_of_rows as of_rows
from tests.cases_of_rows import Case, Found, same
from training import advantages as adv
from training import losses

TOLERANCE = 1e-6
DIFFERENT = 1e-3  # how far a known wrong answer must be from ours
PROSE = ("about", "meta", "note")


def main(arguments: list[str]) -> int:
    """Checks the file named; returns the exit code."""
    if len(arguments) != 1:
        print("usage: python tests/cases.py FILE", file=sys.stderr)
        return 2
    worst = check(json.loads(Path(arguments[0]).read_text(encoding="utf-8")))
    for kind, (count, error, where) in worst.items():
        print(f"{kind:24} {count:4} numbers or lists   worst error {error:.2e}" + (f"   at {where}" if error else ""))
    failed = [kind for kind, (_, error, _) in worst.items() if not error <= TOLERANCE]
    print(f"over {TOLERANCE:g}: " + (", ".join(failed) or "none"))
    return 1 if failed else 0


def check(cases: Case) -> dict[str, tuple[int, float, str]]:
    """kind -> (comparisons made, worst error, where that was)."""
    worst: dict[str, tuple[int, float, str]] = {}
    for kind, value in cases.items():
        if kind in PROSE:
            continue
        count, most, where = 0, 0.0, ""
        for number, case in enumerate(value if isinstance(value, list) else [value]):
            for what, error in of_case(kind, case):
                count += 1
                if not error <= most:  # nan is over everything
                    most, where = error, f"{case.get('name', number)}: {what}"
        worst[kind] = (count, most if count else math.inf, where if count else "no comparison was made")
    return worst


def of_case(kind: str, case: Case) -> list[tuple[str, float]]:
    """(what was compared, error) of one case; a case that cannot be read is over every tolerance."""
    if kind not in KINDS:
        return [("no such kind", math.inf)]
    try:
        return list(KINDS[kind](case))
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        return [(f"not to be read, {type(error).__name__}: {error}", math.inf)]


def of_gae(case: Case) -> Found:
    rewards, values, mask = (table(case[name]) for name in ("rewards", "values", "mask"))
    bootstrap = tensor(case.get("bootstrap", [0.0] * len(mask)))
    lam = policy_lambda(case, mask.sum(1))
    if case.get("lam_policy_rows") is not None:
        yield from near(case, "lam_policy_rows", lam.expand(len(mask)))
    ours, targets = adv.decoupled(
        adv.fold_rewards(rewards, mask), values, mask, case["gamma"], lam, case.get("lam_critic", 1.0), bootstrap
    )
    yield from near(case["expected"], "advantages", ours)
    yield from near(case["expected"], "returns", targets)
    if "advantages_whitened" in case["expected"]:
        yield from near(case["expected"], "advantages_whitened", adv.whiten(ours, mask))


def policy_lambda(case: Case, lengths: Tensor) -> Tensor:
    """The lambda of each rollout: from alpha, or as given."""
    if case.get("alpha") is not None:
        return adv.length_adaptive_lambda(lengths, case["alpha"])
    given = case.get("lam_policy", case.get("lam"))
    return tensor(given if given is not None else case["lam_policy_rows"])


def of_reward_on_observation(case: Case) -> Found:
    rewards, values, mask = (table(case[name]) for name in ("rewards", "values", "mask"))
    folded = adv.fold_rewards(rewards, mask)
    ours = adv.gae(folded, values, mask, case["gamma"], case["lam"], tensor(case.get("bootstrap", 0.0)))
    yield from near(case, "rewards_folded", folded)
    yield from near(case, "advantages_if_folded", ours)
    yield from near(case, "total_reward_in", (folded * mask).sum())
    yield from far(case, "advantages_if_dropped", ours)


def of_length_adaptive_lambda(case: Case) -> Found:
    ours = adv.length_adaptive_lambda(case["l"], case["alpha"])
    yield from near(case, "lam", ours)
    if "raw" in case:
        yield "raw, clamped", float((ours - min(max(case["raw"], 0.0), 1.0)).abs())
    yield from near(case, "sum_of_weights", sum(float(ours) ** k for k in range(case["l"])))


def of_policy_loss(case: Case) -> Found:
    old = tensor(case["old_logp"])
    logp = tensor(case["logp"]).requires_grad_()
    mask, gain = tensor(case["mask"]), tensor(case["adv"])
    weights = tensor(case["weights"]) if case.get("weights") is not None else None
    knobs = (case["eps_low"], case["eps_high"], case.get("dual_clip_c"), weights)
    every = losses.policy_loss(logp, old, gain, torch.ones_like(mask), *knobs).loss
    (slope,) = torch.autograd.grad(every.sum(), logp)
    yield from near(case, "token_loss", every)
    yield from near(case, "dloss_dlogp_per_token", slope)
    ours = losses.policy_loss(logp, old, gain, mask, *knobs)
    yield from near(case, "token_mean_loss", losses.aggregate(ours.loss, mask))
    for name, count in ours.sums().items():
        yield from near(case, name, count / losses.count_tokens(mask))


def of_tis(case: Case) -> Found:
    old, rollout = tensor(case["trainer_old_logp"]), tensor(case["rollout_logp"])
    mask = tensor(case["mask"]) if "mask" in case else torch.ones_like(old)
    yield from near(case, "raw", losses.importance_weights(old, rollout, mask, math.inf))
    for key in case:
        if key.startswith("cap_"):
            yield from near(case, key, losses.importance_weights(old, rollout, mask, float(key.split("_")[1])))
    ratio, mean = losses.sequence_ratios(old, rollout, mask)
    yield from near(case, "seq_ratio", ratio)
    yield from near(case, "seq_geo_mean", mean)


def of_kl(case: Case) -> Found:
    logp, ref = tensor(case["logp"]), tensor(case["ref_logp"])
    mask = tensor(case["mask"]) if "mask" in case else torch.ones_like(logp)
    kinds: tuple[losses.Divergence, ...] = ("k1", "k2", "k3")
    for kind in kinds:
        yield from near(case, kind, losses.kl(logp, ref, kind))
    for key in case:
        if key.startswith("in_reward_beta_"):
            beta = float(key.removeprefix("in_reward_beta_").replace("_", "."))
            yield from near(case, key, losses.kl_rewards(torch.zeros_like(logp), logp, ref, mask, beta))
    if "expectation_check" in case:
        expected = case["expectation_check"]
        p, ref = tensor(expected["p"]), tensor(expected["ref"])
        for kind in kinds:
            yield from near(expected, f"E_{kind}", (p * losses.kl(p.log(), ref.log(), kind)).sum())
        yield from near(expected, "KL", (p * losses.kl(p.log(), ref.log(), "k1")).sum())


def of_value_loss(case: Case) -> Found:
    mask = tensor(case["mask"])
    old = tensor(case["v_old"]) if case.get("v_old") is not None else None
    given = (tensor(case["vpred"]), tensor(case["returns"]))
    every = losses.value_loss(*given, torch.ones_like(mask), old, case.get("clip"))
    ours = losses.value_loss(*given, mask, old, case.get("clip"))
    yield from near(case, "per_token_sq", 2 * every)
    yield from near(case, "loss_half_token_mean", losses.aggregate(ours, mask))


def of_value_pretraining(case: Case) -> Found:
    targets, values = tensor(case["returns"]), tensor(case["values"])
    mask = tensor(case["mask"]) if "mask" in case else torch.ones_like(values)
    yield from near(case, "explained_variance", adv.explained_variance(values, targets, mask))
    constant = torch.full_like(values, 0.3)
    yield from near(case, "explained_variance_of_constant", adv.explained_variance(constant, targets, mask))
    yield from near(case, "mse", 2 * losses.aggregate(losses.value_loss(values, targets, mask), mask))


def of_group_advantage(case: Case) -> Found:
    rewards = tensor([math.nan if r is None else r for r in case["rewards"]])
    groups = torch.tensor(case.get("groups", [0] * len(rewards)))
    ours = adv.group_advantages(rewards, groups)
    for name in ("adv", "mean_norm"):
        yield from near(case, name, ours.advantages)
    yield from near(case, "mean_std_norm", adv.group_advantages(rewards, groups, scale=True).advantages)
    yield from near(case, "mean", rewards.nanmean())
    yield from far(case, "verl_grpo_adv", ours.advantages)
    if "keep_for_training" in case:
        kept = ours.kept.tolist() if isinstance(case["keep_for_training"], list) else bool(ours.kept.any())
        yield from same("keep_for_training", kept, case["keep_for_training"])
    for inner in case.values():
        if isinstance(inner, dict):
            yield from of_group_advantage(inner)


def of_dpo(case: Case) -> Found:
    chosen = tensor(case["policy_chosen"]).requires_grad_()
    rejected, ref_chosen, ref_rejected = (
        tensor(case[name]) for name in ("policy_rejected", "ref_chosen", "ref_rejected")
    )
    ours = losses.dpo_loss(chosen, rejected, ref_chosen, ref_rejected, case["beta"])
    (slope,) = torch.autograd.grad(ours.loss.sum(), chosen)
    yield from near(case, "loss", ours.loss)
    yield from near(case, "reward_chosen", ours.reward_chosen)
    yield from near(case, "reward_rejected", ours.reward_rejected)
    yield from near(case, "dloss_dchosen", slope)


def of_aggregation(case: Case) -> Found:
    loss, mask = table(case["loss"]), table(case["mask"])
    rows = torch.tensor(case["rows"]) if "rows" in case else None
    for name in ("token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"):
        how: Any = name
        yield from near(case, name.replace("-", "_"), losses.aggregate(loss, mask, how, rows, width=case.get("width")))
    total, world = losses.count_tokens(mask), len(loss)
    parts = [losses.aggregate(loss[i : i + 1], mask[i : i + 1], total=total) for i in range(world)]
    ranks = [losses.aggregate(loss[i : i + 1], mask[i : i + 1], total=total, world=world) for i in range(world)]
    yield from near(case, "right_microbatch_sum_over_global_tokens", torch.stack(parts))
    yield from near(case, "right_per_dp_rank_before_grad_mean", torch.stack(ranks))
    yield from far(case, "wrong_mean_of_microbatch_means", torch.stack(parts).sum())


def of_stepwise_rows(case: Case) -> Found:
    rewards, values, mask = (table(case[name]) for name in ("rewards", "values", "mask"))
    rollouts = adv.by_rollout(mask, torch.tensor(case["traj_id"]), torch.tensor(case["step"]))
    rewards = rollouts.gather(adv.fold_rewards(rewards, mask))
    lam = policy_lambda(case, rollouts.lengths)
    bootstrap = tensor(case.get("bootstrap", 0.0))
    gathered = adv.gae(rewards, rollouts.gather(values), rollouts.mask, case["gamma"], lam, bootstrap)
    ours = rollouts.scatter(gathered, mask)
    yield from near(case, "expected_advantages", ours)
    yield from far(case, "wrong_per_row", ours)


def tensor(numbers: Any) -> Tensor:
    """A number, a flat list, or rows of any length."""
    if isinstance(numbers, list) and numbers and isinstance(numbers[0], list):
        return table(numbers)
    return torch.tensor(math.nan if numbers is None else numbers, dtype=torch.float64)


def table(rows: list[list[float]]) -> Tensor:
    """Rows of any length as (rows, longest), filled up with 0."""
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[0.0] * (longest - len(row))] for row in rows], dtype=torch.float64)


def near(case: Case, name: str, ours: Tensor | float) -> Found:
    """How far ours is from what the case says under that name; nothing where it says nothing."""
    if name in case:
        yield name, distance(case[name], ours)


def far(case: Case, name: str, ours: Tensor | float) -> Found:
    """inf where ours is the wrong answer that the case warns of."""
    if name in case:
        yield f"not {name}", 0.0 if distance(case[name], ours) > DIFFERENT else math.inf


def distance(wanted: Any, ours: Tensor | float) -> float:
    """The largest absolute difference; null is nan, and nan equals nan. inf for another shape."""
    target = tensor(wanted)
    ours = torch.as_tensor(ours, dtype=torch.float64).detach()
    if target.shape != ours.shape and not target.numel() == ours.numel() == 1:
        return math.inf
    both_nan = target.isnan() & ours.isnan()
    return float(torch.where(both_nan, 0.0, target - ours).abs().max())


KINDS: dict[str, Callable[[Case], Found]] = {
    "gae": of_gae,
    "reward_on_observation": of_reward_on_observation,
    "length_adaptive_lambda": of_length_adaptive_lambda,
    "policy_loss": of_policy_loss,
    "tis": of_tis,
    "kl": of_kl,
    "value_loss": of_value_loss,
    "value_pretraining": of_value_pretraining,
    "group_advantage": of_group_advantage,
    "dpo": of_dpo,
    "aggregation": of_aggregation,
    "stepwise_rows": of_stepwise_rows,
    "smart_resize": of_rows.of_smart_resize,
    "chat_mask": of_rows.of_chat_mask,
    "token_drift": of_rows.of_token_drift,
    "staleness_capacity": of_rows.of_staleness_capacity,
    "packing_bfd": of_rows.of_packing_bfd,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
