"""Adapters of a model with several of them, written and read one at a time in PEFT's own format.

Only tensors named `lora_` are written. Sharded ones are gathered by all ranks and written by the first. Reading is
strict: a tensor too many, too few, or of another shape is an error, because an adapter that does not reach the model
looks like one that was trained badly.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from peft import LoraConfig
from peft.tuners.tuners_utils import check_target_module_exists
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch.distributed.tensor import DTensor, distribute_tensor

from agent_core.errors import ModelError

WEIGHTS = "adapter_model.safetensors"
HEAD = "head.safetensors"


def config_of(folder: Path) -> LoraConfig:
    """The configuration in an adapter folder. Raises ModelError."""
    try:
        config: LoraConfig = LoraConfig.from_pretrained(str(folder))
    except (OSError, ValueError) as error:
        raise ModelError(f"There is no adapter in {folder}: name a folder with an adapter_config.json.") from error
    config.inference_mode, config.base_model_name_or_path = False, None
    return config


def require_exportable(config: LoraConfig, base: Any) -> None:
    """Raises ModelError for an adapter that would be exported wrongly without a word, or not at all."""
    refused = {
        "alpha_pattern": "one alpha is stored for all",
        "use_rslora": "its scale is not stored",
        "use_dora": "it cannot be converted",
        "modules_to_save": "whole modules cannot be converted",
        "lora_bias": "biases are not stored",
    }
    for name, why in refused.items():
        if getattr(config, name, None):
            raise ModelError(f"The adapter option {name} is not possible, because {why} in a GGUF. Leave it out.")
    if config.bias != "none":
        raise ModelError("The adapter must not train biases, because a GGUF does not store them. Set bias to none.")
    if config.lora_dropout:
        raise ModelError(
            "The adapter must have no dropout: its log-probabilities would not be the policy's. Set it to 0."
        )
    tower = [name for name, _ in base.named_modules() if "visual" in name]
    everything = config.target_modules == "all-linear"
    if tower and (everything or any(check_target_module_exists(config, name) for name in tower)):
        raise ModelError(
            "The adapter must not be on the vision tower, because a GGUF drops it silently. "
            r"Name the target modules by a pattern such as .*language_model.*\.q_proj."
        )


def is_of(parameter: str, adapter: str) -> bool:
    """Whether the parameter of that name belongs to the adapter."""
    return "lora_" in parameter and f".{adapter}." in parameter


def save(model: Any, adapter: str, folder: Path) -> None:
    """One adapter of a PeftModel to a folder that PEFT loads."""
    tensors = {_on_disk(name, adapter): _whole(p) for name, p in model.named_parameters() if is_of(name, adapter)}
    if _first():
        folder.mkdir(parents=True, exist_ok=True)
        save_file(tensors, str(folder / WEIGHTS), metadata={"format": "pt"})
        config = copy.copy(model.peft_config[adapter])
        config.base_model_name_or_path = Path(config.base_model_name_or_path or "").name  # not where it happened to lie
        config.inference_mode = True
        config.save_pretrained(str(folder))


def load(model: Any, adapter: str, folder: Path) -> None:
    """Puts the weights in the folder into the adapter. Raises ModelError when they are not exactly its own."""
    ours, theirs = model.peft_config[adapter], config_of(folder)
    if (ours.r, ours.lora_alpha, ours.rank_pattern) != (theirs.r, theirs.lora_alpha, theirs.rank_pattern):
        raise ModelError(
            f"The adapter in {folder} has rank {theirs.r} and alpha {theirs.lora_alpha}, and rank {ours.r} and alpha "
            f"{ours.lora_alpha} are asked for: use the same."
        )
    own = {_on_disk(name, adapter): p for name, p in model.named_parameters() if is_of(name, adapter)}
    _fill(own, folder / WEIGHTS)


def save_head(head: torch.nn.Module, folder: Path) -> None:
    """The scalar head beside its adapter."""
    tensors = {name: _whole(p) for name, p in head.named_parameters()}
    if _first():
        folder.mkdir(parents=True, exist_ok=True)
        save_file(tensors, str(folder / HEAD))


def load_head(head: torch.nn.Module, folder: Path) -> None:
    """Raises ModelError when it does not match."""
    _fill(dict(head.named_parameters()), folder / HEAD)


def _fill(own: dict[str, torch.nn.Parameter], file: Path) -> None:
    try:
        found = load_file(str(file))
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{file} cannot be read: train again, or take another checkpoint.") from error
    wrong = own.keys() ^ found.keys() or {name for name in own if own[name].shape != found[name].shape}
    if wrong:
        raise ModelError(f"{file} is not of this model: {len(wrong)} tensors do not match, such as {min(wrong)}.")
    with torch.no_grad():
        for name, parameter in own.items():
            value = found[name].to(parameter.device, parameter.dtype)
            if isinstance(parameter, DTensor):
                parameter.copy_(distribute_tensor(value, parameter.device_mesh, parameter.placements))
            else:
                parameter.copy_(value)


def _on_disk(name: str, adapter: str) -> str:
    """PEFT leaves the adapter's name out: the folder says it."""
    return name.replace(f".{adapter}.", ".")


def _whole(parameter: torch.Tensor) -> torch.Tensor:
    tensor = parameter.detach()
    full: torch.Tensor = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
    return full.cpu().contiguous()


def _first() -> bool:
    return not dist.is_initialized() or dist.get_rank() == 0
