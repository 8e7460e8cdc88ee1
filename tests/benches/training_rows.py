"""Training time: one row per rollout beside one per turn, and packed rows beside padded ones.

Both sides learn the same tokens with the same weights and give the same gradients, which is checked here. A Llama of
four layers on one thread; processor time of forward and backward.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import torch

from agent_core.errors import ModelError
from tests.benches.measure import Result, beside, cpu_seconds
from tests.training.small import STOP, VOCABULARY, conversation, stirred, text_model
from training.batches import Batch, packed
from training.examples import Example, collate
from training.policy import ActorCritic, lora, reply_loss
from training.rows import Row, SampledTurn, rows_of

TIMES = 3
TURNS = 10
ROLLOUTS = 6
ROWS = 32
BUDGET = 2048  # tokens in a batch, padding included
SAME = 1e-5


def rows() -> Result:
    """Rollouts of ten turns in a conversation that grows, learnt as one row each and as a row per turn."""
    rng = random.Random(0)
    rollouts = [conversation(rng, TURNS, text=80, reply=40) for _ in range(ROLLOUTS)]
    ours = packed([row for turns in rollouts for row in rows_of(turns)], BUDGET)
    theirs = packed([row for turns in rollouts for row in rows_of(turns, shared=False)], BUDGET)
    policy = small_policy()
    worst = differ(policy, lambda: learn(policy, ours), lambda: learn(policy, theirs))
    taken = beside(
        lambda: cpu_seconds(lambda: learn(policy, ours)), lambda: cpu_seconds(lambda: learn(policy, theirs)), TIMES
    )
    detail = (
        f"{ROLLOUTS} rollouts of {TURNS} turns, {sum(b.learnt for b in ours)} sampled tokens; {width(ours)} tokens in "
        f"{taken.ours:.2f} s ours, {width(theirs)} in {taken.peer:.2f} s, processor time; gradients differ by at most "
        f"{worst:.0e}. A dialect that says the newest screen only, such as elements, has a row per turn either way"
    )
    return Result("rows", taken.ratio, 4.0, "a row per turn, packed alike", detail)


def packing() -> Result:
    """Rows of uneven lengths end to end, against rows padded to the longest of their batch, in random order."""
    rng = random.Random(0)
    examples = [uneven(rng) for _ in range(ROWS)]
    ours = packed([row_of(example) for example in examples], BUDGET)
    theirs = padded(examples)
    by_length = padded(sorted(examples, key=lambda e: len(e.ids)))
    policy = small_policy()
    worst = differ(policy, lambda: learn(policy, ours), lambda: learn_padded(policy, theirs))
    taken = beside(
        lambda: cpu_seconds(lambda: learn(policy, ours)),
        lambda: cpu_seconds(lambda: learn_padded(policy, theirs)),
        TIMES,
    )
    sorted_seconds = cpu_seconds(lambda: learn_padded(policy, by_length))
    useful = sum(len(e.ids) for e in examples)
    detail = (
        f"{ROWS} rows, {useful} tokens; {taken.ours:.2f} s ours, {taken.peer:.2f} s padded ({share(useful, theirs)} "
        f"useful), {sorted_seconds:.2f} s padded in order of length ({share(useful, by_length)}), processor time; "
        f"gradients differ by at most {worst:.0e}"
    )
    return Result("packed", taken.ratio, 1.6, "padded rows in random order, transformers' SDPA", detail)


def small_policy() -> ActorCritic:
    """Half a million weights."""
    torch.set_num_threads(1)
    base = text_model(hidden_size=96, intermediate_size=256, num_hidden_layers=4)
    return stirred(ActorCritic(base, lora(base, 8, 16)))


def learn(policy: ActorCritic, batches: Sequence[Batch]) -> None:
    """Gradients of the mean negative log-likelihood of the sampled tokens."""
    policy.zero_grad()
    tokens = sum(batch.learnt for batch in batches)
    for batch in batches:
        torch.autograd.backward(-policy.logprobs(batch).sum() / tokens)


def learn_padded(policy: ActorCritic, batches: Sequence[Sequence[Example]]) -> None:
    """The same of padded rows."""
    policy.zero_grad()
    tokens = sum(example.learnt for batch in batches for example in batch)
    for examples in batches:
        batch = collate(examples, pad=0)
        torch.autograd.backward(reply_loss(policy.model, batch.ids, batch.attention, batch.labels) / tokens)


def differ(policy: ActorCritic, ours: Callable[[], None], theirs: Callable[[], None]) -> float:
    """The largest difference between two sides' gradients. Raises ModelError when they do not do the same work."""
    found = []
    for side in (ours, theirs):
        side()
        found.append([p.grad.clone() for p in policy.policy_parameters() if p.grad is not None])
    worst: float = max((a - b).abs().max().item() for a, b in zip(*found, strict=True))
    largest = max(gradient.abs().max().item() for gradient in found[0])
    if not worst < SAME < largest:
        raise ModelError(f"The two sides do not learn the same: gradients differ by {worst:.1e} of {largest:.1e}.")
    return worst


def uneven(rng: random.Random) -> Example:
    """A prompt of log-normal length and a reply of twenty tokens."""
    length = min(1200, max(20, round(rng.lognormvariate(5.3, 0.7))))
    ids = [rng.randrange(10, VOCABULARY - 20) for _ in range(length + 20)]
    return Example((*ids, STOP), 21)


def row_of(example: Example) -> Row:
    cut = len(example.ids) - example.learnt
    (row,) = rows_of([SampledTurn(example.ids[:cut], example.ids[cut:])])
    return row


def padded(examples: Sequence[Example]) -> list[list[Example]]:
    """In the order they come, as many as the budget takes with padding."""
    batches: list[list[Example]] = []
    for example in examples:
        held = [*batches[-1], example] if batches else []
        if held and max(len(e.ids) for e in held) * len(held) <= BUDGET:
            batches[-1] = held
        else:
            batches.append([example])
    return batches


def width(batches: Sequence[Batch]) -> int:
    return sum(batch.ids.numel() for batch in batches)


def share(useful: int, batches: Sequence[Sequence[Example]]) -> str:
    return f"{useful / sum(max(len(e.ids) for e in batch) * len(batch) for batch in batches):.0%}"
