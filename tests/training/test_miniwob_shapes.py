"""The teachers of the tasks of shapes, through the same loop as any run, on real pages."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from agent_core.screen.elements import ElementReader
from agent_core.step import Box, Element
from training.tasks.miniwob import MiniWob
from training.tasks.miniwob_check import check
from training.tasks.miniwob_shapes import PLANS, matches

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def miniwob() -> Iterator[MiniWob]:
    if find_spec("miniwob") is None:
        pytest.skip("needs the package miniwob")
    opened = MiniWob(ElementReader(threads=1))
    yield opened
    opened.close()


@pytest.mark.parametrize(
    "task", ["click-color", "click-shape", "count-sides", "find-midpoint", "drag-circle", "drag-shapes"]
)
def test_the_teacher_solves_the_task_through_the_loop(miniwob: MiniWob, task: str) -> None:
    assert task in PLANS
    tally = check(task, miniwob, [1])
    assert tally.solved == 1, tally.failures


@pytest.mark.parametrize(
    ("words", "wanted", "fits"),
    [
        ("large yellow circle", "large circle", True),
        ("large yellow circle", "small item", False),
        ("small cyan letter O", "aqua letter", True),
        ("small cyan letter O", "O", True),
        ("small cyan letter O", "o", False),
        ("large black digit 7", "black digit", True),
        ("large black digit 7", "shape", False),
        ("small red square", "red rectangle", True),
        ("red square framed", "red shape", True),
    ],
)
def test_icons_are_matched_with_what_a_task_says(words: str, wanted: str, fits: bool) -> None:
    assert matches(Element("icon", words, Box(0.1, 0.1, 0.2, 0.2)), wanted) is fits
