"""Generated web pages: forms, settings, tables, lists, tabs and articles, in many themes, with all texts made up.

A page is one HTML file without any address in it, so nothing leaves the machine, and what a click does is decided by
its few lines of script. `arrive()` in the page lets a notice come in by itself: changes that nobody made.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from random import Random

from training.crawl_themes import Theme
from training.tasks.desk_words import CITIES, DAYS, NOUNS, TOPICS, email, full_name, sentence, sentences

_SCRIPT = """
const all = (s, e = document) => [...e.querySelectorAll(s)];
const say = text => { const n = document.getElementById('note'); n.textContent = text; n.hidden = false; };
function arrive() { say(document.body.dataset.news); }
document.addEventListener('click', event => {
  const el = event.target.closest('button, a, [role]');
  if (!el) return;
  if (el.tagName === 'A') { event.preventDefault(); say('Opened: ' + el.textContent); return; }
  const role = el.getAttribute('role');
  if (role === 'tab') {
    all('[role=tab]', el.parentElement).forEach((t, n) => {
      t.setAttribute('aria-selected', t === el);
      all('[role=tabpanel]', el.closest('section'))[n].hidden = t !== el;
    });
  } else if (role === 'switch') {
    el.setAttribute('aria-checked', el.getAttribute('aria-checked') !== 'true');
  } else if (role === 'option') {
    all('[role=option]', el.parentElement).forEach(o => o.setAttribute('aria-selected', o === el));
  } else if (role === 'menuitem') {
    el.parentElement.hidden = true; say('Command: ' + el.textContent);
  } else if (el.dataset.menu) {
    const menu = document.getElementById(el.dataset.menu); menu.hidden = !menu.hidden;
  } else if (el.dataset.dialog) {
    document.getElementById(el.dataset.dialog).showModal();
  } else if (el.closest('dialog')) {
    el.closest('dialog').close(); say(el.textContent + ' was chosen');
  } else if (el.dataset.remove !== undefined) {
    el.closest('tr').remove();
  } else { say(el.textContent + ' was pressed'); }
});
"""
_FIELDS = (
    "Name",
    "Email",
    "City",
    "Street",
    "Phone",
    "Company",
    "Remark",
    "Subject",
    "Nickname",
    "Day",
    "Team",
    "Room",
)
_TICKS = (
    "Newsletter", "Parking", "Breakfast", "Wifi", "Insurance", "Gift wrap", "Reminders", "Sound", "Backups",
    "Dark mode", "Location", "Updates", "Invoice by post", "Express delivery", "Remember me", "Notifications",
)  # fmt: skip
_CHOICES = {
    "Size": ("Small", "Medium", "Large", "Extra large"),
    "Payment": ("Card", "Cash", "Transfer", "Voucher"),
    "Seat": ("Window", "Aisle", "Middle"),
    "Plan": ("Basic", "Standard", "Premium"),
    "Colour": ("Red", "Green", "Blue", "Grey"),
    "Speed": ("Slow", "Normal", "Fast"),
}
_BUTTONS = ("Save", "Send", "Apply", "Continue", "Search", "Book", "Add", "Register", "Confirm", "Refresh", "Share")
_QUIET = ("Cancel", "Back", "Reset", "Later", "Skip", "Close", "Help")
_COMMANDS = ("Rename", "Duplicate", "Move", "Archive", "Export", "Print", "Pin", "Mute", "Copy address")
_VALUES: dict[str, Callable[[Random], str]] = {
    "Name": full_name,
    "Email": email,
    "City": lambda rng: rng.choice(CITIES),
}
_TITLES = ("Dashboard", "Account", "Orders", "Settings", "Library", "Calendar", "Contacts", "Shop", "Reports", "Inbox")


def page(rng: Random, theme: Theme) -> str:
    """One HTML document."""
    title = f"{rng.choice(TOPICS)} {rng.choice(_TITLES)}"
    count = rng.randint(2, 4)
    kinds = rng.sample(SECTIONS, count)
    body = "\n".join(f"<section>{kind(rng, n)}</section>" for n, kind in enumerate(kinds))
    links = " ".join(f'<a href="#">{text}</a>' for text in rng.sample(TOPICS, rng.randint(2, 4)))
    news = f"{rng.choice(('New message', 'Reminder', 'Sent by ' + full_name(rng)))}: {sentence(rng)}"
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>
<style>{theme.css()}</style></head><body data-news="{escape(news)}">
<header><h1>{escape(title)}</h1>{links}{_menu(rng)}</header><div class="note" id="note" role="status" hidden></div>
<main>{body}</main>{_dialog(rng)}<script>{_SCRIPT}</script></body></html>
"""


def _menu(rng: Random) -> str:
    items = "".join(f'<div role="menuitem">{text}</div>' for text in rng.sample(_COMMANDS, rng.randint(3, 5)))
    name = rng.choice(("More", "Actions", "Tools"))
    menu = f'<div id="menu" role="menu" hidden>{items}</div>'
    return f'<span><button class="quiet" data-menu="menu">{name}</button>{menu}</span>'


def _dialog(rng: Random) -> str:
    yes, no = rng.choice(("Yes", "OK", "Delete", "Leave")), rng.choice(("No", "Stay", "Keep"))
    return (
        f'<dialog id="dialog"><h2>{rng.choice(("Are you sure?", "Leave this page?", "Delete the draft?"))}</h2>'
        f'<p>{sentence(rng)}</p><button>{yes}</button><button class="quiet">{no}</button></dialog>'
    )


def _form(rng: Random, n: int) -> str:
    rows = [f"<h2>{rng.choice(('Details', 'Your data', 'New entry', 'Contact'))}</h2>"]
    for name in rng.sample(_FIELDS, rng.randint(2, 4)):
        value = _VALUES.get(name, sentence)(rng)
        shown = f' value="{escape(value)}"' if rng.random() < 0.5 else ""
        hint = f' placeholder="{escape(rng.choice(("e.g. ", "")) + sentence(rng))}"' if rng.random() < 0.3 else ""
        rows.append(
            f'<label class="above" for="f{n}{name}">{name}</label><input type="text" id="f{n}{name}"{shown}{hint}>'
        )
    if rng.random() < 0.5:
        rows.append(f'<label class="above" for="p{n}">Password</label><input type="password" id="p{n}">')
    if rng.random() < 0.4:
        rows.append(
            f'<label class="above" for="n{n}">Guests</label><input type="number" id="n{n}" value="{rng.randint(1, 9)}">'
        )
    if rng.random() < 0.4:
        rows.append(
            f'<label class="above" for="t{n}">Message</label><textarea id="t{n}" rows="3">{sentence(rng)}</textarea>'
        )
    return "".join(rows) + _buttons(rng)


def _buttons(rng: Random) -> str:
    off = " disabled" if rng.random() < 0.2 else ""
    asks = ' data-dialog="dialog"' if rng.random() < 0.4 else ""
    return (
        f'<p><button{asks}>{rng.choice(_BUTTONS)}</button><button class="quiet"{off}>{rng.choice(_QUIET)}</button></p>'
    )


def _ticks(rng: Random, n: int) -> str:
    ticks = rng.sample(_TICKS, rng.randint(3, 5))
    rows = [f"<h2>{rng.choice(('Options', 'Preferences', 'Extras', 'What to include'))}</h2>"]
    for name in ticks:
        on = " checked" if rng.random() < 0.4 else ""
        off = " disabled" if rng.random() < 0.1 else ""
        rows.append(f'<label class="tick"><input type="checkbox"{on}{off}>{name}</label>')
    return "".join(rows) + (_buttons(rng) if rng.random() < 0.5 else "")


def _radios(rng: Random, n: int) -> str:
    group = rng.choice(sorted(_CHOICES))
    chosen = rng.choice(_CHOICES[group])
    rows = [
        f'<label class="tick"><input type="radio" name="g{n}"{" checked" if name == chosen else ""}>{name}</label>'
        for name in _CHOICES[group]
    ]
    other = rng.choice([name for name in sorted(_CHOICES) if name != group])
    options = "".join(f"<option>{name}</option>" for name in rng.sample(_CHOICES[other], len(_CHOICES[other])))
    choice = f'<label class="above" for="s{n}">{other}</label><select id="s{n}">{options}</select>'
    return f"<h2>{group}</h2>{''.join(rows)}{choice}"


def _switches(rng: Random, n: int) -> str:
    rows = ["<h2>Settings</h2>"]
    for name in rng.sample(_TICKS, rng.randint(2, 4)):
        on = rng.choice(("true", "false"))
        rows.append(f'<p><button role="switch" aria-checked="{on}" aria-label="{name}"></button>{name}</p>')
    name = rng.choice(("Volume", "Brightness", "Zoom", "Contrast"))
    value = rng.randrange(0, 101, 5)
    rows.append(f'<label class="above" for="r{n}">{name}</label><input type="range" id="r{n}" value="{value}">')
    return "".join(rows)


def _table(rng: Random, n: int) -> str:
    rows = ["<h2>Entries</h2><table><tr><th>What</th><th>Day</th><th>Amount</th><th></th></tr>"]
    for text in sentences(rng, rng.randint(3, 5)):
        cells = f"<td>{text}</td><td>{rng.choice(DAYS)}</td><td>{rng.randint(1, 999)}</td>"
        rows.append(f'<tr>{cells}<td><button class="quiet" data-remove>Remove</button></td></tr>')
    return "".join(rows) + "</table>"


def _list(rng: Random, n: int) -> str:
    names = rng.sample(TOPICS, rng.randint(4, 6))
    chosen = rng.choice(names)
    items = "".join(f'<div role="option" aria-selected="{str(name == chosen).lower()}">{name}</div>' for name in names)
    return f'<h2>Folders</h2><div role="listbox">{items}</div>{_buttons(rng)}'


def _tabs(rng: Random, n: int) -> str:
    names = rng.sample(TOPICS, 3)
    tabs = "".join(
        f'<div role="tab" aria-selected="{str(k == 0).lower()}">{name}</div>' for k, name in enumerate(names)
    )
    panels = "".join(
        f'<div role="tabpanel"{" hidden" if k else ""}>{"".join(f"<p>{text}.</p>" for text in sentences(rng, 3))}</div>'
        for k in range(3)
    )
    return f'<div role="tablist">{tabs}</div>{panels}'


def _article(rng: Random, n: int) -> str:
    heading = f"{rng.choice(TOPICS)} and the {rng.choice(NOUNS)}"
    texts = [f"<p>{'. '.join(sentences(rng, 3))}.</p>" for _ in range(2)]
    links = "".join(f'<li><a href="#">{text}</a></li>' for text in sentences(rng, 3))
    colour = f"hsl({rng.randrange(360)},55%,55%)"
    shape = rng.choice(
        ('<circle cx="40" cy="40" r="34"/>', '<path d="M6 74L40 6 74 74z"/>', '<rect width="70" height="60"/>')
    )
    drawing = f'<svg role="img" width="80" height="80" fill="{colour}" aria-label="{rng.choice(NOUNS)}">{shape}</svg>'
    return f"<h2>{heading}</h2>{drawing}{''.join(texts)}<ul>{links}</ul>"


SECTIONS: tuple[Callable[[Random, int], str], ...] = (
    _form, _ticks, _radios, _switches, _table, _list, _tabs, _article,
)  # fmt: skip
