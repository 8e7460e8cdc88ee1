"""Plans for MiniWoB tasks with numbers: odd or even, sorted, the greatest, one after the other."""

from __future__ import annotations

import re

from agent_core.actions import Click
from agent_core.dialects.elements import to_point
from training.tasks.miniwob_page import PageState
from training.tasks.miniwob_plans import button
from training.tasks.teacher import Move, click


def odd_or_even(page: PageState) -> Move | None:
    """One button for each of three numbers; which is pressed shows only in its colour, so the thoughts count."""
    rows = sorted((n for n in page.nodes if n.has_class("display-number")), key=lambda n: n.top)
    for number in rows:
        kind = "odd" if int(number.text) % 2 else "even"
        pressed = [n for n in page.with_class("selected") if n.top < number.bottom and n.bottom > number.top]
        if not any(n.has_class(kind) for n in pressed):
            buttons = [n for n in page.with_class(kind) if n.top < number.bottom and n.bottom > number.top]
            place = ("first", "second", "third")[rows.index(number)]
            say = f"The {place} number {number.text} is {kind}; click {{label}} beside it."
            return Move(say, buttons[0], ("button",), shown=(number.text,))
    return click(button(page, "Submit"), f"All {len(rows)} numbers are marked; click {{label}}.")


def ascending_numbers(page: PageState) -> Move | None:
    """The numbers vanish at the first click, so the first thought keeps their places in mind."""
    numbers = sorted(page.with_class("text"), key=lambda n: int(n.text))
    if numbers:
        rest = ", ".join(f"{n.text} at {{{i}}}" for i, n in enumerate(numbers[1:]))
        return Move(f"1 is here; then {rest}.", numbers[0], ("text",), spots=tuple(numbers[1:]))
    if not page.said:
        return None
    places = re.findall(r"(\d) at (\d+) (\d+)", page.said[0])
    left = len(page.with_class("rect"))
    if not left or left > len(places):
        return None
    number, x, y = places[len(places) - left]
    place = to_point(int(x), int(y))
    return None if place is None else Move(f"Next is {number}, which was at {x} {y}.", then=(Click(place),))


def find_greatest(page: PageState) -> Move | None:
    """Three cards of which one is open at a time: the thoughts keep what each of them showed."""
    cards = sorted((n for n in page.with_class("card")), key=lambda n: n.left)
    seen = {int(c): int(n) for c, n in re.findall(r"Card (\d) shows (\d+)", " ".join(page.said))}
    opened = next((i for i, c in enumerate(cards, 1) if not c.has_class("hidden")), 0)
    shown: tuple[str, ...] = ()
    if opened:
        seen[opened] = int(cards[opened - 1].text)
        shown = (cards[opened - 1].text,)
    so_far = "; ".join(f"Card {c} shows {n}" for c, n in sorted(seen.items()))
    start = f"{so_far}; " if so_far else ""
    following = next((c for c in (1, 2, 3) if c not in seen), 0)
    if following:
        return Move(f"{start}open card {following}.", cards[following - 1], ("icon",), shown=shown, named=False)
    best = max(seen, key=lambda c: seen[c])
    if opened != best:
        say = f"{start}the greatest is {seen[best]}: open card {best}."
        return Move(say, cards[best - 1], ("icon",), shown=shown, named=False)
    return click(button(page, "Submit"), f"Card {best} with the greatest number {seen[best]} is open; click {{label}}.")


PLANS = {
    "odd-or-even": odd_or_even,
    "ascending-numbers": ascending_numbers,
    "find-greatest": find_greatest,
}
