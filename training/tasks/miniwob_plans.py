"""Plans for MiniWoB tasks of clicking and typing: from the page as it is to the next move.

A plan is a function of the page alone, so it goes on rightly from any state, also one that somebody else left behind.
None means that nothing is left to do; the page ends the episode by itself.
"""

from __future__ import annotations

import re

from training.tasks.miniwob_page import Node, PageState
from training.tasks.teacher import Move, click, fill

ALL_IN = "Everything is filled in; click {label}."
POSITIONS = {"1st": 0, "2nd": 1, "3rd": 2}


def quoted(page: PageState) -> list[str]:
    """The texts in quotes in the task."""
    return re.findall(r'"([^"]*)"', page.query)


def button(page: PageState, text: str) -> Node | None:
    return page.first("button", text=text)


def click_button(page: PageState) -> Move | None:
    return click(button(page, quoted(page)[0]))


def click_test(page: PageState) -> Move | None:
    return click(page.first("button"))


def click_test_2(page: PageState) -> Move | None:
    return click(button(page, "ONE"))


def click_link(page: PageState) -> Move | None:
    wanted = quoted(page)[0]
    return click(next((n for n in page.with_class("alink") if n.text == wanted), None))


def click_dialog(page: PageState) -> Move | None:
    return click(
        next(iter(page.with_class("ui-dialog-titlebar-close")), None), "Close the dialog: click {label}.", named=False
    )


def click_dialog_2(page: PageState) -> Move | None:
    wanted = quoted(page)[0]
    if wanted == "x":
        return click_dialog(page)
    return click(button(page, wanted))


def click_tab(page: PageState) -> Move | None:
    wanted = page.query.removeprefix("Click on ").rstrip(".")
    return click(page.first("a", text=wanted))


def click_option(page: PageState) -> Move | None:
    wanted = page.query.removeprefix("Select ").removesuffix(" and click Submit.")
    option = next((n for n in page.all(type="radio") if n.label == wanted), None)
    if option is not None and not option.checked:
        return click(option, "Select {label}.")
    return click(button(page, "Submit"), f'"{wanted}" is selected; click {{label}}.')


def click_checkboxes(page: PageState) -> Move | None:
    names = page.query.removeprefix("Select ").removesuffix(" and click Submit.")
    wanted = [] if names == "nothing" else names.split(", ")
    boxes = page.all(type="checkbox")
    for box in boxes:
        if box.checked and box.label not in wanted:
            return click(box, "Untick {label}.")
    ticked = {box.label for box in boxes if box.checked}
    left = [name for name in wanted if name not in ticked]
    if left:
        box_of = {box.label: box for box in boxes}
        return click(box_of.get(left[0]), "Tick {label}" + (f"; then {', '.join(left[1:])}." if left[1:] else "."))
    done = "All are ticked" if wanted else "Nothing is to be ticked"
    return click(button(page, "Submit"), f"{done}; click {{label}}.")


def click_button_sequence(page: PageState) -> Move | None:
    pressed = page.ask("buttonsPushed.length")
    if pressed == 0:
        return click(button(page, "ONE"), "First click {label}.")
    return click(button(page, "TWO"), '"ONE" is done; click {label}.')


def click_collapsible(page: PageState) -> Move | None:
    header = page.first("h3")
    if header is not None and not header.has_class("ui-accordion-header-active"):
        return click(header, "Expand {label}.")
    return click(button(page, "Submit"), "The section is expanded; click {label}.")


def click_widget(page: PageState) -> Move | None:
    wanted = quoted(page)[0]
    tags = {"radio": "radio", "checkbox": "checkbox", "text": "text", "textarea": "textarea", "button": "submit"}
    node = next((n for n in page.nodes if n.type == tags[wanted] and n.tag in ("input", "textarea", "button")), None)
    if node is None:
        return None
    if (node.tag == "input" and node.type == "text") or node.tag == "textarea":
        return Move("Click {label}.", node, ("field",), named=False)
    return click(node)


def submit_text(page: PageState, text: str, label: str = "Submit") -> Move | None:
    """The one field, then the button."""
    field = page.first("input")
    if field is not None and field.value != text:
        return fill(field, text)
    return click(button(page, label), "The text is in; click {label}.")


def enter_text(page: PageState) -> Move | None:
    return submit_text(page, quoted(page)[0])


def enter_text_2(page: PageState) -> Move | None:
    text = quoted(page)[0]
    return submit_text(page, text.upper() if "upper case" in page.query else text.lower())


def enter_password(page: PageState) -> Move | None:
    text = quoted(page)[0]
    for name in ("password", "verify"):
        field = page.first(id=name)
        if field is not None and field.value != text:
            return fill(field, text)
    return click(button(page, "Submit"), "Both fields are filled; click {label}.")


def focus_text(page: PageState) -> Move | None:
    field = page.first("input")
    return None if field is None else Move("Click {label}.", field, ("field",), named=False)


def focus_text_2(page: PageState) -> Move | None:
    place = page.query.split()[3]
    field = page.all("input")[POSITIONS[place]]
    return Move(f"Click the {place} field from the top.", field, ("field",), named=False)


def login_user(page: PageState) -> Move | None:
    user, password = quoted(page)
    cancel = page.first(id="popup-cancel")
    if cancel is not None:
        return click(cancel, "A popup is in the way; click {label}.")
    for name, text in (("username", user), ("password", password)):
        field = page.first(id=name)
        if field is not None and field.value != text:
            return fill(field, text)
    return click(page.first(id="subbtn"), "Both fields are filled; click {label}.")


PLANS = {
    "click-button": click_button,
    "click-test": click_test,
    "click-test-2": click_test_2,
    "click-link": click_link,
    "click-dialog": click_dialog,
    "click-dialog-2": click_dialog_2,
    "click-tab": click_tab,
    "click-tab-2-easy": click_link,
    "click-option": click_option,
    "click-checkboxes": click_checkboxes,
    "click-checkboxes-transfer": click_checkboxes,
    "click-checkboxes-large": click_checkboxes,
    "click-button-sequence": click_button_sequence,
    "click-collapsible": click_collapsible,
    "click-widget": click_widget,
    "enter-text": enter_text,
    "enter-text-2": enter_text_2,
    "enter-text-dynamic": enter_text,
    "enter-password": enter_password,
    "focus-text": focus_text,
    "focus-text-2": focus_text_2,
    "login-user": login_user,
    "login-user-popup": login_user,
    "unicode-test": click_button,
}
