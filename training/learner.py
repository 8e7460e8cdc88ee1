"""What PPO learns with: the weights, their optimisers, and how far a run has come; saved and restored exactly.

One update: over minibatches of whole rollouts, a step of the policy towards the advantages and one of the critic
towards the returns. REINFORCE and GRPO take the policy's step alone.
"""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

from training import adapters, checkpoints, losses
from training.advantages import critic_is_ready, explained_variance
from training.batches import Vision
from training.experience import Experience, Part, parts_of
from training.policy import ActorCritic
from training.ppo_args import Args
from training.runs import write_json
from training.serving import Actor
from training.shard import summed
from training.tally import Tally

WHOLE = "whole.json"  # written when every rank has written its part of a checkpoint


def learning_rate(update: int, args: Args) -> float:
    """The policy's: linear warm-up, then a straight line to the share `lr_end` at the last update."""
    done = update / max(1, args.updates - 1)
    return args.lr * min(1.0, (update + 1) / max(1, args.warmup)) * (1 - (1 - args.lr_end) * done)


class Learner:
    """The weights, their optimisers, and how far the run has come. `version` counts batches learnt from.

    `vision` is for a policy that sees.
    """

    def __init__(
        self,
        policy: ActorCritic,
        args: Args,
        mesh: DeviceMesh | None = None,
        device: str = "cpu",
        vision: Vision | None = None,
    ) -> None:
        self.policy, self.args, self.mesh, self.device, self.vision = policy, args, mesh, device, vision
        self.version = self.updates = self.samples = 0
        self.value_losses: list[float] = []
        self.critic_to_come = args.algorithm == "ppo" and args.pretraining > 0
        self._policy_optimiser = torch.optim.AdamW(policy.policy_parameters(), lr=args.lr, weight_decay=0.0)
        self._critic_optimiser = torch.optim.AdamW(policy.critic_parameters(), lr=args.critic_lr, weight_decay=0.0)

    def pretrain(self, seen: Experience) -> dict[str, float]:
        """The critic alone, towards what the rollouts really came to; the policy stays as it is.

        With a critic lambda of 1 and gamma 1 the returns are the Monte-Carlo ones, whatever the critic says now.
        """
        tally = Tally()
        for epoch in range(self.args.pretraining_epochs):
            for rows in self._minibatches(seen, epoch):
                self._critic_step(seen, rows, tally, clip=None)
        told = {**tally.means(self.mesh), "explained_variance": self._explained(seen)}
        self.value_losses.append(told["value_loss"])
        ready = critic_is_ready(self.value_losses, told["explained_variance"])
        self.critic_to_come = len(self.value_losses) < self.args.pretraining and not ready
        return told

    def update(self, seen: Experience) -> dict[str, float]:
        """One update of policy and critic.

        A policy that has come further than `target_kl` from where it was takes no more steps in this update (early
        stopping as in Spinning Up's PPO); the critic goes on.
        """
        args, tally = self.args, Tally()
        for group in self._policy_optimiser.param_groups:
            group["lr"] = learning_rate(self.updates, args)
        near = True  # the policy is still near to the one that this update began with
        for epoch in range(args.epochs):
            for rows in self._minibatches(seen, epoch):
                if near:
                    away = self._policy_step(seen, rows, tally)
                    near = not args.target_kl or away <= args.target_kl
                if args.algorithm == "ppo":
                    self._critic_step(seen, rows, tally, clip=args.value_clip or None)
        self.updates += 1
        critic = {"explained_variance": self._explained(seen)} if args.algorithm == "ppo" else {}
        return {**tally.means(self.mesh), **critic}

    def _explained(self, seen: Experience) -> float:
        """How well the critic knew, before this batch, what its rollouts came to."""
        group = self.mesh.get_group() if self.mesh else None
        return explained_variance(seen.values, seen.returns, seen.mask, group)

    def _minibatches(self, seen: Experience, epoch: int) -> list[list[int]]:
        """Rows of whole rollouts, shuffled; the same for the same seed, version and epoch. REINFORCE takes one step.

        Always equally many, and some of them empty if need be: ranks must not differ in how often they step.
        """
        parts = 1 if self.args.algorithm == "reinforce" else self.args.minibatches
        owners = seen.rollout.tolist()
        order = sorted(set(owners))
        random.Random(f"{self.args.seed} {self.version} {epoch}").shuffle(order)
        borders = [len(order) * n // parts for n in range(parts + 1)]
        chosen = [set(order[a:b]) for a, b in itertools.pairwise(borders)]
        return [[row for row, owner in enumerate(owners) if owner in some] for some in chosen]

    def _parts(self, seen: Experience, rows: list[int]) -> list[Part]:
        return parts_of(seen.rows, rows, self.args.budget, self.mesh, self.device, self.vision)

    def _policy_step(self, seen: Experience, rows: list[int], tally: Tally) -> float:
        """One step on these rows; the mean k3 of old to new over their tokens, as it was before the step."""
        args, total, away = self.args, summed(seen.tokens(rows), self.mesh), 0.0
        if total == 0:
            return 0.0
        solved = summed(int((seen.learnt[rows] & seen.solved[rows][:, None]).sum()), self.mesh)
        for part in self._parts(seen, rows):
            logp = self.policy.logprobs(part.batch)
            learnt, old, gains = (seen.at(name, part) for name in ("learnt", "old", "advantages"))
            if args.algorithm == "reinforce":
                per_token = -gains * logp
                tally.add("approx_kl", 0.0, int(learnt.sum()))
            else:
                found = losses.policy_loss(
                    logp, old, gains, learnt, args.clip_low, args.clip_high, args.dual_clip or None,
                    seen.at("weights", part),
                )  # fmt: skip
                per_token, sums = found.loss, found.sums()
                away += sums["approx_kl"]
                for name, value in sums.items():
                    tally.add(name, value, int(learnt.sum()))
            loss = losses.aggregate(per_token, learnt, total=total)
            tally.add("policy_loss", float(loss.detach()) * total, int(learnt.sum()))
            if args.positive and solved:
                loss = loss + args.positive * losses.aggregate(-logp, learnt * seen.solved_at(part), total=solved)
            if args.kl:
                loss = loss + args.kl * losses.aggregate(
                    losses.kl(logp, seen.at("reference", part)), learnt, total=total
                )
            loss.backward()  # type: ignore[no-untyped-call]
        tally.add("grad_norm", self._descend(self._policy_optimiser), 1)
        return summed(away, self.mesh) / total

    def _critic_step(self, seen: Experience, rows: list[int], tally: Tally, clip: float | None) -> None:
        total = summed(int(seen.mask[rows].sum()), self.mesh)
        if total == 0:
            return
        for part in self._parts(seen, rows):
            mask, targets, old = (seen.at(name, part) for name in ("mask", "returns", "values"))
            per_token = losses.value_loss(self.policy.values(part.batch), targets, mask, old, clip)
            loss = losses.aggregate(per_token, mask, total=total)
            tally.add("value_loss", float(loss.detach()) * total, int(mask.sum()))
            loss.backward()  # type: ignore[no-untyped-call]
        tally.add("critic_grad_norm", self._descend(self._critic_optimiser), 1)

    def _descend(self, optimiser: torch.optim.Optimizer) -> float:
        parameters = [p for group in optimiser.param_groups for p in group["params"]]
        norm = torch.nn.utils.clip_grad_norm_(parameters, self.args.grad_norm)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        return float(norm)

    # -- on disk -------------------------------------------------------------------------------------------------

    def publish(self, actor: Actor, out: Path, rank: int = 0) -> None:
        """Hands the policy to whoever acts, as an adapter folder; every rank's actor reads the same one.

        The first rank's before the others', because it is the one that tells a server.
        """
        adapters.save(self.policy.model, "policy", out / "acting")
        for turn in (True, False):
            self._wait()
            if (rank == 0) is turn:
                actor.load(out / "acting", self.version)
        self._wait()

    def save(self, out: Path, rank: int) -> None:
        """A checkpoint; older ones are removed once it stands. Each rank writes the state of its own optimisers."""
        to = out / f"checkpoint-{self.version:06d}"
        self.policy.save(to)
        state = {
            "policy": self._policy_optimiser.state_dict(),
            "critic": self._critic_optimiser.state_dict(),
            "counts": [self.version, self.updates, self.samples],
            "value_losses": self.value_losses,
            "critic_to_come": self.critic_to_come,
        }
        torch.save(state, to / f"rank-{rank}.pt")
        self._wait()
        if rank == 0:
            write_json(to / WHOLE, {"version": self.version})
            checkpoints.keep_only(to)

    def restore(self, out: Path, rank: int) -> None:
        """Goes on from the newest whole checkpoint, if there is one."""
        newest = checkpoints.latest(out, WHOLE)
        if newest is None:
            return
        self.policy.load(newest)
        state = torch.load(newest / f"rank-{rank}.pt", weights_only=self.mesh is None)
        self._policy_optimiser.load_state_dict(state["policy"])
        self._critic_optimiser.load_state_dict(state["critic"])
        self.version, self.updates, self.samples = state["counts"]
        self.value_losses, self.critic_to_come = state["value_losses"], state["critic_to_come"]

    def _wait(self) -> None:
        """Until every rank is here."""
        if self.mesh is not None:
            dist.barrier()
