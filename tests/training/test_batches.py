"""Rows and batches: every sampled token is learnt once, as it was sampled, with its pictures, and sees its own row."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.training.small import END, IMAGE, START, STOP, VISION, conversation, patches, picture, shown, vision_model
from training.batches import batch_of, mrope, pack, packed, spare
from training.rows import Picture, Row, SampledTurn, rows_of

often = settings(deadline=None, max_examples=60)  # a machine that does other work is no failure
seeds = st.integers(0, 10_000)
turn_counts = st.integers(1, 7)
windows = st.integers(0, 3)


def learnt(rows: list[Row]) -> list[int]:
    return [token for row in rows for token, sampled in zip(row.ids, row.mask, strict=True) if sampled]


def replies(turns: list[SampledTurn]) -> list[int]:
    return [token for turn in turns for token in turn.reply_ids]


@often
@given(seeds, turn_counts, st.booleans(), windows, st.booleans())
def test_every_sampled_token_is_learnt_once_as_it_was_sampled(
    seed: int, count: int, images: bool, keep: int, shared: bool
) -> None:
    turns = conversation(random.Random(seed), count, images=images, keep=keep)
    rows = rows_of(turns, shared=shared, image_token=IMAGE)
    assert learnt(rows) == replies(turns)
    said = [p for row in rows for p, sampled in zip(row.logprobs, row.mask, strict=True) if sampled]
    assert said == [p for turn in turns for p in turn.logprobs]
    assert all(row.lost == 0 for row in rows)
    assert len(rows) == count or shared


@often
@given(seeds, turn_counts, st.booleans(), windows)
def test_each_turn_keeps_its_prompt_its_stop_token_and_its_reward(
    seed: int, count: int, images: bool, keep: int
) -> None:
    turns = [
        replace(t, reward=float(n + 1))
        for n, t in enumerate(conversation(random.Random(seed), count, images=images, keep=keep))
    ]
    for row in rows_of(turns, image_token=IMAGE):
        for n in {t for t, sampled in zip(row.turns, row.mask, strict=True) if sampled}:
            places = [i for i in range(len(row)) if row.turns[i] == n and row.mask[i]]
            assert row.ids[: places[0]] == turns[n].prompt_ids  # what the reply was sampled after
            assert row.ids[places[-1]] == STOP
            assert [row.rewards[i] for i in places] == [0.0] * (len(places) - 1) + [n + 1.0]
        assert sum(r * m for r, m in zip(row.rewards, row.mask, strict=True)) == sum(row.rewards)


@often
@given(seeds, turn_counts)
def test_a_growing_conversation_is_one_row(seed: int, count: int) -> None:
    turns = conversation(random.Random(seed), count, images=True)
    (row,) = rows_of(turns, image_token=IMAGE)
    assert row.ids == turns[-1].prompt_ids + turns[-1].reply_ids
    assert row.images == turns[-1].images


@often
@given(seeds, st.integers(1, 10), st.integers(1, 4))
def test_a_sliding_window_of_pictures_gives_a_row_per_window(seed: int, count: int, keep: int) -> None:
    turns = conversation(random.Random(seed), count, images=True, keep=keep)
    rows = rows_of(turns, image_token=IMAGE)
    assert len(rows) == 1 + max(0, count - keep)
    assert [len(row.images) for row in rows] == [min(count, keep)] * len(rows)


@often
@given(seeds, turn_counts, windows)
def test_pictures_are_whole_and_where_their_tokens_are(seed: int, count: int, keep: int) -> None:
    rows = rows_of(conversation(random.Random(seed), count, images=True, keep=keep), image_token=IMAGE)
    for row in rows:
        runs = [len(list(group)) for token, group in itertools.groupby(row.ids) if token == IMAGE]
        assert runs == [math.prod(image.grid) // 4 for image in row.images]
    batch = batch_of(rows, VISION)
    assert batch.pixels is not None
    assert batch.grids is not None
    assert len(batch.pixels) == int(batch.grids.prod(1).sum()) == 4 * int((batch.ids == IMAGE).sum())
    assert torch.equal(batch.pixels, torch.cat([patches(image) for row in rows for image in row.images]))


@often
@given(seeds, turn_counts, st.integers(1, 60), st.integers(1, 4))
def test_what_is_too_long_is_left_out_by_whole_turns(seed: int, count: int, tokens: int, images: int) -> None:
    turns = conversation(random.Random(seed), count, images=True)
    rows = rows_of(turns, image_token=IMAGE, max_tokens=tokens, max_images=images)
    kept = [t for t in turns if len(t.prompt_ids) + len(t.reply_ids) <= tokens and len(t.images) <= images]
    assert learnt(rows) == replies(kept)
    assert all(len(row) <= tokens and len(row.images) <= images for row in rows)
    assert {row.ended for row in rows} <= ({"end"} if len(kept) == count else {"cut"})


def test_another_picture_begins_a_new_row_though_the_ids_agree() -> None:
    rng = random.Random(0)
    one, other = picture(rng), picture(rng)
    other = Picture(other.sha256, one.grid)
    first = SampledTurn((7, *shown(one)), (20, STOP), images=(one,))
    second = SampledTurn((7, *shown(other), 20, STOP, 8), (21, STOP), images=(other,))
    assert second.prompt_ids[: len(first.prompt_ids) + 2] == first.prompt_ids + first.reply_ids
    assert [row.images for row in rows_of([first, second], image_token=IMAGE)] == [(one,), (other,)]
    same = replace(second, images=(one,))
    assert len(rows_of([first, same], image_token=IMAGE)) == 1


@often
@given(seeds, turn_counts, st.integers(0, 4), st.integers(0, 5), st.booleans())
def test_a_prompt_that_changes_the_last_tokens_is_joined_below_the_threshold(
    seed: int, count: int, threshold: int, back: int, whole: bool
) -> None:
    """Against the three cases as they are defined: clean, realigned, forked."""
    rng = random.Random(seed)
    turns = conversation(rng, count)
    changed = [turns[0]]
    for before, turn in itertools.pairwise(turns):
        held = len(before.prompt_ids) + len(before.reply_ids)
        cut = held - rng.randint(0, back)
        new = turn.prompt_ids[:cut] + (() if whole else (299,)) + turn.prompt_ids[held:]
        changed.append(replace(turn, prompt_ids=new))
    rows = rows_of(changed, fork_threshold=threshold)
    ids: list[int] = []
    mask: list[int] = []
    expected: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    start = 0
    for turn in changed:
        prompt = list(turn.prompt_ids)
        same = next(
            (i for i, (a, b) in enumerate(zip(ids, prompt, strict=False)) if a != b), min(len(ids), len(prompt))
        )
        beyond = len(ids) - same
        if ids and (beyond == 0 or (same >= start and beyond < threshold)):
            mask = mask[:same] + [0] * (len(prompt) - same)
        else:
            if ids:
                expected.append((tuple(ids), tuple(mask)))
            mask = [0] * len(prompt)
        start = len(prompt)
        ids, mask = prompt + list(turn.reply_ids), mask + [1] * len(turn.reply_ids)
    expected.append((tuple(ids), tuple(mask)))
    assert [(row.ids, row.mask) for row in rows] == expected
    assert sum(row.learnt + row.lost for row in rows) == len(replies(changed))
    assert sum(sum(row.rewards) for row in rows) == sum(turn.reward for turn in changed)


def test_a_reward_among_given_up_tokens_moves_to_the_last_one_kept() -> None:
    first = SampledTurn((1, 2), (20, 21, STOP), reward=0.5)
    second = SampledTurn((1, 2, 20, 21, 9), (22, STOP), reward=1.0)
    (row,) = rows_of([first, second], fork_threshold=2)
    assert list(row.rewards) == [0, 0, 0, 0.5, 0, 0, 1.0]
    assert row.lost == 1
    nothing_left = replace(second, prompt_ids=(1, 2, 9))
    assert len(rows_of([first, nothing_left], fork_threshold=5)) == 2


def test_a_failed_rollout_gives_no_rows() -> None:
    assert rows_of(conversation(random.Random(0), 3), ended="failed") == []


def test_a_rollout_that_was_cut_may_end_with_a_prompt() -> None:
    turns = conversation(random.Random(0), 3)
    last = replace(turns[-1], reply_ids=(), logprobs=(), reward=0.0)
    (row,) = rows_of([*turns[:-1], last], ended="cut")
    assert row.ids == last.prompt_ids
    assert learnt([row]) == replies(turns[:-1])
    with pytest.raises(ValueError, match="without a reply"):
        rows_of([*turns[:-1], last])


@pytest.mark.parametrize(
    ("turn", "message"),
    [
        (SampledTurn((), (STOP,)), "without a prompt"),
        (SampledTurn((1,), (5, STOP), (-0.1,)), "1 log-probs for a reply of 2"),
        (SampledTurn((1,), (STOP,), reward=math.nan), "no number"),
        (SampledTurn((1, IMAGE), (STOP,)), "1 image tokens"),
        (SampledTurn((1, START, END), (STOP,), images=(Picture("0", (1, 2, 2)),)), "0 image tokens"),
    ],
)
def test_a_turn_that_cannot_be_is_refused(turn: SampledTurn, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rows_of([turn], image_token=IMAGE)


def test_missing_logprobs_are_not_taken_for_certainty() -> None:
    (row,) = rows_of([SampledTurn((1, 2), (5, STOP))])
    assert row.logprobs[:2] == (0.0, 0.0)
    assert all(math.isnan(p) for p in row.logprobs[2:])


@often
@given(st.lists(st.integers(1, 100), max_size=60), st.integers(100, 300))
def test_bins_hold_everything_once_and_no_two_could_be_one(lengths: list[int], budget: int) -> None:
    bins = pack(lengths, budget)
    assert sorted(i for one in bins for i in one) == list(range(len(lengths)))
    loads = [sum(lengths[i] for i in one) for one in bins]
    assert all(load <= budget for load in loads)
    assert all(a + b > budget for a, b in itertools.combinations(loads, 2))


def test_the_fullest_bin_that_takes_a_row_gets_it() -> None:
    assert pack([60, 50, 40, 35, 10], 100) == [[0, 2], [1, 3, 4]]
    with pytest.raises(ValueError, match="raise the budget"):
        pack([101], 100)


@often
@given(seeds, st.integers(1, 5))
def test_a_batch_is_its_rows_end_to_end(seed: int, count: int) -> None:
    rng = random.Random(seed)
    rows = [row for n in range(count) for row in rows_of(conversation(rng, rng.randint(1, 4)), rollout=str(n))]
    batch = batch_of(rows)
    assert [tuple(one.tolist()) for one in batch.cut(batch.ids)] == [row.ids for row in rows]
    assert torch.equal(batch.place(batch.cut(batch.rewards)), batch.rewards)
    assert batch.learnt == sum(row.learnt for row in rows)
    for n, (places, segment, labels, row) in enumerate(
        zip(batch.cut(batch.positions), batch.cut(batch.segments), batch.cut(batch.labels), rows, strict=True)
    ):
        assert places.tolist() == list(range(len(row)))
        assert set(segment.tolist()) == {n}
        assert labels[0] == -100  # nothing of the row before predicts it
        assert [t for t in labels.tolist() if t != -100] == learnt([row])


def test_a_spare_batch_teaches_nothing() -> None:
    assert spare().learnt == 0
    assert spare(VISION).positions.shape == (3, *spare().ids.shape)


def test_packing_keeps_every_row() -> None:
    rng = random.Random(3)
    rows = [row for n in range(9) for row in rows_of(conversation(rng, 3), rollout=str(n))]
    batches = packed(rows, max(len(row) for row in rows) * 2)
    assert sorted(row.rollout for batch in batches for row in batch.rows) == [str(n) for n in range(9)]
    assert len(batches) < len(rows)


@often
@given(seeds, turn_counts)
def test_positions_are_those_of_transformers(seed: int, count: int) -> None:
    turns = conversation(random.Random(seed), count, images=True)
    (row,) = rows_of(turns, image_token=IMAGE)
    ids = torch.tensor([row.ids])
    grids = torch.tensor([image.grid for image in row.images])
    model = MODEL.model
    expected, _ = model.get_rope_index(ids, mm_token_type_ids=(ids == IMAGE).int(), image_grid_thw=grids)
    assert torch.equal(mrope(ids[0], [image.grid for image in row.images], IMAGE), expected[:, 0])


def test_positions_need_every_picture() -> None:
    with pytest.raises(ValueError, match="do not match"):
        mrope(torch.tensor([1, IMAGE, IMAGE]), [(1, 2, 2)], IMAGE)


MODEL = vision_model()
