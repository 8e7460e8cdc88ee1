"""What an approval says: verb and thing, the exact text, why it asks, what a grant covers, what has to be typed."""

from __future__ import annotations

from agent_core.actions import Terminal, Type, kind_of
from agent_core.protocols import Ask
from agent_core.safety import confirm
from agent_core.step import Tier
from app import words
from app.question import Approval
from app.text import one_line, visible


def heading(ask: Ask) -> str:
    """Deskhand wants to ..., with what lies under the place quoted."""
    verb = words.action(ask.action)
    if isinstance(ask.action, Terminal):
        verb = words.say("approval.verb_terminal")
    elif isinstance(ask.action, Type):
        verb = words.say("approval.verb_type")
    name = one_line(ask.element.text, 80) if ask.element is not None else ""
    if name:
        return one_line(words.say("approval.wants_on", action=verb, element=name), 160)
    return one_line(words.say("approval.wants", action=verb), 160)


def exact(ask: Ask) -> str:
    """The text that will be run or typed, to the letter; empty for other actions."""
    match ask.action:
        case Terminal(command):
            return command
        case Type(text):
            return text
        case _:
            return ""


def why(ask: Ask) -> str:
    """The gate's reason; where only the mode asks, it says so, because the reason alone would read as a riddle."""
    reason = words.reason(ask.verdict.reason)
    if ask.verdict.tier in (Tier.R0, Tier.R1):
        reason = words.say("approval.ask_all", reason=reason)
    return one_line(reason, 180)


def grant(question: Approval) -> str:
    """What a grant would cover: the kind of action, where, and for how long."""
    where = visible(" ".join(question.ask.verdict.resource.split()), 200)
    if isinstance(question.ask.action, Terminal):  # there the resource is the command, not a place
        return words.say("approval.grant_command", command=where, minutes=question.minutes)
    doing = words.say(f"doing.{kind_of(question.ask.action)}")
    return words.say("approval.grant", doing=doing, where=where, minutes=question.minutes)


def to_type(ask: Ask) -> str:
    """What has to be typed before this can be allowed; empty where a plain yes will do."""
    return confirm.to_type(ask.verdict, words.action(ask.action))
