"""From a turn to what a trainer reads: token ids and a mask of the tokens the model is to learn.

Only the reply and its stop token are learnt; the prompt, the header of the assistant turn and padding are not. The
prompt text is the one that was rendered for the model that was served, so training and serving cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from agent_core.step import CHATML_STOP

IGNORED = -100


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
