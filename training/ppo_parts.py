"""What a PPO run is put together from, by its arguments: base and adapters, who acts, what is played.

Each is made once, at the start. What a policy is shown goes through one album, so that it learns from the very patches
that it saw when it acted.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import cast

import torch
from transformers import AutoConfig

from agent_core.dialects import dialect
from agent_core.dialects.coordinates import Coordinates
from agent_core.dialects.uitars import UiTarsRules
from agent_core.errors import ModelError
from agent_core.screen.shrink import FACTOR, MAX_PIXELS, MIN_PIXELS
from training.album import Album
from training.episodes import Environment, EpisodeEnvironment
from training.experience import Algorithm, Credit
from training.policy import DTYPES, ActorCritic, bundled_base, load_base, load_tokenizer, lora
from training.pool import Together
from training.ppo_args import Args
from training.serving import Actor, TransformersActor
from training.serving_http import ServerActor
from training.serving_llama import LlamaActor
from training.tasks import HERE, suite
from training.tasks.task import Split, Suite


def base_of(args: Args) -> Path:
    """Raises SystemExit with a sentence when there is none."""
    base = bundled_base() if args.base == "bundled" else Path(args.base)
    if not base.exists():
        raise SystemExit(f"There is no model in {base}: name the folder of one with --base.")
    return base


def made_album(args: Args) -> Album | None:
    """For the screenshots that the policy is shown; None for one that reads. Raises ModelError for a base without
    eyes."""
    if not args.sees:
        return None
    base = base_of(args)
    sight = getattr(AutoConfig.from_pretrained(str(base)), "vision_config", None) if base.is_dir() else None
    if sight is None or sight.patch_size * sight.spatial_merge_size != FACTOR:
        raise ModelError(f"The model in {base} is not shown pictures as Qwen2.5-VL is: leave --dialect uitars out.")
    return Album(
        load_tokenizer(base),
        min_pixels=args.min_pixels or MIN_PIXELS,
        max_pixels=args.max_pixels or MAX_PIXELS,
    )


def made_policy(args: Args) -> ActorCritic:
    """Base and adapters; the adapter to start from goes into both. Raises ModelError."""
    base, _ = load_base(base_of(args), DTYPES[args.base_dtype])
    config = lora(base, args.rank, args.lora_alpha)
    half = torch.bfloat16 if args.bf16 else None
    policy = ActorCritic(base, config, autocast=half, checkpointing=bool(args.checkpointing))
    if args.start:
        policy.start(Path(args.start))
    return policy


def made_actor(args: Args, album: Album | None = None, device: str = "cpu", rank: int = 0) -> Actor:
    """Who acts in the rollouts of a rank. Raises ModelError."""
    folder = Path(args.out) / "served"
    if args.actor == "transformers":
        base, tokenizer = load_base(base_of(args), DTYPES[args.base_dtype])
        here = TransformersActor.of_model(base.to(device).eval(), tokenizer, args.max_new_tokens, album)
        return Together(here, args.environments)
    if args.actor == "llama_cpp":
        child = LlamaActor(
            base_of(args),
            folder / f"rank-{rank}",
            kind=args.served_as,
            context=args.context,
            max_new_tokens=args.max_new_tokens,
            threads=args.threads,
        )
        return Together(child, args.environments)
    return ServerActor(
        args.actor, args.served_name, load_tokenizer(base_of(args)), folder, album=album, leads=rank == 0,
        max_new_tokens=args.max_new_tokens, parallel=args.environments,
    )  # fmt: skip


def made_environment(args: Args, split: Split = "train") -> EpisodeEnvironment:
    rules = UiTarsRules(
        cast(Coordinates, args.coordinates), min_pixels=args.min_pixels, max_pixels=args.max_pixels, images=args.images
    )
    asked_in = dialect(args.dialect, rules if args.sees else None)
    return EpisodeEnvironment(
        source_of(args), split, max_steps=args.max_steps, dialect=asked_in, unreadable=args.unreadable,
        per_turn=args.per_turn, own=True,
    )  # fmt: skip


def source_of(args: Args) -> Suite:
    """The suite of one environment; real programs run in a sandbox of its own, replaced when it breaks down."""
    if args.suite in HERE:
        return suite(args.suite)
    from training.tasks.leased import LeasedSuite

    return LeasedSuite(partial(suite, args.suite), 1)


def made_environments(args: Args) -> list[Environment]:
    """Here, or each in a process of a Ray cluster."""
    if not args.ray:
        return [made_environment(args) for _ in range(args.environments)]
    from training.pool_ray import RemoteEnvironment, connect

    connect(args.ray)
    make = partial(made_environment, args)
    return [RemoteEnvironment(make, num_cpus=args.ray_cpus) for _ in range(args.environments)]


def credit_of(args: Args) -> Credit:
    return Credit(
        algorithm=cast(Algorithm, args.algorithm),
        gamma=args.gamma,
        policy_lam=None if args.policy_lam < 0 else args.policy_lam,
        critic_lam=None if args.critic_lam < 0 else args.critic_lam,
        alpha=args.alpha,
        bootstrap_cut=bool(args.bootstrap_cut),
        whiten=bool(args.whiten),
    )
