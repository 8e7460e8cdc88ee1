"""Multi-turn PPO on sandbox rollouts: streaming, with a critic that is pretrained, and adapters over a frozen base.

    python -m training.ppo --base runs/tiny/model --suite pretend_small --out runs/ppo

A linear script. One update: take the rollouts that ended, read them with policy and critic, decoupled GAE with a
length-adaptive lambda, whitening, clip-higher over minibatches with a token mean, publish the adapter to whoever acts.
REINFORCE and GRPO are here as baselines (`--algorithm`). `--rollouts lockstep` is exact: killed at any time and started
again with the same arguments it ends with the same weights. Under torchrun every rank plays and learns its share.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads starve whatever else runs here

import torch

from training import dry_run, ppo_args
from training.experience import experience, summary
from training.learner import Learner
from training.playing import Player, held_out
from training.ppo_args import Args
from training.ppo_parts import credit_of, made_actor, made_album, made_policy
from training.runs import RunFolder, write_json
from training.shard import ranks, shard


def main(argv: Sequence[str] | None = None) -> None:
    given = list(sys.argv[1:] if argv is None else argv)
    args = ppo_args.parse(given, __doc__)
    if "--dry-run" in given:
        print(dry_run.report(asdict(args), dry_run.config_of(given)))
    else:
        train(args)


def train(args: Args) -> Path:
    """Trains, and returns the folder of the policy's adapter."""
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    out = Path(args.out)
    with ranks() as mesh:
        device = mesh.device_type if mesh else "cuda" if torch.cuda.is_available() else "cpu"
        rank, world = (mesh.get_local_rank(), mesh.size()) if mesh else (0, 1)
        album = made_album(args)
        vision = album.vision if album else None
        learner = Learner(shard(made_policy(args).to(device), mesh), args, mesh, device, vision)
        learner.restore(out, rank)
        folder = RunFolder(out, args, learner.version) if rank == 0 else None
        actor = made_actor(args, album, device, rank)
        learner.publish(actor, out, rank)
        player = Player(actor, args, learner.samples // world, rank, world)

        while learner.updates < args.updates:
            began = time.monotonic()
            trajectories, pool = player.take()
            seen = experience(
                learner.policy, trajectories, credit_of(args), budget=args.budget, max_tokens=args.max_tokens,
                fork_threshold=args.fork_threshold, cap=args.cap, with_reference=args.kl > 0, vision=vision, mesh=mesh,
                device=device,
            )  # fmt: skip
            phase = "critic" if learner.critic_to_come else args.algorithm
            learnt = learner.pretrain(seen) if learner.critic_to_come else learner.update(seen)
            learner.version += 1
            learner.samples += args.batch
            learner.publish(actor, out, rank)
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


def report(learner: Learner, told: dict[str, Any], args: Args) -> None:
    """One line for whoever watches."""
    done = f"{learner.updates}/{args.updates}" if learner.updates else "critic"
    explained = told.get("explained_variance", math.nan)
    print(
        f"{done} success {told['success']:.2f} entropy {told['entropy']:.3f} turns {told['turns']:.1f} "
        f"explained {explained:.2f} {told['seconds']:.1f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
