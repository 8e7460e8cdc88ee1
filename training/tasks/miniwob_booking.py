"""Plans for MiniWoB tasks of booking: a date from a calendar, a ticket, a flight.

The calendar takes its keys: page up is a month back. What was compared on an earlier screen stands in the thoughts.
"""

from __future__ import annotations

import re
from calendar import month_name

from agent_core.actions import Click, Hotkey, Scroll
from training.tasks.miniwob_page import Node, PageState
from training.tasks.miniwob_plans import button
from training.tasks.teacher import GaveUp, Move, click

MONTHS = list(month_name)[1:]
PRESSES = 5  # at most in one reply
DAY_ROW, TWO_DIGITS = 7, 10
DISH_OF = {  # the first dish of each kind on the menu, which is always the same
    "vegan": "Caesar Salad",
    "gluten-free": "Caesar Salad",
    "dairy": "Spinach and goat cheese dip",
    "meat": "Chicken wings",
    "peanuts": "Spicy Thai Peanut Chicken",
}
ORDERED = "Object.fromEntries([...$('.food-item')].map(f => [f.dataset.item.trim(), +f.dataset.quantity]))"
UPPER_EDGE, LOWER_EDGE = 50.0, 204.0  # of what is seen of the page, CSS pixels
SAID = {True: "buy-ticket", False: "time-duration"}  # what shows the cost, what the duration


def choose_date(page: PageState) -> Move | None:
    """The calendar opens when its field is clicked, at the last month it has."""
    wanted = re.search(r"(\d\d)/(\d\d)/(\d{4})", page.query)
    field = page.first(id="datepicker")
    if wanted is None or field is None:
        return None
    if field.value == wanted[0]:
        return click(button(page, "Submit"), f"{wanted[0]} is in; click {{label}}.")
    return pick_date(page, field, int(wanted[1]), int(wanted[2]))


def pick_date(page: PageState, field: Node, month: int, day: int) -> Move | None:
    """Opens the calendar, goes to the month, clicks the day."""
    title = next(iter(page.with_class("ui-datepicker-title")), None)
    name = MONTHS[month - 1]
    if title is None:
        return Move(f"Open the calendar for {name} {day}: click {{label}}.", field, ("field",), named=False)
    shown, year = title.text.split()
    back = MONTHS.index(shown) + 1 - month
    if back:
        key, times = ("pageup", min(back, PRESSES)) if back > 0 else ("pagedown", min(-back, PRESSES))
        way = f"{abs(back)} month{'s' if abs(back) > 1 else ''} {'earlier' if back > 0 else 'later'}"
        say = f"It shows {shown} {year}; {name} is {way}: press {key} x {times}."
        return Move(say, then=(Hotkey((key,)),) * times, shown=(shown,))
    cell = page.first("a", text=str(day))
    if cell is None:
        return None
    if any(e.text == str(day) for e in page.elements if cell.holds(e.point)):
        return click(cell, f"It shows {name}; click {{label}}.")
    return _by_column(page, cell, day, name)


def _by_column(page: PageState, cell: Node, day: int, name: str) -> Move:
    """A day whose digit was not read is found over the day a week later, which has two."""
    rows = 1 if day + DAY_ROW >= TWO_DIGITS else 2
    below = page.first("a", text=str(day + rows * DAY_ROW))
    guide = next((e for e in page.elements if below is not None and below.holds(e.point)), None)
    on_it = [e for e in page.elements if cell.holds(e.point)]
    if guide is None or not on_it:
        raise GaveUp(f"the day {day} was not read.")
    say = f"It shows {name}; {day} is {'right' if rows == 1 else 'two rows'} over {guide.text}; click it."
    return Move(say, then=(Click(on_it[0].point),))


def buy_ticket(page: PageState) -> Move | None:
    """The best of the offers that the screen shows in full: the last of the four lies below its lower edge."""
    offers = page.with_class("buy-ticket")
    if not offers:
        return None
    wanted = page.query.removeprefix("Buy the ticket with the ").rstrip(".")
    by_cost = wanted.endswith("cost")
    names = [n.text.removeprefix("Book for ") if by_cost else n.text for n in page.with_class(SAID[by_cost])]
    figures = [dollars(name) if by_cost else minutes(name) for name in names[: len(offers)]]
    place = figures.index((min if wanted.split()[0] in ("cheapest", "shortest") else max)(figures))
    say = f"{', '.join(names[: len(offers)])}: the {wanted} is {names[place]}; click {{label}}."
    return click(offers[place], say)


def dollars(text: str) -> int:
    return int(text.split("$")[1])


def minutes(text: str) -> int:
    hours, minutes = re.findall(r"\d+", text)
    return int(hours) * 60 + int(minutes)


def order_food(page: PageState) -> Move | None:
    """Two dishes by their names, or some of a kind: then one dish of that kind, several times."""
    kind = re.fullmatch(r"Order (\d) items that are ([\w-]+)", page.query)
    if kind is not None:
        dish, count = DISH_OF[kind[2]], int(kind[1])
        return _order(page, [dish], count, f"{dish} is {kind[2]}; ")
    names = page.query.removeprefix("Order one of each item: ").split(", ")
    return _order(page, [name.strip() for name in names], 1)


def _order(page: PageState, dishes: list[str], count: int, why: str = "") -> Move | None:
    """Clicks the plus of what is not ordered yet and scrolls to what does not show."""
    ordered = page.ask(ORDERED)
    for name, number in ordered.items():
        if number > (count if name in dishes else 0):
            return _press_sign(page, name, "remove", f"{name} is ordered too often; click the minus.")
    left = [dish for dish in dishes if ordered[dish] < count]
    if not left:
        order = page.first("button", text="Order!")
        if order is not None and any(order.holds(e.point) for e in page.elements):
            return click(order, "All is ordered; click {label}.")
        return Move("All is ordered; scroll down to the end.", then=(Scroll("down"),))
    names = {n.text: n for n in page.with_class("item-name")}
    for dish in left:
        if dish in names and names[dish].top > UPPER_EDGE and names[dish].bottom < LOWER_EDGE:
            number = f" {ordered[dish] + 1} of {count}" if count > 1 else ""
            rest = f", then {', '.join(d for d in left if d != dish)}" if len(left) > 1 else ""
            return _press_sign(
                page, dish, "add", f"{why}{'order' if why else 'Order'} {dish}{number}{rest}: click the plus beside it."
            )
    step = Scroll("down", notches=1) if not _is_above(page, left[0]) else Scroll("up", notches=1)
    return Move(f"{why}{left[0]} is not shown; scroll {step.direction}.", then=(step,))


def _is_above(page: PageState, dish: str) -> bool:
    return bool(
        page.ask(
            f"$('.food-item').filter((_, f) => f.dataset.item.trim() === {dish!r})[0].getBoundingClientRect().top < 50"
        )
    )


def _press_sign(page: PageState, dish: str, sign: str, say: str) -> Move | None:
    """The plus or the minus in the row of a dish, which is read as a mark without words."""
    row = next((n for n in page.with_class("food-item") if n.text.startswith(dish)), None)
    node = next((n for n in page.with_class(sign) if row is not None and row.top <= n.top < row.bottom), None)
    return None if node is None else Move(say, node, ("icon", "button", "text"), named=False)


PLANS = {
    "buy-ticket": buy_ticket,
    "choose-date": choose_date,
    "choose-date-easy": choose_date,
    "choose-date-medium": choose_date,
    "choose-date-nodelay": choose_date,
    "order-food": order_food,
}
