"""A small Qwen2.5-VL in a folder, with a tokenizer for the prompts of the dialect `uitars` on the pretend desktop."""

from __future__ import annotations

from pathlib import Path

import torch

from tests.training.tiny_exports import PICTURE, TEXT_SHAPE, seeing
from training import tiny
from training.ppo_args import Args
from training.ppo_parts import made_environment
from training.tasks.task import seed_of

PLAYED = Args(suite="pretend_small", dialect="uitars", images=1, max_pixels=12 * 28 * 28, min_pixels=28 * 28)


def seeing_folder(to: Path) -> Path:
    """Untrained, 64 wide; a prompt with a screenshot has about two hundred tokens."""
    tokenizer = tiny.words(prompts(), 700)
    tokenizer.add_special_tokens({"additional_special_tokens": list(PICTURE)})
    torch.manual_seed(0)
    model = seeing(tokenizer, {**TEXT_SHAPE, "vocab_size": len(tokenizer), "tie_word_embeddings": False})
    with torch.no_grad():
        for weight in (model.lm_head.weight, model.model.language_model.embed_tokens.weight):
            weight.mul_(10)  # as spread out as those of a trained model
    model.save_pretrained(str(to))
    tokenizer.save_pretrained(str(to))
    return to


def prompts() -> list[str]:
    """The first prompts of some episodes."""
    environment = made_environment(PLAYED)
    first = [environment.reset("fill", seed_of(n, "train")) for n in range(6)]
    environment.close()
    return [prompt.chatml() for prompt in first if prompt is not None]
