"""Plans for MiniWoB tasks on texts and areas: text to be highlighted or styled, an area to be resized, a calendar.

A drag starts or ends where something was read, moved by a round number along one axis, so that its places can be
told from the list of what is on the screen.
"""

from __future__ import annotations

import re

from agent_core.actions import Action, Click, Drag, Hotkey, Point, Scroll
from training.tasks.miniwob_page import Node, PageState
from training.tasks.miniwob_plans import button
from training.tasks.teacher import GaveUp, Move, click, fill

MARGIN_LEFT, MARGIN_RIGHT = 0.01, 0.99  # beside any text: a drag from here to there takes whole lines
RESIZE = 0.1  # how far a corner is dragged, as a share of the screenshot
HOUR, LABEL, NOTCH, HEIGHT = 41.0, 8.0, 100.0, 160.0  # CSS pixels: an hour, its name below its top, a notch, the screen
HALF_HOUR = 0.128  # as a share of the screenshot
HIGHEST, LOWEST = 0.25, 0.97  # where a drag may begin and end: the event lies an hour higher
ROW = 2  # half hours in a row of the calendar
CALENDAR_X = 0.5
SHORTCUTS = {"bold": "b", "italics": "i", "underlined": "u"}


def highlight_text(page: PageState) -> Move | None:
    return _highlight(page, page.first(id="randomText"), "")


def highlight_text_2(page: PageState) -> Move | None:
    ordinal = page.query.split()[5]
    paragraphs = page.all("p")
    place = int(ordinal[0]) - 1
    if place >= len(paragraphs):
        return None
    return _highlight(page, paragraphs[place], f"The {ordinal} paragraph: ")


def _highlight(page: PageState, text: Node | None, which: str) -> Move | None:
    """From before the first line to after the last."""
    if text is None:
        return None
    selected = page.ask("window.getSelection().toString()")
    if "".join(selected.split()) == "".join(text.text.split()):
        return click(button(page, "Submit"), "The text is highlighted; click {label}.")
    lines = sorted((e for e in page.elements if e.kind == "text" and text.holds(e.point)), key=lambda e: e.point.y)
    if not lines:
        raise GaveUp("no line of the text was read.")
    first, last = lines[0], max(lines, key=lambda e: (round(e.point.y, 2), e.point.x))
    to = f' to "{last.text}"' if last is not first else ""
    say = f'{which}"{first.text}"{to}: drag over it.'
    start, end = Point(MARGIN_LEFT, first.point.y), Point(MARGIN_RIGHT, last.point.y)
    return Move(say, then=(Drag(start, end),))


def resize_textarea(page: PageState) -> Move | None:
    """By the mark in the lower right corner."""
    match = re.search(r"the (height|width) is (smaller|larger)", page.query)
    if match is None:
        return None
    if any(said.startswith("Make") for said in page.said):
        return click(button(page, "Submit"), f"The {match[1]} is {match[2]}; click {{label}}.")
    grip = next(iter(page.with_class("ui-resizable-se")), None)
    if grip is None:
        return None
    corner = next((e for e in page.elements if grip.holds(e.point)), None)
    if corner is None:
        raise GaveUp("the corner's mark was not read.")
    by = RESIZE if match[2] == "larger" else -RESIZE
    x, y = corner.point.x, corner.point.y
    end = Point(x + by, y) if match[1] == "width" else Point(x, y + by)
    way = {("width", True): "right", ("width", False): "left", ("height", True): "down", ("height", False): "up"}
    say = f"Make the {match[1]} {match[2]}: drag the corner {way[match[1], by > 0]} by {round(RESIZE * 1000)}."
    return Move(say, then=(Drag(corner.point, end),))


def text_editor(page: PageState) -> Move | None:
    """The words are selected by keys, the style is a key too, a color is picked from the palette."""
    match = re.search(r"(?:give the text (.+?)|everything) the (style|color) (\w+)", page.query)
    area = next(iter(page.with_class("ql-editor")), None)
    if match is None or area is None:
        return None
    words, by_color, style = match[1], match[2] == "color", match[3]
    what = f'"{words}"' if words else "Everything"
    if page.ask(STYLED):
        return click(button(page, "Submit"), f"{what} is {style}; click {{label}}.")
    if not page.ask("(editor.getSelection() || {length: 0}).length"):
        return _select(page, area, words)
    if not by_color:
        return Move(
            f"{what} is selected; make it {style}: press ctrl+{SHORTCUTS[style]}.", then=_keys(SHORTCUTS[style])
        )
    swatches = [n for n in page.with_class("ql-picker-item") if n.left or n.top]
    if not swatches:
        opener = next(iter(page.with_class("ql-picker-label")), None)
        say = f"{what} is selected; open the colors: click {{label}}."
        return None if opener is None else Move(say, opener, ("text", "icon", "button"), named=False)
    values = page.ask(f"COLOR_MAP[{style!r}]")
    shades = page.ask("[...document.querySelectorAll('.ql-picker-item')].map(i => i.dataset.value || '')")
    fitting = [n for n, shade in zip(swatches, shades, strict=True) if shade in values]
    read = [e for e in page.elements if any(n.holds(e.point) for n in fitting) and style in e.text]
    plain = min(read, key=lambda e: len(e.text), default=None)
    if plain is None:
        raise GaveUp(f"no {style} was read in the palette.")
    return Move(f'Pick the "{plain.text}".', then=(Click(plain.point),))


STYLED = "editor.getContents().ops.some(o => o.attributes && Object.keys(o.attributes).length)"


def _keys(letter: str) -> tuple[Action, ...]:
    return (Hotkey(("ctrl", letter)),)


def _select(page: PageState, area: Node, words: str | None) -> Move | None:
    """Puts the caret into the text, goes to the word with ctrl+right, which stops at each sign too, and takes it."""
    line = next((e for e in page.elements if e.kind == "text" and area.holds(e.point)), None)
    if line is None:
        raise GaveUp("no line of the text was read.")
    if not words:
        return Move("Select everything: click the text, press ctrl+a.", then=(Click(line.point), *_keys("a")))
    stops = re.findall(r"\w+|[^\w\s]", area.text)
    wanted = re.findall(r"\w+|[^\w\s]", words)
    before = next(n for n in range(len(stops)) if stops[n : n + len(wanted)] == wanted)
    counted = " ".join(f"{n} {stop}" for n, stop in enumerate(stops[: before + len(wanted)], start=1))
    say = f'{counted}: for "{words}" press ctrl+right x {before}, ctrl+shift+right x {len(wanted)}.'
    keys = (Hotkey(("ctrl", "right")),) * before + (Hotkey(("ctrl", "shift", "right")),) * len(wanted)
    return Move(say, then=(Click(line.point), Hotkey(("ctrl", "home")), *keys), shown=tuple(stops[:before]))


def daily_calendar(page: PageState) -> Move | None:
    """Drags over the free half hours, clicks what then lies there, names it.

    The page draws its half hours one row below the names of their hours, and the event in the right row.
    """
    match = re.search(r'Create a ([\d.]+) (mins|hours?) event named "(\w+)", between (\w+) and', page.query)
    if match is None:
        return None
    if page.ask("$('#create-event').length"):
        return _name_event(page, match[3])
    made = page.first(id="newEvent")
    if made is not None:
        return click(made, "The event is there; click {label}.", named=False)
    halves = round(float(match[1]) / 30) if match[2] == "mins" else round(float(match[1]) * 2)
    start = _free(page, match[4], halves)
    beside = _hour_name(start // 2 + 1)
    label = next((e for e in page.elements if e.text == beside), None)
    top = 0.0 if label is None else label.point.y + (start % 2) * HALF_HOUR
    end = top + (halves - 1) * HALF_HOUR
    if label is None or top < HIGHEST or end > LOWEST:
        return _to_hour(page, start)
    drag = Drag(Point(CALENDAR_X, top), Point(CALENDAR_X + 0.1, end))
    from_to = f"{_time_name(start)} to {_time_name(start + halves)}"
    return Move(f'Make the event from {from_to}: drag one row lower, beside "{beside}".', then=(drag,))


def _name_event(page: PageState, name: str) -> Move | None:
    field, create = page.first(id="event-name"), page.first("button", text="Create")
    if field is not None and field.value != name:
        return fill(field, name)
    if create is None or not any(create.holds(e.point) for e in page.elements):
        return Move("The name is in; scroll down to the buttons.", then=(Scroll("down", notches=1),))
    return click(create, "The name is in; click {label}.")


def _free(page: PageState, window: str, halves: int) -> int:
    """The half hour of the day to begin at. Between noon and four another event may be there, or in the row below,
    where the drag goes."""
    if window == "8AM":
        return 20
    if window == "4PM":
        return 32
    taken = int(page.ask("Math.round((parseFloat(document.getElementById('randomEvent1').style.top) - 4) / 20.42)"))
    return 25 if taken >= 25 + ROW + halves else 32 - halves


def _hour_name(hour: int) -> str:
    return f"{(hour - 1) % 12 + 1}{'am' if hour < 12 else 'pm'}"


def _time_name(half: int) -> str:
    name = _hour_name(half // 2)
    return name.replace("am", ":30am").replace("pm", ":30pm") if half % 2 else name


def _to_hour(page: PageState, start: int) -> Move:
    """Scrolls by whole notches to where the row of a half hour is well inside of what is seen."""
    hours = {_hour_name(n): n for n in range(24)}
    first = next((e for e in page.elements if e.text in hours), None)
    scrolled = 0.0 if first is None else (hours[first.text] * HOUR + LABEL) / NOTCH - first.point.y * HEIGHT / NOTCH
    wanted = int((start / 2 * HOUR + HOUR + LABEL) / NOTCH - 0.35)
    notches = max(1, round(abs(wanted - scrolled)))
    step = Scroll("down" if wanted > scrolled else "up", notches=notches)
    said = f"It shows {first.text}; " if first is not None else ""
    return Move(f"{said}for {_time_name(start)} scroll {step.direction} by {notches}.", then=(step,))


PLANS = {
    "daily-calendar": daily_calendar,
    "highlight-text": highlight_text,
    "highlight-text-2": highlight_text_2,
    "resize-textarea": resize_textarea,
    "text-editor": text_editor,
}
