"""A small agent of its own for whole-flow tests: a model of a hundred thousand weights that can hardly press a button.

Made here from episodes of the suite `pretend_small`, with a tokenizer whose cuts llama.cpp knows, exported to GGUF and
named by a manifest in the data folder, so that the program and the trainers use it like any other model.
"""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from agent_core import paths
from agent_core.models.manifest import sha256_of
from agent_core.step import CHATML_STOP
from training import gguf_export, tiny
from training.gguf_vocabulary import QWEN2
from training.runs import RunFolder

NAME = "small"
SPECIAL = ("<|endoftext|>", "<|im_start|>", CHATML_STOP)
MANIFEST = """dialect = "elements"
kind = "llama_cpp"

[base]
file = "{file}"
sha256 = "{sha256}"

[serving]
quantisation = "F16"
context = 2048
max_new_tokens = 64
"""


def make(folder: Path, episodes: int, steps: int, careless: int) -> Path:
    """The base as a Hugging Face folder, and beside it the manifest `small` for the program; returns the former."""
    args = tiny.Args(out=str(folder / "run"), episodes=episodes, steps=steps, check_every=10**6, batch_rows=24)
    torch.manual_seed(0)
    right = presses(episodes)
    tokenizer = words([prompt + reply + CHATML_STOP for prompt, reply in right])
    model = LlamaForCausalLM(tiny.shape(args, len(tokenizer)))
    model.config.eos_token_id = tokenizer.eos_token_id
    model.set_attn_implementation("eager")
    run = RunFolder(Path(args.out), args, done=0)
    tiny.learn(model, tokenizer, right, steps, args, run)
    tiny.learn(model, tokenizer, presses(episodes, 0.7), careless, args, run)
    run.close()
    base = folder / "base"
    model.save_pretrained(str(base))
    tokenizer.save_pretrained(str(base))
    file = paths.models_folder() / f"{NAME}-base.gguf"
    gguf_export.export(gguf_export.Args(out=str(file), base=str(base), quantisation="F32", threads=1))
    told = MANIFEST.format(file=file.name, sha256=sha256_of(file))
    (paths.models_folder() / f"{NAME}.toml").write_text(told, encoding="utf-8")
    return base


def presses(episodes: int, mistakes: float = 0.0) -> list[tuple[str, str]]:
    """The turns of the forms in which one button is to be pressed and nothing else."""
    rows = tiny.demonstrations("pretend_small", episodes, mistakes)
    return [(prompt, reply) for prompt, reply in rows if " once " not in prompt]


def words(texts: list[str]) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer learnt from the texts, which cuts as Qwen's does."""
    bpe = Tokenizer(models.BPE())
    cut = pre_tokenizers.Split(Regex(QWEN2), behavior="isolated")
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bpe.pre_tokenizer = pre_tokenizers.Sequence([cut, level])
    bpe.decoder = decoders.ByteLevel()
    bpe.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=640,
            special_tokens=list(SPECIAL),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return PreTrainedTokenizerFast(tokenizer_object=bpe, pad_token=SPECIAL[0], eos_token=CHATML_STOP)
