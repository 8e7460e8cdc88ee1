"""The kinds of numeric cases that are about rows, bins and starts instead of arithmetic; read by tests/cases.py."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from agent_core.screen.shrink import smart_resize
from training.batches import pack
from training.pool import may_have_started
from training.rows import Picture, SampledTurn, rows_of

Case = dict[str, Any]
Found = Iterator[tuple[str, float]]

HEADER = ["<|im_start|>", "assistant", "\n"]
STOP = "<|im_end|>"
IMAGE = "<|image_pad|>"


def same(what: str, ours: Any, wanted: Any) -> Found:
    """An error of 0, or inf where the two differ."""
    yield what, 0.0 if ours == wanted else math.inf


def of_smart_resize(case: Case) -> Found:
    factor = case["factor"]
    tall, wide = smart_resize(case["h"], case["w"], factor, case["min_pixels"], case["max_pixels"])
    yield from same("size", [tall, wide], [case["out_h"], case["out_w"]])
    if "image_tokens" in case:
        yield from same("image_tokens", tall * wide // factor**2, case["image_tokens"])


def of_chat_mask(case: Case) -> Found:
    """Every assistant turn as it was sampled: the prompt up to its header, the reply to its stop token."""
    words = case["tokens"]
    ids = [words.index(word) for word in words]
    image = words.index(IMAGE) if IMAGE in words else None
    turns = []
    for start in range(len(HEADER), len(words)):
        if words[start - len(HEADER) : start] == HEADER:  # a header at the very end has no reply yet
            end = words.index(STOP, start) + 1 if STOP in words[start:] else len(words)
            runs = (len(list(run)) for word, run in groupby(words[:start]) if word == IMAGE)
            images = tuple(Picture(str(n), (1, 2, 2 * length)) for n, length in enumerate(runs))
            turns.append(SampledTurn(tuple(ids[:start]), tuple(ids[start:end]), images=images))
    (row,) = rows_of(turns, image_token=image)
    yield from same("ids", list(row.ids), ids[: len(row)])
    yield from same("rl_mask", [*row.mask, *[0] * (len(ids) - len(row))], case["rl_mask"])


def of_token_drift(case: Case) -> Found:
    """The turns that were held, then the next prompt, whose reply is not there yet."""
    held, mask = case["held"], case["held_mask"]
    starts = [i for i in range(1, len(held)) if mask[i] and not mask[i - 1]]
    ends = [i for i in range(1, len(held) + 1) if mask[i - 1] and (i == len(held) or not mask[i])]
    turns = [SampledTurn(tuple(held[:a]), tuple(held[a:b])) for a, b in zip(starts, ends, strict=True)]
    yield from same("last_response_start", starts[-1], case["last_response_start"])
    before = len(rows_of(turns, ended="cut", fork_threshold=case["threshold"]))
    turns.append(SampledTurn(tuple(case["next_prompt"]), ()))
    rows = rows_of(turns, ended="cut", fork_threshold=case["threshold"])
    forked = len(rows) > before
    yield from same("new_row", forked, case["new_row"])
    clean = list(rows[-1].ids[: len(held)]) == held
    yield from same("kind", "fork" if forked else "clean" if clean else "realign", case["kind"])
    yield from same("row_tokens", list(rows[-1].ids), case["row_tokens"])
    yield from same("row_mask", list(rows[-1].mask), case["row_mask"])


def of_staleness_capacity(case: Case) -> Found:
    most = may_have_started(case["version"], case["max_stale"], case["batch"])
    yield from same("may_start", case["started"] < most, case["may_start"])


def of_packing_bfd(case: Case) -> Found:
    lengths, budget = case["lengths"], case["budget"]
    bins = [[lengths[i] for i in one] for one in pack(lengths, budget)]
    yield from same("bins", bins, case["bins"])
    if "efficiency" in case:
        yield "efficiency", abs(sum(lengths) / (len(bins) * budget) - case["efficiency"])
