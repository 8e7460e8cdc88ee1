"""Several replies to one question: which of them is acted on, and how many are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from threading import Event

import pytest

from agent_core.actions import Action, Click, Drag, Finished, Point, Scroll, Type
from agent_core.best_of import asked, same_act
from agent_core.dialects.elements import Elements
from agent_core.limits import Limits, limits_of
from agent_core.models.scripted import Scripted
from agent_core.parts import Parts
from agent_core.safety.policy import Policy
from agent_core.settings import RunSettings, Settings
from agent_core.step import Box, Element, Message, Prompt, Reply, Screenshot, Transform
from agent_core.traces.store import NoTrace
from training.sandboxes.pretend import Form, PretendDesktop

SAVE, CANCEL = Box(0.1, 0.1, 0.3, 0.2), Box(0.5, 0.1, 0.7, 0.2)
SHOT = Screenshot(
    b"", 1000, 1000, Transform("1", 0, 0, 1000, 1000),
    elements=(Element("button", "Save", SAVE), Element("button", "Cancel", CANCEL)),
)  # fmt: skip
DIALECT = Elements()
PROMPT = Prompt((Message("user", "Save it."),))
ON_SAVE, BESIDE, ON_CANCEL = Click(Point(0.12, 0.12)), Click(Point(0.28, 0.18)), Click(Point(0.6, 0.15))


class Drawing(Scripted):
    """A script whose further replies are drawn."""

    def __init__(self, first: str, drawn: list[str]) -> None:
        super().__init__([first])
        self._drawn: Iterator[str] = iter(drawn)
        self.draws = 0

    def draw(self, prompt: Prompt, stop: Event) -> Reply:
        self.draws += 1
        return Reply(next(self._drawn), think_ms=10.0)


def say(*actions: Action, thought: str = "Go on.") -> str:
    return DIALECT.write(thought, actions, SHOT)


def choose(first: str, drawn: list[str], replies: int = 5) -> tuple[tuple[Action, ...], int, Reply]:
    model = Drawing(first, drawn)
    desktop = PretendDesktop(Form("Account", []))
    parts = Parts(desktop, DIALECT, model, Policy().decide, NoTrace(), limits=Limits(replies=replies))
    reply, intent = asked(parts, PROMPT, SHOT, Event(), None)
    return intent.actions, model.draws, reply


def test_the_majority_wins_wherever_on_the_element_it_points() -> None:
    actions, _, reply = choose(say(ON_CANCEL), [say(ON_SAVE), say(BESIDE, thought="Other words."), say(ON_SAVE)] * 2)
    assert actions == (ON_SAVE,)
    assert reply.think_ms >= 30


def test_a_tie_goes_to_the_first_reply() -> None:
    assert choose(say(ON_CANCEL), [say(ON_SAVE)], replies=2)[0] == (ON_CANCEL,)
    drawn = [say(ON_SAVE), say(ON_CANCEL), say(BESIDE)]
    assert choose(say(ON_CANCEL), drawn, replies=4)[0] == (ON_CANCEL,)


@pytest.mark.parametrize("first", ["no action at all", "Thought: x\nAction: click(point='here')"])
def test_what_cannot_be_read_has_no_vote(first: str) -> None:
    assert choose(first, [first, say(ON_SAVE), first, first])[0] == (ON_SAVE,)
    assert choose(say(ON_SAVE), [first] * 4)[0] == (ON_SAVE,)


def test_no_more_is_drawn_than_can_change_the_outcome() -> None:
    assert choose(say(ON_SAVE), [say(ON_SAVE)] * 4)[1] == 2  # three of five agree
    assert choose(say(ON_SAVE), [], replies=1)[1] == 0


def test_a_stop_ends_the_drawing_and_a_script_is_asked_once() -> None:
    stop = Event()
    stop.set()
    model = Drawing(say(ON_SAVE), [])
    desktop = PretendDesktop(Form("Account", []))
    parts = Parts(desktop, DIALECT, model, Policy().decide, NoTrace(), limits=Limits(replies=9))
    asked(parts, PROMPT, SHOT, stop, None)
    assert model.draws == 0
    once = replace(parts, model=Scripted([say(ON_CANCEL)]))
    assert asked(once, PROMPT, SHOT, Event(), None)[1].actions == (ON_CANCEL,)


def test_the_same_act_is_the_same_kind_on_the_same_element() -> None:
    assert same_act(ON_SAVE, BESIDE, SHOT)
    assert not same_act(ON_SAVE, ON_CANCEL, SHOT)
    assert not same_act(Click(Point(0.9, 0.8)), Click(Point(0.9, 0.9)), SHOT)  # nothing was read there
    assert not same_act(Scroll("up", ON_SAVE.at), Scroll("down", ON_SAVE.at), SHOT)
    assert not same_act(Drag(ON_SAVE.at, ON_SAVE.at), Drag(ON_SAVE.at, BESIDE.at), SHOT)
    assert same_act(Drag(ON_SAVE.at, ON_CANCEL.at), Drag(BESIDE.at, ON_CANCEL.at), SHOT)
    assert not same_act(Type("a"), Type("b"), SHOT)
    assert same_act(Finished("7"), Finished("7"), SHOT)


def test_the_setting_reaches_the_run() -> None:
    assert limits_of(Settings(run=RunSettings(best_of=5, max_steps=7))) == replace(
        limits_of(Settings()), replies=5, steps=7
    )
