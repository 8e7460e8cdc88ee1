"""What a person allowed beforehand: in memory, for one run, for a while.

A grant holds for one kind of action, at one tier, on one resource. At R1 and R2 it may be used again until it expires;
at R3 and R4 it is good once, for exactly the action that was approved, so an approval can be carried out after the
place had to be looked at again and never reaches a second act. No grant reaches another tier, kind or resource.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent_core.actions import Action, kind_of
from agent_core.step import Tier, Verdict

REUSABLE = (Tier.R1, Tier.R2)


@dataclass(frozen=True, slots=True)
class _Key:
    kind: str
    tier: Tier
    resource: str
    action: Action | None  # None where any action of the kind will do


class Grants:
    """The grants of one run. `now` is a clock in seconds that never goes back; a grant ends `seconds` after it."""

    def __init__(self, now: Callable[[], float], seconds: float) -> None:
        self._now = now
        self._seconds = seconds
        self._until: dict[_Key, float] = {}

    def can_grant(self, verdict: Verdict) -> bool:
        """Whether "allow this for a while" may be offered: for little, on something that can be named, and never
        while the screen gives orders."""
        return verdict.tier in REUSABLE and bool(verdict.resource) and not verdict.warning

    def grant(self, action: Action, verdict: Verdict) -> None:
        """Allows what the verdict is about. Raises ValueError where nothing can be granted."""
        if verdict.warning or not verdict.resource or verdict.tier is Tier.R0:
            raise ValueError("this is asked every time")
        self._until[self._key(action, verdict.tier, verdict.resource)] = self._now() + self._seconds

    def take(self, action: Action, tier: Tier, resource: str) -> bool:
        """Whether a grant covers the action now. One for R3 or R4 is used up by the asking."""
        if not resource:
            return False
        key = self._key(action, tier, resource)
        until = self._until.get(key)
        if until is None:
            return False
        if tier not in REUSABLE or self._now() >= until:
            del self._until[key]
        return self._now() < until

    def _key(self, action: Action, tier: Tier, resource: str) -> _Key:
        return _Key(kind_of(action), tier, resource, None if tier in REUSABLE else action)
