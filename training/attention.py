"""Attention for packed rows: every segment sees itself only, up to its own past.

Registered with transformers under the name `packed`, for the language model alone. A call that carries `segments` (the
lengths, in order) is attended a segment at a time, which costs no more than the rows would alone; any other call, such
as generating, is transformers' own SDPA.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask
from transformers.utils import is_flash_attn_2_available

PACKED = "packed"
FLASH = "flash_attention_2"


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    segments: Sequence[int] | None = None,
    scaling: float | None = None,
    **other: Any,
) -> tuple[torch.Tensor, None]:
    """query: (1, heads, width, size), key and value: (1, fewer heads, width, size) to (1, width, heads, size)."""
    if segments is None:
        attended: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **other
        )
        return attended
    grouped = query.shape[1] != key.shape[1]
    parts = zip(*(torch.split(t, list(segments), dim=2) for t in (query, key, value)), strict=True)
    seen = [
        torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scaling, enable_gqa=grouped)
        for q, k, v in parts
    ]
    return torch.cat(seen, dim=2).transpose(1, 2).contiguous(), None


def use_packed(model: Any) -> None:
    """Makes the model's language part attend packed rows; the vision tower keeps its own.

    On a GPU with flash-attn and half-precision weights transformers' variable-length kernel does the same in one call.
    """
    text = model.config.get_text_config()
    half = next(model.parameters()).dtype in (torch.float16, torch.bfloat16)
    text._attn_implementation = FLASH if half and torch.cuda.is_available() and is_flash_attn_2_available() else PACKED


def segment_arguments(model: Any, lengths: Sequence[int], device: torch.device) -> dict[str, Any]:
    """What a forward of the language part is called with so that it attends segments of these lengths."""
    if model.config.get_text_config()._attn_implementation == PACKED:
        # A mask of four dimensions keeps transformers from making one as large as width x width; it is not looked at.
        return {"segments": tuple(lengths), "attention_mask": torch.ones(1, 1, 1, 1, dtype=torch.bool, device=device)}
    borders = torch.tensor([0, *lengths], device=device).cumsum(0).to(torch.int32)
    longest = max(lengths)
    return {
        "cu_seq_lens_q": borders,
        "cu_seq_lens_k": borders,
        "max_length_q": longest,
        "max_length_k": longest,
    }


AttentionInterface.register(PACKED, attend)
AttentionMaskInterface.register(PACKED, sdpa_mask)
