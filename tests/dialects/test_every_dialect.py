"""What holds for every dialect: what is written is read back, and a broken reply never becomes a wild action."""

from __future__ import annotations

import math
import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.actions import Action, Click, DoubleClick, Drag, Point, RightClick, Scroll
from agent_core.dialects.elements import Elements
from agent_core.dialects.qwen_vl import QwenVl
from agent_core.dialects.uitars import UiTars, UiTarsRules
from agent_core.dialects.uitars2 import UiTars2
from agent_core.protocols import Dialect
from agent_core.step import Screenshot
from tests.drawn_actions import TEXT, actions, shot

MUTATED = 1_000_000 if os.environ.get("DESKHAND_LONG") else 20_000
SIZES = [(1280, 800), (1920, 1080), (3840, 2160), (768, 1366)]
SEEING: list[UiTars] = [
    UiTars(),
    UiTars(UiTarsRules(coordinates="pixels", places="box")),
    UiTars2(),
    UiTars2(UiTarsRules(form="tools")),
    QwenVl(),
    QwenVl(UiTarsRules(coordinates="pixels", browser=True)),
]


def called(dialect: UiTars) -> str:
    return f"{dialect.name}-{dialect.rules.coordinates}-{dialect.rules.form}"


@pytest.mark.parametrize("dialect", SEEING[2:], ids=called)
@settings(max_examples=100, deadline=None)
@given(data=st.data(), size=st.sampled_from(SIZES), thought=TEXT)
def test_what_is_written_is_read_back(
    dialect: UiTars, data: st.DataObject, size: tuple[int, int], thought: str
) -> None:
    screen = shot(*size)
    todo = data.draw(st.lists(actions(dialect.scale(screen)), min_size=1, max_size=4))
    intent = dialect.parse(dialect.write(thought, todo, screen), screen)
    assert intent.problems == ()
    assert list(intent.actions) == todo


@pytest.mark.parametrize("dialect", SEEING[2:], ids=called)
@settings(max_examples=60, deadline=None)
@given(thought=st.text(alphabet="abc xyz,.!?'\"()=\\\n好é😀", max_size=60))
def test_a_plain_thought_is_read_back(dialect: UiTars, thought: str) -> None:
    screen = shot(1280, 800)
    read = dialect.parse(dialect.write(thought, [Click(Point(0, 0))], screen), screen)
    assert read.thought == thought.strip()
    assert read.actions == (Click(Point(0, 0)),)


@pytest.mark.parametrize("dialect", SEEING[2:], ids=called)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_reply_cut_off_anywhere_loses_actions_but_changes_none(dialect: UiTars, data: st.DataObject) -> None:
    screen = shot(1280, 800)
    todo = data.draw(st.lists(actions(dialect.scale(screen)), min_size=1, max_size=3))
    written = dialect.write("Now.", todo, screen)
    cut = data.draw(st.integers(written.index("Now.") + 4, len(written)))
    read = list(dialect.parse(written[:cut], screen).actions)
    assert read == todo[: len(read)]


GOOD = [
    "Thought: I click.\nAction: click(start_box='<|box_start|>(100,200)<|box_end|>')",
    "Action: drag(start_point='<point>1 2</point>', end_point='<point>900 800</point>')",
    "Thought: a\nAction: type(content='it\\'s\\n')\n\nscroll(point='<point>5 6</point>', direction='down')",
    "<think>deep</think>\n<computer_env>\nAction: right_single(point='<point>400 435</point>')\n</computer_env>",
    "<thinkt>x</thinkt><seed:tool_call>\n<function=left_double>\n<parameter=point><point>17 58</point></parameter>\n"
    "</function>\n<function=wait>\n</function>\n</seed:tool_call>",
    '<|FunctionCallBegin|>[{"name":"click","parameters":{"point":"<point>3 4</point>"}}]<|FunctionCallEnd|>',
    'Look.\n<tool_call>\n{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [640, 400]}}\n'
    "</tool_call>",
    '<tool_call>{"name": "computer_use", "arguments": {"action": "mouse_move", "coordinate": [1, 2]}}</tool_call>'
    '<tool_call>{"name": "computer_use", "arguments": {"action": "left_click_drag", "coordinate": [9, 9]}}</tool_call>',
    "1. 看\n2. 点\n\nAction：click(start_box='<bbox>191 21 191 21</bbox>')",
]
PARTS = [
    *("'", '"', "(", ")", "[", "]", "{", "}", ",", "\\", "\n", "\n\n", "<", ">", "|", ":", "：", "=", " ", "\x00"),
    *("-1", "99999", "1e999", "nan", "inf", "-", ".", "0", "１２", "null", "true", "<point>", "</point>", "Action: "),
    *("Thought: ", "click(", "</think>", "<think>", "<tool_call>", "</tool_call>", "<function=click>", "start_box="),
    *("<answer>", "```", '"coordinate": ', "point='", "\ud800", "😀", "end_box='(1,2)'", "<|box_end|>", "(1,2,3,4)"),
]


def mutated(good: str, chance: random.Random) -> str:
    """A good reply with one to six parts cut out, doubled, put in or exchanged with another reply's."""
    text = good
    for _ in range(chance.randint(1, 6)):
        at = chance.randint(0, len(text))
        end = min(len(text), at + chance.randint(0, 12))
        match chance.randrange(5):
            case 0:
                text = text[:at] + text[end:]
            case 1:
                text = text[:at] + chance.choice(PARTS) + text[at:]
            case 2:
                text = text[:at] + chance.choice(PARTS) + text[end:]
            case 3:
                text = text[:end] + text[at:]
            case _:
                other = chance.choice(GOOD)
                text = text[:at] + other[chance.randrange(len(other)) :]
    return text


def test_mutated_replies_raise_nothing_and_click_nowhere_else() -> None:
    chance = random.Random(6)
    readers: list[Dialect] = [*SEEING, Elements()]
    screens: list[Screenshot] = [shot(*size) for size in SIZES]
    acted = 0
    for n in range(MUTATED):
        reply = mutated(chance.choice(GOOD), chance)
        intent = readers[n % len(readers)].parse(reply, screens[n % len(screens)])
        assert intent.actions or intent.problems, reply
        assert len(intent.problems) <= 1, reply
        acted += bool(intent.actions)
        for action in intent.actions:
            assert all(_inside(point) for point in _places(action)), reply
    assert 0 < acted < MUTATED


def _places(action: Action) -> list[Point]:
    match action:
        case Click(at) | DoubleClick(at) | RightClick(at):
            return [at]
        case Drag(start, end):
            return [start, end]
        case Scroll(_, Point() as at, _):
            return [at]
        case _:
            return []


def _inside(point: Point) -> bool:
    return all(isinstance(n, float) and math.isfinite(n) and 0 <= n <= 1 for n in (point.x, point.y))
