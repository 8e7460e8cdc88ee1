"""The rollouts of a PPO run: this rank's share of each batch, and evaluations on held-out seeds."""

from __future__ import annotations

from training.jobs import JobSource, PoolMetrics, Trajectory
from training.lockstep import lockstep
from training.pool import Pool
from training.ppo_args import Args
from training.ppo_parts import made_environment, made_environments
from training.runs import named
from training.serving import Actor
from training.tasks import suite
from training.tasks.task import TRAIN_SEEDS, seed_of


class Player:
    """This rank's share of the rollouts, from the streaming pool or in step. `first` is the number of its first one."""

    def __init__(self, actor: Actor, args: Args, first: int, rank: int, world: int) -> None:
        self._actor, self._args, self._first = actor, args, first
        self._share = args.batch // world
        self._environments = made_environments(args)
        self._jobs = JobSource(
            tasks_of(args), lambda n: seed_of(n % len(TRAIN_SEEDS), "train"), args.group, rank, world
        )
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
    environments = [made_environment(args, "held_out") for _ in range(min(rollouts, args.environments))]
    jobs = JobSource(tasks_of(args), lambda n: seed_of(n, "held_out"))
    played, _ = lockstep(actor, environments, [jobs.job(n) for n in range(rollouts)], args.seed)
    for environment in environments:
        environment.close()
    return {"success": sum(one.solved for one in played) / max(1, len(played)), "n": len(played)}


def tasks_of(args: Args) -> list[str]:
    """The tasks that are played."""
    return named(args.tasks) or list(suite(args.suite).tasks())
