"""What a rollout is worth: the outcome, which a verifier read from the program itself, and small shaping terms.

The outcome lies on the last reply. A reply that holds nothing to do costs its own turn a little (a format reward), and
so may every turn (a length penalty); both are off unless asked for. UI-TARS-2 names both kinds and gives no numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_core.step import Turn


def turn_rewards(
    turns: Sequence[Turn], outcome: float, unreadable: float = 0.0, per_turn: float = 0.0
) -> tuple[float, ...]:
    """One reward per turn. `unreadable` and `per_turn` are costs, 0 or more; the outcome is added to the last turn."""
    shaping = [-per_turn - (unreadable if turn.intent.problems or not turn.intent.actions else 0.0) for turn in turns]
    return tuple(shaped + (outcome if n == len(turns) - 1 else 0.0) for n, shaped in enumerate(shaping))
