"""The base model that an export starts from: a GGUF file, or a folder as transformers saves it.

Either gives the same things: names and shapes of the tensors as a GGUF has them, their weights in float32 one at a
time, and everything else that a GGUF says of a model (its shape, RoPE, tokenizer, chat template, end token). `shapes`
are (out, in) by the GGUF's tensor names, `quantised` tells whether bits are lost already, `sections` are those of
M-RoPE, empty without it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open

from agent_core.errors import ModelError
from training.gguf_names import ARCHITECTURES, VISION, Names, mapped, plain
from training.gguf_vocabulary import Vocabulary

EXACT = ("F32", "F16", "BF16")  # types of weights that are not quantised


class GgufSource:
    """A GGUF: all that it says is kept as it is."""

    def __init__(self, path: Path) -> None:
        from gguf import GGUFReader

        try:
            self._reader = GGUFReader(path)
        except (OSError, ValueError) as error:
            raise ModelError(f"The base {path} is not a usable GGUF file: name a GGUF or a model folder.") from error
        self.path = path
        architecture = str(self._said("general.architecture"))
        if architecture not in ARCHITECTURES.values():
            raise ModelError(f"{path.name} is a {architecture}; only {', '.join(ARCHITECTURES.values())} can be made.")
        heads = int(self._said(f"{architecture}.attention.head_count"))
        key_heads = int(self._said(f"{architecture}.attention.head_count_kv", heads))
        self.names = Names(architecture, int(self._said(f"{architecture}.block_count")), heads, key_heads)
        self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}
        self.shapes = {name: tuple(int(n) for n in reversed(t.shape)) for name, t in self._tensors.items()}
        self.quantised = any(t.tensor_type.name not in EXACT for t in self._tensors.values())
        self.end_id = int(self._said("tokenizer.ggml.eos_token_id"))
        self.template = str(self._said("tokenizer.chat_template", ""))
        self.sections = tuple(int(n) for n in self._said(f"{architecture}.rope.dimension_sections", ()))

    def weight(self, tensor: str) -> torch.Tensor:
        """float32, rows in the GGUF's order. Raises ModelError."""
        return torch.from_numpy(dequantised(self._tensors[tensor]))

    def describe(self, writer: Any) -> None:
        """Writes everything but the tensors and the file type."""
        from gguf import GGUFValueType

        for entry in self._reader.fields.values():
            if entry.name.startswith("GGUF.") or entry.name in ("general.architecture", "general.file_type"):
                continue  # the writer makes these itself
            kind = entry.types[0]
            inner = entry.types[-1] if kind == GGUFValueType.ARRAY else None
            writer.add_key_value(entry.name, entry.contents(), kind, sub_type=inner)

    def _said(self, key: str, otherwise: Any = None) -> Any:
        field = self._reader.fields.get(key)
        if field is None and otherwise is None:
            raise ModelError(f"The base {self.path} does not say its {key}: it is not a language model.")
        return otherwise if field is None else field.contents()


class FolderSource:
    """A folder with config.json, safetensors and a tokenizer. `vision` are the tensors of a vision tower, by name.

    `asked_by_ids`: the file will be given token ids only, so llama.cpp need not know how the tokenizer cuts texts.
    """

    def __init__(self, path: Path, *, asked_by_ids: bool = False) -> None:
        self.path = path
        self.config = _json(path / "config.json")
        text = {**self.config, **(self.config.get("text_config") or {})}
        self._text = text
        kind = (self.config.get("architectures") or ["?"])[0]
        if kind not in ARCHITECTURES:
            raise ModelError(f"{path} holds a {kind}; only {', '.join(ARCHITECTURES)} can be made into a GGUF.")
        if self.config.get("quantization_config"):
            raise ModelError(f"The base {path} is quantised: export onto the original weights.")
        heads = int(text["num_attention_heads"])
        self.names = Names(
            ARCHITECTURES[kind], int(text["num_hidden_layers"]), heads, int(text.get("num_key_value_heads") or heads)
        )
        self._vocabulary = Vocabulary.of_folder(path, int(text["vocab_size"]), asked_by_ids=asked_by_ids)
        self.quantised, self.end_id, self.template = False, self._vocabulary.end_id, self._vocabulary.template
        self.sections = self._mrope()
        self.vision: dict[str, tuple[Path, str]] = {}
        self._places: dict[str, tuple[Path, str]] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        for file in sorted(path.glob("*.safetensors")):
            self._index(file)
        if "token_embd.weight" not in self._places:
            raise ModelError(f"There are no weights in {path}: name a folder with safetensors files.")

    def _index(self, file: Path) -> None:
        tied = bool(self.config.get("tie_word_embeddings", self._text.get("tie_word_embeddings")))
        try:
            with safe_open(str(file), framework="pt") as opened:
                for key in opened.keys():  # noqa: SIM118  (it is no mapping)
                    name = plain(key)
                    if name.startswith(VISION):
                        self.vision[name] = (file, key)
                        continue
                    tensor = mapped(self.names.architecture, self.names.blocks, name)
                    if tensor is None or tensor in self._places:
                        raise ModelError(f"The base {self.path} holds {key}, which has no place in a GGUF.")
                    if tensor == "output.weight" and tied:
                        continue
                    self._places[tensor] = (file, key)
                    self.shapes[tensor] = tuple(opened.get_slice(key).get_shape())
        except (OSError, SafetensorError) as error:
            raise ModelError(f"{file} is damaged ({error}): copy the base again.") from error

    def weight(self, tensor: str) -> torch.Tensor:
        """float32, rows in the GGUF's order. Raises ModelError."""
        return self.names.reordered(tensor, self.stored(self._places[tensor]))

    def stored(self, place: tuple[Path, str]) -> torch.Tensor:
        """One tensor as it lies in a file, float32. Raises ModelError for integers: those are quantised weights."""
        file, key = place
        with safe_open(str(file), framework="pt") as opened:
            weight: torch.Tensor = opened.get_tensor(key)
        if not weight.dtype.is_floating_point:
            raise ModelError(f"The base {self.path} is quantised ({key}): export onto the original weights.")
        return weight.float()

    def describe(self, writer: Any) -> None:
        """Writes everything but the tensors and the file type."""
        text, names = self._text, self.names
        writer.add_type("model")
        writer.add_name(self.path.name)
        writer.add_block_count(names.blocks)
        writer.add_context_length(int(text["max_position_embeddings"]))
        writer.add_embedding_length(int(text["hidden_size"]))
        writer.add_feed_forward_length(int(text["intermediate_size"]))
        writer.add_head_count(names.heads)
        writer.add_head_count_kv(names.key_heads)
        writer.add_layer_norm_rms_eps(float(text["rms_norm_eps"]))
        writer.add_vocab_size(int(text["vocab_size"]))
        size = int(text.get("head_dim") or int(text["hidden_size"]) // names.heads)
        writer.add_key_length(size)
        writer.add_value_length(size)
        writer.add_rope_dimension_count(size)
        self._describe_rope(writer)
        self._vocabulary.describe(writer)

    def _describe_rope(self, writer: Any) -> None:
        rope = self._rope
        kind = rope.get("rope_type", rope.get("type", "default"))
        if kind not in ("default", "mrope"):
            raise ModelError(f"The base {self.path} stretches its context ({kind}), which is not exported here.")
        writer.add_rope_freq_base(float(rope.get("rope_theta", self._text.get("rope_theta", 10000.0))))
        if self.sections:
            writer.add_rope_dimension_sections(self.sections)

    @property
    def _rope(self) -> dict[str, Any]:
        return self._text.get("rope_parameters") or self._text.get("rope_scaling") or {}

    def _mrope(self) -> tuple[int, ...]:
        if self.names.architecture != "qwen2vl":
            return ()
        sections = tuple(self._rope.get("mrope_section") or ())
        if len(sections) != 3:
            raise ModelError(f"The base {self.path} does not say its mrope_section: pictures would be misread.")
        return (*sections, 0)


Source = GgufSource | FolderSource


def source(path: Path) -> Source:
    """The base at a path. Raises ModelError for one that cannot be exported."""
    return FolderSource(path) if path.is_dir() else GgufSource(path)


def dequantised(tensor: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A tensor of a GGUF as float32. Raises ModelError for a type that the package gguf cannot read."""
    from gguf import quants

    try:
        weight: np.ndarray[Any, np.dtype[np.float32]] = quants.dequantize(tensor.data, tensor.tensor_type)
    except NotImplementedError as error:
        raise ModelError(f"{tensor.name} is of the type {tensor.tensor_type.name}, which cannot be read.") from error
    return np.array(weight, dtype=np.float32)


def _json(file: Path) -> dict[str, Any]:
    try:
        data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be read ({error}): name a folder as transformers saves a model.") from error
    return data
