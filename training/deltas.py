"""A LoRA adapter on disk as what it is: a change `up @ down * scale` of each weight that it reaches.

Read and written in PEFT's own format. What is more than such a change is refused: DoRA, trained biases, whole modules
saved beside the matrices. Scales are worked out per weight, so that rank and alpha patterns and rank-stabilised LoRA
are read exactly; they are never written.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from agent_core.errors import ModelError
from training.runs import write_json

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"
PREFIX = "base_model.model."
_KEY = re.compile(r"base_model\.model\.(.+)\.lora_([AB])\.weight")
# Options of PEFT under which an adapter is more, or something else, than a change of weights.
_REFUSED = (
    "use_dora",
    "use_qalora",
    "use_bdlora",
    "modules_to_save",
    "fan_in_fan_out",
    "lora_bias",
    "layer_replication",
    "trainable_token_indices",
    "target_parameters",
    "alora_invocation_tokens",
    "arrow_config",
    "monteclora_config",
    "velora_config",
)
_PLAIN_STARTS = (True, False, "gaussian", "orthogonal", "eva", None)  # other ones change the base itself


@dataclass(frozen=True, slots=True)
class Change:
    """What is added to a weight of shape (out, in): `scale * up @ down`, with down (rank, in) and up (out, rank)."""

    down: torch.Tensor
    up: torch.Tensor
    scale: float

    @property
    def rank(self) -> int:
        return int(self.down.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.up.shape[0]), int(self.down.shape[1])

    def delta(self) -> torch.Tensor:
        """The change itself, (out, in) float32."""
        return (self.up.float() @ self.down.float()) * self.scale


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter folder. `changes` by the module's name in the base, such as model.layers.0.mlp.up_proj."""

    folder: Path
    config: Mapping[str, Any]
    changes: Mapping[str, Change]

    @property
    def base(self) -> str:
        """The name of the base model that it says it belongs to; empty if it does not say."""
        return Path(self.config.get("base_model_name_or_path") or "").name

    @property
    def alpha(self) -> float:
        return float(self.config["lora_alpha"])


def read(folder: Path) -> Adapter:
    """Reads an adapter folder. Raises ModelError for one that is damaged, or more than a change of weights."""
    config = _config(folder)
    halves: dict[str, dict[str, torch.Tensor]] = {}
    for key, tensor in _tensors(folder / WEIGHTS).items():
        match = _KEY.fullmatch(key)
        if match is None or tensor.ndim != 2:
            raise ModelError(f"The adapter {folder} holds {key}, which is no part of a LoRA on linear layers.")
        halves.setdefault(match[1], {})[match[2]] = tensor
    changes = {}
    for module, half in halves.items():
        if half.keys() != {"A", "B"} or half["A"].shape[0] != half["B"].shape[1]:
            raise ModelError(f"The adapter {folder} is damaged: {module} is incomplete. Save it again from training.")
        changes[module] = Change(half["A"], half["B"], _scale(config, module, half["A"].shape[0], folder))
    if not changes:
        raise ModelError(f"The adapter {folder} is empty. Save it again from training.")
    return Adapter(folder, config, changes)


def write(folder: Path, config: Mapping[str, Any], changes: Mapping[str, Change], alpha: float) -> None:
    """Writes a plain adapter: one alpha for all, ranks that differ in `rank_pattern`; scales are put into `up`."""
    ranks = {module: change.rank for module, change in changes.items()}
    usual = max(set(ranks.values()), key=lambda rank: (list(ranks.values()).count(rank), rank))
    tensors: dict[str, torch.Tensor] = {}
    for module, change in changes.items():
        tensors[f"{PREFIX}{module}.lora_A.weight"] = change.down.float().contiguous()
        tensors[f"{PREFIX}{module}.lora_B.weight"] = (
            change.up.float() * (change.scale * change.rank / alpha)
        ).contiguous()
    plain = {
        "r": usual,
        "lora_alpha": alpha,
        "rank_pattern": {module: rank for module, rank in ranks.items() if rank != usual},
        "alpha_pattern": {},
        "use_rslora": False,
        "init_lora_weights": True,
        "lora_dropout": 0.0,
        "inference_mode": True,
    }
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, str(folder / WEIGHTS), metadata={"format": "pt"})
    write_json(folder / CONFIG, {**config, **plain})


def hash_of(folder: Path) -> str:
    """SHA-256 of the adapter's weights: what runs and evaluations are recorded with. Raises ModelError."""
    try:
        with (folder / WEIGHTS).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"There is no adapter in {folder}: name a folder with {WEIGHTS}.") from error


def _scale(config: Mapping[str, Any], module: str, rank: int, folder: Path) -> float:
    """alpha / rank of one module, by PEFT's rule: the first pattern that fits its name's end holds."""
    wanted = int(_pattern(config.get("rank_pattern"), module, config.get("r")))
    if wanted != rank:
        raise ModelError(f"The adapter {folder} says rank {wanted} for {module}, and its matrices have rank {rank}.")
    alpha = float(_pattern(config.get("alpha_pattern"), module, config["lora_alpha"]))
    return alpha / (math.sqrt(rank) if config.get("use_rslora") else rank)


def _pattern(patterns: Mapping[str, Any] | None, module: str, otherwise: Any) -> Any:
    for pattern, value in (patterns or {}).items():
        if re.match(rf"(.*\.)?({pattern})$", module):
            return value
    return otherwise


def _config(folder: Path) -> dict[str, Any]:
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"There is no adapter in {folder}: its {CONFIG} cannot be read.") from error
    if not isinstance(config, dict) or config.get("peft_type") != "LORA":
        raise ModelError(f"The adapter {folder} is not a LoRA adapter; only those can be used.")
    numbers = isinstance(config.get("r"), int) and isinstance(config.get("lora_alpha"), int | float)
    if not numbers:
        raise ModelError(f"The adapter {folder} does not say its r and lora_alpha. Save it again from training.")
    refused = [name for name in _REFUSED if config.get(name)]
    if config.get("bias", "none") != "none":
        refused.append("bias")
    if config.get("init_lora_weights") not in _PLAIN_STARTS:
        refused.append("init_lora_weights")
    if refused:
        raise ModelError(f"The adapter {folder} uses {', '.join(refused)}: train a plain LoRA instead.")
    return config


def _tensors(file: Path) -> dict[str, torch.Tensor]:
    try:
        return dict(load_file(str(file)))
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{file} is missing or damaged ({error}). Save the adapter again from training.") from error
