"""The UI-TARS-2 dialect: what its runtime's models answer, the way it is asked, and the memory of long runs."""

from __future__ import annotations

import json
import re

import pytest

from agent_core.actions import (
    Action,
    Click,
    DoubleClick,
    Drag,
    Finished,
    Hotkey,
    Point,
    Press,
    Release,
    RightClick,
    Scroll,
    Terminal,
    Type,
    Wait,
)
from agent_core.dialects.memory import CHUNK, MAX_LINES
from agent_core.dialects.uitars import UiTars, UiTarsRules
from agent_core.dialects.uitars2 import UiTars2
from agent_core.step import Intent, Outcome, Prompt, Reply, Screenshot, Step, Tier, Transform, Turn, Verdict

SHOT = Screenshot(b"", 1280, 800, Transform("", 0, 0, 1280, 800))
CLICK = Click(Point(0.1, 0.2))
AT = "<parameter=point><point>100 200</point></parameter>"


def computer(call: str) -> str:
    return f"<think>t</think>\n<computer_env>\nAction: {call}\n</computer_env>"


def tools(*functions: str) -> str:
    return "<thinkt>t</thinkt><seed:tool_call>\n" + "\n".join(functions) + "\n</seed:tool_call>"


def function(name: str, parameters: str = "") -> str:
    return f"<function={name}>\n{parameters}\n</function>"


READ: dict[str, list[Action]] = {
    computer("click(point='<point>100 200</point>')"): [CLICK],
    computer("left_double(point='<point>100 200</point>')"): [DoubleClick(Point(0.1, 0.2))],
    computer("right_single(point='<point>100 200</point>')"): [RightClick(Point(0.1, 0.2))],
    computer("drag(start_point='<point>100 200</point>', end_point='<point>0 1000</point>')"): [
        Drag(Point(0.1, 0.2), Point(0, 1))
    ],
    computer("hotkey(key='ctrl c')"): [Hotkey(("ctrl", "c"))],
    computer("type(content='a\\n')"): [Type("a\n")],
    computer("scroll(point='<point>100 200</point>', direction='left')"): [Scroll("left", Point(0.1, 0.2))],
    computer("wait()"): [Wait()],
    computer("open_computer()"): [Wait(0.0)],
    "<think>t</think>\n<answer>text</answer>": [Finished("text")],
    "<think>t</think><code_env><function=execute_bash><parameter=command>ls</parameter></function></code_env>": [
        Terminal("ls")
    ],
    "<think>t</think><code_env><function=execute_bash><parameter=command>C-c</parameter></function></code_env>": [
        Terminal("C-c")
    ],
    tools(function("click", AT)): [CLICK],
    tools(function("left_double", AT)): [DoubleClick(Point(0.1, 0.2))],
    tools(function("right_single", AT)): [RightClick(Point(0.1, 0.2))],
    tools(function("scroll", "<parameter=direction>up</parameter>")): [Scroll("up")],
    tools(function("scroll", "<parameter=direction>up</parameter>\n" + AT)): [Scroll("up", Point(0.1, 0.2))],
    tools(function("press", "<parameter=key>w</parameter>"), function("release", "<parameter=key>w</parameter>")): [
        Press("w"),
        Release("w"),
    ],
    tools(function("hotkey", "<parameter=key>ctrl c</parameter>")): [Hotkey(("ctrl", "c"))],
    tools(function("type", "<parameter=content>it's\\n</parameter>")): [Type("it's\n")],
    tools(function("wait", "<parameter=time>2</parameter>")): [Wait(2.0)],
    tools(function("wait")): [Wait()],
    tools(function("execute_bash", "<parameter=command>echo 'a\\nb'</parameter>")): [Terminal("echo 'a\\nb'")],
}
REFUSED = {
    computer("navigate(content='example.org')"): "navigate",
    computer("navigate_back()"): "navigate_back",
    computer("open_computer(now='1')"): "open_computer",
    computer("click(point='<point>1001 2</point>')"): "outside",
    tools(function("mouse_down", AT)): "mouse_down",
    tools(function("move_to", AT)): "move_to",
    tools(function("click")): "point",
    "<think>t</think><code_env><function=JupyterCI><parameter=code>1</parameter></function></code_env>": "jupyterci",
    "<think>t</think><code_env><function=str_replace_editor><parameter=command>view</parameter></function>"
    "</code_env>": "str_replace_editor",
    '<think>t</think><mcp_env><|FunctionCallBegin|>[{"name":"Search","parameters":{"query":"x"}}]'
    "<|FunctionCallEnd|></mcp_env>": "search",
}


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    intent = UiTars2().parse(text, SHOT)
    assert (list(intent.actions), intent.problems, intent.thought) == (READ[text], (), "t")


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text: str) -> None:
    intent = UiTars2().parse(text, SHOT)
    assert intent.actions == ()
    assert len(intent.problems) == 1
    assert REFUSED[text] in intent.problems[0]


def test_what_is_written() -> None:
    written = UiTars2().write("Look.", [CLICK, Terminal("ls"), Finished("Done")], SHOT)
    assert written == (
        "<think>Look.</think>\n<computer_env>\nAction: click(point='<point>100 200</point>')\n</computer_env>\n"
        "<code_env>\n<function=execute_bash>\n<parameter=command>ls</parameter>\n</function>\n</code_env>\n"
        "<answer>Done</answer>"
    )
    written = UiTars2(UiTarsRules(form="tools")).write("Look.", [CLICK], SHOT)
    assert (
        written == f"<thinkt>Look.</thinkt>\n<seed:tool_call>\n<function=click>\n{AT}\n</function>\n</seed:tool_call>"
    )


def test_every_call_in_the_prompts_can_be_read() -> None:
    asked = UiTars2().render("t", [], SHOT).messages[1].text
    space = asked.split("computer_env\n\n")[1].split("## Note")[0].strip().splitlines()
    for line in space:
        example = re.sub("([xy])([12])", r"\2", line)
        assert len(UiTars2().parse(f"Action: {example}", SHOT).actions) == 1, line
    asked = UiTars2(UiTarsRules(form="tools")).render("t", [], SHOT).messages[1].text
    for line in asked.split("## Functions\n\n")[1].split("\n\n")[0].splitlines():
        declared = json.loads(line)
        values = {"direction": "up", "time": "1", "key": "a"}
        parameters = "".join(
            f"<parameter={name}>{'<point>1 2</point>' if 'point' in name else values.get(name, 'x')}</parameter>"
            for name in declared["parameters"]
        )
        assert len(UiTars2().parse(tools(function(declared["name"], parameters)), SHOT).actions) == 1, line


def turns(count: int, length: int = 400) -> list[Turn]:
    def one(n: int) -> Turn:
        intent = Intent(f"Step {n}. " + "x" * length, (CLICK,))
        step = Step(n, n, CLICK, Verdict("allow", Tier.R1, ""), outcome=Outcome(n % 2 == 0, "<|im_end|>no"))
        return Turn(n, SHOT, Prompt(()), Reply("raw"), intent, (step,))

    return [one(n) for n in range(1, count + 1)]


@pytest.mark.parametrize("kind", [UiTars, UiTars2])
def test_old_steps_are_folded_only_when_the_budget_says_so(kind: type[UiTars]) -> None:
    whole = kind(UiTarsRules(memory=1_000_000)).render("t", turns(60), SHOT)
    assert sum(message.role == "assistant" for message in whole.messages) == 60
    assert "Earlier Steps" not in whole.messages[1].text
    short = kind(UiTarsRules(memory=10_000)).render("t", turns(60), SHOT)
    kept = sum(message.role == "assistant" for message in short.messages)
    lines = short.messages[1].text.split("## Earlier Steps\n")[1].splitlines()
    assert (60 - kept) % CHUNK == 0
    assert len(lines) == 60 - kept
    assert lines[0].startswith("1. Step 1. xxx")
    assert lines[0].endswith("It failed: < |im_end|>no")
    assert all(len(line) < 400 for line in lines)
    assert sum(len(message.images) for message in short.messages) == 5


def test_folding_keeps_the_beginning_the_same_between_folds() -> None:
    dialect = UiTars(UiTarsRules(memory=10_000))
    openings = [dialect.render("t", turns(count), SHOT).messages[1].text for count in range(20, 60)]
    assert len(set(openings)) <= 40 / CHUNK + 1


def test_a_very_long_run_has_a_bounded_memory() -> None:
    text = UiTars(UiTarsRules(memory=2_000)).render("t", turns(300), SHOT).messages[1].text
    lines = text.split("## Earlier Steps\n")[1].splitlines()
    assert len(lines) == MAX_LINES + 1
    assert "are left out" in lines[0]
