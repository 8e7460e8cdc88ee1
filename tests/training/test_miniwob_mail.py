"""Teachers of the mail program, the shell, lists that are sorted by dragging, and of what must be kept in mind."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from threading import Event

import pytest

from agent_core import actions as act
from agent_core.dialects.elements import Elements
from agent_core.screen.elements import ElementReader
from agent_core.step import Prompt
from training.tasks.miniwob import PLANS, MiniWob
from training.tasks.miniwob_boxes import LINES
from training.tasks.miniwob_check import check

pytestmark = pytest.mark.browser
STOP = Event()


@pytest.fixture(scope="module")
def miniwob() -> Iterator[MiniWob]:
    if find_spec("miniwob") is None:
        pytest.skip("needs the package miniwob")
    opened = MiniWob(ElementReader(threads=1))
    yield opened
    opened.close()


@pytest.mark.parametrize(
    "task",
    [
        "email-inbox-reply",
        "email-inbox-nl-turk",
        "terminal",
        "odd-or-even",
        "ascending-numbers",
        "drag-items",
        "drag-sort-numbers",
        "social-media",
        "simple-arithmetic",
    ],
)
def test_the_teacher_solves_the_task_through_the_loop(miniwob: MiniWob, task: str) -> None:
    tally = check(task, miniwob, [1])
    assert tally.solved == 1, tally.failures


def test_a_drag_says_from_where_to_where(miniwob: MiniWob) -> None:
    """The end is a round number of thousandths beside a place that was read, so that it can be told from the screen."""
    episode = miniwob.open("drag-items", 1, "train")  # Drag Gerda to the 3rd position.
    assert episode.reader is not None
    read = episode.reader.read(shot := episode.operator.look())
    intent = Elements().parse(episode.teacher.reply(Prompt(()), STOP).text, shot)
    (drag,) = intent.actions
    assert isinstance(drag, act.Drag)
    start = next(e for e in read if "Gerda" in e.text)
    end = next(e for e in read if "Alvera" in e.text)
    assert "Number 2 goes to number 3" in intent.thought
    assert drag.start.y == pytest.approx(start.point.y, abs=0.001)
    assert drag.end.y == pytest.approx(end.point.y + 0.1, abs=0.001)
    episode.close()


def test_places_that_vanish_are_kept_in_the_thought(miniwob: MiniWob) -> None:
    episode = miniwob.open("ascending-numbers", 1, "train")
    assert episode.reader is not None
    read = episode.reader.read(shot := episode.operator.look())
    intent = Elements().parse(episode.teacher.reply(Prompt(()), STOP).text, shot)
    two = next(e for e in read if e.text == "2").point
    assert f"2 at {round(two.x * 1000)} {round(two.y * 1000)}" in intent.thought
    episode.close()


def test_every_task_of_these_pages_is_known_and_every_line_of_the_game_is_three_cells() -> None:
    kinds = ("", "-delete", "-forward", "-forward-nl", "-important", "-noscroll", "-reply", "-star-reply")
    assert {f"email-inbox{kind}" for kind in kinds} <= set(PLANS)
    assert len(LINES) == len({frozenset(line) for line in LINES}) == 8
