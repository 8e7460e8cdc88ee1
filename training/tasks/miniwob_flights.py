"""The plan for MiniWoB's flight booking: two places with completions, a date, and the best of some long offers.

One offer fills the screen, so what each costs or how long it takes is kept in the thoughts until all have been seen.
"""

from __future__ import annotations

import re

from agent_core.actions import Action, Hotkey, Scroll, Type, Wait
from training.tasks.miniwob_booking import dollars, minutes, pick_date
from training.tasks.miniwob_choices import take_item
from training.tasks.miniwob_page import Node, PageState
from training.tasks.teacher import Move, click

SEEN = re.compile(r"(?:So far: |The \w+ of )(.*?)(?:;| is )")
OFFER = "Book flight for "
BOOK_HEIGHT = 20.0  # CSS pixels, less than lies between two offers
UPPER_EDGE, LOWER_EDGE = 50.0, 208.0  # of what is seen of the page, CSS pixels


def book_flight(page: PageState) -> Move | None:
    match = re.search(r"Book the (\w+) one-way flight from: (.+) to: (.+) on (\d\d)/(\d\d)/(\d{4})", page.query)
    if match is None:
        return None
    if page.with_class("flight") or page.with_class("flight-header"):
        return _best_offer(page, match[1])
    for field_id, place in (("flight-from", match[2]), ("flight-to", match[3])):
        field = page.first(id=field_id)
        if field is None:
            return None
        if place not in field.value or not re.search(r"\w \(\w+\)$", field.value):
            return _place(page, field, place)
    field = page.first(id="datepicker")
    if field is None:
        return None
    date = f"{match[4]}/{match[5]}/{match[6]}"
    if field.value != date:
        return pick_date(page, field, int(match[4]), int(match[5]))
    return click(page.first(id="search"), "Places and date are in; click {label}.")


def _place(page: PageState, field: Node, place: str) -> Move | None:
    """Types a place and takes the completion. A code stands in brackets there, which no name of a place holds."""
    typed = f"({place})" if re.fullmatch("[A-Z]{3}", place) else place
    items = page.with_class("ui-menu-item")
    found = next((n for n in items if place in n.text), None)
    if found is not None and field.value == typed:
        return take_item(page, items, found)
    clear: tuple[Action, ...] = (Hotkey(("ctrl", "a")),) if field.value else ()
    return Move(f'Type "{typed}" into {{label}}.', field, ("field",), (*clear, Type(typed), Wait(1.0)), named=False)


def _best_offer(page: PageState, wanted: str) -> Move | None:
    """Down to the end, every figure noted, then up to the best one."""
    cls, figure = ("flight-price", dollars) if wanted == "cheapest" else ("time-duration", minutes)
    seen = next((found[1].split(", ") for said in reversed(page.said) if (found := SEEN.match(said))), [])
    shown = [n for n in page.with_class(cls) if _shows(n)]
    texts = [n.text.removeprefix(OFFER) for n in shown]
    seen = [text for text in seen if text != "none"]
    seen += [text for text in texts if text not in seen]
    rest = page.ask("(a => a.scrollHeight - a.clientHeight - a.scrollTop)(document.getElementById('area'))")
    if rest > 1 and not any(said.startswith(f"The {wanted}") for said in page.said):
        say = f"So far: {', '.join(seen) or 'none'}; scroll down."
        return Move(say, then=(Scroll("down", notches=1),), shown=tuple(texts[-1:]))
    best = min(seen, key=figure)
    tops = page.ask(f"[...$('.{cls}')].map(e => [e.textContent, $(e).parents('.flight').find('.book').offset().top])")
    top = next(top for text, top in tops if text.removeprefix(OFFER) == best)
    say = f"The {wanted} of {', '.join(seen)} is {best}; "
    book = next((n for n in page.with_class("flight-price") if _shows(n) and abs(n.top - top) < BOOK_HEIGHT), None)
    if book is not None:
        return click(book, say + "click {label}.", named=False)
    step = Scroll("up" if top < UPPER_EDGE else "down", notches=1)
    return Move(f"{say}scroll {step.direction} to it.", then=(step,))


def _shows(node: Node) -> bool:
    return node.top > UPPER_EDGE and node.bottom < LOWER_EDGE


PLANS = {"book-flight": book_flight, "book-flight-nodelay": book_flight}
