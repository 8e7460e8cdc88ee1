"""Plans for MiniWoB tasks that fill forms: labels in many layouts, dates, sums, texts that are copied or agreed to."""

from __future__ import annotations

import re

from agent_core.actions import Hotkey, Scroll, Type
from training.tasks.miniwob_page import PageState
from training.tasks.miniwob_plans import ALL_IN, POSITIONS, button, quoted
from training.tasks.teacher import Move, click, fill


def movie_form(page: PageState) -> Move | None:
    """Three fields whose labels and places differ from page to page, and a button that has many names."""
    match = re.fullmatch(r"Search for (.+) movies directed by (.+) from year (\d+)\.", page.query)
    if match is None:
        return None
    names = {"genre": match[1], "director": match[2], "year": match[3], "date": match[3]}
    for field in page.all("input"):
        text = next((value for name, value in names.items() if name in field.row.lower()), "")
        if field.value != text:
            return fill(field, text)
    last = next((n for n in page.nodes if n.own in ("Submit", "Search", "Go!")), None)
    return click(last, ALL_IN)


def simple_arithmetic(page: PageState) -> Move | None:
    match = re.search(r"(\d) ([-+x]) (\d) =", " ".join(n.own for n in page.nodes))
    if match is None:
        return None
    a, b = int(match[1]), int(match[3])
    answer, field = str({"+": a + b, "-": a - b, "x": a * b}[match[2]]), page.first("input")
    if field is not None and field.value != answer:  # it touches the sum above it and is not read for a field
        keys = (Hotkey(("tab",)), Type(answer))
        return Move(
            f"{a} {match[2]} {b} gives {answer}; go to the field and type it.", then=keys, shown=(match[1], match[3])
        )
    return click(button(page, "Submit"), ALL_IN)


def simple_algebra(page: PageState) -> Move | None:
    match = re.search(r"(x|\d) ([-+]) (x|\d) = (-?\d+)", " ".join(n.own for n in page.nodes))
    if match is None:
        return None
    first, sign, second, total = match[1], match[2], match[3], int(match[4])
    if first == "x":
        answer = total - int(second) if sign == "+" else total + int(second)
    else:
        answer = total - int(first) if sign == "+" else int(first) - total
    return _sum(page, match[0], answer, (match[4],))


def _sum(page: PageState, problem: str, answer: int, shown: tuple[str, ...]) -> Move | None:
    field = page.first("input")
    if field is not None and field.value != str(answer):
        return fill(field, str(answer), shown=shown, say=f"{problem} gives {answer}; type it into {{label}}.")
    return click(button(page, "Submit"), ALL_IN)


def form_sequence_2(page: PageState) -> Move | None:
    match = re.search(r"the (\w+) radio button and enter the number \"(-?\d+)\" into the (\w+) textbox", page.query)
    if match is None:
        return None
    option = page.all(type="radio")[POSITIONS[match[1]]]
    field = page.first(id=f"input-{POSITIONS[match[3]] + 1}")
    if not option.checked:
        return click(option, f"Select the {match[1]} radio button.")
    if field is not None and field.value != match[2]:
        return fill(field, match[2], say=f'Type "{match[2]}" into the {match[3]} field.')
    return click(button(page, "Submit"), ALL_IN)


def copy_paste(page: PageState) -> Move | None:
    """The text may be too long to be read off the screen, so it goes over the clipboard."""
    areas, field = page.all("textarea"), page.first("input")
    ordinal = next((n for word, n in POSITIONS.items() if word in page.query), 0)
    if field is None or ordinal >= len(areas):
        return None
    area = areas[ordinal]
    if field.value == area.value:
        return click(button(page, "Submit"), "The text is pasted; click {label}.")
    if any(said.startswith("Copy") for said in page.said):
        return Move(
            "Paste into {label}.", field, ("field",), (Hotkey(("ctrl", "a")), Hotkey(("ctrl", "v"))), named=False
        )
    which = f" of the {ordinal + 1}. text area" if len(areas) > 1 else ""
    keys = (Hotkey(("ctrl", "a")), Hotkey(("ctrl", "c")))
    return Move(f"Copy the text{which}.", area, ("field", "text"), keys, named=False)


def sign_agreement(page: PageState) -> Move | None:
    if page.query == "Click the cancel button.":
        return click(button(page, "Cancel"))
    name, last = quoted(page)
    field, area = page.first("input"), page.first("textarea")
    if field is None or area is None:
        return None
    if field.disabled:
        return Move("Scroll down to the end of the text.", then=(Scroll("down"),))
    return fill(field, name) if field.value != name else click(button(page, last), ALL_IN)


def enter_date(page: PageState) -> Move | None:
    match = re.search(r"(\d\d)/(\d\d)/(\d{4})", page.query)
    return None if match is None else _by_keys(page, f"{match[3]}-{match[1]}-{match[2]}", match[0])


def enter_time(page: PageState) -> Move | None:
    match = re.search(r"(\d+):(\d\d)\s(AM|PM)", page.query)
    if match is None:
        return None
    hour = int(match[1]) % 12 + (12 if match[3] == "PM" else 0)
    return _by_keys(page, f"{hour:02}:{match[2]}", f"{int(match[1]):02}:{match[2]}{match[3]}")


def _by_keys(page: PageState, value: str, typed: str) -> Move | None:
    """Fields of several parts take what is typed from their first part on, which the Tab key reaches."""
    field = page.first("input")
    if field is not None and field.value != value:
        return Move(f'Go to the field and type "{typed}".', then=(Hotkey(("tab",)), Type(typed)))
    return click(button(page, "Submit"), ALL_IN)


PLANS = {
    "multi-layouts": movie_form,
    "multi-orderings": movie_form,
    "simple-arithmetic": simple_arithmetic,
    "simple-algebra": simple_algebra,
    "form-sequence-2": form_sequence_2,
    "copy-paste": copy_paste,
    "copy-paste-2": copy_paste,
    "sign-agreement": sign_agreement,
    "enter-date": enter_date,
    "enter-time": enter_time,
}
