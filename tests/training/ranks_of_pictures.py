"""What two ranks do in `test_ppo_ranks`: one has text alone to learn from, the other screenshots, and more of them."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import torch
import torch.distributed as dist

from tests.training.small import IMAGE, VISION, conversation, stirred, vision_model
from training.experience import experience
from training.jobs import Job, Trajectory
from training.learner import Learner
from training.policy import DTYPES, ActorCritic, lora
from training.ppo_args import Args
from training.ppo_parts import credit_of
from training.rows import SampledTurn
from training.shard import ranks, shard

SHARES = (3, 5)  # rollouts of a rank: of the first without pictures, of the second with them
CASES = {"float32": 1, "bf16": 2}  # what the base is held in -> minibatches of an update


def main(out: Path) -> None:
    torch.set_num_threads(1)
    with ranks() as mesh:
        assert mesh is not None
        first = sum(SHARES[: dist.get_rank()])
        mine = rollouts()[first : first + SHARES[dist.get_rank()]]
        for dtype in CASES:
            learner = learner_of(dtype, shard(policy_of(dtype), mesh), mesh)
            learn(learner, mine)
            learner.policy.save(out / dtype)


def policy_of(dtype: str) -> ActorCritic:
    base = vision_model().to(DTYPES[dtype])
    return stirred(ActorCritic(base, lora(base, 4, 8)))


def learner_of(dtype: str, policy: ActorCritic, mesh: object = None) -> Learner:
    args = Args(minibatches=CASES[dtype], warmup=1, lr=1e-2, budget=120, algorithm="ppo")
    return Learner(policy, args, mesh, vision=VISION)  # type: ignore[arg-type]


def learn(learner: Learner, mine: list[Trajectory]) -> None:
    """Two updates."""
    for _ in range(2):
        seen = experience(
            learner.policy, mine, credit_of(learner.args), budget=learner.args.budget, vision=VISION, mesh=learner.mesh
        )
        learner.update(seen)
        learner.version += 1


def rollouts() -> list[Trajectory]:
    rng = random.Random(5)
    made = []
    for n in range(sum(SHARES)):
        turns = conversation(rng, 1 + n % 3, images=n >= SHARES[0])
        fitting = tuple(turn for turn in turns if IMAGE not in turn.reply_ids)
        made.append(Trajectory(Job(n, "task", n, n), tuple[SampledTurn, ...](fitting), float(n % 2), "end", 0))
    return made


if __name__ == "__main__":
    main(Path(sys.argv[1]))
