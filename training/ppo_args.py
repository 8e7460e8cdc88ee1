"""The knobs of a PPO run: defaults, then a TOML file, then the command line, checked against each other.

`python -m training.ppo --help` prints them. `ppo_parts` makes of them what a run consists of.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from agent_core.dialects import DIALECTS
from agent_core.dialects.coordinates import Coordinates
from training.experience import Algorithm
from training.gguf_write import OURS
from training.policy import DTYPES
from training.runs import knob


@dataclass(frozen=True, slots=True)
class Args:
    """One run's knobs; saved as args.json. A TOML file of the same names is read with --config."""

    base: str = knob("bundled", "folder of the base model as transformers saves it, or `bundled`")
    base_dtype: str = knob("float32", "what the frozen base is held in; adapters are float32 always", tuple(DTYPES))
    start: str = knob("", "adapter folder to go on from; a new adapter if empty")
    out: str = knob("runs/ppo", "run folder")
    suite: str = knob("pretend_small", "suite of tasks to play")
    tasks: str = knob("", "task names, comma separated; all if empty")
    dialect: str = knob("elements", "what the policy is asked in: uitars shows it screenshots", tuple(DIALECTS))
    coordinates: str = knob("thousand", "how a policy that sees counts places", get_args(Coordinates))
    images: int = knob(5, "most screenshots in a prompt; older ones drop out, as they do in the program")
    min_pixels: int = knob(0, "least pixels of a screenshot as the model sees it; 0 for the model family's own")
    max_pixels: int = knob(0, "most pixels of it; 0 for the model family's own")
    actor: str = knob("transformers", "who acts: `transformers` here, `llama_cpp` in a child, or a server, .../v1")
    served_name: str = knob("base", "the server's name for the base model")
    served_as: str = knob("F16", "how llama.cpp's child holds a base that is a folder", OURS)
    context: int = knob(4096, "most tokens of prompt and reply in llama.cpp's child")
    algorithm: str = knob("ppo", "ppo, grpo or reinforce", get_args(Algorithm))
    updates: int = knob(40, "updates of the policy")
    batch: int = knob(64, "rollouts an update")
    group: int = knob(1, "rollouts of the same task and seed; grpo and reinforce compare within such a group")
    rollouts: str = knob("streaming", "streaming or lockstep", ("streaming", "lockstep"))
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
    target_kl: float = knob(0.0, "an update whose policy has come further than this (k3) takes no more steps; 0: all")
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
    threads: int = knob(1, "threads of torch, and of llama.cpp's child")

    @property
    def sees(self) -> bool:
        """Whether the policy is shown screenshots."""
        return self.dialect != "elements"


def parse(argv: Sequence[str] | None, description: str | None) -> Args:
    """Defaults, then the TOML file named by --config, then the command line. Raises SystemExit with a sentence."""
    parser = argparse.ArgumentParser(prog="python -m training.ppo", description=description)
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
    """Raises SystemExit with a sentence for arguments that cannot be, or do not go together."""
    for name, f in Args.__dataclass_fields__.items():
        choices = f.metadata["choices"]
        if choices and getattr(args, name) not in choices:
            raise SystemExit(f"--{name.replace('_', '-')} is one of {', '.join(choices)}.")
    if args.batch % args.group or (args.algorithm != "ppo" and args.group < 2):
        raise SystemExit("--batch must be a multiple of --group, and grpo and reinforce need groups of two or more.")
    if args.actor not in ("transformers", "llama_cpp") and not args.actor.startswith(("http://", "https://")):
        raise SystemExit("--actor is transformers, llama_cpp, or the address of a server: http://.../v1.")
    if args.sees and args.actor == "llama_cpp":
        raise SystemExit("--actor llama_cpp reads text only; let transformers or a server act for --dialect uitars.")
    return args
