"""Small random models and rollouts for the trainers' tests: a Llama, a Qwen2.5-VL, conversations with and without
pictures. Small enough for one thread, and with every part that the real ones have."""

from __future__ import annotations

import random
from typing import Any, TypeVar

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

from training.batches import Vision
from training.policy import ActorCritic, lora
from training.rows import Picture, Row, SampledTurn, rows_of

IMAGE, START, END, STOP = 300, 301, 302, 303
VOCABULARY = 320


def text_model(seed: int = 0, **changes: Any) -> Any:
    """Two layers, four heads over two, tied embeddings."""
    torch.manual_seed(seed)
    shape = {
        "vocab_size": VOCABULARY,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "tie_word_embeddings": True,
    }
    return LlamaForCausalLM(LlamaConfig(**{**shape, **changes}))


def vision_model(seed: int = 0) -> Any:
    """Qwen2.5-VL: two layers, a tower of four with one of full attention, patches of 14 merged two by two."""
    torch.manual_seed(seed)
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": VOCABULARY,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0},
        },
        vision_config={
            "depth": 4,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_heads": 2,
            "out_hidden_size": 32,
            "fullatt_block_indexes": [3],
        },
        image_token_id=IMAGE,
        vision_start_token_id=START,
        vision_end_token_id=END,
        video_token_id=304,
        tie_word_embeddings=False,
    )
    return Qwen2_5_VLForConditionalGeneration(config)


M = TypeVar("M", bound=torch.nn.Module)


def stirred(model: M, seed: int = 1) -> M:
    """Adapters that do something: a new one is the identity. Other parameters stay as they are."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name or name.startswith("head."):
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.1)
    return model


def patches(picture: Picture) -> torch.Tensor:
    """Pixels that depend on the hash alone."""
    t, h, w = picture.grid
    generator = torch.Generator().manual_seed(int(picture.sha256[:8], 16))
    return torch.randn(t * h * w, 3 * 2 * 14 * 14, generator=generator)


VISION = Vision(IMAGE, patches)


def picture(rng: random.Random) -> Picture:
    return Picture(f"{rng.getrandbits(256):064x}", (1, 2 * rng.randint(1, 3), 2 * rng.randint(1, 3)))


def shown(image: Picture) -> tuple[int, ...]:
    """The tokens that stand for a picture in a prompt."""
    return (START, *[IMAGE] * image.tokens, END)


def conversation(
    rng: random.Random, turns: int, *, images: bool = False, keep: int = 0, text: int = 8, reply: int = 6
) -> list[SampledTurn]:
    """A rollout whose prompts grow by every reply and an observation. `keep` > 0 shows the newest pictures only, so
    that prompts stop sharing their beginning."""
    opening = words(rng, text)
    past: list[tuple[Picture | None, tuple[int, ...], tuple[int, ...]]] = []
    made: list[SampledTurn] = []
    for n in range(turns):
        seen = picture(rng) if images else None
        words_now = words(rng, text)
        history = [*past, (seen, words_now, ())]
        first = max(0, len(history) - keep) if keep else 0
        ids: list[int] = [*opening]
        pictures: list[Picture] = []
        for i, (one, said, answer) in enumerate(history):
            if one is not None and i >= first:
                ids += shown(one)
                pictures.append(one)
            ids += (*said, *answer)
        answer = (*words(rng, reply), STOP)
        logprobs = tuple(-rng.random() for _ in answer)
        reward = float(n == turns - 1)
        made.append(SampledTurn(tuple(ids), answer, logprobs, tuple(pictures), reward, version=n))
        past.append((seen, words_now, answer))
    return made


def words(rng: random.Random, count: int) -> tuple[int, ...]:
    return tuple(rng.randrange(10, 290) for _ in range(rng.randint(1, count)))


def base_model(kind: str) -> Any:
    return vision_model() if kind == "vision" else text_model()


def actor_critic(kind: str) -> ActorCritic:
    """Policy, critic and head with weights of their own, the same in every process."""
    base = base_model(kind)
    return stirred(ActorCritic(base, lora(base, 4, 8)))


def rollout_rows(kind: str, count: int, seed: int = 0) -> list[Row]:
    """A row each of so many rollouts."""
    rng = random.Random(seed)
    turns = [conversation(rng, rng.randint(1, 4), images=kind == "vision") for _ in range(count)]
    return [row for n, one in enumerate(turns) for row in rows_of(one, rollout=str(n), image_token=IMAGE)]
