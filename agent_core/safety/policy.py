"""The gate's word on one action: policy AND mode AND grant. Pure but for the grants, which live in memory only.

A grant is scoped to one run's policy object and to a kind of action at a tier; it never reaches R3 or R4, so an
approval cannot widen. Where nothing matches, the answer is "ask"; where nobody can be asked, the loop makes it a deny.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from agent_core.actions import Action, Terminal, kind_of
from agent_core.safety import shell
from agent_core.safety.risk import tier_of
from agent_core.step import Screenshot, Tier, Verdict

Mode = Literal["ask_all", "ask_risky", "watch", "sandbox"]
GRANTABLE = (Tier.R1, Tier.R2)


@dataclass
class Policy:
    """One run's policy. Make a new one for each run.

    `mode`: ask_all asks about everything that acts; ask_risky asks from R2 up; watch denies everything that acts;
    sandbox asks nothing, lets commands touch their own folder alone, and is only for a virtual screen of our making.
    """

    mode: Mode = "ask_risky"
    grants: set[tuple[str, Tier]] = field(default_factory=set)

    def decide(self, action: Action, shot: Screenshot, task: str) -> Verdict:
        """Allow, ask or deny, with tier and reason."""
        if isinstance(action, Terminal) and (word := shell.classify(action.command)).decision == "deny":
            return word
        tier, reason = tier_of(action, shot)
        if tier is Tier.R0:
            return Verdict("allow", tier, reason)
        if self.mode == "watch":
            return Verdict("deny", tier, "Watch-only mode is on, so nothing is done.")
        if self.mode == "sandbox" and isinstance(action, Terminal) and not shell.stays_inside(action.command):
            return Verdict("deny", Tier.R4, "On a virtual screen commands must stay inside its own folder.")
        if self.mode == "sandbox":
            return Verdict("allow", tier, "This is a virtual screen made for the agent.")
        if (kind_of(action), tier) in self.grants:
            return Verdict("allow", tier, "You allowed this kind for this run.", who="grant")
        if self.mode == "ask_risky" and tier is Tier.R1:
            return Verdict("allow", tier, reason)
        return Verdict("ask", tier, reason)

    def can_grant(self, tier: Tier) -> bool:
        """Whether "allow this kind for this run" may be offered."""
        return tier in GRANTABLE

    def grant(self, action: Action, tier: Tier) -> None:
        """Allows the same kind at the same tier for the rest of the run. Raises ValueError above R2."""
        if not self.can_grant(tier):
            raise ValueError(f"{tier} is asked every time")
        self.grants.add((kind_of(action), tier))
