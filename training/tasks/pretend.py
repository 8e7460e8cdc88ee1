"""Random forms on the pretend desktop: what every other task is made of, in endless variety and in milliseconds.

Windows with random labels at random places; the task names one control, or fields, ticks and a choice with a button to
end with. A policy learns here to find a label in the list, copy its place, see what is done and stop. It is never what
success is measured on.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from threading import Event

from agent_core.actions import Action, Click, Finished, Type
from agent_core.dialects.elements import Elements
from agent_core.errors import ModelError
from agent_core.protocols import Dialect
from agent_core.step import Box, Element, ElementKind, Prompt, Reply, Screenshot
from training.sandboxes.pretend import Form, PretendDesktop, Widget
from training.tasks.desk_words import FIRST_NAMES, LAST_NAMES, sentence
from training.tasks.task import Episode, Split, check_seed

_LABELS = (
    "Name Email Address City Phone Country Company Title Subject Message Note Username Password Street "
    "Search Price Quantity Date Time Colour Comment Topic Room Guests Language Project Amount Code "
    "Department Order Invoice"
)
_BUTTONS = (
    "OK Submit Save Apply Next Back Cancel Close Login Register Search Continue Done Start Edit Copy Help "
    "View Open Print Refresh Add Update Reset Confirm Finish Order Go Yes No Export Import Preview Find "
    "Previous Ok submit okay"
)
LABELS, BUTTONS = _LABELS.split(), _BUTTONS.split()
AFTER = ("Thank you", "Saved.", "Welcome back!", "The form was sent.", "Done", "Success", "Your order is on its way")


class Pretend:
    """The suite. Episodes are the same for the same seed."""

    name = "pretend"
    evaluated: tuple[str, ...] = ("click", "fill", "tick", "choose")
    episodes = 20

    def tasks(self) -> tuple[str, ...]:
        return self.evaluated

    def open(self, task_name: str, seed: int, split: Split) -> Episode:
        """Raises ValueError for an unknown task or a seed of the other split."""
        check_seed(seed, split)
        makers: dict[str, Callable[[random.Random], tuple[str, Form, Goal]]] = {
            "click": _click,
            "fill": _fill,
            "tick": _tick,
            "choose": _choose,
        }
        if task_name not in makers:
            raise ValueError(f"there is no task {task_name!r}; there are {', '.join(makers)}")
        text, form, goal = makers[task_name](random.Random(f"{task_name} {seed}"))
        desktop = PretendDesktop(form)
        return Episode(
            task=text,
            operator=desktop,
            teacher=FormTeacher(desktop, goal, Elements()),
            score=lambda: 1.0 if goal.reached(form) else 0.0,
            close=desktop.close,
        )

    def close(self) -> None:
        """Nothing is kept running."""


class Goal:
    """What the form must come to: values of fields, states of boxes, and what is pressed at the end."""

    def __init__(self, fields: dict[str, str], states: dict[str, bool], press: str, said: str = "") -> None:
        self.fields, self.states, self.press, self.said = fields, states, press, said

    def reached(self, form: Form) -> bool:
        filled = all(form.named(label, "field").value == text for label, text in self.fields.items())
        set_ = all(w.on == self.states[w.label] for w in form.widgets if w.label in self.states and w.on is not None)
        return filled and set_ and form.submitted == self.press


class FormTeacher:
    """Looks at the form itself and says the next move; the same from any state."""

    name = "form teacher"

    def __init__(self, desktop: PretendDesktop, goal: Goal, dialect: Dialect) -> None:
        self.desktop, self.goal, self.dialect = desktop, goal, dialect

    def reply(self, prompt: Prompt, stop: Event, on_text: Callable[[str], None] | None = None) -> Reply:
        shot = self.desktop.look()
        thought, actions = self.move(shot)
        return Reply(self.dialect.write(thought, actions, shot))

    def close(self) -> None:
        """Nothing is held."""

    def move(self, shot: Screenshot) -> tuple[str, list[Action]]:
        """The next thought and actions."""
        form, goal = self.desktop.form, self.goal
        if form.submitted:
            return "The task is done.", [Finished()]
        for label, text in goal.fields.items():
            if form.named(label, "field").value != text:
                place = _seen(shot, label, "field").point
                return f'Type "{text}" into the field "{label}".', [Click(place), Type(text)]
        for widget in form.widgets:
            if widget.label in goal.states and widget.on is not None and widget.on != goal.states[widget.label]:
                if widget.kind == "radio" and not goal.states[widget.label]:
                    continue
                verb = "Select" if widget.kind == "radio" else "Tick" if not widget.on else "Untick"
                return f'{verb} "{widget.label}".', [Click(_seen(shot, widget.label, widget.kind).point)]
        said = goal.said or ("Click" if not (goal.fields or goal.states) else "All is set; click")
        return f'{said} "{goal.press}".', [Click(_seen(shot, goal.press, None).point)]


def _seen(shot: Screenshot, label: str, kind: ElementKind | None) -> Element:
    for element in shot.elements:
        if element.text == label and kind in (None, element.kind):
            return element
    raise ModelError(f'"{label}" is not on the screen.')


# -- makers ------------------------------------------------------------------------------------------------------------


def _word(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(FIRST_NAMES)
    if kind < 0.5:
        return f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"
    if kind < 0.65:
        return "".join(rng.choices(string.ascii_letters + string.digits, k=rng.randint(2, 7)))
    if kind < 0.75:
        return f"{rng.choice(FIRST_NAMES).lower()}.{rng.choice(LAST_NAMES).lower()}@example.org"
    if kind < 0.87:
        return str(rng.randint(1, 99999))
    return sentence(rng)


def _label(rng: random.Random) -> str:
    """A label of a box or link: a word, two, or random letters as on test pages."""
    kind = rng.random()
    if kind < 0.4:
        return "".join(rng.choices(string.ascii_letters + string.digits, k=rng.randint(2, 7)))
    if kind < 0.7:
        return rng.choice(LABELS).lower()
    return f"{rng.choice(LABELS)} {rng.choice(LAST_NAMES).lower()}"


def _distinct(rng: random.Random, draw: Callable[[random.Random], str], n: int) -> list[str]:
    found: list[str] = []
    while len(found) < n:
        new = draw(rng)
        if new.lower() not in (f.lower() for f in found):
            found.append(new)
    return found


class _Layout:
    """Hands out rows from top to bottom at random widths, so that places are never the same twice."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.y = rng.uniform(0.02, 0.25)
        self.pitch = rng.uniform(0.045, 0.09)

    def row(self) -> float:
        self.y = min(0.94, self.y + self.pitch * self.rng.uniform(0.8, 1.3))
        return self.y

    def box(self, y: float, x: float, wide: float, high: float = 0.035) -> Box:
        left = min(max(0.0, x), 0.98 - wide)
        return Box(left, y, left + wide, min(1.0, y + high))


def _noise(rng: random.Random, layout: _Layout, taken: list[str], n: int) -> list[Widget]:
    """Things that the task does not name."""
    out = []
    for _ in range(n):
        label = _label(rng) if rng.random() < 0.6 else sentence(rng)
        if label not in taken:
            taken.append(label)
            out.append(
                Widget("text", label, layout.box(layout.row(), rng.uniform(0.02, 0.5), 0.02 + 0.012 * len(label)))
            )
    return out


def _window(rng: random.Random) -> str:
    return rng.choice(
        ("", f"{rng.choice(LABELS)} - {rng.choice(LAST_NAMES)}", rng.choice(LABELS), "Untitled window", "Form")
    )


def _buttons(rng: random.Random, layout: _Layout, names: list[str]) -> list[Widget]:
    y = layout.row()
    x = rng.uniform(0.02, 0.4)
    return [Widget("button", name, layout.box(y, x + i * 0.18, 0.14, 0.05)) for i, name in enumerate(names)]


def _click(rng: random.Random) -> tuple[str, Form, Goal]:
    layout = _Layout(rng)
    kind: ElementKind = rng.choice(("button", "text"))
    names = _distinct(rng, (lambda r: r.choice(BUTTONS)) if kind == "button" else _label, rng.randint(2, 7))
    wanted = rng.choice(names)
    widgets = _noise(rng, layout, list(names), rng.randint(0, 4))
    for name in names:
        where = layout.box(layout.row(), rng.uniform(0.02, 0.8), 0.03 + 0.012 * len(name), 0.04)
        widgets.append(Widget(kind, name, where))
    rng.shuffle(widgets)
    noun = "button" if kind == "button" else rng.choice(("link", "text", "tab", "item"))
    text = rng.choice(
        (
            f'Click on the "{wanted}" {noun}.',
            f'Click the {noun} "{wanted}".',
            f"Press {wanted}.",
            f'Find the {noun} "{wanted}" and click on it.',
            f"Open {wanted}.",
            f"Choose {wanted} in this window.",
            f"Click {wanted}",
        )
    )
    return (
        text,
        Form(_window(rng), _sorted(widgets), closes=tuple(names), after=rng.choice(AFTER)),
        Goal({}, {}, wanted),
    )


def _fill(rng: random.Random) -> tuple[str, Form, Goal]:
    layout = _Layout(rng)
    labels = _distinct(rng, lambda r: r.choice(LABELS), rng.randint(1, 4))
    wanted = rng.sample(labels, rng.randint(1, min(3, len(labels))))
    values = {label: _word(rng) for label in wanted}
    widgets: list[Widget] = []
    for label in labels:
        y = layout.row()
        widgets.append(Widget("text", label, layout.box(y, 0.04, 0.02 + 0.012 * len(label))))
        widgets.append(Widget("field", label, layout.box(y, rng.uniform(0.3, 0.4), rng.uniform(0.2, 0.5))))
    names = _distinct(rng, lambda r: r.choice(BUTTONS), rng.randint(1, 3))
    press = rng.choice(names)
    widgets += _noise(rng, layout, [*labels, *names], rng.randint(0, 3)) + _buttons(rng, layout, names)
    parts = [f'{k} "{v}"' if rng.random() < 0.5 else f"{k} {v}" for k, v in values.items()]
    listed = ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]
    first, value = next(iter(values.items()))
    options = [
        f"Enter {listed} and press {press}.",
        f"Fill the form in with {listed}, then click {press}.",
        f'Type the following: {listed}. Then press "{press}".',
        f"Set {listed} and {press.lower()} it with the button {press}.",
    ]
    if len(values) == 1:
        options += [
            f'Enter "{value}" into the text field {first} and press {press}.',
            f"Put {value} into the field {first} and click on {press}.",
        ]
    return (
        rng.choice(options),
        Form(_window(rng), _sorted(widgets), closes=tuple(names), after=rng.choice(AFTER)),
        Goal(values, {}, press),
    )


def _tick(rng: random.Random) -> tuple[str, Form, Goal]:
    layout = _Layout(rng)
    labels = _distinct(rng, _label, rng.randint(2, 6))
    wanted = rng.sample(labels, rng.randint(1, min(4, len(labels))))
    x = rng.uniform(0.02, 0.3)
    widgets = [Widget("check", label, layout.box(layout.row(), x, 0.02, 0.027), on=False) for label in labels]
    names = _distinct(rng, lambda r: r.choice(BUTTONS), rng.randint(1, 2))
    press = rng.choice(names)
    widgets += _buttons(rng, layout, names)
    listed = ", ".join(wanted)
    text = rng.choice(
        (
            f"Select {listed} and click {press}.",
            f"Tick {listed} and press {press}.",
            f"Check the boxes {listed}, then click on {press}.",
            f"Switch on {listed} and confirm with {press}.",
        )
    )
    states = {label: label in wanted for label in labels}
    return (
        text,
        Form(_window(rng), _sorted(widgets), closes=tuple(names), after=rng.choice(AFTER)),
        Goal({}, states, press),
    )


def _choose(rng: random.Random) -> tuple[str, Form, Goal]:
    layout = _Layout(rng)
    labels = _distinct(rng, _label, rng.randint(2, 6))
    wanted = rng.choice(labels)
    x = rng.uniform(0.02, 0.3)
    widgets = [Widget("radio", label, layout.box(layout.row(), x, 0.02, 0.027), on=False) for label in labels]
    names = _distinct(rng, lambda r: r.choice(BUTTONS), rng.randint(1, 2))
    press = rng.choice(names)
    widgets += _noise(rng, layout, [*labels, *names], rng.randint(0, 2)) + _buttons(rng, layout, names)
    text = rng.choice(
        (
            f"Select {wanted} and click {press}.",
            f'Choose "{wanted}", then press {press}.',
            f"Pick the option {wanted} and click on {press}.",
            f"Set the choice to {wanted} and press {press}.",
        )
    )
    states = {label: label == wanted for label in labels}
    return (
        text,
        Form(_window(rng), _sorted(widgets), closes=tuple(names), after=rng.choice(AFTER)),
        Goal({}, states, press),
    )


def _sorted(widgets: list[Widget]) -> list[Widget]:
    """In reading order, as a reader of pixels would list them."""
    return sorted(widgets, key=lambda w: (round(w.box.top * 30), w.box.left))
