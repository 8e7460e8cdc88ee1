"""What the rules of risk hand on: the tier, why, and what it is about."""

from __future__ import annotations

from dataclasses import dataclass

from agent_core.safety.act import Act
from agent_core.safety.plain import exactly, quote
from agent_core.safety.windows import is_sensitive
from agent_core.step import Screenshot, Tier


@dataclass(frozen=True, slots=True)
class Risk:
    """How much an action can cost.

    `reason` is one sentence for people. `acts` are the acts that were found, gravest first; `control` are the words of
    what is clicked or pressed, `question` those of the dialog that it answers. `resource` says in words what, besides
    the kind of action and the tier, a grant would cover; without one there can be no grant. `denied` is for the few
    things that are never done.
    """

    tier: Tier
    reason: str
    acts: tuple[Act, ...] = ()
    control: str = ""
    question: str = ""
    resource: str = ""
    denied: bool = False


def in_window(shot: Screenshot) -> str:
    """A window as a grant's resource. Empty for a window without a title, of which there are many, or with one that
    is too long to be shown whole."""
    title = exactly(shot.window.lstrip("*• "))
    return f"the window “{title}”" if title else ""


def harmless(shot: Screenshot) -> Risk:
    """What an action costs of which nothing is known: little, unless the window is a sensitive one."""
    if is_sensitive(shot.window):
        reason = f"“{quote(shot.window)}” is a window with settings, secrets or money."
        return Risk(Tier.R2, reason, resource=in_window(shot))
    return Risk(Tier.R1, "This can be undone.", resource=in_window(shot))


def gravest(*risks: Risk) -> Risk:
    """The one with the highest tier; of equals the first."""
    return max(risks, key=lambda risk: risk.tier)
