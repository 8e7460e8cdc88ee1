"""Small models with a tokenizer, saved as transformers does: what exports start from in the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from agent_core.step import CHATML_STOP
from training.gguf_vocabulary import QWEN2

PICTURE = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
SPECIAL = ("<|endoftext|>", "<|im_start|>", CHATML_STOP, *PICTURE)
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n"
)
TEXTS = (
    "Click the button Save, then write 12 + 30 into the field Name.",
    "The screen shows a window with three buttons; which one sends the form?",
    "user assistant system: where is it, and what's in the file notes.txt?",
)
WIDTH = 64
TEXT_SHAPE = {
    "hidden_size": WIDTH,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
}


def words() -> PreTrainedTokenizerFast:
    """A byte-level tokenizer that cuts texts as Qwen's does."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN2), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False
    )
    bpe.train_from_iterator(TEXTS, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, pad_token=SPECIAL[0], eos_token=CHATML_STOP, chat_template=TEMPLATE
    )


def saved(folder: Path, kind: str, **changes: Any) -> Path:
    """A random `llama`, `qwen2` or `qwen2vl` with a tokenizer, in a folder. Large weights make logits differ."""
    torch.manual_seed(0)
    tokenizer = words()
    shape = {**TEXT_SHAPE, "vocab_size": len(tokenizer) + 3, "tie_word_embeddings": kind == "llama", **changes}
    made: Any
    if kind == "llama":
        made = LlamaForCausalLM(LlamaConfig(**shape))
    elif kind == "qwen2":
        made = Qwen2ForCausalLM(Qwen2Config(**shape))
    else:
        made = seeing(tokenizer, shape)
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if weight.ndim > 1 and "patch_embed" not in name:
                weight.mul_(5)
            elif name.endswith("bias"):
                weight.normal_(0, 0.1)
    made.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    return folder


def seeing(tokenizer: PreTrainedTokenizerFast, shape: dict[str, Any]) -> Qwen2_5_VLForConditionalGeneration:
    """A Qwen2.5-VL with a tower of four blocks, every second one of full attention."""
    one = tokenizer.convert_tokens_to_ids
    config = Qwen2_5_VLConfig(
        text_config={
            **shape,
            "rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0},
        },
        vision_config={
            "depth": 4,
            "hidden_size": 64,
            "intermediate_size": 96,
            "num_heads": 4,
            "out_hidden_size": WIDTH,
            "fullatt_block_indexes": [1, 3],
        },
        image_token_id=one("<|image_pad|>"),
        video_token_id=one("<|video_pad|>"),
        vision_start_token_id=one("<|vision_start|>"),
        vision_end_token_id=one("<|vision_end|>"),
        tie_word_embeddings=False,
    )
    return Qwen2_5_VLForConditionalGeneration(config)
