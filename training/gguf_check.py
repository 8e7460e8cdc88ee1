"""What an exported file must show before it gets its name: that nothing was lost on the way, and that it talks alike.

Read back: tensors and shapes, end token, chat template, sections of M-RoPE, and each weight against what it was made
from. Then the greedy replies of the source, base and adapter in transformers, are put to the file token by token. A
share of 1 means that the file's own greedy replies are the same; float32 must reach it, and fewer bits a little less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agent_core.errors import ModelError
from agent_core.step import CHATML_STOP, Message, Prompt
from training.gguf_names import Placed
from training.gguf_source import Source, dequantised
from training.gguf_write import quiet

PROMPTS = (
    "Click the button Save.",
    "Write a file named notes.txt with the word hello in it.",
    "What is 12 + 30?",
    'The screen shows: 1 button "OK" 2 field "Name". Which one do you click to send the form?',
    "List three things that a person keeps on a desk.",
)
# The largest relative error of a weight after quantising, by the type it is stored as.
WEIGHT_ERROR = {"F32": 1e-6, "F16": 1e-3, "BF16": 8e-3, "Q8_0": 0.02, "Q6_K": 0.05, "Q5_0": 0.1, "Q5_1": 0.1}
ROUGH_WEIGHT_ERROR = {"Q5_K": 0.1, "Q4_0": 0.2, "Q4_1": 0.2, "Q4_K": 0.2, "IQ4_NL": 0.2, "Q3_K": 0.35, "Q2_K": 0.6}
# The least share of the source's greedy tokens that the file must say too, by the kind of export.
LEAST_ALIKE = {"F32": 1.0, "F16": 0.97, "Q8_0": 0.9, "Q6_K": 0.9, "Q5": 0.8, "Q4": 0.7, "Q3": 0.5, "Q2": 0.3}
TIE = 1e-3  # logits nearer than this to the highest are as good: sums are added up in another order
DELTA_ERROR = 1e-3


@dataclass(frozen=True, slots=True)
class Said:
    """The source's greedy reply to one prompt. `logits` are (tokens, vocabulary), before each token of the reply."""

    text: str
    ids: tuple[int, ...]
    reply: tuple[int, ...]
    logits: np.ndarray[Any, np.dtype[np.float32]]

    def alike(self, chosen: Sequence[int]) -> list[bool]:
        """Whether each choice is the reply's own token, or one as likely."""
        highest = self.logits.max(axis=1)
        return [
            token == said or bool(highest[n] - self.logits[n, token] < TIE)
            for n, (token, said) in enumerate(zip(chosen, self.reply, strict=True))
        ]


def read_back(file: Path, source: Source, weight: Callable[[str], torch.Tensor]) -> None:
    """Raises ModelError when the file does not say of the model what the source does, or holds other weights.

    `weight` gives what each tensor was made from, float32 in the GGUF's row order.
    """
    from gguf import GGUFReader

    reader = GGUFReader(file)
    said = {name: field.contents() for name, field in reader.fields.items() if field.types}
    architecture = source.names.architecture
    expected = {
        "general.architecture": architecture,
        "tokenizer.ggml.eos_token_id": source.end_id,
        "tokenizer.chat_template": source.template,
        f"{architecture}.rope.dimension_sections": list(source.sections),
    }
    for key, value in expected.items():
        if (found := said.get(key, type(value)())) != value:
            raise ModelError(f"The exported file says {found!r} for {key}, and the base {value!r}. It was not kept.")
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    if wrong := tensors.keys() ^ source.shapes.keys():
        raise ModelError(f"The exported file and the base differ in {len(wrong)} tensors, such as {min(wrong)}.")
    for name, tensor in tensors.items():
        made, wanted = torch.from_numpy(dequantised(tensor)), weight(name)
        limit = (WEIGHT_ERROR | ROUGH_WEIGHT_ERROR)[tensor.tensor_type.name]
        if made.shape != wanted.shape or error_of(made, wanted) > limit:
            raise ModelError(f"The exported file holds other weights than it was made from in {name}. It was not kept.")


def read_back_adapter(file: Path, changes: Mapping[str, Placed]) -> float:
    """The largest relative error of a change that the file makes. Raises ModelError when a change is not in it."""
    from gguf import GGUFReader

    reader = GGUFReader(file)
    tensors = {tensor.name: torch.from_numpy(dequantised(tensor)) for tensor in reader.tensors}
    if wrong := tensors.keys() ^ {f"{name}.{half}" for name in changes for half in ("lora_a", "lora_b")}:
        raise ModelError(f"The exported adapter is not whole: {len(wrong)} tensors differ, such as {min(wrong)}.")
    alpha = float(reader.fields["adapter.lora.alpha"].contents())
    worst = 0.0
    for name, change in changes.items():
        down, up = tensors[f"{name}.lora_a"], tensors[f"{name}.lora_b"]
        worst = max(worst, error_of(alpha / down.shape[0] * (up @ down), change.delta()))
    if worst > DELTA_ERROR:
        raise ModelError(f"The exported adapter changes weights otherwise than the source: by {worst:.1%} at most.")
    return worst


def error_of(made: torch.Tensor, wanted: torch.Tensor) -> float:
    """The relative error (Frobenius norm)."""
    norm = float(wanted.norm())
    return float((made - wanted).norm()) / norm if norm else float(made.norm())


def chat(text: str) -> str:
    """One line as the program asks it."""
    return Prompt((Message("user", text),)).chatml()


def by_source(model: Any, tokenizer: Any, texts: Sequence[str], tokens: int) -> list[Said]:
    """The greedy replies of a transformers model, at most so many tokens each; all prompts in one batch."""
    rows = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
    width, end = max(map(len, rows)), tokenizer.convert_tokens_to_ids(CHATML_STOP)
    ids = torch.tensor([[end] * (width - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
    return [
        Said(text, tuple(row), reply, logits)
        for text, row, (reply, logits) in zip(texts, rows, greedy(model, end, ids, mask, tokens), strict=True)
    ]


@torch.no_grad()
def greedy(
    model: Any, end: int, ids: torch.Tensor, mask: torch.Tensor, tokens: int, **seen: Any
) -> list[tuple[tuple[int, ...], np.ndarray[Any, np.dtype[np.float32]]]]:
    """Greedy replies to ids (rows, width), padded on the left, each with the logits before its tokens.

    A reply ends with `end`. `seen` is what goes with a picture.
    """
    out = model.generate(
        input_ids=ids, attention_mask=mask, max_new_tokens=tokens, do_sample=False, num_beams=1, repetition_penalty=1.0,
        eos_token_id=end, pad_token_id=end, output_logits=True, return_dict_in_generate=True, **seen,
    )  # fmt: skip
    logits = torch.stack(out.logits, dim=1).float().numpy()
    replies = []
    for row, scores in zip(out.sequences[:, ids.shape[1] :].tolist(), logits, strict=True):
        length = row.index(end) + 1 if end in row else len(row)
        replies.append((tuple(row[:length]), scores[:length]))
    return replies


def opened(file: Path, *, adapter: Path | None = None, context: int = 1024, every_logit: bool = True) -> Any:
    """The file in llama.cpp, in float32 throughout. Raises ModelError when it cannot be loaded."""
    import llama_cpp

    quiet()
    try:
        return llama_cpp.Llama(
            str(file), lora_path=str(adapter) if adapter else None, n_ctx=context, n_batch=context, n_ubatch=context,
            n_threads=torch.get_num_threads(), n_threads_batch=torch.get_num_threads(), logits_all=every_logit,
            type_k=0, type_v=0, flash_attn=False, verbose=False,
        )  # fmt: skip
    except (ValueError, RuntimeError) as error:
        raise ModelError(f"llama.cpp cannot load the exported {file.name} ({error}). It was not kept.") from error


def by_file(model: Any, said: Sequence[Said]) -> float:
    """The share of the source's greedy tokens that llama.cpp would say too, with what came before given.

    Raises ModelError when it cuts the prompts into other tokens, or when a reply's end is not an end to it.
    """
    import llama_cpp

    vocabulary = llama_cpp.llama_model_get_vocab(model.model)
    stop = model.tokenize(CHATML_STOP.encode(), add_bos=False, special=True)
    if len(stop) != 1 or not llama_cpp.llama_vocab_is_eog(vocabulary, stop[0]):
        raise ModelError(f"{CHATML_STOP} does not end a reply of the exported file: it would never stop.")
    alike: list[bool] = []
    for one in said:
        if tuple(model.tokenize(one.text.encode(), add_bos=False, special=True)) != one.ids:
            raise ModelError(f"The exported file cuts {one.text!r} into other tokens than the source.")
        model.reset()
        model.eval([*one.ids, *one.reply[:-1]])
        scores = model.scores[len(one.ids) - 1 : len(one.ids) + len(one.reply) - 1]
        alike += one.alike(scores.argmax(axis=1).tolist())
    return sum(alike) / len(alike)


def least_alike(kind: str) -> float:
    """The share that an export of that kind must reach."""
    return LEAST_ALIKE.get(kind) or LEAST_ALIKE[kind[:2]]
