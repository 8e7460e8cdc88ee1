"""Plans for MiniWoB tasks of choosing: menus, lists that scroll or drop down, completions, words of like meaning.

A menu that opens under the pointer is opened by turning the wheel there: no action only moves the pointer, and the
menus have nothing to scroll.
"""

from __future__ import annotations

import re

from agent_core.actions import Click, Hotkey, Press, Release, Scroll, Type, Wait
from agent_core.step import Element
from training.tasks.miniwob_finds import link_in_sections, link_in_tabs
from training.tasks.miniwob_page import Node, PageState
from training.tasks.miniwob_plans import button, click_collapsible, quoted
from training.tasks.teacher import ALIKE, GaveUp, Move, alike, click

OPENING = Wait(1.0)  # what opens after a delay is open by then


def read_on(page: PageState, node: Node, words: str = "") -> Element | None:
    """What was read on a node: the most alike to its words, None when nothing is alike enough."""
    meant = words or node.text or node.value
    on_it = [e for e in page.elements if node.holds(e.point) and alike(e.text, meant) >= ALIKE]
    return max(on_it, key=lambda e: alike(e.text, meant), default=None)


def hover(page: PageState, node: Node, say: str) -> Move:
    """Puts the pointer on something and waits for what opens. `{}` in `say` becomes the words that were read."""
    element = read_on(page, node)
    if element is None:
        raise GaveUp(f"{node.text!r} was not read.")
    return Move(say.format(f'"{element.text}"'), then=(Scroll("down", element.point), OPENING))


def click_test_transfer(page: PageState) -> Move | None:
    return click(button(page, page.query.removeprefix("Click button ").rstrip(".")))


def button_delay(page: PageState) -> Move | None:
    """Both clicks in one reply: the time between two replies is not the agent's to choose."""
    seconds = re.search(r"wait (\d+) seconds", page.query)
    last = button(page, "TWO")
    element = read_on(page, last) if last is not None else None
    if seconds is None:
        return None
    if element is None:
        raise GaveUp("the second button was not read.")
    then = (Wait(float(seconds[1])), Click(element.point))
    return Move(
        f'Click {{label}}, wait {seconds[1]} s, click "TWO".', button(page, "ONE"), ("button", "text"), then=then
    )


def click_menu(page: PageState) -> Move | None:
    """The path of the task, level by level: the last level that shows is the one to act on."""
    path = page.query.removeprefix("Select ").split(">")
    items = {n.own or n.text: n for n in page.with_class("ui-menu-item-wrapper")}
    shown = [name for name in path if name in items]
    if not shown:
        return None
    if shown[-1] == path[-1]:
        return click(items[path[-1]])
    return hover(page, items[shown[-1]], "Point at {} to open its menu.")


def click_menu_2(page: PageState) -> Move | None:
    """Only where the task names the item: of the icon that it may show instead nothing is in its text."""
    wanted = re.search(r'labeled "([^"]+)"', page.query)
    if wanted is None:
        raise GaveUp("the task shows a picture that its text does not name.")
    items = {n.text: n for n in page.with_class("ui-menu-item-wrapper")}
    if wanted[1] in items:
        return click(items[wanted[1]])
    if "Playback" in items:
        return click(items["Playback"], f'"{wanted[1]}" is not shown; open {{label}}.')
    return click(button(page, "Menu"))


def click_scroll_list(page: PageState) -> Move | None:
    """The first name is clicked, or typed where it does not show: either takes it alone. The second needs ctrl."""
    names = page.query.removeprefix("Select ").removesuffix(" from the scroll list and click Submit.").split(", ")
    menu = page.first("select")
    if menu is None:
        return None
    selected = page.ask("[...document.querySelector('select').selectedOptions].map(o => o.text)")
    left = [name for name in names if name not in selected]
    if not left and len(selected) == len(names):
        return click(button(page, "Submit"), f"{_listed(selected)} is selected; click {{label}}.")
    chosen = set(selected) & set(names)
    options = {n.text: n for n in page.all("option") if menu.top <= (n.top + n.bottom) / 2 <= menu.bottom}
    for name in left:
        element = read_on(page, options[name]) if name in options else None
        if element is not None and not chosen:
            return Move(f'Select "{element.text}".', then=(Click(element.point),))
        if element is not None:
            keys = (Press("ctrl"), Click(element.point), Release("ctrl"))
            return Move(f'{_listed(selected)} is selected; hold ctrl and click "{element.text}".', then=keys)
    return _bring_up(page, menu, left[0], bool(chosen))


def _bring_up(page: PageState, menu: Node, name: str, chosen: bool) -> Move:
    """Scrolls the list while something is selected that must stay so; else types the name, which finds it anywhere."""
    top = min((e for e in page.elements if menu.holds(e.point)), key=lambda e: e.point.y, default=None)
    if top is None:
        raise GaveUp("nothing was read in the list.")
    last = page.said[-1] if page.said else ""
    if not chosen or "scroll" in last:
        return Move(f'"{name}" is not shown; click the list, type "{name}".', then=(Click(top.point), Type(name)))
    step = Scroll("down" if menu.room_below > 2 and "type" not in last else "up", top.point)
    return Move(f'"{name}" is not shown; scroll {step.direction}.', then=(step,))


def _listed(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def form_sequence_3(page: PageState) -> Move | None:
    match = re.search(r'Choose (.+) from the dropdown, then click the button labeled "(\w+)"', page.query)
    if match is None:
        return None
    if page.ask("$('#dropdown').val()") == match[1]:
        return click(button(page, match[2]), f"{match[1]} is chosen; click {{label}}.")
    if not page.with_class("selectric-open"):
        menu = next(iter(page.with_class("selectric")), None)
        return None if menu is None else Move("Open the list: click {label}.", menu, ("field", "button"), named=False)
    options = [n for n in page.all("li") if any(n.holds(e.point) for e in page.elements)]
    wanted = next((n for n in options if n.text == match[1]), None)
    if wanted is not None:
        return click(wanted, "Choose {label}.")
    inside = [e.point for e in page.elements if any(n.holds(e.point) for n in options)]
    if not inside:
        raise GaveUp("nothing was read in the list.")
    lowest = max(inside, key=lambda point: point.y)
    return Move(f"{match[1]} is not shown; scroll down in the list.", then=(Scroll("down", lowest, notches=1),))


def use_autocomplete(page: PageState) -> Move | None:
    """The names come up a moment after the letters; a long one goes over two lines, either of which will do."""
    parts = quoted(page)
    start, end = parts[0], parts[1] if len(parts) > 1 else ""
    field = page.first("input")
    if field is None:
        return None
    if field.value.startswith(start) and field.value.endswith(end) and field.value != start:
        return click(button(page, "Submit"), f'"{field.value}" is in; click {{label}}.')
    items = page.with_class("ui-menu-item")
    fitting = [n for n in items if n.text.startswith(start) and n.text.endswith(end)]
    if fitting and field.value == start:
        return take_item(page, items, fitting[0])
    keys = (Hotkey(("ctrl", "a")),) if field.value else ()
    return Move(f'Type "{start}" into {{label}}.', field, ("field",), (*keys, Type(start), OPENING), named=False)


def take_item(page: PageState, items: list[Node], item: Node) -> Move | None:
    """Clicks an item of an open list, or goes down to it by keys where the list was read as one thing."""
    if any(item.holds(e.point) for e in page.elements if e.kind != "icon"):
        return click(item, named=False)
    times = items.index(item) + 1
    keys = (*[Hotkey(("down",))] * times, Hotkey(("enter",)))
    return Move(
        f'"{item.text}" is number {times} of the list: press down x {times}, enter.', then=keys, shown=(item.text,)
    )


def click_checkboxes_soft(page: PageState) -> Move | None:
    """Which words are alike is the page's own list."""
    words = page.query.removeprefix("Select words similar to ").removesuffix(" and click Submit.").split(", ")
    groups = page.ask("SYNONYMS")
    boxes = page.all(type="checkbox")

    def box_for(word: str) -> Node | None:
        return next((b for b in boxes if any(word in group and b.label in group for group in groups)), None)

    wanted = {word: box_for(word) for word in words}
    for box in boxes:
        if box.checked and box not in wanted.values():
            return click(box, "Untick {label}.")
    left = [word for word, box in wanted.items() if box is not None and not box.checked]
    if left:
        rest = f"; then {', '.join(left[1:])}" if left[1:] else ""
        return click(wanted[left[0]], f"Tick {{label}}, which is like {left[0]}{rest}.")
    return click(button(page, "Submit"), "All are ticked; click {label}.")


PLANS = {
    "button-delay": button_delay,
    "click-checkboxes-soft": click_checkboxes_soft,
    "click-collapsible-2-nodelay": link_in_sections,
    "click-collapsible-nodelay": click_collapsible,
    "click-menu": click_menu,
    "click-menu-2": click_menu_2,
    "click-scroll-list": click_scroll_list,
    "click-tab-2-hard": link_in_tabs,
    "click-tab-2-medium": link_in_tabs,
    "click-test-transfer": click_test_transfer,
    "form-sequence-3": form_sequence_3,
    "use-autocomplete": use_autocomplete,
}
