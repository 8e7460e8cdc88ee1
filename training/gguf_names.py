"""What a weight is called in a GGUF, and in which order its rows lie there.

The names are those of the package gguf; the order is ours to know: a llama's query and key rows are interleaved for
llama.cpp's way of computing RoPE, other architectures keep the order that they were trained in.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from agent_core.errors import ModelError
from training.deltas import Adapter, Change

ARCHITECTURES = {
    "LlamaForCausalLM": "llama",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen2_5_VLForConditionalGeneration": "qwen2vl",
}
PROJECTIONS = (
    "self_attn.q_proj",
    "self_attn.k_proj",
    "self_attn.v_proj",
    "self_attn.o_proj",
    "mlp.gate_proj",
    "mlp.up_proj",
    "mlp.down_proj",
)
VISION = "visual."


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one model. `heads` and `key_heads` are of its attention."""

    architecture: str
    blocks: int
    heads: int
    key_heads: int

    def tensor(self, name: str) -> str | None:
        """The GGUF's name of a weight or bias by its name in transformers; None for one that has no place there."""
        return mapped(self.architecture, self.blocks, plain(name))

    def reordered(self, tensor: str, rows: torch.Tensor) -> torch.Tensor:
        """From transformers' row order to the GGUF's: within each head, row 2i+h comes from row i of half h."""
        heads = self._heads(tensor)
        if not heads:
            return rows
        return rows.reshape(heads, 2, -1, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)

    def restored(self, tensor: str, rows: torch.Tensor) -> torch.Tensor:
        """The way back."""
        heads = self._heads(tensor)
        if not heads:
            return rows
        return rows.reshape(heads, -1, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)

    def projections(self) -> list[str]:
        """Every linear layer of the language model, as transformers names it in memory."""
        inner = "language_model." if self.architecture == "qwen2vl" else ""
        return [f"model.{inner}layers.{n}.{name}" for n in range(self.blocks) for name in PROJECTIONS]

    def _heads(self, tensor: str) -> int:
        if self.architecture != "llama":
            return 0
        return self.heads if ".attn_q." in tensor else self.key_heads if ".attn_k." in tensor else 0


def plain(name: str) -> str:
    """Models that see keep their language model under a name of its own, in memory or on disk; the GGUF does not."""
    name = re.sub(r"^(model\.)?language_model\.(model\.)?(?!lm_head)", "model.", name)
    return re.sub(r"^(model\.)?visual\.", VISION, name)


def mapped(architecture: str, blocks: int, name: str) -> str | None:
    """A plain name by the table of the package gguf."""
    stem, dot, end = name.rpartition(".")
    found = _table(architecture, blocks).get_name(stem) if end in ("weight", "bias") else None
    return f"{found}{dot}{end}" if found else None


@functools.cache
def _table(architecture: str, blocks: int) -> Any:
    """The package's table for a model; made once, because that takes milliseconds and a model has hundreds of names."""
    import gguf

    kinds = {text: kind for kind, text in gguf.MODEL_ARCH_NAMES.items()}
    return gguf.get_tensor_name_map(kinds[architecture], blocks)


@dataclass(frozen=True, slots=True)
class Placed(Change):
    """One change of an adapter at its place in the GGUF, rows in the GGUF's order."""

    module: str


def placed(adapter: Adapter, names: Names, shapes: Mapping[str, Sequence[int]]) -> dict[str, Placed]:
    """Every change of the adapter by the tensor that it belongs to; `shapes` are the base's, (out, in).

    Raises ModelError unless each change has exactly one tensor that it fits, and nothing that the adapter says it
    changes is without a change.
    """
    require_plain(adapter)
    found: dict[str, Placed] = {}
    for module, change in adapter.changes.items():
        tensor = names.tensor(f"{module}.weight")
        if tensor is None or tensor not in shapes:
            raise ModelError(f"The adapter {adapter.folder} was trained for another model: there is no {module} here.")
        if tensor in found:
            raise ModelError(f"The adapter {adapter.folder} changes {tensor} twice. Save it again from training.")
        if change.shape != tuple(shapes[tensor]):
            raise ModelError(
                f"The adapter {adapter.folder} was trained for another model: {module} is {tuple(shapes[tensor])} "
                f"here, and {change.shape} there."
            )
        found[tensor] = Placed(change.down, names.reordered(tensor, change.up), change.scale, module)
    said = [module for module in names.projections() if targeted(adapter, module)]
    if missing := [module for module in said if module not in adapter.changes]:
        raise ModelError(
            f"The adapter {adapter.folder} is damaged: it says that it changes {missing[0]}, and {len(missing)} such "
            "changes are missing. Save it again from training."
        )
    return found


def require_plain(adapter: Adapter) -> None:
    """Raises ModelError for what a GGUF loses without a word."""
    if lost := [name for name in ("alpha_pattern", "use_rslora") if adapter.config.get(name)]:
        raise ModelError(
            f"The adapter {adapter.folder} uses {' and '.join(lost)}, which a GGUF cannot say. Make it a plain one: "
            f"python -m training.merge {adapter.folder}=1 --out FOLDER"
        )
    if seen := [module for module in adapter.changes if VISION in f"{module}."]:
        raise ModelError(
            f"The adapter {adapter.folder} changes the vision tower ({seen[0]}), which a GGUF adapter cannot hold. "
            r"Train it with target modules such as .*language_model.*\.q_proj."
        )


def targeted(adapter: Adapter, module: str) -> bool:
    """Whether the adapter's configuration says that it changes the module; False also where that is not clear."""
    config: Mapping[str, Any] = adapter.config
    if config.get("layers_to_transform") is not None or config.get("exclude_modules"):
        return False
    wanted = config.get("target_modules")
    if isinstance(wanted, str):
        return wanted == "all-linear" or re.fullmatch(wanted, module) is not None
    return any(module == name or module.endswith(f".{name}") for name in wanted or ())
