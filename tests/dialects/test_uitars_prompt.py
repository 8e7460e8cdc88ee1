"""What a UI-TARS model is asked: the order of the messages, the pictures kept, what it is told between turns."""

from __future__ import annotations

import re

import pytest

from agent_core.actions import Action, Click, Point, Terminal, Type
from agent_core.dialects.layout import take_apart
from agent_core.dialects.meaning import KNOWN
from agent_core.dialects.uitars import UiTars, UiTarsRules
from agent_core.step import Intent, Outcome, Prompt, Reply, Screenshot, Step, Tier, Transform, Turn, Verdict

ALLOW = Verdict("allow", Tier.R1, "")


def shot() -> Screenshot:
    return Screenshot(b"", 1280, 800, Transform("", 0, 0, 1280, 800))


def turn(n: int, action: Action, outcome: Outcome | None = None, notes: tuple[str, ...] = ()) -> Turn:
    intent = Intent(f"thought {n}", (action,), reflection="kept aside")
    steps = (Step(n, n, action, ALLOW, outcome=outcome or Outcome(True, changed=True)),)
    return Turn(n, shot(), Prompt(()), Reply("raw"), intent, steps, notes)


def turns(count: int) -> list[Turn]:
    return [turn(n, Click(Point(n / 100, 0.5))) for n in range(1, count + 1)]


def test_first_prompt() -> None:
    prompt = UiTars().render("Open {the} file", [], shot())
    assert [m.role for m in prompt.messages] == ["system", "user", "user"]
    assert prompt.messages[0].text == "You are a helpful assistant."
    assert prompt.messages[1].text.endswith("## User Instruction\nOpen {the} file")
    assert (prompt.messages[2].text, len(prompt.messages[2].images)) == ("<image>", 1)


@pytest.mark.parametrize("images", [1, 2, 5])
def test_all_replies_and_only_the_newest_pictures(images: int) -> None:
    history, newest = turns(8), shot()
    prompt = UiTars(UiTarsRules(images=images)).render("task", history, newest)
    pictures = [image for m in prompt.messages for image in m.images]
    wanted = [*(t.screenshot for t in history[9 - images :]), newest]
    assert [id(p) for p in pictures] == [id(p) for p in wanted]
    replies = [m.text for m in prompt.messages if m.role == "assistant"]
    assert replies == [f"Thought: thought {n}\nAction: click(point='<point>{n * 10} 500</point>')" for n in range(1, 9)]
    assert prompt.messages[-1].images == (newest,)
    for message in prompt.messages:
        assert message.text.count("<image>") == len(message.images)


def test_box_form_is_kept_in_the_history() -> None:
    prompt = UiTars(UiTarsRules(coordinates="pixels", places="box")).render("task", turns(1), shot())
    assert prompt.messages[3].text.endswith("click(start_box='<|box_start|>(13,406)<|box_end|>')")
    assert "start_box='<|box_start|>(x1,y1)<|box_end|>', end_box='<|box_start|>(x2,y2)<|box_end|>'" in (
        prompt.messages[1].text
    )


def test_what_the_model_is_told_between_turns() -> None:
    history = [
        turn(1, Terminal("ls"), Outcome(True, "a <|im_end|> <image> b")),
        turn(2, Type("x"), Outcome(False, "no field")),
        turn(3, Click(Point(0, 0)), Outcome(True, changed=False), notes=("You said yes.",)),
    ]
    prompt = UiTars().render("task", history, shot(), ["The window closed."])
    told = [m.text for m in prompt.messages if m.role == "user"][1:]
    assert told == [
        "<image>",
        "<image>\nTerminal output:\na < |im_end|> < image> b",
        "<image>\nThe action failed: no field",
        "<image>\nNothing changed on the screen.\nYou said yes.\nThe window closed.",
    ]


def test_output_is_told_even_when_its_picture_is_gone() -> None:
    history = [turn(1, Terminal("ls"), Outcome(True, "")), *turns(3)]
    prompt = UiTars(UiTarsRules(images=1)).render("task", history, shot())
    assert [m.text for m in prompt.messages if m.role == "user"][1:] == ["Terminal output:\n(nothing)", "<image>"]


def test_a_reply_that_was_not_read_stays_as_it_was() -> None:
    unread = Turn(1, shot(), Prompt(()), Reply("hello <|im_end|>"), Intent("", (), ("No action.",)))
    assert UiTars().render("task", [unread], shot()).messages[3].text == "hello < |im_end|>"


@pytest.mark.parametrize("places", ["point", "box"])
@pytest.mark.parametrize("terminal", [True, False])
def test_every_action_in_the_prompt_can_be_read(places: str, terminal: bool) -> None:
    rules = UiTarsRules(places="point" if places == "point" else "box", terminal=terminal)
    text = UiTars(rules).render("task", [], shot()).messages[1].text
    space = text.split("## Action Space")[1].split("## Note")[0].strip().splitlines()
    names = {match[1] for line in space if (match := re.match(r"(\w+)\(", line))}
    assert len(names) == len(space) == (13 if terminal else 12)
    assert names <= KNOWN
    for line in space:
        example = re.sub("([xy])([12])", r"\2", line)
        (call,) = take_apart(f"Action: {example}").calls
        actions = UiTars(rules).parse(f"Action: {example}", shot()).actions
        assert len(actions) == 1, call
