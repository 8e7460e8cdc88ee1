"""Small forms on the pretend desktop: short enough for a model of a hundred thousand weights to learn by trial.

The same desktop, teacher and score as the suite `pretend`, with two to four controls that have plain words on them and
stand at the same place each time, as in the window of one program. Still in several turns: fill none, one or two fields
in, press the named button, say that it is done. It shows whether a trainer learns; it says nothing about success in
real programs.
"""

from __future__ import annotations

import random

from agent_core.dialects.elements import Elements
from agent_core.step import Box
from training.sandboxes.pretend import Form, PretendDesktop, Widget
from training.tasks.desk_words import CITIES, FIRST_NAMES, words
from training.tasks.pretend import FormTeacher, Goal
from training.tasks.task import Episode, Split, check_seed

LABELS = words("Name City Phone Title Street Room Topic Code Guest Team Owner Place")
BUTTONS = words("OK Save Send Apply Next Back Close Help Print Reset")
FIELDS = {"press": 0, "fill": 1, "fill_two": 2}  # task -> how many fields it names
AFTER = "Done"


class PretendSmall:
    """The suite. Episodes are the same for the same seed."""

    name = "pretend_small"
    evaluated: tuple[str, ...] = tuple(FIELDS)
    episodes = 50

    def tasks(self) -> tuple[str, ...]:
        return self.evaluated

    def open(self, task_name: str, seed: int, split: Split) -> Episode:
        """Raises ValueError for an unknown task or a seed of the other split."""
        check_seed(seed, split)
        if task_name not in FIELDS:
            raise ValueError(f"there is no task {task_name!r}; there are {', '.join(FIELDS)}")
        text, form, goal = _form(random.Random(f"small {task_name} {seed}"), FIELDS[task_name])
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


def _form(rng: random.Random, named: int) -> tuple[str, Form, Goal]:
    """A task text, its window, and what it must come to. There is one field more than is named, at most two in all."""
    labels = rng.sample(LABELS, min(2, named + 1) if named else 0)
    values = {label: rng.choice((*FIRST_NAMES, *CITIES)) for label in labels[:named]}
    names = rng.sample(BUTTONS, 2 if named else rng.randint(2, 3))
    press = rng.choice(names)
    widgets = [Widget("field", label, _field(label)) for label in sorted(labels, key=LABELS.index)]
    widgets += [Widget("button", name, _button(name)) for name in sorted(names, key=BUTTONS.index)]
    listed = " and ".join(f"{label} is {value}" for label, value in values.items())
    text = f"Press {press} once {listed}." if listed else f"Press {press}."
    return text, Form("", widgets, closes=tuple(names), after=AFTER), Goal(values, {}, press)


def _field(label: str) -> Box:
    """Six rows of two fields."""
    row, column = divmod(LABELS.index(label), 2)
    return Box(0.05 + 0.5 * column, 0.05 + 0.1 * row, 0.45 + 0.5 * column, 0.12 + 0.1 * row)


def _button(name: str) -> Box:
    """Two rows of five buttons below them."""
    row, column = divmod(BUTTONS.index(name), 5)
    return Box(0.03 + 0.19 * column, 0.7 + 0.12 * row, 0.19 + 0.19 * column, 0.78 + 0.12 * row)
