"""What the crawl does next to a scene: one small, harmless thing that a person might do, with what it is done to.

Nothing here closes, saves or deletes on purpose: menu commands are left alone, and scenes are thrown away anyhow.
"""

from __future__ import annotations

from random import Random

from agent_core.actions import Action, Click, Hotkey, Scroll, Type
from training.crawl_screen import Role, Seen, Widget
from training.tasks.desk_words import CITIES, DAYS, TOPICS, full_name, sentence

CLICKED: tuple[Role, ...] = ("button", "check", "radio", "switch", "tab", "menu", "choice", "link", "list item")
TYPED_INTO: tuple[Role, ...] = ("field", "password", "spin")
Move = tuple[tuple[Action, ...], Widget | None]
TURNS = 40  # of 100 chances: so often something is typed when there is a field to type into


def next_move(seen: Seen, rng: Random) -> Move:
    """Types into a field, clicks a widget or, where neither is possible, scrolls."""
    able = [w for w in seen.widgets if w.enabled]
    fields = [w for w in able if w.role in TYPED_INTO]
    if fields and rng.randrange(100) < TURNS:
        field = rng.choice(fields)
        at = Click(seen.point(field))
        return (at, Hotkey(("ctrl", "a")), Type(words_for(field, rng))), field
    kinds = sorted({w.role for w in able if w.role in CLICKED})
    if kinds:  # a kind first, so that many links do not drown two check boxes
        kind = rng.choice(kinds)
        target = rng.choice([w for w in able if w.role == kind])
        return (Click(seen.point(target)),), target
    return (Scroll("down"),), None


def words_for(field: Widget, rng: Random) -> str:
    """Something to type: made up, and roughly what the field asks for."""
    name = field.name.lower()
    if field.role == "spin" or any(word in name for word in ("number", "age", "guests", "amount", "quantity")):
        return str(rng.randint(1, 99))
    if field.role == "password":
        return rng.choice(TOPICS).lower() + str(rng.randint(10, 99))
    if "name" in name:
        return full_name(rng)
    if "city" in name or "place" in name:
        return rng.choice(CITIES)
    if "day" in name or "date" in name:
        return rng.choice(DAYS)
    return sentence(rng)
