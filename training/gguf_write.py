"""GGUF files: a merged and quantised model, and an adapter in llama.cpp's own format.

Weights are read, changed in float32 and written one tensor at a time, so a model never lies in memory whole. The types
of the package gguf are written directly; K-quants by llama.cpp's quantiser, from a float32 file that is removed.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agent_core.errors import ModelError
from training.gguf_names import Placed
from training.gguf_source import Source

OURS = ("F32", "F16", "Q8_0", "Q4_0")
BY_LLAMA = ("Q2_K", "Q3_K_S", "Q3_K_M", "Q3_K_L", "Q4_K_S", "Q4_K_M", "Q5_K_S", "Q5_K_M", "Q6_K")
KINDS = (*OURS, *BY_LLAMA)


def write_merged(target: Path, source: Source, changes: Mapping[str, Placed], kind: str) -> None:
    """The base with its changes, quantised as `kind`. Raises ModelError."""

    weight = changed(source, changes)
    if kind in OURS:
        write_tensors(target, source.names.architecture, source.describe, source.shapes, weight, kind)
        return
    whole = target.with_name(f"{target.name}.F32")
    try:
        write_tensors(whole, source.names.architecture, source.describe, source.shapes, weight, "F32")
        quantise(whole, target, kind)
    finally:
        whole.unlink(missing_ok=True)


def changed(source: Source, changes: Mapping[str, Placed]) -> Callable[[str], torch.Tensor]:
    """Gives a tensor of the base with its change, float32."""

    def weight(tensor: str) -> torch.Tensor:
        base = source.weight(tensor)
        return base + changes[tensor].delta() if tensor in changes else base

    return weight


def write_adapter(target: Path, architecture: str, changes: Mapping[str, Placed], alpha: float) -> None:
    """The changes alone, float32. llama.cpp scales each by alpha over its own rank. Raises ModelError."""
    tensors: dict[str, torch.Tensor] = {}
    for name, change in changes.items():
        tensors[f"{name}.lora_a"] = change.down.float()
        tensors[f"{name}.lora_b"] = change.up.float()

    def described(writer: Any) -> None:
        writer.add_type("adapter")
        writer.add_string("adapter.type", "lora")
        writer.add_float32("adapter.lora.alpha", alpha)

    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    write_tensors(target, architecture, described, shapes, tensors.__getitem__, "F32")


def write_tensors(
    target: Path,
    architecture: str,
    describe: Callable[[Any], None],
    shapes: Mapping[str, Sequence[int]],
    weight: Callable[[str], torch.Tensor],
    kind: str,
    always_exact: Callable[[str], bool] = lambda tensor: False,
) -> None:
    """One GGUF: what `describe` says, then `weight(name)` for each of `shapes`. Raises ModelError for a full disk."""
    from gguf import GGMLQuantizationType, GGUFWriter, LlamaFileType, quants

    file_types = {"F32": "ALL_F32", "F16": "MOSTLY_F16", "Q8_0": "MOSTLY_Q8_0", "Q4_0": "MOSTLY_Q4_0"}
    writer = GGUFWriter(target, architecture)
    describe(writer)
    writer.add_file_type(int(LlamaFileType[file_types[kind]]))
    types = {name: GGMLQuantizationType[type_of(name, shape, kind, always_exact)] for name, shape in shapes.items()}
    for name, shape in shapes.items():
        size = math.prod(quants.quant_shape_to_byte_shape(tuple(shape), types[name]))
        writer.add_tensor_info(name, tuple(shape), np.dtype(np.float32), size, raw_dtype=types[name])
    try:
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for name in shapes:
            writer.write_tensor_data(quants.quantize(weight(name).contiguous().numpy(), types[name]))
    except OSError as error:
        raise ModelError(f"{target} could not be written ({error.strerror}): free some space.") from error
    finally:
        writer.close()


def type_of(name: str, shape: Sequence[int], kind: str, always_exact: Callable[[str], bool]) -> str:
    """Vectors and what must be stay float32; a matrix whose rows do not divide into blocks becomes F16."""
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    if len(shape) < 2 or always_exact(name):
        return "F32"
    block, _ = GGML_QUANT_SIZES[GGMLQuantizationType[kind]]
    return kind if shape[-1] % block == 0 else "F16"


def quantise(whole: Path, target: Path, kind: str) -> None:
    """llama.cpp's own quantiser. Raises ModelError when it fails."""
    import llama_cpp

    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{kind}")
    params.nthread = os.cpu_count() or 1
    quiet()
    failed = llama_cpp.llama_model_quantize(os.fsencode(whole), os.fsencode(target), ctypes.byref(params))
    if failed:
        raise ModelError(f"llama.cpp could not make a {kind} of {whole}; look for free space, or take Q8_0.")


def quiet() -> None:
    """Drops llama.cpp's own lines, a thousand of them; what goes wrong is told by what its calls return."""
    import llama_cpp

    llama_cpp.llama_log_set(silence(), None)


@functools.cache
def silence() -> Any:
    """What llama.cpp's lines are given to; it must live as long as the process."""
    import llama_cpp

    return llama_cpp.llama_log_callback(lambda level, text, data: None)
