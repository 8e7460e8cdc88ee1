"""Answers that users of such agents reported, shape by shape: read the same by both UI-TARS dialects."""

from __future__ import annotations

import pytest

from agent_core.actions import Action, Click, DoubleClick, Finished, Hotkey, Point, Scroll, Wait
from agent_core.dialects import fitted
from agent_core.dialects.uitars import UiTars
from agent_core.dialects.uitars2 import UiTars2
from agent_core.models import manifest as manifests
from agent_core.step import Screenshot, Transform

SHOT = Screenshot(b"", 1280, 800, Transform("", 0, 0, 1280, 800))


def at(x: float, y: float) -> Point:
    return Point(x / 1000, y / 1000)


READ: dict[str, tuple[str, str, list[Action]]] = {
    "numbered prose, full-width colon, box of tags": (
        "1. 看到按钮\n2. 点击它\n\nAction：click(start_box='<bbox>191 21 191 21</bbox>')",
        "1. 看到按钮\n2. 点击它",
        [Click(at(191, 21))],
    ),
    "numbered lines, box tokens": (
        "1. a\n2. b\nAction: click(start_box='<|box_start|>(691,85)<|box_end|>')",
        "1. a\n2. b",
        [Click(at(691, 85))],
    ),
    "cut off after the point": ("click(point='<point>450 565</point>", "", [Click(at(450, 565))]),
    "brackets in the point": ("Action: click(point='(318,636)')", "", [Click(at(318, 636))]),
    "scroll without a place": ("Action: scroll(direction='down')", "", [Scroll("down")]),
    "box of four, blank line": (
        "Thought: t\n\nAction: click(start_box='[10, 850, 50, 890]')",
        "t",
        [Click(at(30, 870))],
    ),
    "prose with a blank line": (" 先\n\n后\nAction: hotkey(key='ctrl d')", "先\n\n后", [Hotkey(("ctrl", "d"))]),
    "action on the thought's line": (
        "Thought: I can't see it's open yet, so I'll click. Action: click(start_box='(962,108)')",
        "I can't see it's open yet, so I'll click.",
        [Click(at(962, 108))],
    ),
    "think block and thought": (
        "<think>deep</think>\nThought: t\nAction: click(point='<point>510 150</point>')",
        "t",
        [Click(at(510, 150))],
    ),
    "no label": (
        "scroll(point='<point>500 500</point>', direction='right')",
        "",
        [Scroll("right", at(500, 500))],
    ),
    "seed tool call": (
        "<think_never_used_51>t</think_never_used_51><seed:tool_call>\n<function=click>\n"
        "<parameter=point><point>17 58</point></parameter>\n</function>\n</seed:tool_call>",
        "t",
        [Click(at(17, 58))],
    ),
    "environment block": (
        "<think>t</think>\n<computer_env>\nAction: click(point='<point>400 435</point>')\n</computer_env>",
        "t",
        [Click(at(400, 435))],
    ),
    "answer": ("<think>t</think>\n<answer>text</answer>", "t", [Finished("text")]),
    "bare numbers": ("left_double(start_box='21, 246, 21, 246')", "", [DoubleClick(at(21, 246))]),
    "JSON without arguments": ('{"name": "wait", "arguments": ""}', "", [Wait()]),
    "JSON in JSON": (
        '{"name":"click","arguments":"{\\"point\\":\\"<point>18 58</point>\\"}"}',
        "",
        [Click(at(18, 58))],
    ),
}
REFUSED = {
    "keys without a name": "Look.\n\nAction: hotkey(ctrl alt delete)",
    "compact form": "click>point>point>512 640",
    "nothing but marks": "!" * 4000,
}


@pytest.mark.parametrize("dialect", [UiTars(), UiTars2()], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("shape", READ)
def test_what_is_read(dialect: UiTars, shape: str) -> None:
    text, thought, actions = READ[shape]
    intent = dialect.parse(text, SHOT)
    assert (list(intent.actions), intent.problems, intent.thought) == (actions, (), thought)


@pytest.mark.parametrize("dialect", [UiTars(), UiTars2()], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("shape", REFUSED)
def test_what_is_refused(dialect: UiTars, shape: str) -> None:
    intent = dialect.parse(REFUSED[shape], SHOT)
    assert (intent.actions, len(intent.problems)) == ((), 1)


@pytest.mark.parametrize("dialect", [UiTars(), UiTars2()], ids=lambda dialect: dialect.name)
def test_a_run_on_keeps_the_first_pair(dialect: UiTars) -> None:
    pair = "Thought: {}\nAction: click(point='<point>{} 5</point>')\n"
    intent = dialect.parse(pair.format("a", 1) + pair.format("b", 2), SHOT)
    assert (intent.thought, intent.actions, len(intent.problems)) == ("a", (Click(at(1, 5)),), 1)


def test_only_the_newer_dialect_takes_open_computer_for_a_new_look() -> None:
    text = "<think>t</think>\n<computer_env>\nAction: open_computer()\n</computer_env>"
    assert UiTars2().parse(text, SHOT).actions == (Wait(0.0),)
    assert UiTars().parse(text, SHOT).actions == ()


def test_a_shipped_manifest_fits_its_dialect_to_its_model() -> None:
    middle = {
        "ui-tars-1.5-7b": "Action: click(start_box='(644,406)')",
        "ui-tars-1.5-7b-server": "Action: click(start_box='(644,406)')",
        "ui-tars-7b-dpo": "Action: click(start_box='(500,500)')",
        "qwen2.5-vl-7b": '{"action": "left_click", "coordinate": [644, 406]}',
        "qwen3-vl-8b": '{"action": "left_click", "coordinate": [500, 500]}',
        "fara-7b": '{"action": "left_click", "coordinate": [644, 406]}',
        "bundled": "Action: click(point='<point>500 500</point>')",
    }
    for name, reply in middle.items():
        known = manifests.find(name)
        assert fitted(known.dialect, **known.screen()).parse(reply, SHOT).actions == (Click(Point(0.5, 0.5)),), name
