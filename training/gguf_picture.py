"""What a vision model says of a picture, in transformers and in llama.cpp with its projector: the same, or no export.

The picture is drawn here, of whole tokens on each side, so that neither program resizes it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageDraw

from agent_core.errors import ModelError
from agent_core.step import CHATML_STOP
from training.gguf_check import Said, chat, greedy
from training.gguf_write import silence
from training.pictures import patches_of

SIDE = 112  # pixels: 16 tokens of 28 x 28, above llama.cpp's least of 8
QUESTION = "Where is the button?"
VISION_START, IMAGE, VISION_END = "<|vision_start|>", "<|image_pad|>", "<|vision_end|>"


def drawn() -> Image.Image:
    """A window with a button in it."""
    picture = Image.new("RGB", (SIDE, SIDE), (240, 240, 240))
    draw = ImageDraw.Draw(picture)
    draw.rectangle((8, 8, 104, 28), fill=(40, 80, 160))
    draw.rectangle((30, 60, 90, 84), fill=(20, 160, 60), outline=(0, 0, 0))
    draw.ellipse((84, 86, 106, 108), fill=(200, 40, 40))
    return picture


def by_source(model: Any, tokenizer: Any, tokens: int) -> Said:
    """The greedy reply of a transformers model to the picture."""
    patch = int(model.config.vision_config.patch_size)
    patches = patches_of(drawn(), patch)
    side = SIDE // patch
    pads = side * side // int(model.config.vision_config.spatial_merge_size) ** 2
    text = chat(f"{VISION_START}{IMAGE * pads}{VISION_END}{QUESTION}")
    ids = torch.tensor([tokenizer.encode(text, add_special_tokens=False)])
    kinds = (ids == model.config.image_token_id).int()
    if int(kinds.sum()) != pads:
        raise ModelError(f"The tokenizer does not know {IMAGE} as the token that stands for a picture.")
    grid = torch.tensor([[1, side, side]])
    seen = {"pixel_values": patches, "image_grid_thw": grid, "mm_token_type_ids": kinds}
    end = tokenizer.convert_tokens_to_ids(CHATML_STOP)
    [(reply, logits)] = greedy(model, end, ids, torch.ones_like(ids), tokens, **seen)
    return Said(text, tuple(ids[0].tolist()), reply, logits)


def by_file(model: Any, projector: Path, said: Said) -> float:
    """The share of the reply's tokens that llama.cpp would say too. Raises ModelError when it cannot read the picture.

    `model` is the text GGUF in llama.cpp; it is asked one token after the other, with what came before given.
    """
    import llama_cpp

    with _seen(model, projector) as logits:
        chosen = [int(logits().argmax())]
        for token in said.reply[:-1]:
            one = (llama_cpp.llama_token * 1)(token)
            if llama_cpp.llama_decode(model.ctx, llama_cpp.llama_batch_get_one(one, 1)):
                raise ModelError("llama.cpp could not go on after the picture.")
            chosen.append(int(logits().argmax()))
    alike = said.alike(chosen)
    return sum(alike) / len(alike)


@contextmanager
def _seen(model: Any, projector: Path) -> Iterator[Callable[[], np.ndarray[Any, np.dtype[np.float32]]]]:
    """The prompt with the picture, read; gives a function that returns the newest logits.

    The media marker stands for the picture and its two border tokens.
    """
    import llama_cpp
    from llama_cpp import mtmd_cpp as mtmd

    for log_set in (mtmd.mtmd_log_set, mtmd.mtmd_helper_log_set):
        log_set(silence(), None)
    params = mtmd.mtmd_context_params_default()
    params.use_gpu, params.print_timings, params.n_threads = False, False, model.n_threads
    params.warmup = False
    params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
    sight = mtmd.mtmd_init_from_file(os.fsencode(projector), model.model, params)
    if not sight:
        raise ModelError(f"llama.cpp cannot load the exported {projector.name}. It was not kept.")
    rgb = np.asarray(drawn()).tobytes()
    bitmap = mtmd.mtmd_bitmap_init(SIDE, SIDE, (ctypes.c_uint8 * len(rgb)).from_buffer_copy(rgb))
    chunks = mtmd.mtmd_input_chunks_init()
    try:
        marker = mtmd.mtmd_default_marker().decode()
        asked = chat(f"{marker}{QUESTION}").encode()
        text = mtmd.mtmd_input_text(asked, len(asked), False, True)
        bitmaps = (mtmd.mtmd_bitmap_p_ctypes * 1)(bitmap)
        past = llama_cpp.llama_pos(0)
        model.reset()
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(model.ctx), True)
        failed = mtmd.mtmd_tokenize(sight, chunks, ctypes.byref(text), bitmaps, 1) or mtmd.mtmd_helper_eval_chunks(
            sight, model.ctx, chunks, 0, 0, model.n_batch, True, ctypes.byref(past)
        )
        if failed:
            raise ModelError(f"llama.cpp cannot read a picture through the exported {projector.name}.")

        def logits() -> np.ndarray[Any, np.dtype[np.float32]]:
            return np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(model.ctx, -1), shape=(model.n_vocab(),))

        yield logits
    finally:
        mtmd.mtmd_input_chunks_free(chunks)
        mtmd.mtmd_bitmap_free(bitmap)
        mtmd.mtmd_free(sight)
