"""The vision tower of Qwen2.5-VL as llama.cpp's multimodal projector, a GGUF of its own beside the language model's.

Queries, keys and values lie in one matrix in transformers and in three here; the first convolution runs over two
frames there and is two convolutions here. Adapters never reach the tower (`gguf_names` refuses them).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from agent_core.errors import ModelError
from training.gguf_names import VISION, mapped
from training.gguf_source import FolderSource
from training.gguf_write import write_tensors
from training.pictures import CLIP_MEAN, CLIP_STD

WINDOW = 112  # pixels; llama.cpp has no other
IMAGE_SIZE = 560  # what a tower is warmed up with; pictures of any size are read
FRAMES = 2


def write_projector(target: Path, source: FolderSource, kind: str) -> int:
    """Writes the projector and returns the number of its tensors. `kind` is F32 or F16. Raises ModelError."""
    vision = source.config["vision_config"]
    blocks = int(vision["depth"])
    tensors = {name: (source, place) for name, place in source.vision.items()}
    if not tensors:
        raise ModelError(f"The base {source.path} holds no vision tower.")
    named = list(_named(source, blocks))
    shapes = {name: tuple(weight.shape) for name, weight in named}
    weights = dict(named)

    def described(writer: Any) -> None:
        _describe(writer, source, vision)

    write_tensors(target, "clip", described, shapes, weights.__getitem__, kind, always_exact=_exact)
    return len(shapes)


def _exact(tensor: str) -> bool:
    """What stays in float32: everything but the matrices of the blocks and of the merger."""
    return "patch_embd" in tensor or "position_embd" in tensor


def _named(source: FolderSource, blocks: int) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor of the tower under the name that llama.cpp knows it by. Raises ModelError for one it does not."""
    for name, place in source.vision.items():
        weight = source.stored(place)
        if name == f"{VISION}patch_embed.proj.weight":
            if weight.shape[2] != FRAMES:
                raise ModelError(f"The tower of {source.path} reads {weight.shape[2]} frames at once; only two can be.")
            yield "v.patch_embd.weight", weight[:, :, 0].contiguous()
            yield "v.patch_embd.weight.1", weight[:, :, 1].contiguous()
        elif ".qkv." in name:
            for letter, part in zip("qkv", weight.chunk(3), strict=True):
                yield _known(name.replace(".qkv.", f".{letter}."), blocks, source), part.contiguous()
        else:
            yield _known(name, blocks, source), weight


def _known(name: str, blocks: int, source: FolderSource) -> str:
    tensor = mapped("clip", blocks, name)
    if tensor is None or not re.fullmatch(r"(v|mm)\..+", tensor):
        raise ModelError(f"The vision tower of {source.path} holds {name}, which llama.cpp has no place for.")
    return tensor


def _describe(writer: Any, source: FolderSource, vision: dict[str, Any]) -> None:
    from gguf import VisionProjectorType

    full = list(vision["fullatt_block_indexes"])
    every = full[0] + 1
    if any((n + 1) % every for n in full) or vision.get("window_size", WINDOW) != WINDOW:
        raise ModelError(f"The tower of {source.path} attends in windows that llama.cpp cannot: {full}.")
    if vision.get("hidden_act", "silu") != "silu":
        raise ModelError(f"The tower of {source.path} uses {vision['hidden_act']}; Qwen2.5-VL's uses silu.")
    writer.add_type("mmproj")
    writer.add_name(source.path.name)
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type(VisionProjectorType.QWEN25VL)
    writer.add_vision_use_silu(True)
    writer.add_vision_n_wa_pattern(every)
    writer.add_vision_projection_dim(int(vision["out_hidden_size"]))
    writer.add_vision_image_size(IMAGE_SIZE)
    writer.add_vision_patch_size(int(vision["patch_size"]))
    writer.add_vision_spatial_merge_size(int(vision["spatial_merge_size"]))
    writer.add_vision_embedding_length(int(vision["hidden_size"]))
    writer.add_vision_feed_forward_length(int(vision["intermediate_size"]))
    writer.add_vision_block_count(int(vision["depth"]))
    writer.add_vision_head_count(int(vision["num_heads"]))
    writer.add_vision_attention_layernorm_eps(1e-6)  # fixed in the tower, whatever the language model's
    writer.add_vision_image_mean(list(CLIP_MEAN))
    writer.add_vision_image_std(list(CLIP_STD))
