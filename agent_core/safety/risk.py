"""How much an action can cost, as a pure function of the action, what was read on the screen and the window it is in.

The tiers: R0 looks or talks, R1 can be undone, R2 touches something sensitive or reaches further than before, R3 has
consequences, R4 cannot be undone, costs money or binds. A tier is an estimate of meaning from words; where the window
is sensitive and the words say nothing, it is never below R2. Clicks are in `pointing`, keys in `keying`, commands of
the agent's own terminal in `shell`.
"""

from __future__ import annotations

from typing import assert_never

from agent_core.actions import (
    Action,
    CallUser,
    Click,
    DoubleClick,
    Drag,
    Finished,
    Hotkey,
    Press,
    Release,
    RightClick,
    Scroll,
    Terminal,
    Type,
    Wait,
)
from agent_core.safety import shell
from agent_core.safety.keyboard import UNTOUCHED, Keyboard
from agent_core.safety.keying import of_keys, of_typing
from agent_core.safety.plain import exactly
from agent_core.safety.pointing import of_pointer
from agent_core.safety.shell_words import plain_words
from agent_core.safety.tiers import Risk
from agent_core.step import Screenshot, Tier


def judge(action: Action, shot: Screenshot, keyboard: Keyboard = UNTOUCHED, folder: str | None = None) -> Risk:
    """The tier with its reason and what it is about.

    `keyboard` is how earlier actions left it, `folder` is where the agent's own terminal works.
    """
    match action:
        case Wait() | Finished() | CallUser() | Scroll():
            return Risk(Tier.R0, "This only looks or talks.")
        case Release():
            return Risk(Tier.R0, "This lets a key go.")
        case Click() | DoubleClick() | RightClick() | Drag():
            return of_pointer(action, shot)
        case Hotkey(keys):
            return of_keys(keys, shot, keyboard)
        case Press(key):
            return of_keys((key,), shot, keyboard, hold=True)
        case Type(text):
            return of_typing(text, shot, keyboard)
        case Terminal(command):
            return _of_command(command, folder)
        case _:
            assert_never(action)


def _of_command(command: str, folder: str | None) -> Risk:
    """The risk of a command of the agent's own terminal. A grant covers this command, or joining programs that only
    read: what makes a plain command sensitive is what it reads."""
    word = shell.classify(command, folder)
    joined = word.tier is Tier.R2 and plain_words(command) is None
    shown = exactly(command)
    resource = f"the command “{shown}”" if shown else ""
    if joined:
        resource = "several programs at once that only read"
    return Risk(word.tier, word.reason, control=command, resource=resource, denied=word.decision == "deny")
