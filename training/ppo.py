"""Multi-turn PPO on sandbox rollouts: streaming, with a critic that is pretrained, and adapters over a frozen base.

    python -m training.ppo --base runs/tiny/model --suite pretend_small --out runs/ppo

A linear script. One update: take the rollouts that ended, read them with policy and critic, decoupled GAE with a
length-adaptive lambda, whitening, clip-higher over minibatches with a token mean, publish the adapter to whoever acts.
REINFORCE and GRPO are here as baselines (`--algorithm`). `--rollouts lockstep` is exact: killed at any time and started
again with the same arguments it ends with the same weights. Under torchrun every rank plays and learns its share.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads starve whatever else runs here

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

from agent_core.step import CHATML_STOP
from training import adapters, checkpoints, dry_run, losses
from training.advantages import critic_is_ready, explained_variance
from training.episodes import Environment, EpisodeEnvironment
from training.experience import Algorithm, Credit, Experience, Part, experience, parts_of, summary
from training.jobs import JobSource, PoolMetrics, Trajectory
from training.lockstep import lockstep
from training.policy import ActorCritic, bundled_base, load_base, load_tokenizer, lora
from training.pool import Pool, Together
from training.runs import RunFolder, knob, write_json
from training.serving import Actor, TransformersActor
from training.serving_http import ServerActor
from training.shard import ranks, shard, summed
from training.tally import Tally
from training.tasks import suite
from training.tasks.task import TRAIN_SEEDS, seed_of

WHOLE = "whole.json"  # written when every rank has written its part of a checkpoint


@dataclass(frozen=True, slots=True)
class Args:
    """One run's knobs; saved as args.json. A TOML file of the same names is read with --config."""

    base: str = knob("bundled", "folder of the base model as transformers saves it, or `bundled`")
    start: str = knob("", "adapter folder to go on from; a new adapter if empty")
    out: str = knob("runs/ppo", "run folder")
    suite: str = knob("pretend_small", "suite of tasks to play")
    tasks: str = knob("", "task names, comma separated; all if empty")
    actor: str = knob("transformers", "who acts: `transformers` in this process, or the address of a server, .../v1")
    served_name: str = knob("base", "the server's name for the base model")
    algorithm: str = knob("ppo", "ppo, grpo or reinforce")
    updates: int = knob(40, "updates of the policy")
    batch: int = knob(64, "rollouts an update")
    group: int = knob(1, "rollouts of the same task and seed; grpo and reinforce compare within such a group")
    rollouts: str = knob("streaming", "streaming or lockstep")
    environments: int = knob(64, "environments at work at the same time, of each rank")
    ray: str = knob("", "address of the Ray cluster that environments run on, or `local`; empty for threads here")
    ray_cpus: float = knob(1.0, "processor cores that Ray sets aside for an environment")
    max_stale: int = knob(1, "updates that a rollout may be behind when it is learnt from")
    retries: int = knob(2, "times that a rollout is played again whose environment broke down")
    max_steps: int = knob(8, "most actions an episode")
    max_new_tokens: int = knob(48, "most tokens a reply")
    max_tokens: int = knob(0, "turns from the first one longer than this are left out; 0 for no limit")
    fork_threshold: int = knob(0, "tokens of a row that may be given up to keep it going with the next prompt")
    unreadable: float = knob(0.0, "cost of a reply that holds nothing to do")
    per_turn: float = knob(0.0, "cost of a turn")
    pretraining: int = knob(4, "batches of rollouts that the critic is pretrained on; 0 for none")
    pretraining_epochs: int = knob(4, "passes over each of them")
    gamma: float = knob(1.0, "discount per sampled token")
    policy_lam: float = knob(-1.0, "lambda of the policy's advantages; -1 for length-adaptive")
    critic_lam: float = knob(1.0, "lambda of the critic's returns; -1 for the policy's, which couples the two")
    alpha: float = knob(0.05, "alpha of the length-adaptive lambda; 0.5 for rollouts of tens of tokens")
    bootstrap_cut: int = knob(1, "1: a rollout cut by a limit goes on from its last value; 0: the limit is an end")
    whiten: int = knob(1, "1: advantages are whitened over the batch")
    clip_low: float = knob(0.2, "clip below")
    clip_high: float = knob(0.28, "clip above (clip-higher)")
    dual_clip: float = knob(3.0, "dual clip; 0 for none")
    cap: float = knob(1.0, "cap of the truncated importance weights against the sampler's log-probabilities")
    positive: float = knob(0.0, "weight of the positive-example loss; VAPO: 0.1")
    kl: float = knob(0.0, "weight of the KL loss (k3) against the base; off by default")
    value_clip: float = knob(0.0, "clip of the value loss; 0 for none")
    epochs: int = knob(1, "passes over a batch")
    minibatches: int = knob(4, "optimiser steps a pass")
    budget: int = knob(8192, "tokens that are read at once; gradients add up over a minibatch")
    lr: float = knob(1e-3, "learning rate of the policy")
    critic_lr: float = knob(2e-3, "learning rate of the critic")
    warmup: int = knob(2, "updates of linear warm-up of the policy's learning rate")
    lr_end: float = knob(1.0, "share of the policy's learning rate that is left at the last update")
    rank: int = knob(32, "LoRA rank of policy and critic")
    lora_alpha: int = knob(32, "LoRA alpha")
    grad_norm: float = knob(1.0, "gradients are cut to this norm")
    bf16: int = knob(0, "1: matrices are multiplied in bfloat16")
    evaluate_every: int = knob(10, "updates between evaluations on held-out seeds; 0 for none")
    evaluate_rollouts: int = knob(96, "rollouts an evaluation, sampled at temperature 1")
    save_every: int = knob(10, "updates between checkpoints")
    seed: int = knob(0, "seed of weights, order and sampling")
    checkpointing: int = knob(0, "1: activations are made again in the backward pass, which saves memory")
    threads: int = knob(1, "torch threads")


def main(argv: Sequence[str] | None = None) -> None:
    given = list(sys.argv[1:] if argv is None else argv)
    if "--dry-run" in given:
        print(dry_run.report(asdict(parse(given)), dry_run.config_of(given)))
    else:
        train(parse(given))


def parse(argv: Sequence[str] | None = None) -> Args:
    """Defaults, then the TOML file named by --config, then the command line. Raises SystemExit with a sentence."""
    parser = argparse.ArgumentParser(prog="python -m training.ppo", description=__doc__)
    parser.add_argument("--config", type=Path, help="TOML file with arguments by name")
    parser.add_argument("--dry-run", action="store_true", help="check the arguments and print memory and plan")
    for name, f in Args.__dataclass_fields__.items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=type(f.default), default=None, help=f"{f.metadata['help']} ({f.default})")
    given = {name: value for name, value in vars(parser.parse_args(argv)).items() if value is not None}
    file, _ = given.pop("config", None), given.pop("dry_run")
    return check(replace(Args(), **{**(from_toml(file) if file else {}), **given}))


def from_toml(file: Path) -> dict[str, Any]:
    """The arguments in a file, each of its argument's type. Raises SystemExit that names what is wrong."""
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SystemExit(f"The configuration {file} cannot be read: {error}.") from error
    values.pop("machine", None)  # what it runs on is read by the dry run alone
    for name, value in values.items():
        if name not in Args.__dataclass_fields__:
            raise SystemExit(f"The configuration {file} names {name!r}, which is no argument; see --help.")
        kind = type(Args.__dataclass_fields__[name].default)
        if not isinstance(value, (int, float) if kind is float else kind):
            raise SystemExit(f"The configuration {file} gives {name!r} {value!r}; it takes a {kind.__name__}.")
    return values


def check(args: Args) -> Args:
    """Raises SystemExit with a sentence for arguments that do not go together."""
    if args.algorithm not in get_args(Algorithm):
        raise SystemExit(f"--algorithm is one of {', '.join(get_args(Algorithm))}.")
    if args.rollouts not in ("streaming", "lockstep"):
        raise SystemExit("--rollouts is streaming or lockstep.")
    if args.batch % args.group or (args.algorithm != "ppo" and args.group < 2):
        raise SystemExit("--batch must be a multiple of --group, and grpo and reinforce need groups of two or more.")
    return args


def train(args: Args) -> Path:
    """Trains, and returns the folder of the policy's adapter."""
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    out = Path(args.out)
    with ranks() as mesh:
        device = mesh.device_type if mesh else "cuda" if torch.cuda.is_available() else "cpu"
        rank, world = (mesh.get_local_rank(), mesh.size()) if mesh else (0, 1)
        learner = Learner(shard(made_policy(args).to(device), mesh), args, mesh, device)
        learner.restore(out, rank)
        folder = RunFolder(out, args, learner.version) if rank == 0 else None
        actor = made_actor(args)
        learner.publish(actor, out)
        player = Player(actor, args, learner.samples // world, rank, world)

        while learner.updates < args.updates:
            began = time.monotonic()
            trajectories, pool = player.take()
            seen = experience(
                learner.policy, trajectories, credit_of(args), budget=args.budget, max_tokens=args.max_tokens,
                fork_threshold=args.fork_threshold, cap=args.cap, with_reference=args.kl > 0, mesh=mesh, device=device,
            )  # fmt: skip
            phase = "critic" if learner.critic_to_come else args.algorithm
            learnt = learner.pretrain(seen) if learner.critic_to_come else learner.update(seen)
            learner.version += 1
            learner.samples += args.batch
            learner.publish(actor, out)
            player.published(learner.version)
            told = {**summary(trajectories, seen), **learnt, **asdict(pool), "seconds": time.monotonic() - began}
            if folder:
                folder.log(step=learner.version, phase=phase, update=learner.updates, samples=learner.samples, **told)
                report(learner, told, args)
            if learner.version % args.save_every == 0:
                learner.save(out, rank)
            if folder and args.evaluate_every and phase != "critic" and learner.updates % args.evaluate_every == 0:
                share = held_out(actor, args, args.evaluate_rollouts)
                folder.log(step=learner.version, phase="held_out", samples=learner.samples, **share)
                print(f"held out: {share['success']:.3f} of {share['n']:.0f}", flush=True)
        player.close()
        actor.close()
        learner.policy.save(out / "final")
    if folder:
        write_json(out / "result.json", {"updates": learner.updates, "samples": learner.samples, "args": asdict(args)})
        folder.close()
        print(f"adapter: {out / 'final' / 'policy'}")
    return out / "final" / "policy"


def base_of(args: Args) -> Path:
    """Raises SystemExit with a sentence when there is none."""
    base = bundled_base() if args.base == "bundled" else Path(args.base)
    if not base.exists():
        raise SystemExit(f"There is no model in {base}: name the folder of one with --base.")
    return base


def made_policy(args: Args) -> ActorCritic:
    """Base and adapters; the adapter to start from goes into both. Raises ModelError."""
    base, _ = load_base(base_of(args))
    config = lora(base, args.rank, args.lora_alpha)
    half = torch.bfloat16 if args.bf16 else None
    policy = ActorCritic(base, config, autocast=half, checkpointing=bool(args.checkpointing))
    if args.start:
        policy.start(Path(args.start))
    return policy


def made_actor(args: Args) -> Actor:
    """Who acts in the rollouts. Raises ModelError."""
    if args.actor == "transformers":
        base, tokenizer = load_base(base_of(args))
        return Together(TransformersActor.of_model(base.eval(), tokenizer, args.max_new_tokens), args.environments)
    tokenizer = load_tokenizer(base_of(args))
    return ServerActor(
        args.actor,
        args.served_name,
        encode=lambda text: tokenizer.encode(text, add_special_tokens=False),
        decode=tokenizer.decode,
        stop_id=tokenizer.convert_tokens_to_ids(CHATML_STOP),
        folder=Path(args.out) / "served",
        max_new_tokens=args.max_new_tokens,
        parallel=args.environments,
    )


def credit_of(args: Args) -> Credit:
    algorithm: Algorithm = args.algorithm  # type: ignore[assignment]  # checked by `check`
    return Credit(
        algorithm=algorithm,
        gamma=args.gamma,
        policy_lam=None if args.policy_lam < 0 else args.policy_lam,
        critic_lam=None if args.critic_lam < 0 else args.critic_lam,
        alpha=args.alpha,
        bootstrap_cut=bool(args.bootstrap_cut),
        whiten=bool(args.whiten),
    )


# -- playing -----------------------------------------------------------------------------------------------------------


def made_environment(args: Args) -> Environment:
    return EpisodeEnvironment(
        suite(args.suite), "train", max_steps=args.max_steps, unreadable=args.unreadable, per_turn=args.per_turn
    )


def made_environments(args: Args) -> list[Environment]:
    """Here, or each in a process of a Ray cluster."""
    if not args.ray:
        return [made_environment(args) for _ in range(args.environments)]
    from training.pool_ray import RemoteEnvironment, connect

    connect(args.ray)
    make = partial(made_environment, args)
    return [RemoteEnvironment(make, num_cpus=args.ray_cpus) for _ in range(args.environments)]


class Player:
    """This rank's share of the rollouts, from the streaming pool or in step. `first` is the number of its first one."""

    def __init__(self, actor: Actor, args: Args, first: int, rank: int, world: int) -> None:
        tasks = [task for task in args.tasks.split(",") if task] or suite(args.suite).tasks()
        self._actor, self._args, self._first = actor, args, first
        self._share = args.batch // world
        self._environments = made_environments(args)
        self._jobs = JobSource(tasks, lambda n: seed_of(n % len(TRAIN_SEEDS), "train"), args.group, rank, world)
        self._pool: Pool | None = None
        if args.rollouts == "streaming":
            self._pool = Pool(
                actor, self._environments, self._jobs, batch=self._share, max_stale=args.max_stale,
                retries=args.retries, seed=args.seed, first=first,
            )  # fmt: skip

    def take(self) -> tuple[list[Trajectory], PoolMetrics]:
        """This rank's share of a batch, and what was measured since the last call."""
        if self._pool is not None:
            return self._pool.take(), self._pool.metrics()
        jobs = [self._jobs.job(self._first + n) for n in range(self._share)]
        self._first += self._share
        return lockstep(self._actor, self._environments, jobs, self._args.seed, self._args.retries)

    def published(self, version: int) -> None:
        """New weights are out."""
        if self._pool is not None:
            self._pool.published(version)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
        else:
            for environment in self._environments:
                environment.close()


def held_out(actor: Actor, args: Args, rollouts: int) -> dict[str, float]:
    """Success on held-out seeds, as the actor samples: {success, n}."""
    source = suite(args.suite)
    tasks = [task for task in args.tasks.split(",") if task] or source.tasks()
    count = min(rollouts, args.environments)
    environments = [EpisodeEnvironment(source, "held_out", max_steps=args.max_steps) for _ in range(count)]
    jobs = JobSource(tasks, lambda n: seed_of(n, "held_out"))
    played, _ = lockstep(actor, environments, [jobs.job(n) for n in range(rollouts)], args.seed)
    for environment in environments:
        environment.close()
    return {"success": sum(one.solved for one in played) / max(1, len(played)), "n": len(played)}


# -- learning ----------------------------------------------------------------------------------------------------------


def learning_rate(update: int, args: Args) -> float:
    """The policy's: linear warm-up, then a straight line to the share `lr_end` at the last update."""
    done = update / max(1, args.updates - 1)
    return args.lr * min(1.0, (update + 1) / max(1, args.warmup)) * (1 - (1 - args.lr_end) * done)


class Learner:
    """The weights, their optimisers, and how far the run has come. `version` counts batches learnt from."""

    def __init__(self, policy: ActorCritic, args: Args, mesh: DeviceMesh | None = None, device: str = "cpu") -> None:
        self.policy, self.args, self.mesh, self.device = policy, args, mesh, device
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
        """One update of policy and critic."""
        args, tally = self.args, Tally()
        for group in self._policy_optimiser.param_groups:
            group["lr"] = learning_rate(self.updates, args)
        for epoch in range(args.epochs):
            for rows in self._minibatches(seen, epoch):
                self._policy_step(seen, rows, tally)
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
        """Rows of whole rollouts, shuffled; the same for the same seed, version and epoch. REINFORCE takes one step."""
        parts = 1 if self.args.algorithm == "reinforce" else self.args.minibatches
        owners = seen.rollout.tolist()
        order = sorted(set(owners))
        random.Random(f"{self.args.seed} {self.version} {epoch}").shuffle(order)
        share = math.ceil(len(order) / parts)
        chosen = [set(order[n : n + share]) for n in range(0, len(order), share)]
        return [[row for row, owner in enumerate(owners) if owner in some] for some in chosen]

    def _parts(self, seen: Experience, rows: list[int]) -> list[Part]:
        return parts_of(seen.rows, rows, self.args.budget, self.mesh, self.device)

    def _policy_step(self, seen: Experience, rows: list[int], tally: Tally) -> None:
        args, total = self.args, summed(seen.tokens(rows), self.mesh)
        if total == 0:
            return
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
                per_token = found.loss
                for name, value in found.sums().items():
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

    def _critic_step(self, seen: Experience, rows: list[int], tally: Tally, clip: float | None) -> None:
        total = summed(int(seen.mask[rows].sum()), self.mesh)
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

    def publish(self, actor: Actor, out: Path) -> None:
        """Hands the policy to whoever acts, as an adapter folder; every rank's actor reads the same one."""
        adapters.save(self.policy.model, "policy", out / "acting")
        self._wait()
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


# -- telling -----------------------------------------------------------------------------------------------------------


def report(learner: Learner, told: dict[str, Any], args: Args) -> None:
    done = f"{learner.updates}/{args.updates}" if learner.updates else "critic"
    explained = told.get("explained_variance", math.nan)
    print(
        f"{done} success {told['success']:.2f} entropy {told['entropy']:.3f} turns {told['turns']:.1f} "
        f"explained {explained:.2f} {told['seconds']:.1f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
