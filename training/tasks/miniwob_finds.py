"""Plans for MiniWoB tasks in which something must be read or found first: sections, pages, lists, tables.

What an earlier step found out is said in its thought, which the agent reads again as its past.
"""

from __future__ import annotations

import re

from agent_core.actions import Hotkey, Scroll, Type
from training.tasks.miniwob_page import Node, PageState
from training.tasks.miniwob_plans import ALL_IN, button, quoted
from training.tasks.teacher import Move, click, fill


def link_in_sections(page: PageState) -> Move | None:
    """Sections of which one is open at a time: click the link if it shows, else open the next section."""
    wanted = quoted(page)[0]
    link = next((n for n in page.with_class("alink") if n.text == wanted), None)
    if link is not None:
        return click(link)
    sections = page.all("h3")
    opened = [n for n, s in enumerate(sections) if s.has_class("ui-accordion-header-active")]
    return _next_section(sections, opened, wanted)


def link_in_tabs(page: PageState) -> Move | None:
    wanted = quoted(page)[0]
    link = next((n for n in page.with_class("alink") if n.text == wanted), None)
    if link is not None:
        return click(link)
    tabs = page.with_class("ui-tabs-anchor")
    places = page.with_class("ui-tabs-tab")
    return _next_section(tabs, [n for n, p in enumerate(places) if p.has_class("ui-tabs-active")], wanted)


def _next_section(sections: list[Node], opened: list[int], wanted: str) -> Move | None:
    if not sections:
        return None
    following = (opened[0] + 1) % len(sections) if opened else 0
    return click(sections[following], f'"{wanted}" is not here; open {{label}}.')


def search_engine(page: PageState) -> Move | None:
    name = quoted(page)[0]
    ordinal = re.search(r"the (\d)\w\w search result", page.query)
    if ordinal is None:
        return None
    place = int(ordinal[1]) - 1
    field = page.first("input")
    if field is not None and field.value != name:
        return fill(field, name)
    results = page.with_class("search-title")
    if not results:
        return click(button(page, "Search"), "The text is in; click {label}.")
    wanted, here = str(place // 3 + 1), page.with_class("active")
    if here and here[0].text != wanted:
        search = button(page, "Search")
        if search is None or not search.focused:
            return click(search, "Search again: click {label}.")
        to_page = (*(Hotkey(("tab",)) for _ in range(3 + int(wanted))), Hotkey(("enter",)))
        say = f"Result {place + 1} is on page {wanted}: go past 3 results to link {wanted} with the Tab key."
        return Move(say, then=to_page)  # the links to the pages lie over the words of a result: clicks may miss them
    return click(results[place % 3], f"Result {place + 1} is number {place % 3 + 1} of page {wanted}; click {{label}}.")


def navigate_tree(page: PageState) -> Move | None:
    wanted = quoted(page)[0]
    found = page.first("span", text=wanted)
    if found is not None:
        return click(found)
    closed = next((n for n in page.all("li") if n.has_class("expandable")), None)
    if closed is None:
        return None
    folder = next((n for n in page.with_class("folder") if closed.top <= n.top < closed.bottom), None)
    return click(folder, f'"{wanted}" is not shown; open {{label}}.')


def phone_book(page: PageState) -> Move | None:
    match = re.search(r"Find (.+) in the contact book and click on their (\w+)", page.query)
    if match is None:
        return None
    if page.first("h2", text=match[1]) is not None:
        return click(
            next(iter(page.with_class(match[2])), None), f"This is {match[1]}; click the {match[2]} {{label}}."
        )
    following = next((n for n in page.all("a") if n.text == ">"), None)
    return click(following, f"This is not {match[1]}; turn the page: click the sign after the number.", named=False)


def use_autocomplete(page: PageState) -> Move | None:
    parts = quoted(page)
    start, end = parts[0], parts[1] if len(parts) > 1 else ""
    field = page.first("input")
    if field is not None and field.value.startswith(start) and field.value.endswith(end) and field.value != start:
        return click(button(page, "Submit"), f'"{field.value}" is in; click {{label}}.')
    items = [n for n in page.with_class("ui-menu-item") if n.text.startswith(start) and n.text.endswith(end)]
    return click(items[0]) if items else fill(field, start)


def choose_list(page: PageState) -> Move | None:
    wanted = page.query.removeprefix("Select ").removesuffix(" from the list and click Submit.")
    menu = page.first("select")
    if menu is not None and menu.value != wanted:
        choose = (Type(wanted), Hotkey(("enter",)))
        return Move(f'Choose "{wanted}" from the list.', menu, ("field", "button"), choose, named=False)
    return click(button(page, "Submit"), f'"{wanted}" is chosen; click {{label}}.')


def read_table(page: PageState) -> Move | None:
    match = re.search(r"value of (.+) into the text field", page.query)
    field = page.first("input")
    if match is None or field is None:
        return None
    value = _beside(page, match[1])
    if field.value != value:
        return fill(field, value, shown=(value,), say=f"{match[1]} is {value}; type it into {{label}}.")
    return click(button(page, "Submit"), ALL_IN)


def read_table_2(page: PageState) -> Move | None:
    for label, field_id in (("ll1", "tt1"), ("ll2", "tt2")):
        name, field = page.first(id=label), page.first(id=field_id)
        if name is None or field is None:
            return None
        value = _beside(page, name.text.rstrip(":"))
        if field.value != value:
            return fill(
                field, value, shown=(value,), say=f"{name.text.rstrip(':')} is {value}; type it into {{label}}."
            )
    return click(button(page, "Submit"), ALL_IN)


def _beside(page: PageState, key: str) -> str:
    """The text of the table's cell to the right of the one that says `key`."""
    cells = [n.text for n in page.all("td")]
    return cells[cells.index(key) + 1]


def find_word(page: PageState) -> Move | None:
    ordinal = re.search(r"the (\d+)\w\w word", page.query)
    text, field = page.first("p"), page.first("input")
    if ordinal is None or text is None or field is None:
        return None
    word = re.sub(r"[^A-Za-z]", "", text.text.split()[int(ordinal[1]) - 1])
    if field.value != word:
        return fill(field, word, shown=(word,), say=f'Word {ordinal[1]} is "{word}"; type it into {{label}}.')
    return click(button(page, "Submit"), ALL_IN)


def scroll_text(page: PageState) -> Move | None:
    area, field = page.first("textarea"), page.first("input")
    if area is None or field is None:
        return None
    if area.room_below > 5:
        return Move("Scroll down to see the end of the text.", then=(Scroll("down"),))
    word = re.sub(r"[^A-Za-z0-9]", "", area.value.split()[-1])
    if field.value != word:
        return fill(field, word, shown=(word,), say=f'The last word is "{word}"; type it into {{label}}.')
    return click(button(page, "Submit"), ALL_IN)


def scroll_text_2(page: PageState) -> Move | None:
    area = page.first("textarea")
    if area is None:
        return None
    way = "down" if "to the bottom" in page.query else "up"
    if (area.room_below if way == "down" else area.room_above) > 5:
        return Move(f"Scroll {way} in the text.", then=(Scroll("down" if way == "down" else "up"),))
    return click(button(page, "Submit"), f"The text is scrolled {way}; click {{label}}.")


def generate_number(page: PageState) -> Move | None:
    shown = page.first(id="display-number")
    if shown is None:
        return None
    limit = re.search(r"(less|greater) than (\d+)", page.query)
    generate = button(page, "Generate")
    if not shown.text.isdigit():
        return click(generate, "There is no number yet; click {label}.")
    number = int(shown.text)
    if limit is not None:
        fits, wanted = number < int(limit[2]) if limit[1] == "less" else number > int(limit[2]), limit[0]
    else:
        wanted = "odd" if "odd" in page.query else "even"
        fits = number % 2 == (wanted == "odd")
    again = click(generate, "The number cannot be read; click {label}.")
    say, last = (f"{number} is {wanted}", "Submit") if fits else (f"{number} is not {wanted}", "Generate")
    return Move(f"{say}; click {{label}}.", button(page, last), ("button",), shown=(shown.text,), unread=again)


PLANS = {
    "click-collapsible-2": link_in_sections,
    "click-tab-2": link_in_tabs,
    "search-engine": search_engine,
    "navigate-tree": navigate_tree,
    "phone-book": phone_book,
    "use-autocomplete-nodelay": use_autocomplete,
    "choose-list": choose_list,
    "read-table": read_table,
    "read-table-2": read_table_2,
    "find-word": find_word,
    "scroll-text": scroll_text,
    "scroll-text-2": scroll_text_2,
    "generate-number": generate_number,
}
