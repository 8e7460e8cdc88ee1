"""Plans for dates, menus, sliders and texts: the teachers in a real Chromium, and what their thoughts say."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from agent_core.actions import Hotkey
from agent_core.screen.elements import ElementReader
from training.tasks.miniwob import PLANS, MiniWob
from training.tasks.miniwob_booking import choose_date
from training.tasks.miniwob_check import check
from training.tasks.miniwob_page import Node, PageState
from training.tasks.miniwob_plans import click_checkboxes
from training.tasks.miniwob_sliders import guess_number, move_to
from training.tasks.teacher import Move


@pytest.fixture(scope="module")
def miniwob() -> Iterator[MiniWob]:
    if find_spec("miniwob") is None:
        pytest.skip("needs the package miniwob")
    opened = MiniWob(ElementReader(threads=1))
    yield opened
    opened.close()


@pytest.mark.browser
@pytest.mark.parametrize("task", ["choose-date", "click-menu", "click-scroll-list", "use-spinner", "highlight-text"])
def test_the_teacher_solves_the_task_through_the_loop(miniwob: MiniWob, task: str) -> None:
    tally = check(task, miniwob, [1])
    assert tally.solved == 1, tally.failures


def node(tag: str, **told: Any) -> Node:
    plain: dict[str, Any] = dict.fromkeys(("type", "id", "cls", "text", "own", "value", "label", "row"), "")
    plain |= {"checked": False, "disabled": False, "focused": False, "index": 0, "room_below": 0.0, "room_above": 0.0}
    plain |= {"left": 0.0, "top": 60.0, "right": 50.0, "bottom": 80.0}
    return Node(tag=tag, **(plain | told))


def page(query: str, *nodes: Node, said: tuple[str, ...] = ()) -> PageState:
    return PageState(query, nodes, lambda script: None, said)


def said_by(move: Move | None) -> str:
    assert move is not None
    return move.say


def test_the_thought_says_which_boxes_are_left() -> None:
    query = "Select b, a, c and click Submit."

    def boxes(*ticked: str) -> PageState:
        inputs = [node("input", type="checkbox", label=name, checked=name in ticked) for name in "abcd"]
        return page(query, *inputs, node("button", text="Submit"))

    assert said_by(click_checkboxes(boxes())) == "Tick {label}; then a, c."
    assert said_by(click_checkboxes(boxes("b"))) == "Tick {label}; then c."
    assert said_by(click_checkboxes(boxes("a", "b"))) == "Tick {label}."
    assert said_by(click_checkboxes(boxes("a", "b", "d"))) == "Untick {label}."
    assert said_by(click_checkboxes(boxes("a", "b", "c"))) == "All are ticked; click {label}."


def test_a_number_is_brought_near_by_pages_then_by_a_few_presses_at_a_time() -> None:
    far, near = move_to(40, 90), move_to(3, -1, first=(Hotkey(("tab",)),))
    assert (far.say, far.then) == ("It shows 40; 90 is 50 more: press pageup x 1.", (Hotkey(("pageup",)),))
    assert near.say == "It shows 3; -1 is 4 less: press tab, then down x 4."
    assert near.then == (Hotkey(("tab",)), *[Hotkey(("down",))] * 4)
    assert move_to(0, 9).say == "It shows 0; 9 is 9 more: press up x 5."
    assert move_to(0, 30, page_step=0).then == (Hotkey(("up",)),) * 5
    assert move_to(1, 19, page_step=4).say == "It shows 1; 19 is 18 more: press pageup x 4."
    assert move_to(17, 19, page_step=4).then == (Hotkey(("up",)),) * 2


def test_a_guess_halves_what_the_thoughts_and_the_page_leave() -> None:
    query, field = "Guess the number between 0-9 and press Submit.", node("input", id="tt")
    told = node("div", id="higher", text="The number is higher than 1.")
    assert said_by(guess_number(page(query, field))) == "It is between 0 and 9. Press tab, type 4, enter."
    said = ("It is lower than 4: between 0 and 3. Type 1, enter.",)
    assert said_by(guess_number(page(query, field, told, said=said))).startswith(
        "It is higher than 1: between 2 and 3. "
    )


def test_the_calendar_goes_back_by_its_keys_and_no_more_than_five_months_at_once() -> None:
    field = node("input", id="datepicker")
    title = node("div", cls="ui-datepicker-title", text="December 2016")
    move = choose_date(page("Select 03/05/2016 as the date and hit submit.", field, title))
    assert move is not None
    assert move.say == "It shows December 2016; March is 9 months earlier: press pageup x 5."
    assert move.then == (Hotkey(("pageup",)),) * 5


def test_every_task_has_one_plan() -> None:
    for name in ("book-flight", "click-menu", "daily-calendar", "form-sequence", "order-food", "use-slider-2"):
        assert callable(PLANS[name])
