"""A PPO run on paper: whether its arguments go together, what it needs of each GPU, and how it is started.

    python -m training.ppo --config training/configs/eight_gpus.toml --dry-run

The table [machine] of a configuration says what it is to run on; the trainer itself does not read it. Memory is worked
out from the model's shape: weights and optimiser exactly, activations as an upper estimate. Nothing is loaded.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from agent_core.screen.shrink import FACTOR, MAX_PIXELS

GB = 1e9
ROOM = 0.95  # share of a GPU that may be planned: the rest goes to the allocator and to CUDA itself
LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)  # what vLLM can serve
PINS = {"trl": ((1, 16), (1, 16)), "transformers": ((5, 18), (5, 999)), "vllm": ((0, 22), (0, 31))}  # lowest, highest
BYTES = {"float32": 4, "bf16": 2}  # of a weight, by --base-dtype
HERE = ("transformers", "llama_cpp")  # who acts without a server
CHUNK = 1024  # positions whose logits are held at once (training.policy)


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a model; `keys` is the width of all keys of a token. A text model has no `tower` sizes; `biased` is
    whether query, key and value have biases."""

    width: int
    inner: int
    layers: int
    heads: int
    keys: int
    vocabulary: int
    tied: bool
    biased: bool = False
    tower: tuple[int, int, int, int] | None = None  # width, inner, layers, values of a patch

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Shape:
        """From a config.json as transformers writes it."""
        text = {**config, **(config.get("text_config") or {})}
        head = text.get("head_dim") or text["hidden_size"] // text["num_attention_heads"]
        sight = config.get("vision_config")
        tower = None
        if sight:
            patch = sight.get("in_channels", 3) * sight.get("temporal_patch_size", 2) * sight.get("patch_size", 14) ** 2
            tower = (sight["hidden_size"], sight["intermediate_size"], sight["depth"], patch)
        return cls(
            text["hidden_size"], text["intermediate_size"], text["num_hidden_layers"], text["num_attention_heads"],
            head * text.get("num_key_value_heads", text["num_attention_heads"]), text["vocab_size"],
            bool(config.get("tie_word_embeddings", text.get("tie_word_embeddings", False))),
            "qwen2" in str(config.get("model_type")), tower,
        )  # fmt: skip

    @property
    def layer(self) -> int:
        """Weights of one layer of the language model."""
        h, k = self.width, self.keys
        biases = h + 2 * k if self.biased else 0
        return 2 * h * h + 2 * h * k + 3 * h * self.inner + 2 * h + biases

    @property
    def weights(self) -> int:
        """All weights, those of the vision tower too."""
        words = self.vocabulary * self.width * (1 if self.tied else 2)
        return words + self.layers * self.layer + self.width + self.tower_weights

    def lora(self, rank: int) -> int:
        """Weights of one adapter on every projection of the language model."""
        h, k, f = self.width, self.keys, self.inner
        return self.layers * rank * (2 * 2 * h + 2 * (h + k) + 3 * (h + f))

    def activations(self, rank: int) -> int:
        """Bytes that one token leaves for the way back in all layers: bfloat16, the residual stream float32."""
        h, k, f = self.width, self.keys, self.inner
        return self.layers * (2 * 4 * h + 2 * (4 * h + 2 * k + 4 * f + 7 * rank))

    @property
    def tower_weights(self) -> int:
        """Weights of the vision tower; it is gathered with the whole, layers one by one."""
        if self.tower is None:
            return 0
        h, f, layers, patch = self.tower
        block = 4 * h * h + 4 * h + 3 * h * f + 2 * f + h + 2 * h
        merged = 4 * h
        return layers * block + patch * h + h + merged * merged + merged + merged * self.width + self.width


SEVEN = Shape(3584, 18944, 28, 28, 512, 152064, False, True, (1280, 3420, 32, 1176))
SHAPES = {
    "Qwen2.5-VL-7B": SEVEN,
    "UI-TARS-1.5-7B": SEVEN,
    "SmolLM2-135M": Shape(576, 1536, 30, 9, 192, 49152, True),
}


@dataclass(frozen=True, slots=True)
class Machine:
    """What a run is planned for. With `rollout_gpus` 0 the server, if there is one, shares the trainer's first GPU."""

    shape: str = ""
    trainer_gpus: int = 0
    rollout_gpus: int = 0
    gpu_gb: float = 80.0
    server_share: float = 0.9
    context: int = 8192
    max_loras: int = 0
    max_lora_rank: int = 0


def config_of(argv: Sequence[str]) -> Path | None:
    """The file that a command line names with --config."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config", type=Path)
    named: Path | None = parser.parse_known_args(list(argv))[0].config
    return named


def machine(file: Path | None) -> Machine:
    """The table [machine] of a configuration. Raises SystemExit for an unknown name in it."""
    table = tomllib.loads(file.read_text(encoding="utf-8")).get("machine", {}) if file else {}
    known = {f.name: f for f in dataclasses.fields(Machine)}
    for name, value in table.items():
        if name not in known:
            raise SystemExit(f"The configuration {file} names machine.{name}; known are {', '.join(known)}.")
        if not isinstance(value, int | float if isinstance(known[name].default, float) else type(known[name].default)):
            raise SystemExit(f"The configuration {file} gives machine.{name} {value!r}, which is of another type.")
    return Machine(**table)


def report(args: Mapping[str, Any], file: Path | None) -> str:
    """The plan for reading. Raises SystemExit that lists what does not go together."""
    on = machine(file)
    shape, where = _shape(args, on)
    wrong = problems(args, on)
    parts: list[str] = [f"model: {where}, {shape.weights / 1e9:.2f} billion weights" if shape else f"model: {where}"]
    if shape:
        need = memory(args, on, shape)
        parts += [f"{name:<44}{size:8.2f} GB" for name, size in need.items()]
        if tokens := held(on, shape, need):
            parts.append(f"{'server: tokens held at the same time':<44}{tokens:8d}")
        wrong += too_much(on, shape, need)
    if wrong:
        raise SystemExit("\n".join([*parts, "This run cannot be started:", *(f"  - {one}" for one in wrong)]))
    return "\n".join([*parts, *plan(args, on, file)])


def problems(args: Mapping[str, Any], on: Machine) -> list[str]:
    """What does not go together, a sentence each."""
    found = []
    ranks = max(1, on.trainer_gpus)
    share = args["batch"] // ranks
    if args["batch"] % (ranks * args["group"]):
        found.append(f"batch {args['batch']} must be a multiple of {ranks} ranks times group {args['group']}.")
    if args["minibatches"] > share:
        found.append(f"{args['minibatches']} minibatches are more than the {share} rollouts of a rank.")
    if args["environments"] < 1 or args["budget"] < args["max_tokens"]:
        found.append("environments must be at least 1, and budget at least max_tokens.")
    if args["actor"] not in HERE:
        found += _server_problems(args, on)
    elif on.rollout_gpus:
        found.append(f"rollout_gpus are of no use to actor = {args['actor']}: name a server, .../v1.")
    if args["actor"] == "llama_cpp" and args["context"] < args["max_tokens"]:
        found.append(f"context {args['context']} is shorter than max_tokens {args['max_tokens']}.")
    shown = args["images"] * (args["max_pixels"] or MAX_PIXELS) // FACTOR**2 if args["dialect"] != "elements" else 0
    if shown and shown >= (args["max_tokens"] or args["budget"]):
        found.append(f"{args['images']} screenshots of max_pixels alone have {shown} tokens: lower one, or max_tokens.")
    for package, (low, high) in PINS.items():
        if (has := _installed(package)) and not low <= has[:2] <= high:
            found.append(f"{package} {'.'.join(map(str, has))} is installed; {_range(low, high)} is needed.")
    if _installed("verl"):
        found.append("verl is installed, which pins other versions of trl and transformers: use another environment.")
    return found


def _server_problems(args: Mapping[str, Any], on: Machine) -> list[str]:
    found = []
    if args["rank"] not in LORA_RANKS:
        found.append(f"rank {args['rank']} cannot be served by vLLM; it takes {', '.join(map(str, LORA_RANKS))}.")
    if on.max_lora_rank not in LORA_RANKS or on.max_lora_rank < args["rank"]:
        found.append(f"machine.max_lora_rank {on.max_lora_rank} must be one of those and at least {args['rank']}.")
    if on.max_loras < args["max_stale"] + 2:
        found.append(f"machine.max_loras {on.max_loras} must be at least max_stale + 2, {args['max_stale'] + 2}.")
    if on.context < args["max_tokens"]:
        found.append(f"machine.context {on.context} is shorter than max_tokens {args['max_tokens']}.")
    return found


def memory(args: Mapping[str, Any], on: Machine, shape: Shape) -> dict[str, float]:
    """GB on one trainer's GPU and, with a server, on one of its GPUs. The base is cut up over the ranks."""
    ranks, dtype = max(1, on.trainer_gpus), args["base_dtype"]
    words = shape.vocabulary * shape.width * (1 if shape.tied else 2)
    whole = 0 if ranks == 1 else BYTES[dtype] * (words + shape.layer + shape.tower_weights)
    adapters = 2 * shape.lora(args["rank"])
    doubled = 1 if args["bf16"] else 2
    need = {
        f"trainer: frozen base, {dtype}": BYTES[dtype] * shape.weights / ranks,
        "trainer: what is gathered at once": whole,
        "trainer: two adapters, gradients, AdamW": (4 + 4 + 8) * adapters / ranks,
        f"trainer: activations of {args['budget']} tokens": doubled * args["budget"] * shape.activations(args["rank"]),
        f"trainer: logits of {CHUNK} tokens": 3 * 4 * min(CHUNK, args["budget"]) * shape.vocabulary,
    }
    if args["actor"] == "transformers":
        need[f"actor: a base of its own, float32 and {dtype}"] = (4 + BYTES[dtype]) * shape.weights
    elif args["actor"] not in HERE:
        gpus = max(1, on.rollout_gpus)
        fixed = 2 * shape.weights + on.max_loras * 2 * shape.lora(on.max_lora_rank)
        need["server: base and adapters, bfloat16"] = fixed / gpus
        need["server: left for keys and values"] = on.server_share * on.gpu_gb * GB - fixed / gpus
    return {name: size / GB for name, size in need.items()}


def held(on: Machine, shape: Shape, need: Mapping[str, float]) -> int:
    """Tokens whose keys and values the server holds, over all its GPUs; 0 without a server."""
    left = need.get("server: left for keys and values", 0.0)
    return int(left * GB * max(1, on.rollout_gpus) / (2 * shape.layers * shape.keys * 2))


def too_much(on: Machine, shape: Shape, need: Mapping[str, float]) -> list[str]:
    """What does not fit on the GPUs, a sentence each."""
    trainer = sum(size for name, size in need.items() if not name.startswith("server"))
    server = on.server_share * on.gpu_gb if "server: base and adapters, bfloat16" in need else 0.0
    found = []
    if on.rollout_gpus and shape.heads % on.rollout_gpus:
        found.append(
            f"the server cannot cut {shape.heads} attention heads into {on.rollout_gpus}: take another number."
        )
    if on.trainer_gpus:
        together = trainer + (0 if on.rollout_gpus else server)
        if together > ROOM * on.gpu_gb:
            found.append(f"{together:.1f} GB on a trainer's GPU of {on.gpu_gb:g} GB: lower budget, or use more GPUs.")
    if server and need["server: left for keys and values"] <= 0:
        found.append("the server's share does not even hold the weights: raise machine.server_share or rollout_gpus.")
    elif server and held(on, shape, need) < on.context:
        found.append(f"the server holds {held(on, shape, need)} tokens, less than one context of {on.context}.")
    return found


def plan(args: Mapping[str, Any], on: Machine, file: Path | None) -> list[str]:
    """The commands that start it, in order, and what runs at the same time."""
    config = f" --config {file}" if file else ""
    lines = []
    if args["ray"] not in ("", "local"):
        lines.append(
            "on the head node: ray start --head; on every node that environments run on: ray start --address ..."
        )
    if args["actor"] not in HERE:
        gpus = max(1, on.rollout_gpus)
        lines.append(
            f"server: VLLM_ALLOW_RUNTIME_LORA_UPDATING=True vllm serve {args['base']} --served-model-name "
            f"{args['served_name']} --enable-lora --max-loras {on.max_loras} --max-lora-rank {on.max_lora_rank} "
            f"--max-model-len {on.context} --gpu-memory-utilization {on.server_share:g} --tensor-parallel-size {gpus}"
        )
    if on.trainer_gpus > 1:
        lines.append(f"trainer: torchrun --nproc-per-node {on.trainer_gpus} -m training.ppo{config}")
    else:
        lines.append(f"trainer: python -m training.ppo{config}")
    ranks, places = max(1, on.trainer_gpus), "on Ray" if args["ray"] else "in threads of the trainer"
    lines.append(f"{ranks * args['environments']} environments {places}, {args['environments']} of each rank")
    lines.append(
        f"{args['pretraining']} batches for the critic, then {args['updates']} updates of {args['batch']} rollouts: "
        f"{(args['pretraining'] + args['updates']) * args['batch']} rollouts, {args['batch'] // ranks} of each rank"
    )
    return lines


def _shape(args: Mapping[str, Any], on: Machine) -> tuple[Shape | None, str]:
    """The model's shape and where it is known from: its own folder, if it lies here, or the machine's table."""
    config = Path(args["base"]) / "config.json"
    if config.is_file():
        return Shape.of(json.loads(config.read_text(encoding="utf-8"))), args["base"]
    name = "SmolLM2-135M" if args["base"] == "bundled" else on.shape
    if name in SHAPES:
        return SHAPES[name], f"{args['base']}, by the shape of {name}"
    return None, f"{args['base']}, which is not here; name a machine.shape of {', '.join(SHAPES)} to see the memory"


def _installed(package: str) -> tuple[int, ...]:
    """The version's numbers, empty if it is not installed."""
    try:
        return tuple(int(part) for part in version(package).split(".") if part.isdigit())
    except PackageNotFoundError:
        return ()


def _range(low: tuple[int, int], high: tuple[int, int]) -> str:
    start = f"{low[0]}.{low[1]}"
    return start if low == high else f"{start} or newer" if high[1] == 999 else f"{start} to {high[0]}.{high[1]}"
