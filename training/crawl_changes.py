"""What changed between two pictures of one scene, in sentences: states, values, what came, what went, the title.

Widgets are told to be the same by their keys, so that one whose name changed is seen to have changed and not to have
been replaced. Changes that nobody made are told the same way.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent_core.actions import Action, Click, DoubleClick, Hotkey, Scroll, Type
from training.crawl_screen import Change, Widget
from training.crawl_words import STATES, called, pointed_out, upper

MOST_NAMED = 6  # of those that came or went


def done_in_words(change: Change) -> str:
    """What was done, as one sentence."""
    if not change.actions:
        return "Nothing was done in between."
    return upper(", then ".join(_act(action, change) for action in change.actions)) + "."


def differences(change: Change) -> list[str]:
    """Sentences; empty when nothing that the programs tell of has changed."""
    before = {widget.key: widget for widget in change.before.widgets}
    after = {widget.key: widget for widget in change.after.widgets}
    said = []
    if change.before.title != change.after.title:
        said.append(f"The title changes from “{change.before.title}” to “{change.after.title}”.")
    for key, old in before.items():
        if key in after:
            said += _altered(old, after[key], pointed_out(change.after, after[key]))
    said += _listed("appears", "appear", [w for key, w in after.items() if key not in before])
    gone = [w for key, w in before.items() if key not in after]
    said += _listed("is no longer to be seen", "are no longer to be seen", gone)
    return said


def caption(change: Change) -> str:
    """The whole answer of a state transition row."""
    said = differences(change)
    return " ".join([done_in_words(change), *(said or ["Nothing changes that can be seen."])])


def _act(action: Action, change: Change) -> str:
    what = pointed_out(change.before, change.target) if change.target is not None else "the middle"
    match action:
        case Click():
            return f"{what} is clicked"
        case DoubleClick():
            return f"{what} is double-clicked"
        case Type(text):
            return f"“{text}” is typed"
        case Hotkey(keys):
            return f"{'+'.join(keys)} is pressed"
        case Scroll(direction):
            return f"the view is scrolled {direction}"
    return f"{type(action).__name__.lower()} is carried out"


def _altered(old: Widget, new: Widget, what: str) -> Iterator[str]:
    what = upper(what)
    if old.name != new.name and old.name:
        yield f"{upper(called(old))} now reads “{new.name}”."
    if old.on != new.on and new.on is not None:
        yield f"{what} is now {STATES.get(new.role, ('on', 'off'))[0 if new.on else 1]}."
    if old.value != new.value:
        yield f"{what} now holds “{new.value}”." if new.value else f"{what} is now empty."
    if not old.focused and new.focused:
        yield f"{what} has the keyboard focus now."
    if old.enabled != new.enabled:
        yield f"{what} is now {'available' if new.enabled else 'greyed out'}."


def _listed(one: str, many: str, widgets: list[Widget]) -> list[str]:
    named = [called(widget) for widget in widgets if widget.name]
    if not named:
        return []
    more = len(named) - MOST_NAMED
    names = ", ".join(named[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return [f"{upper(names)} {one if len(named) == 1 else many}."]
