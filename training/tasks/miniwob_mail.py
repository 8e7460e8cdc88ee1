"""Plans for MiniWoB tasks with a program's own signs: a mail program, and a shell.

Stars and bins are pictures without words: the thoughts say which of the pictures beside a name it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from agent_core.actions import Hotkey, Scroll, Type
from training.tasks.miniwob_page import Node, PageState
from training.tasks.teacher import GaveUp, Move, click

LOWEST = 198  # CSS pixels; what ends below is cut off by the edge of the list
MAILS = (
    "",
    "-delete",
    "-forward",
    "-forward-nl",
    "-forward-nl-turk",
    "-important",
    "-nl-turk",
    "-noscroll",
    "-reply",
    "-star-reply",
)


def terminal(page: PageState) -> Move | None:
    """List the files, then remove one with the wanted ending by its full name."""
    typed = page.first(id="active-input")
    if typed is not None and typed.text:
        return None  # somebody else left half a command
    match = re.search(r"with the extension (\.[\w.]+)", page.query)
    ending = match[1] if match else ""
    files = [str(name) for name in page.ask("currentFiles")]
    listed = [n for n in page.with_class("terminal-output") if n.text == " ".join(files)]
    if not listed:
        return Move('List the files: type "ls".', then=(Type("ls\n"),))
    why = f"ends with {ending}" if ending else "has no extension"
    move: Move | None = None
    for file in reversed([f for f in files if (f.endswith(ending) if ending else "." not in f)]):
        move = Move(f'"{file}" {why}; remove it.', then=(Type(f"rm {file}\n"),), shown=(file,), unread=move)
    return move


def mail(page: PageState) -> Move | None:
    """Find the mail by its sender, then star, delete, answer or forward it."""
    by, todo, text = _wanted(page)
    if todo == "forward" and by != text and re.search(rf"from {text}\b|{text}'s email from", page.query):
        raise GaveUp(f"the task names the sender for the receiver, but the page expects the reverse: {page.query}")
    if page.first(id="reply") is not None:
        return _send(page, page.first(id="reply-text"), text, "send-reply")
    if page.first(id="forward") is not None:
        return _send(page, next(iter(page.with_class("forward-sender")), None), text, "send-forward")
    if page.first(id="email") is not None:
        return _in_mail(page, by, todo)
    return _in_list(page, by, todo, text)


def _in_list(page: PageState, by: str, todo: str, text: str) -> Move | None:
    row = next((n for n in page.with_class("email-thread") if _sender(page, n) == by), None)
    if row is None:
        return Move(f'"{by}" is not shown; scroll down.', then=(Scroll("down", notches=1),))
    inside = [n for n in page.nodes if row.top <= n.top and n.bottom <= row.bottom + 1]
    part = todo if todo in ("star", "trash") else "email-sender"
    node = next((n for n in inside if n.has_class(part)), None)
    if node is None or node.bottom > LOWEST:
        return Move(f'"{by}" is cut off; scroll down.', then=(Scroll("down", notches=1),))
    if part == todo:
        which = "star, the left picture" if todo == "star" else "bin, the right picture"
        return Move(f'Click the {which} beside "{by}".', node, ("icon",), shown=(by,), named=False)
    purpose = "answer it" if todo == "reply" else f'forward it to "{text}"'
    return click(node, f"Open the mail of {{label}} to {purpose}.")


def _wanted(page: PageState) -> tuple[str, str, str]:
    """Whose mail, what to do with it, and the text or the person for that."""
    match = re.fullmatch(r"Find the email by (\S+) and (.*)\.", page.query)
    if match is None:
        fields = page.ask("core.currentFields")
        todo = fields.get("task", "forward")
        return fields["by"], {"delete": "trash"}.get(todo, todo), fields.get("message", fields.get("to", ""))
    by, rest = match.groups()
    if "star icon" in rest:
        return by, "star", ""
    if "trash icon" in rest:
        return by, "trash", ""
    if rest.startswith("reply"):
        return by, "reply", rest.split('"')[1]
    return by, "forward", rest.rpartition(" ")[2]


def _sender(page: PageState, row: Node) -> str:
    names = (n for n in page.with_class("email-sender") if row.top <= n.top < row.bottom)
    return next((n.text for n in names), "")


def _in_mail(page: PageState, by: str, todo: str) -> Move | None:
    """A mail is open: the words below it lead on, unless it is the wrong one."""
    sender = next((n.text for n in page.with_class("email-sender")), "")
    if sender != by or todo not in ("reply", "forward"):
        return Move("This is the wrong mail; go back.", page.first(id="close-email"), ("icon",), named=False)
    word = todo.capitalize()
    link = next((n for n in page.all("div") if n.text == word and n.own == word), None)
    if link is None:
        return Move(f'"{word}" is not shown; scroll down.', then=(Scroll("down", notches=1),))
    return click(link, f'The mail of "{by}" is open; click {{label}}.')


def _send(page: PageState, field: Node | None, text: str, sign: str) -> Move | None:
    """One field without a border, which the Tab key reaches, then the picture at the upper right."""
    if field is None:
        return None
    if field.value != text:
        to_field = Hotkey(("ctrl", "a")) if field.focused else Hotkey(("tab",))
        return Move(f'Go to the field and type "{text}".', then=(to_field, Type(text)))
    return Move(
        f'"{text}" is in; click the arrow at the upper right to send.', page.first(id=sign), ("icon",), named=False
    )


PLANS: dict[str, Callable[[PageState], Move | None]] = {
    "terminal": terminal,
    **{f"email-inbox{kind}": mail for kind in MAILS},
}
