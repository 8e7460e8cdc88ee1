"""Plans for MiniWoB tasks of setting a number by keys: sliders, a spinner, and a number that is guessed.

The Tab key reaches a slider however it is drawn, and the arrow keys move it one by one. A few presses go into one
reply; the number that the screen shows then tells how many are left, so that a miscount corrects itself.
"""

from __future__ import annotations

import re

from agent_core.actions import Action, Hotkey, Type
from training.tasks.miniwob_page import PageState
from training.tasks.miniwob_plans import ALL_IN, POSITIONS, button
from training.tasks.teacher import Move, click

TAB = (Hotkey(("tab",)),)
PRESSES = 5  # at most in one reply
SPINNER_PRESSES = 10  # from 0 to any of its numbers: a lone digit in a field with the keyboard is often not read
FIFTH = 4  # what a page key moves a slider of 20 steps by
PAGE_FROM = 11  # a difference that page keys of unknown length are used for: they move by 20 at most


def move_to(
    shown: int,
    wanted: int,
    name: str = "It",
    first: tuple[Action, ...] = (),
    page_step: int | None = None,
    presses: int = PRESSES,
) -> Move:
    """The key presses that bring a number nearer. `first` are the actions that give it the keyboard.

    `page_step` is what a page key moves it by, 0 when it has no page keys, None when nobody can know; `presses` is
    how many there may be.
    """
    more = wanted > shown
    difference = abs(wanted - shown)
    if page_step is None:
        by_page, times = difference >= PAGE_FROM, 1
    else:
        by_page, times = 0 < page_step <= difference, difference // page_step if page_step else 0
    if not by_page:
        times = difference
    times = min(times, presses)
    key = ("pageup" if more else "pagedown") if by_page else ("up" if more else "down")
    tab = "press tab, then " if first else "press "
    say = f"{name} shows {shown}; {wanted} is {difference} {'more' if more else 'less'}: {tab}{key} x {times}."
    return Move(say, then=(*first, *[Hotkey((key,))] * times), shown=(str(shown),))


def use_slider(page: PageState) -> Move | None:
    wanted = re.search(r"Select (-?\d+) with", page.query)
    value = page.first(id="val")
    if wanted is None or value is None:
        return None
    shown, aim = int(value.text), int(wanted[1])
    if shown == aim:
        return click(button(page, "Submit"), f"It shows {aim}; click {{label}}.")
    return move_to(shown, aim, first=() if _focused(page, "#slider") else TAB)


def use_slider_2(page: PageState) -> Move | None:
    """The three sliders from top to bottom; Tab goes from one to the next."""
    aims = [int(n) for n in re.findall(r"\d+", page.query)]
    for number, aim in enumerate(aims, start=1):
        value = page.first(id=f"val-{number}")
        if value is None:
            return None
        if int(value.text) != aim:
            on = next((n for n in range(1, 4) if _focused(page, f"#slider-{n}")), 0)
            if on > number:
                return Move(f"Go back to slider {number}: press shift + tab.", then=(Hotkey(("shift", "tab")),))
            return move_to(int(value.text), aim, f"Slider {number}", TAB * (number - on), FIFTH)
    return click(button(page, "Submit"), "All three are set; click {label}.")


def use_spinner(page: PageState) -> Move | None:
    wanted = re.search(r"Select (-?\d+) with", page.query)
    field = page.first(id="spinner")
    if wanted is None or field is None:
        return None
    shown, aim = int(field.value), int(wanted[1])
    if shown == aim:
        return click(button(page, "Submit"), f"{aim} is set; click {{label}}.")
    return move_to(shown, aim, first=() if field.focused else TAB, page_step=0, presses=SPINNER_PRESSES)


def form_sequence(page: PageState) -> Move | None:
    match = re.search(r"Select (-?\d+) with the slider, click the (\w+) checkbox", page.query)
    value = page.first(id="val")
    if match is None or value is None:
        return None
    shown, aim = int(value.text), int(match[1])
    if shown != aim:
        return move_to(shown, aim, first=() if _focused(page, "#slider") else TAB, page_step=FIFTH)
    boxes = page.all(type="checkbox")
    wanted = boxes[POSITIONS[match[2]]]
    for box in boxes:
        if box.checked and box is not wanted:
            return click(box, "Untick {label}.")
    if not wanted.checked:
        return click(wanted, f"It shows {aim}; tick the {match[2]} box.")
    return click(button(page, "Submit"), ALL_IN)


def _focused(page: PageState, slider: str) -> bool:
    return bool(page.ask(f"!!document.querySelector('{slider} .ui-slider-handle:focus')"))


def guess_number(page: PageState) -> Move | None:
    """Halves what is left; the bounds stand in the thought, for the page tells of the last guess alone."""
    low, high = 0, 9
    for said in page.said:
        bounds = re.search(r"between (\d+) and (\d+)", said)
        if bounds is not None:
            low, high = int(bounds[1]), int(bounds[2])
    field = page.first(id="tt")
    told = next((n for n in page.all("div") if n.id in ("lower", "higher")), None)
    last = re.search(r"\d", told.text) if told is not None else None
    if field is None:
        return None
    why = f"It is between {low} and {high}"
    if told is not None and last is not None:
        low, high = (low, int(last[0]) - 1) if told.id == "lower" else (int(last[0]) + 1, high)
        why = f"It is {told.id} than {last[0]}: between {low} and {high}"
    guess = (low + high) // 2
    keys: tuple[Action, ...] = (Hotkey(("ctrl", "a")),) if field.focused else TAB  # a click may hit its arrows
    keys += (Type(str(guess)), Hotkey(("enter",)))
    shown = (last[0],) if last is not None else ()
    return Move(f"{why}. {'Type' if field.focused else 'Press tab, type'} {guess}, enter.", then=keys, shown=shown)


PLANS = {
    "form-sequence": form_sequence,
    "guess-number": guess_number,
    "use-slider": use_slider,
    "use-slider-2": use_slider_2,
    "use-spinner": use_spinner,
}
