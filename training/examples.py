"""From a turn to what a trainer reads: token ids and a mask of the tokens the model is to learn.

Only the reply and its stop token are learnt; the prompt, the header of the assistant turn and padding are not. The
prompt text is the one that was rendered for the model that was served, so training and serving cannot differ. A reply
whose ids were kept when it was sampled is never tokenised again (`sampled_turns`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from agent_core.dialects.window import IMAGE
from agent_core.step import CHATML_STOP, Reply
from agent_core.traces.rows import KeptTurn
from training.rows import Picture, SampledTurn

IGNORED = -100
SHOWN = "<|vision_start|>{}<|vision_end|>"
IMAGE_TOKEN = "<|image_pad|>"


class Tokenizer(Protocol):
    """What is needed of a Hugging Face tokenizer."""

    pad_token_id: int

    def encode(self, text: str, add_special_tokens: bool = ...) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class Example:
    """`ids` are prompt then reply then stop token; the last `learnt` of them are learnt."""

    ids: tuple[int, ...]
    learnt: int
    group: str = ""


def example(tokenizer: Tokenizer, prompt: str, reply: str, group: str = "") -> Example:
    """Raises ValueError for an empty reply: a row without a learnt token teaches nothing and hides a fault."""
    if not reply:
        raise ValueError("a reply to be learnt must not be empty")
    asked = tokenizer.encode(prompt, add_special_tokens=False)
    said = tokenizer.encode(reply + CHATML_STOP, add_special_tokens=False)
    return Example(tuple(asked + said), len(said), group)


@dataclass(frozen=True, slots=True)
class Batch:
    """Right-padded rows. ids, attention: (rows, width) int64; labels: (rows, width) int64, IGNORED where not learnt."""

    ids: torch.Tensor
    attention: torch.Tensor
    labels: torch.Tensor

    @property
    def learnt(self) -> int:
        return int((self.labels != IGNORED).sum())


def collate(examples: Sequence[Example], pad: int) -> Batch:
    """Pads to the longest row."""
    width = max(len(e.ids) for e in examples)
    ids = torch.full((len(examples), width), pad, dtype=torch.long)
    attention = torch.zeros((len(examples), width), dtype=torch.long)
    labels = torch.full((len(examples), width), IGNORED, dtype=torch.long)
    for row, one in enumerate(examples):
        n = len(one.ids)
        ids[row, :n] = torch.tensor(one.ids)
        attention[row, :n] = 1
        labels[row, n - one.learnt : n] = ids[row, n - one.learnt : n]
    return Batch(ids, attention, labels)


def by_length(examples: Iterable[Example], tokens: int, generator: torch.Generator) -> list[list[Example]]:
    """Batches of rows of like length, at most `tokens` each with padding, in random order.

    Lengths are jittered by up to 10 % before sorting so that the same rows do not always meet.
    """
    pool = list(examples)
    noise = (torch.rand(len(pool), generator=generator) * 0.2 + 0.9).tolist()
    order = sorted(range(len(pool)), key=lambda i: len(pool[i].ids) * noise[i])
    batches: list[list[Example]] = []
    widest = 0
    for i in order:
        wide = max(widest, len(pool[i].ids))
        if batches and wide * (len(batches[-1]) + 1) <= tokens:
            batches[-1].append(pool[i])
            widest = wide
        else:
            batches.append([pool[i]])
            widest = len(pool[i].ids)
    shuffle = torch.randperm(len(batches), generator=generator).tolist()
    return [batches[i] for i in shuffle]


def prompt_ids(tokenizer: Tokenizer, prompt: str, images: Sequence[Picture] = ()) -> tuple[int, ...]:
    """The ids of a prompt in ChatML, each `<image>` as the tokens of its picture. Raises ValueError if they differ."""
    parts = prompt.split(IMAGE)
    if len(parts) - 1 != len(images):
        raise ValueError(f"{len(parts) - 1} places for pictures in the prompt, and {len(images)} pictures")
    text = parts[0]
    for image, part in zip(images, parts[1:], strict=True):
        text += SHOWN.format(IMAGE_TOKEN * image.tokens) + part
    return tuple(tokenizer.encode(text, add_special_tokens=False))


def sampled_turn(
    tokenizer: Tokenizer,
    prompt: str,
    reply: Reply,
    *,
    images: Sequence[Picture] = (),
    reward: float = 0.0,
    version: int = 0,
    thought: str = "",
) -> SampledTurn:
    """A turn for `rows_of`. A reply without ids (a teacher's, a person's) is tokenised and given its stop token."""
    ids = reply.token_ids or tuple(tokenizer.encode(reply.text + CHATML_STOP, add_special_tokens=False))
    return SampledTurn(
        prompt_ids=prompt_ids(tokenizer, prompt, images),
        reply_ids=ids,
        logprobs=reply.logprobs,
        images=tuple(images),
        reward=reward,
        version=version,
        thought_chars=len(thought),
        reply_chars=len(reply.text),
    )


def sampled_turns(
    turns: Sequence[KeptTurn],
    tokenizer: Tokenizer,
    *,
    picture: Callable[[str], Picture] | None = None,
    reward: float = 0.0,
    version: int = 0,
) -> list[SampledTurn]:
    """The kept turns of one run; its reward lies on the last. `picture` is told the hash of each picture asked with."""
    made = []
    for n, turn in enumerate(turns):
        images = [picture(sha256) for sha256 in turn.prompt_images] if picture else []
        of_turn = reward if n == len(turns) - 1 else 0.0
        made.append(
            sampled_turn(
                tokenizer,
                turn.prompt,
                turn.reply,
                images=images,
                reward=of_turn,
                version=version,
                thought=turn.thought,
            )
        )
    return made
