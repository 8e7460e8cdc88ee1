"""What a person types to allow a critical act, and whether they have: the same for the window and for the terminal."""

from __future__ import annotations

import unicodedata

from agent_core.step import Tier, Verdict


def to_type(verdict: Verdict, action_words: str) -> str:
    """The words to type; empty where a plain yes will do.

    Words that no keyboard has (a bare picture) are replaced by the action's own.
    """
    if any(c.isalnum() for c in verdict.confirm):
        return verdict.confirm
    return action_words if verdict.confirm or verdict.tier is Tier.R4 else ""


def same_words(typed: str, wanted: str) -> bool:
    """Whether these are the words, whatever their case, spacing and invisible characters. Nothing is not enough."""
    return _plain(typed) == _plain(wanted) != ""


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(c for c in folded if unicodedata.category(c) != "Cf").split())
