"""What the guard makes of the last actions, in tables; the pace; and what the loop does with them."""

from __future__ import annotations

import time
from concurrent.futures import Future
from threading import Event, Timer

import pytest

from agent_core import loop
from agent_core.actions import (
    Action,
    Click,
    DoubleClick,
    Drag,
    Finished,
    Hotkey,
    Point,
    Press,
    Scroll,
    Terminal,
    Type,
    Wait,
)
from agent_core.dialects.elements import Elements
from agent_core.limits import Beat, Limits, Pace, Until, guard, same_action
from agent_core.models.scripted import Scripted
from agent_core.step import Box, Outcome, Run, Screenshot, Status, Tier, Turn, Verdict
from agent_core.traces.store import NoTrace
from training.sandboxes.pretend import Form, PretendDesktop, Widget

A, B = Click(Point(0.2, 0.2)), Click(Point(0.7, 0.7))


def beats(*acts: tuple[Action | tuple[Action, ...], int], first: int = 0) -> list[Beat]:
    """Beats from (action, the screen after it); the first one began with the screen `first`."""
    out, before = [], first
    for action, after in acts:
        actions = action if isinstance(action, tuple) else (action,)
        out.append(Beat(actions, "it", before, after))
        before = after
    return out


NEAR = Click(Point(0.203, 0.198))
DIFFERENT: list[Action] = [A, B, Hotkey(("tab",)), Type("x"), DoubleClick(A.at), Hotkey(("esc",))]


@pytest.mark.parametrize(
    ("word", "acts"),
    [
        ("", beats()),
        ("", beats((A, 0), (A, 0))),
        ("tell", beats((A, 0), (A, 0), (A, 0))),
        ("tell", beats((A, 0), (NEAR, 0), (A, 0))),  # a hand's breadth makes no difference
        ("tell", beats((A, 1), (A, 0), (A, 1))),  # a caret that blinks, or a box ticked on and off
        ("", beats((A, 1), (A, 2), (A, 3))),  # a list paged through
        ("", beats((A, 1), (A, 2), (A, 2))),  # its end has only just come
        ("", beats((A, 0), (A, 0), (B, 0))),
        ("tell", beats(*[(A, 0)] * 4)),
        ("call", beats(*[(A, 0)] * 5)),
        ("call", beats((B, 3), (B, 4), *[(A, 4)] * 5)),
        ("tell", beats(((A, B), 0), ((A, B), 0), ((A, B), 0))),  # the same reply
        ("", beats(((A, B), 0), (A, 0), ((A, B), 0))),
        ("", beats((Type("a"), 1), (Type("a"), 2), (Type("a"), 3))),
        ("tell", beats(*[(Type("a"), 0)] * 3)),
        ("", beats((Type("a"), 0), (Type("b"), 0), (Type("c"), 0))),
        # waiting
        ("", beats((Wait(), 0), (Wait(), 0))),
        ("tell", beats((Wait(1), 0), (Wait(2), 0), (Wait(5), 0))),
        ("call", beats(*[(Wait(), 0)] * 5)),
        ("", beats((Wait(), 1), (Wait(), 2), (Wait(), 3), (Wait(), 4), (Wait(), 5))),  # something goes on there
        # scrolling
        ("", beats((Scroll("down"), 1), (Scroll("down"), 2))),
        ("", beats((Scroll("down"), 1), (Scroll("down"), 1))),
        ("tell", beats((Scroll("down"), 1), (Scroll("down"), 1), (Scroll("down", notches=9), 1))),
        ("call", beats(*[(Scroll("down"), 0)] * 5)),
        ("", beats((Scroll("down"), 0), (Scroll("up"), 0))),
        # commands: their numbers stand for what they printed
        ("tell", beats(*[(Terminal("make"), 7)] * 3, first=7)),
        ("", [Beat((Terminal("make"),), "it", n, n) for n in range(9)]),
        # back and forth
        ("", beats((A, 1), (B, 0), (A, 1), (B, 0), (A, 1))),
        ("call", beats((A, 1), (B, 0), (A, 1), (B, 0), (A, 1), (B, 0))),
        ("call", beats((A, 1), (B, 0), (A, 2), (B, 3), (A, 1), (B, 0))),  # with a caret that blinks
        ("", beats((A, 1), (B, 2), (A, 3), (B, 4), (A, 5), (B, 6))),  # a list filled line by line
        ("call", beats(*[(Scroll("down"), 1), (Scroll("up"), 0)] * 3)),
        # without effect
        ("", beats(*[(action, 0) for action in DIFFERENT[:5]])),
        ("call", beats(*[(action, 0) for action in DIFFERENT])),
        ("call", beats(*[(action, 0) for action in [*DIFFERENT[:3], Wait(), Press("shift"), *DIFFERENT[3:]]])),
        ("", beats(*[(action, n) for n, action in enumerate(DIFFERENT)])),
        ("", beats(*[(action, 0) for action in [*DIFFERENT[:5], Terminal("cp a b")]])),
        ("", beats(*[(Terminal(f"mkdir {n}"), 0) for n in range(8)])),
    ],
)
def test_what_the_guard_says(word: str, acts: list[Beat]) -> None:
    found = guard(acts)
    assert found.word == word
    assert bool(found.text) == bool(word)


def test_the_guard_says_what_was_tried() -> None:
    tried = [Beat((action,), words, 0, 0) for action, words in ((A, 'click on "Save"'), (B, "click"))] * 3
    assert guard(tried).text.endswith('click on "Save", then click.')
    assert 'click on "Save"' in guard(tried[:1] * 5).text


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (A, A, True),
        (A, NEAR, True),
        (A, B, False),
        (A, DoubleClick(A.at), False),
        (Drag(A.at, B.at), Drag(NEAR.at, B.at), True),
        (Drag(A.at, B.at), Drag(B.at, A.at), False),
        (Scroll("down", A.at), Scroll("down", B.at), False),
        (Scroll("down"), Scroll("down", B.at), True),
        (Hotkey(("a",)), Hotkey(("b",)), False),
        (Type("a"), Type("a"), True),
    ],
)
def test_what_is_the_same_action(a: Action, b: Action, same: bool) -> None:
    assert same_action(a, b) is same
    assert same_action(b, a) is same


def test_the_pace_holds_back_what_is_too_much_for_a_minute() -> None:
    now = 100.0
    pace = Pace(3, lambda: now)
    for _ in range(3):
        assert pace.delay() == 0
        pace.count()
        now += 10
    assert pace.delay() == 30  # the first was 30 s ago
    now += 30
    assert pace.delay() == 0
    pace.count()
    assert pace.delay() == 10
    assert Pace(0).delay() == 0


def test_until_is_the_stop_and_the_end_of_the_time() -> None:
    stop, left = Event(), 5.0
    until = Until(stop, lambda: left)
    assert not until.is_set()
    left = 0.0
    assert until.is_set()
    assert until.wait(10)
    left = 5.0
    Timer(0.05, stop.set).start()
    assert until.wait()
    assert until.is_set()


# -- in the loop -------------------------------------------------------------------------------------------------------

DIALECT = Elements()


def form() -> Form:
    """A button that does nothing, and one that ends the form."""
    return Form(
        "Form", [Widget("button", "Dead", Box(0.1, 0.1, 0.3, 0.2)), Widget("button", "Save", Box(0.5, 0.5, 0.7, 0.6))]
    )


def allow(action: Action, shot: Screenshot, task: str) -> Verdict:
    return Verdict("allow", Tier.R1, "The form is a sandbox.")


class Stuck(Scripted):
    """A model that clicks the dead button until it is told something; keeps its prompts."""

    def __init__(self, replies: list[Action], last: list[Action]) -> None:
        shot = PretendDesktop(form()).look()
        self.prompts: list[str] = []
        texts = iter([DIALECT.write("Go on.", (action,), shot) for action in replies + last])

        def answer(prompt: object) -> str:
            self.prompts.append(prompt.messages[-1].text)  # type: ignore[attr-defined]
            return next(texts)

        super().__init__(answer)


def go(desktop: PretendDesktop, model: Stuck, limits: Limits | None = None, **more: object) -> list[Turn]:
    base = loop.Parts(
        desktop,
        DIALECT,
        model,
        allow,
        NoTrace(),
        limits=limits or Limits(),
        **more,  # type: ignore[arg-type]
    )
    return list(loop.run_task(Run("r", "Do it.", 1.0), base, Event()))


DEAD = Click(Point(0.2, 0.15))


def test_the_model_is_told_after_three_and_the_run_ends_after_five_without_a_person() -> None:
    model = Stuck([DEAD] * 9, [])
    turns = go(PretendDesktop(form()), model)
    assert len(turns) == 5
    assert "tried" not in model.prompts[2]
    assert 'This was tried 3 times and nothing changed: click on "Dead"' in model.prompts[3]
    assert turns[-1].status is Status.LIMIT
    assert "led nowhere" in loop.ending(turns[-1])


def test_the_person_is_asked_after_five_and_their_answer_goes_on() -> None:
    asked: list[str] = []

    def answer(question: str, shot: Screenshot) -> Future[str | None]:
        asked.append(question)
        future: Future[str | None] = Future()
        future.set_result("Press Save.")
        return future

    model = Stuck([DEAD] * 7, [Click(Point(0.6, 0.55)), Finished()])
    turns = go(PretendDesktop(form()), model, answer=answer)
    assert asked == ['I have tried this 5 times and nothing new came of it: click on "Dead". What should I do?']
    assert "The user answered: Press Save." in model.prompts[5]
    assert turns[-1].status is Status.FINISHED


def test_what_is_too_much_for_a_minute_is_held_back_and_a_stop_ends_the_waiting() -> None:
    desktop, stop = PretendDesktop(form()), Event()
    model = Stuck([DEAD, Click(Point(0.6, 0.55)), Click(Point(0.9, 0.9))], [Finished()])
    parts = loop.Parts(desktop, DIALECT, model, allow, NoTrace(), limits=Limits(per_minute=2))
    Timer(0.5, stop.set).start()
    began = time.monotonic()
    turns = list(loop.run_task(Run("r", "Do it.", 1.0), parts, stop))
    assert 0.4 < time.monotonic() - began < 2
    assert len(desktop.done) == 2
    assert turns[-1].status is Status.STOPPED


class Slow(PretendDesktop):
    """A desktop on which waiting takes its time, as on a real one."""

    def do(self, action: Action, shot: Screenshot, stop: Event) -> Outcome:
        super().do(action, shot, stop)
        stopped = isinstance(action, Wait) and stop.wait(action.seconds)
        return Outcome(ok=not stopped, text="Stopped." if stopped else "")


@pytest.mark.parametrize("per_minute", [90, 1])
def test_one_long_action_does_not_outlive_the_time_of_the_run(per_minute: int) -> None:
    model = Stuck([DEAD, Wait(3600)], [Finished()])
    began = time.monotonic()
    turns = go(Slow(form()), model, Limits(seconds=0.6, per_minute=per_minute))
    assert time.monotonic() - began < 2
    assert turns[-1].status is Status.LIMIT
    assert "the time of this run" in loop.ending(turns[-1])
    outcome = turns[-1].steps[-1].outcome
    assert outcome is None if per_minute == 1 else outcome is not None and "broken off" in outcome.text
