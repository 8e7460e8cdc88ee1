"""Level 1 of curation: what of a kept run is no example to imitate, by rules that need no judge and no person.

Each rule is told a turn and those before it in the run, and says whether it holds. A turn bears the name of the first
rule that holds of it; `training.curate` counts them. Not here: whether the run came to anything (curate_labels).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent_core.actions import CallUser, Finished, Hotkey, Press, Release, Terminal, Wait
from agent_core.redaction import NAMES, token
from agent_core.traces.rows import KeptTurn
from training.pairs import actions_in

Rule = Callable[[KeptTurn, Sequence[KeptTurn]], bool]

TOKENS = tuple(token(name) for name in NAMES)
# What may well leave the screen as it is: a copy, a key held for the next act, a command that prints nothing, a wait.
SILENT = (Wait, Finished, CallUser, Terminal, Hotkey, Press, Release)


def withheld(turn: KeptTurn, before: Sequence[KeptTurn]) -> bool:
    """Nothing of the turn was kept but that it was there."""
    return bool(turn.withheld)


def pictures(turn: KeptTurn, before: Sequence[KeptTurn]) -> bool:
    """The model was shown pictures, which a row of text cannot hold."""
    return bool(turn.prompt_images)


def redacted(turn: KeptTurn, before: Sequence[KeptTurn]) -> bool:
    """Something personal was taken out of the reply, so it is not what was done."""
    return is_redacted(turn.reply.text)


def unreadable(turn: KeptTurn, before: Sequence[KeptTurn]) -> bool:
    """The reply has no action, or something in it could not be read, or it was cut off."""
    return not turn.steps or bool(turn.problems) or not turn.reply.text or turn.reply.stop_reason != "stop"


def refused(turn: KeptTurn, before: Sequence[KeptTurn]) -> bool:
    """The gate or the person did not allow an action."""
    return any(step.verdict.decision != "allow" for step in turn.steps)


def failed(turn: KeptTurn, before: Sequence[KeptTurn]) -> bool:
    """An action did not work, or was never done."""
    return any(step.outcome is None or not step.outcome.ok for step in turn.steps)


def left_over(turn: KeptTurn, before: Sequence[KeptTurn]) -> bool:
    """The reply holds more actions than were done: the screen had changed, or the run was over."""
    return len(actions_in(turn.reply.text)) > len(turn.steps)


def no_op(turn: KeptTurn, before: Sequence[KeptTurn]) -> bool:
    """Nothing on the screen changed by it, though it should have."""
    seen = [step for step in turn.steps if step.outcome is not None and step.outcome.changed is not None]
    return bool(seen) and all(
        step.outcome is not None and step.outcome.changed is False and not isinstance(step.action, SILENT)
        for step in seen
    )


def loop(turn: KeptTurn, before: Sequence[KeptTurn]) -> bool:
    """The same actions on the same screen were tried earlier in the run. A screen that was not kept is none."""
    return turn.screenshot != "" and any(
        earlier.screenshot == turn.screenshot
        and [step.action for step in earlier.steps] == [step.action for step in turn.steps]
        for earlier in before
    )


RULES: dict[str, Rule] = {
    rule.__name__: rule for rule in (withheld, pictures, redacted, unreadable, refused, failed, left_over, no_op, loop)
}
# What is not even read: nothing is there, or it is what nobody is to do or to write.
UNFIT = frozenset({"withheld", "pictures", "redacted", "unreadable", "refused"})


def broken(turn: KeptTurn, before: Sequence[KeptTurn]) -> str:
    """The name of the first rule that holds of the turn; empty if it is fit to be imitated."""
    return next((name for name, rule in RULES.items() if rule(turn, before)), "")


def is_redacted(text: str) -> bool:
    """Whether something was taken out of the text."""
    return any(each in text for each in TOKENS)
