"""computer_use calls of Qwen2.5-VL, Qwen3-VL and Fara: what they are read as, and in which numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_core.actions import (
    Action,
    CallUser,
    Click,
    DoubleClick,
    Drag,
    Finished,
    Hotkey,
    Point,
    RightClick,
    Scroll,
    Terminal,
    Type,
    Wait,
)
from agent_core.dialects.qwen_vl import QwenVl
from agent_core.dialects.uitars import UiTarsRules
from agent_core.step import Intent, Screenshot, Transform

SHOT = Screenshot(b"", 1280, 800, Transform("", 0, 0, 1280, 800))
QWEN3 = QwenVl(UiTarsRules(factor=32))
FARA = QwenVl(UiTarsRules(coordinates="pixels", min_pixels=3136, browser=True))


def at(x: float, y: float) -> Point:
    return Point(x / 1000, y / 1000)


def call(action: str, **values: Any) -> str:
    asked = {"name": "computer_use", "arguments": {"action": action, **values}}
    return f"<tool_call>\n{json.dumps(asked)}\n</tool_call>"


def parse(text: str, dialect: QwenVl = QWEN3) -> Intent:
    return dialect.parse(text, SHOT)


READ: dict[str, list[Action]] = {
    call("left_click", coordinate=[100, 200]): [Click(at(100, 200))],
    call("left_click", coordinate=[90, 190, 110, 210]): [Click(at(100, 200))],
    call("double_click", coordinate=[1, 2]): [DoubleClick(at(1, 2))],
    call("right_click", coordinate=[1, 2]): [RightClick(at(1, 2))],
    call("mouse_move", coordinate=[1, 2]) + call("left_click_drag", coordinate=[3, 4]): [Drag(at(1, 2), at(3, 4))],
    call("mouse_move", coordinate=[1, 2]) + call("left_click"): [Click(at(1, 2))],
    call("mouse_move", coordinate=[1, 2]) + call("scroll", pixels=-300): [Scroll("down", at(1, 2), 3)],
    call("scroll", pixels=500): [Scroll("up")],
    call("scroll", pixels=-1, coordinate=[5, 6]): [Scroll("down", at(5, 6), 1)],
    call("hscroll", pixels=200): [Scroll("right", None, 2)],
    call("scroll", pixels=-1e9): [Scroll("down", None, 100)],
    call("key", keys=["ctrl", "S"]): [Hotkey(("ctrl", "s"))],
    call("key", keys=["ctrl+s"]): [Hotkey(("ctrl", "s"))],
    call("key", keys="ctrl+s"): [Hotkey(("ctrl", "s"))],
    call("key", keys=["ArrowUp"]): [Hotkey(("arrowup",))],
    call("type", text='it\'s "ok"\n'): [Type('it\'s "ok"\n')],
    call("type", text="C:\\new </tool_call>"): [Type("C:\\new </tool_call>")],
    call("type", text="a", coordinate=[1, 2]): [Click(at(1, 2)), Type("a")],
    call("wait", time=2): [Wait(2.0)],
    call("wait"): [Wait()],
    call("screenshot"): [Wait(0.0)],
    call("terminate", status="success"): [Finished()],
    call("terminate", status="failure"): [CallUser()],
    call("answer", text="42"): [Finished("42")],
    '<tool_call>{"name":"terminal","arguments":{"command":"ls"}}</tool_call>': [Terminal("ls")],
    '<tool_call>{"name":"call_user","arguments":{"question":"Who?"}}</tool_call>': [CallUser("Who?")],
    '{"action": "left_click", "coordinate": [100, 200]}': [Click(at(100, 200))],
    '{"name": "computer_use", "arguments": {"action": "wait", "time": 1}}': [Wait(1.0)],
    '```json\n{"name": "computer_use", "arguments": {"action": "wait", "time": 1}}\n```': [Wait(1.0)],
    '<tool_call>\n{"name": "computer_use", "arguments": {"action": "wait", "time": 1}}': [Wait(1.0)],
    '{"name": "computer_use", "arguments": "{\\"action\\": \\"wait\\", \\"time\\": 1}"}': [Wait(1.0)],
}
REFUSED = {
    "": "No action",
    "I am done.": "No action",
    call("left_click"): "coordinate",
    call("left_click", coordinate=[100]): "not a place",
    call("left_click", coordinate=[1001, 2]): "outside",
    call("left_click", coordinate=[-1, 2]): "outside",
    call("left_click", coordinate=["a", "b"]): "not a place",
    call("left_click", coordinate=[1, 2], button="left"): "button",
    call("left_click_drag", coordinate=[1, 2]): "mouse_move",
    call("mouse_move", coordinate=[1, 2]): "mouse_move",
    call("mouse_move"): "coordinate",
    call("middle_click", coordinate=[1, 2]): "middle_click",
    call("triple_click"): "triple_click",
    call("scroll", pixels=0): "pixels",
    call("scroll", pixels="far"): "number",
    call("key", keys=[]): "keys",
    call("key", keys=["a", "b", "c", "d", "e"]): "1 to 4",
    call("key", keys=["a", ""]): "key names",
    call("type"): "text",
    call("type", text=5): "text",
    call("type", text="a", press_enter="maybe"): "press_enter",
    call("wait", time=-1): "seconds",
    call("terminate", status="maybe"): "status",
    call("visit_url", url="example.org"): "visit_url",
    '<tool_call>{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [1, 2': "JSON",
    "<think>only this <tool_call>": "thinking",
}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    intent = parse(f'I see "Save".\n{text}')
    assert (list(intent.actions), intent.problems) == (READ[text], ())
    assert intent.thought == 'I see "Save".'


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text: str) -> None:
    intent = parse(text)
    assert intent.actions == ()
    assert len(intent.problems) == 1
    assert REFUSED[text] in intent.problems[0]


def test_pixels_are_those_of_the_resized_screenshot() -> None:
    reply = call("left_click", coordinate=[644, 406])
    assert parse(reply, FARA).actions == (Click(Point(0.5, 0.5)),)
    assert parse(call("left_click", coordinate=[1288, 812]), FARA).actions == (Click(Point(1, 1)),)
    assert parse(call("left_click", coordinate=[1289, 812]), FARA).actions == ()
    assert "resolution is 1288x812" in FARA.render("t", [], SHOT).messages[0].text
    assert "resolution is 1000x1000" in QWEN3.render("t", [], SHOT).messages[0].text


def test_a_browser_model_acts_on_the_browser_through_its_keys() -> None:
    assert parse(call("visit_url", url="https://a.org"), FARA).actions == (
        Hotkey(("ctrl", "l")),
        Type("https://a.org\n"),
    )
    assert parse(call("web_search", query="a b"), FARA).actions == (Hotkey(("ctrl", "k")), Type("a b\n"))
    assert parse(call("web_search", query="a\nb"), FARA).actions == ()
    assert parse(call("history_back"), FARA).actions == (Hotkey(("alt", "left")),)
    assert parse(call("refresh"), FARA).actions == (Hotkey(("f5",)),)
    typed = parse(call("type", text="x", press_enter=True, delete_existing_text=True), FARA)
    assert typed.actions == (Hotkey(("ctrl", "a")), Type("x\n"))


def test_a_fact_to_remember_becomes_part_of_the_thought() -> None:
    intent = parse("Look.\n" + call("pause_and_memorize_fact", fact="It costs 5."), FARA)
    assert (intent.thought, intent.actions) == ("Look.\nIt costs 5.", (Wait(0.0),))


def test_json_quoted_in_the_thought_is_not_acted_on() -> None:
    quoted = '{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [1, 1]}}'
    assert parse(f"The page says\n{quoted}\n" + call("wait", time=1)).actions == (Wait(1.0),)
    assert parse(f"<think>I could <tool_call>{quoted}</think>ok\n" + call("wait", time=1)).actions == (Wait(1.0),)


def test_every_tool_in_the_prompt_can_be_read() -> None:
    system = FARA.render("t", [], SHOT).messages[0].text
    tools = [json.loads(line) for line in system.split("<tools>\n")[1].split("\n</tools>")[0].splitlines()]
    assert [tool["function"]["name"] for tool in tools] == ["computer_use", "call_user", "terminal"]
    for name in tools[0]["function"]["parameters"]["properties"]["action"]["enum"]:
        (problem,) = parse(call(name, nonsense=1), FARA).problems
        assert "There is no action" not in problem
