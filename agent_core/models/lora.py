"""A LoRA adapter as PEFT saves it, read into the changes it makes to the tensors of a GGUF of the llama architecture.

Plain LoRA on linear layers only. What would be merged wrongly is refused: other scalings, DoRA, trained biases,
whole modules saved beside the matrices, and tensors that match nothing. No torch, no peft.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agent_core.errors import ModelError

Array = npt.NDArray[np.float32]
WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"

# PEFT's module name -> GGUF's; only linear layers of a llama block.
_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_KEY = re.compile(r"base_model\.model\.model\.layers\.(\d+)\.(\w+\.\w+)\.lora_([AB])\.weight")
# Options of PEFT under which W + alpha/r * B A is not what the adapter means.
_UNSUPPORTED = (
    "use_rslora",
    "use_dora",
    "use_qalora",
    "alpha_pattern",
    "modules_to_save",
    "fan_in_fan_out",
    "lora_bias",
    "layer_replication",
    "trainable_token_indices",
    "target_parameters",
    "megatron_config",
)


@dataclass(frozen=True, slots=True)
class Lora:
    """The two matrices of each changed tensor, by its GGUF name: `down` is (rank, in), `up` is (out, rank)."""

    alpha: float
    pairs: Mapping[str, tuple[Array, Array]]

    def change(self, tensor: str) -> Array | None:
        """What is added to a weight of shape (out, in) in Hugging Face's row order; None where nothing changes."""
        if tensor not in self.pairs:
            return None
        down, up = self.pairs[tensor]
        change: Array = np.float32(self.alpha / down.shape[0]) * (up @ down)
        return change


def read(folder: Path) -> Lora:
    """Reads an adapter folder. Raises ModelError for a damaged or unsupported adapter."""
    config, tensors = _config(folder), _tensors(folder)
    halves: dict[str, dict[str, Array]] = {}
    for key, value in tensors.items():
        match = _KEY.fullmatch(key)
        name = _NAMES.get(match[2]) if match else None
        if match is None or name is None or value.ndim != 2:
            raise ModelError(
                f"The adapter {folder} changes {key}, which cannot be merged; train it on linear layers only."
            )
        halves.setdefault(f"blk.{match[1]}.{name}.weight", {})[match[3]] = value.astype(np.float32)
    pairs = {}
    for tensor, half in halves.items():
        if half.keys() != {"A", "B"} or half["A"].shape[0] != half["B"].shape[1]:
            raise ModelError(f"The adapter {folder} is damaged ({tensor} is incomplete). Save it again from training.")
        pairs[tensor] = (half["A"], half["B"])
    if not pairs:
        raise ModelError(f"The adapter {folder} is empty. Save it again from training.")
    return Lora(float(config["lora_alpha"]), pairs)


def _config(folder: Path) -> dict[str, Any]:
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"The adapter's {CONFIG} in {folder} cannot be read. Save the adapter again.") from error
    if not isinstance(config, dict) or config.get("peft_type") != "LORA":
        raise ModelError(f"The adapter {folder} is not a LoRA adapter; only those can be used.")
    if not isinstance(config.get("lora_alpha"), int | float):
        raise ModelError(f"The adapter {folder} does not say its lora_alpha. Save it again from training.")
    refused = [name for name in _UNSUPPORTED if config.get(name)]
    if config.get("bias", "none") != "none":
        refused.append("bias")
    if isinstance(config.get("init_lora_weights"), str) and config["init_lora_weights"] != "gaussian":
        refused.append("init_lora_weights")  # PiSSA and its kin change the base itself
    if refused:
        raise ModelError(f"The adapter {folder} uses {', '.join(refused)}, which cannot be merged; train a plain LoRA.")
    return config


def _tensors(folder: Path) -> dict[str, Any]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return dict(load_file(folder / WEIGHTS))
    except (OSError, SafetensorError, TypeError, KeyError) as error:  # Type and Key: a number format numpy lacks
        raise ModelError(
            f"The adapter's {WEIGHTS} in {folder} is damaged ({error}). Save the adapter again."
        ) from error
