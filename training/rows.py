"""From the turns of a rollout to training rows: the exact sampled ids, one row for as long as the prompts only grow.

A prompt that goes on where the last prompt and reply ended costs only its new tokens, so ten turns of a growing
conversation are one row; a prompt that differs earlier begins a new one (`rows_of`). Nothing here decodes or encodes:
what is trained is what was sampled. Only sampled tokens, the stop token among them, are in a row's mask.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

Ended = Literal["end", "cut", "failed"]
"""A real end (finished or given up), cut by the limit of steps or tokens, or failed through no fault of the policy."""

MERGED = 4  # patches of a picture that become one token


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Picture:
    """A picture in a prompt: the hash it is kept under and its grid of patches (time, height, width).

    `pixels` is the picture itself where it lies in no store (see `album`).
    """

    sha256: str
    grid: tuple[int, int, int]
    pixels: bytes = field(default=b"", compare=False, repr=False)

    @property
    def tokens(self) -> int:
        """How many image tokens stand for it in a prompt."""
        return math.prod(self.grid) // MERGED


@dataclass(frozen=True, slots=True)
class SampledTurn:
    """One turn as it was sampled. `logprobs` is one number per reply id, or empty where the sampler gave none.

    `reply_ids` ends with the stop token, if the reply came to one. They are empty only in the last turn of a rollout
    that was cut: its prompt is the observation whose value goes on from there. `images` are those of the prompt, in
    order. `thought_chars` and `reply_chars` are lengths of the text, for the metrics.
    """

    prompt_ids: tuple[int, ...]
    reply_ids: tuple[int, ...]
    logprobs: tuple[float, ...] = ()
    images: tuple[Picture, ...] = ()
    reward: float = 0.0
    version: int = 0
    thought_chars: int = 0
    reply_chars: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A training row; every tuple has one entry per token.

    `mask` is 1 on sampled tokens; `logprobs` the sampler's (nan where it gave none, 0 off the mask); `turns` the turn
    that brought the token; `rewards` lie on the last sampled token of their turn. `version` is the oldest policy that
    sampled in it. `lost` counts sampled tokens given up to keep prompts together (0 unless `fork_threshold` is set).
    """

    ids: tuple[int, ...]
    mask: tuple[int, ...]
    logprobs: tuple[float, ...]
    turns: tuple[int, ...]
    rewards: tuple[float, ...]
    rollout: str = ""
    group: str = ""
    ended: Ended = "end"
    version: int = 0
    images: tuple[Picture, ...] = ()
    lost: int = 0

    def __post_init__(self) -> None:
        if not self.ids or self.mask[0]:
            raise ValueError("a row begins with a prompt: nothing predicts its first token")
        if {len(self.mask), len(self.logprobs), len(self.turns), len(self.rewards)} != {len(self.ids)}:
            raise ValueError("mask, logprobs, turns and rewards have one entry per token")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def learnt(self) -> int:
        """The number of sampled tokens."""
        return sum(self.mask)


def rows_of(
    turns: Sequence[SampledTurn],
    *,
    rollout: str = "",
    group: str = "",
    ended: Ended = "end",
    fork_threshold: int = 0,
    shared: bool = True,
    max_tokens: int = 0,
    max_images: int = 0,
    image_token: int | None = None,
) -> list[Row]:
    """The rows of one rollout in the order of its turns; every sampled token is learnt in exactly one of them.

    A prompt either begins with the row so far (the row goes on), or differs from it inside the last reply by fewer than
    `fork_threshold` tokens at the row's end (the row goes on with the prompt's ids, and those tokens are given up), or
    begins a new row. `shared=False` gives a row per turn. Turns from the first one on that goes beyond `max_tokens` or
    `max_images` (0: no limit), or says the image token itself, are left out whole, and the rollout then counts as cut.
    A failed rollout gives no rows.
    Raises ValueError for turns that cannot be: reply and log-probs of different length, image tokens without picture.
    """
    if ended == "failed":
        return []
    fitting = _fitting(turns, max_tokens, max_images, image_token)
    if len(fitting) < len(turns):
        ended = "cut"
    grown: list[_Growing] = []
    for n, turn in enumerate(fitting):
        _check(turn, image_token, may_be_unanswered=n == len(fitting) - 1 and ended == "cut")
        if not (grown and shared and grown[-1].goes_on(turn, n, fork_threshold, image_token)):
            grown.append(_Growing(turn, n))
        grown[-1].say(turn, n)
    return [replace(one.row(), rollout=rollout, group=group, ended=ended) for one in grown]


def _fitting(
    turns: Sequence[SampledTurn], max_tokens: int, max_images: int, image_token: int | None
) -> Sequence[SampledTurn]:
    """The turns before the first one that is too long, or whose reply stands for a picture that is not there.

    A row is never longer than its last turn.
    """
    for n, turn in enumerate(turns):
        too_long = max_tokens and len(turn.prompt_ids) + len(turn.reply_ids) > max_tokens
        if too_long or (max_images and len(turn.images) > max_images) or image_token in turn.reply_ids:
            return turns[:n]
    return turns


def _check(turn: SampledTurn, image_token: int | None, may_be_unanswered: bool) -> None:
    if not turn.prompt_ids:
        raise ValueError("a turn without a prompt: nothing predicts its first token")
    if not turn.reply_ids and not may_be_unanswered:
        raise ValueError("a turn without a reply: only the last prompt of a rollout that was cut has none")
    if turn.logprobs and len(turn.logprobs) != len(turn.reply_ids):
        raise ValueError(f"{len(turn.logprobs)} log-probs for a reply of {len(turn.reply_ids)} tokens")
    if not math.isfinite(turn.reward):
        raise ValueError("a reward that is no number: a rollout that failed gives no rows")
    tokens = sum(image.tokens for image in turn.images)
    if image_token is None and tokens:
        raise ValueError("a prompt with pictures needs the image token to be told")
    if image_token is not None and turn.prompt_ids.count(image_token) != tokens:
        found = turn.prompt_ids.count(image_token)
        raise ValueError(f"{found} image tokens in the prompt, but its pictures have {tokens}")


class _Growing:
    """A row while turns are added to it."""

    def __init__(self, turn: SampledTurn, n: int) -> None:
        self.ids: list[int] = []
        self.mask: list[int] = []
        self.logprobs: list[float] = []
        self.turns: list[int] = []
        self.rewards: list[float] = []
        self.images = turn.images
        self.version = turn.version
        self.reply_start = 0
        self.lost = 0
        self._read(turn.prompt_ids, n)

    def goes_on(self, turn: SampledTurn, n: int, fork_threshold: int, image_token: int | None) -> bool:
        """Takes the turn's prompt in, if it carries this row on."""
        same = self._same(turn, image_token)
        beyond = len(self.ids) - same
        if beyond:
            if same < self.reply_start or beyond >= fork_threshold:
                return False
            if not any(self.mask[:same]) and any(self.rewards[same:]):
                return False  # the reward would have no sampled token left to lie on
            self._give_up(same)
        self._read(turn.prompt_ids[same:], n)
        self.images = turn.images
        self.version = min(self.version, turn.version)
        return True

    def say(self, turn: SampledTurn, n: int) -> None:
        """Adds the reply and its reward."""
        self.reply_start = len(self.ids)
        count = len(turn.reply_ids)
        self._add(turn.reply_ids, 1, turn.logprobs or (math.nan,) * count, n)
        if count:
            self.rewards[-1] = turn.reward

    def row(self) -> Row:
        return Row(
            tuple(self.ids),
            tuple(self.mask),
            tuple(self.logprobs),
            tuple(self.turns),
            tuple(self.rewards),
            version=self.version,
            images=self.images,
            lost=self.lost,
        )

    def _same(self, turn: SampledTurn, image_token: int | None) -> int:
        """How many tokens of this row begin the prompt. Those of different pictures differ, though the ids agree."""
        ids = turn.prompt_ids
        pairs = zip(self.ids, ids, strict=False)
        same = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(self.ids), len(ids)))
        before = 0
        for held, new in zip(self.images, turn.images, strict=False):
            if held != new:
                places = (i for i, token in enumerate(self.ids) if token == image_token)
                return min(same, next(p for k, p in enumerate(places) if k == before))
            before += held.tokens
        return same

    def _give_up(self, same: int) -> None:
        """Drops the tokens from `same` on; a reward among them moves to the last sampled token that stays."""
        self.lost += sum(self.mask[same:])
        stray = sum(self.rewards[same:])
        for column in (self.ids, self.mask, self.logprobs, self.turns, self.rewards):
            del column[same:]
        if stray:
            last = max(i for i, sampled in enumerate(self.mask) if sampled)
            self.rewards[last] += stray

    def _read(self, ids: Sequence[int], n: int) -> None:
        self._add(ids, 0, (0.0,) * len(ids), n)

    def _add(self, ids: Sequence[int], sampled: int, logprobs: Sequence[float], n: int) -> None:
        self.ids += ids
        self.mask += [sampled] * len(ids)
        self.logprobs += logprobs
        self.turns += [n] * len(ids)
        self.rewards += [0.0] * len(ids)
