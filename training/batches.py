"""From training rows to packed batches: rows end to end in one line, each a segment that sees nothing of the others.

A batch has no padding. Positions start again in every segment and attention stays inside it (`policy` sees to that); a
row begins with a prompt, so no sampled token is predicted from the segment before. `pack` fills the batches.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from training.rows import Picture, Row


@dataclass(frozen=True, slots=True)
class Vision:
    """What a batch must know of a model that sees pictures: its image token and how a picture becomes patches.

    `patches` gives (time * height * width of the grid, patch values) float32 for a picture.
    """

    image_token: int
    patches: Callable[[Picture], torch.Tensor]
    merge: int = 2


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Packed rows; `width` is the sum of their lengths.

    ids: (1, width) int64. mask: (1, width) bool, True on sampled tokens. segments: (1, width) int64, the row's number.
    positions: (1, width) int64, for a model with pictures (3, 1, width). logprobs, rewards: (1, width) float32, the
    sampler's and 0 off the mask. pixels: (patches, values) float32 and grids: (pictures, 3) int64, or None.
    """

    rows: tuple[Row, ...]
    ids: torch.Tensor
    mask: torch.Tensor
    segments: torch.Tensor
    positions: torch.Tensor
    logprobs: torch.Tensor
    rewards: torch.Tensor
    pixels: torch.Tensor | None = None
    grids: torch.Tensor | None = None

    @property
    def lengths(self) -> tuple[int, ...]:
        return tuple(len(row) for row in self.rows)

    @property
    def learnt(self) -> int:
        """The number of sampled tokens."""
        return int(self.mask.sum())

    @property
    def labels(self) -> torch.Tensor:
        """(1, width) int64: the sampled ids, -100 elsewhere. The first token of a segment is never among them."""
        return self.ids.masked_fill(~self.mask, -100)

    def place(self, per_row: Sequence[torch.Tensor]) -> torch.Tensor:
        """One (length,) tensor per row to (1, width), in the order of `rows`."""
        if tuple(len(one) for one in per_row) != self.lengths:
            raise ValueError("one value per token of every row")
        return torch.cat(list(per_row)).unsqueeze(0)

    def cut(self, values: torch.Tensor) -> list[torch.Tensor]:
        """(1, width) to one (length,) tensor per row: the inverse of `place`."""
        return list(torch.split(values[0], list(self.lengths)))

    def to(self, device: torch.device | str) -> Batch:
        names = ("ids", "mask", "segments", "positions", "logprobs", "rewards", "pixels", "grids")
        tensors = {name: getattr(self, name) for name in names}
        moved: dict[str, Any] = {name: t if t is None else t.to(device) for name, t in tensors.items()}
        return replace(self, **moved)


def batch_of(rows: Sequence[Row], vision: Vision | None = None) -> Batch:
    """The rows end to end. Raises ValueError for no rows, or pictures that do not match the image tokens."""
    if not rows:
        raise ValueError("a batch needs at least one row")
    ids = [torch.tensor(row.ids) for row in rows]
    pictures = [image for row in rows for image in row.images]
    if vision is None:
        if pictures:
            raise ValueError("rows with pictures need a model that sees them")
        positions = torch.cat([torch.arange(len(row)) for row in rows]).unsqueeze(0)
    else:
        grids = [[image.grid for image in row.images] for row in rows]
        places = [mrope(one, grid, vision.image_token, vision.merge) for one, grid in zip(ids, grids, strict=True)]
        positions = torch.cat(places, dim=1).unsqueeze(1)
    return Batch(
        rows=tuple(rows),
        ids=torch.cat(ids).unsqueeze(0),
        mask=torch.tensor([list(itertools.chain.from_iterable(row.mask for row in rows))], dtype=torch.bool),
        segments=torch.cat([torch.full((len(row),), n) for n, row in enumerate(rows)]).unsqueeze(0),
        positions=positions,
        logprobs=torch.tensor([list(itertools.chain.from_iterable(row.logprobs for row in rows))]),
        rewards=torch.tensor([list(itertools.chain.from_iterable(row.rewards for row in rows))]),
        pixels=torch.cat([vision.patches(picture) for picture in pictures]) if vision and pictures else None,
        grids=torch.tensor([picture.grid for picture in pictures]) if pictures else None,
    )


def spare(vision: Vision | None = None) -> Batch:
    """The least work there is, and nothing to learn: what a rank does that has fewer batches than the others."""
    nothing = (0, 0)
    return batch_of([Row(nothing, nothing, (0.0, 0.0), nothing, (0.0, 0.0))], vision)


def packed(rows: Sequence[Row], budget: int, vision: Vision | None = None) -> list[Batch]:
    """All rows in batches of at most `budget` tokens. Raises ValueError for a row longer than that."""
    return [batch_of([rows[i] for i in bin_], vision) for bin_ in pack([len(row) for row in rows], budget)]


def pack(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Best-fit decreasing: indexes into `lengths`, a list per bin; no bin holds more than `budget`.

    Each length, the longest first, goes into the bin with the least room that still takes it. Raises ValueError for a
    length over the budget.
    """
    bins: list[list[int]] = []
    room: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if lengths[i] > budget:
            raise ValueError(f"a row of {lengths[i]} tokens does not fit into a batch of {budget}: raise the budget")
        fits = [b for b, free in enumerate(room) if free >= lengths[i]]
        if fits:
            best = min(fits, key=lambda b: room[b])
        else:
            best = len(bins)
            bins.append([])
            room.append(budget)
        bins[best].append(i)
        room[best] -= lengths[i]
    return bins


def mrope(ids: torch.Tensor, grids: Sequence[tuple[int, int, int]], image_token: int, merge: int = 2) -> torch.Tensor:
    """Positions of Qwen2.5-VL in time, height and width: (3, length) int64 for one row's (length,) ids.

    Text counts on by one. A picture's tokens share one time and count its rows and columns from where it begins; the
    text after it begins behind the larger of the two. Raises ValueError where image tokens and grids do not match.
    """
    shown = [(t, h // merge, w // merge) for t, h, w in grids]
    if int((ids == image_token).sum()) != sum(t * h * w for t, h, w in shown):
        raise ValueError("image tokens and pictures do not match")
    parts: list[torch.Tensor] = []
    at = begin = 0
    pads = (ids == image_token).tolist()
    for t, h, w in shown:
        first = pads.index(True, at)
        parts.append(torch.arange(begin, begin + first - at).expand(3, -1))
        begin += first - at
        parts.append(torch.cartesian_prod(torch.arange(t), torch.arange(h), torch.arange(w)).reshape(-1, 3).T + begin)
        begin += max(h, w)
        at = first + t * h * w
    parts.append(torch.arange(begin, begin + len(ids) - at).expand(3, -1))
    return torch.cat(parts, dim=1)
