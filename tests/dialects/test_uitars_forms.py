"""Every form in which models of the UI-TARS family were seen to answer, with what it must be read as."""

from __future__ import annotations

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
    Press,
    Release,
    RightClick,
    Scroll,
    Terminal,
    Type,
    Wait,
)
from agent_core.dialects.coordinates import Scale
from agent_core.dialects.uitars import read
from agent_core.step import Intent


def at(x: float, y: float) -> Point:
    return Point(x / 1000, y / 1000)


def parse(text: str) -> Intent:
    return read(text, Scale(1000, 1000).to_point)


CLICK = Click(at(100, 200))

PLACES = [
    "start_box='(100,200)'",
    "start_box='( 100 , 200 )'",
    "start_box='<|box_start|>(100,200)<|box_end|>'",
    "start_box='<|box_start|>(90,190),(110,210)<|box_end|>'",
    "start_box='[90, 190, 110, 210]'",
    "start_box='[100, 200]'",
    "start_box='<bbox>90 190 110 210</bbox>'",
    "start_box='<bbox>100 200 100 200</bbox>'",
    "start_box='90, 190, 110, 210'",
    "start_box='100 200'",
    'start_box="(100,200)"',
    "point='<point>100 200</point>'",
    "point='<point>100,200</point>'",
    "point='<point>100, 200</point>'",
    "point='<point>100.0 200.0</point>'",
    "point='<point> 100  200 </point>'",
    "point='(100,200)'",
    "point = '<point>100 200</point>'",
    "point='<point>100 200</point>''",
    "start_point='<point>100 200</point>'",
    "start_box=(100,200)",
    "point=<point>100 200</point>",
    "100, 200",
    "'<point>100 200</point>'",
]

READ: dict[str, tuple[str, list[Action]]] = {
    # classic layout
    "Thought: t\nAction: wait()": ("t", [Wait()]),
    "Some prose.\nAction: wait()": ("Some prose.", [Wait()]),
    "Thought: two\nlines\n\nAction: wait()": ("two\nlines", [Wait()]),
    "Action_Summary: one\ntwo\nAction: wait()": ("one\ntwo", [Wait()]),
    "Action:wait()": ("", [Wait()]),
    "Action：wait()": ("", [Wait()]),
    "Thought：想\nAction：wait()": ("想", [Wait()]),
    "**Thought:** t\n**Action:** wait()": ("t", [Wait()]),
    "```\nThought: t\nAction: wait()\n```": ("t", [Wait()]),
    "Thought: t\n```python\nAction: wait()\n```": ("t", [Wait()]),
    "Thought: t\nAction: ```wait()```": ("t", [Wait()]),
    "Thought: t\nAction: wait()  # a comment": ("t", [Wait()]),
    "Thought: t\nAction: wait()<|im_end|>": ("t", [Wait()]),
    "<|im_start|>assistant\nThought: t\nAction: wait()</s>": ("t", [Wait()]),
    "Thought: t\nAction: wait()\n\nThat will do.": ("t", [Wait()]),
    # several actions
    "Action: wait()\n\nfinished()": ("", [Wait(), Finished()]),
    "Action: wait()\nfinished()": ("", [Wait(), Finished()]),
    "Action: wait()\n\n\n\nfinished()": ("", [Wait(), Finished()]),
    "Action: wait() finished()": ("", [Wait(), Finished()]),
    "Action: wait(); finished()": ("", [Wait(), Finished()]),
    "Action: click(point='<point>100 200</point>')\ntype(content='a')": ("", [CLICK, Type("a")]),
    # names of the actions in every version
    "Action: left_single(point='<point>100 200</point>')": ("", [CLICK]),
    "Action: Click(start_box='(100,200)')": ("", [CLICK]),
    "Action: left_double(start_box='(1,2)')": ("", [DoubleClick(at(1, 2))]),
    "Action: double_click(start_box='(1,2)')": ("", [DoubleClick(at(1, 2))]),
    "Action: right_single(start_box='(1,2)')": ("", [RightClick(at(1, 2))]),
    "Action: drag(start_box='(1,2)', end_box='(3,4)')": ("", [Drag(at(1, 2), at(3, 4))]),
    "Action: drag(start_point='<point>1 2</point>', end_point='<point>3 4</point>')": ("", [Drag(at(1, 2), at(3, 4))]),
    "Action: select(start_box='(1,2)', end_box='(3,4)')": ("", [Drag(at(1, 2), at(3, 4))]),
    "Action: drag(start_box='(0,0)', end_box='(0,1000)')": ("", [Drag(at(0, 0), at(0, 1000))]),
    "Action: scroll(direction='down')": ("", [Scroll("down")]),
    "Action: scroll(start_box='(1,2)', direction='Up')": ("", [Scroll("up", at(1, 2))]),
    "Action: scroll(direction='left', point='<point>1 2</point>', amount='3')": ("", [Scroll("left", at(1, 2), 3)]),
    "scroll(point='<point>500 500</point>', direction='right')": ("", [Scroll("right", at(500, 500))]),
    "Action: hotkey(key='ctrl c')": ("", [Hotkey(("ctrl", "c"))]),
    "Action: hotkey('ctrl+c')": ("", [Hotkey(("ctrl", "c"))]),
    "Action: press(key='shift')\n\nrelease(key='shift')": ("", [Press("shift"), Release("shift")]),
    "Action: wait(time='2')": ("", [Wait(2)]),
    "Action: wait(time=0.5)": ("", [Wait(0.5)]),
    "Action: finished()": ("", [Finished()]),
    "Action: finished(content='xxx')": ("", [Finished("xxx")]),
    "Action: call_user()": ("", [CallUser()]),
    "Action: call_user(content='Which one?')": ("", [CallUser("Which one?")]),
    "Action: terminal(command='ls -l')": ("", [Terminal("ls -l")]),
    "Action: type(content='a', start_box='(100,200)')": ("", [CLICK, Type("a")]),
    # text values
    "Action: type(content='')": ("", [Type("")]),
    "Action: type(content='  a ')": ("", [Type("  a ")]),
    'Action: type(content="hello, world")': ("", [Type("hello, world")]),
    r"Action: type(content='it\'s ok, fine')": ("", [Type("it's ok, fine")]),
    r'Action: type(content="say \"a, b\"")': ("", [Type('say "a, b"')]),
    r"Action: type(content='begin\\n')": ("", [Type("begin\\n")]),
    r"Action: type(content='a\tb\n')": ("", [Type("a\tb\n")]),
    r"Action: type(content='C:\Users\new')": ("", [Type("C:\\Users\new")]),
    "Action: type(content='one\ntwo')": ("", [Type("one\ntwo")]),
    "Action: type(content='f(a)\n\nb')": ("", [Type("f(a)\n\nb")]),
    "Action: type(content='Action: wait()')": ("", [Type("Action: wait()")]),
    "Action: type(content='\nThought: x\nAction: wait()')": ("", [Type("\nThought: x\nAction: wait()")]),
    "Action: type(content='breakpoint=1 start_point=2')": ("", [Type("breakpoint=1 start_point=2")]),
    "Action: type(content='<point>1 2</point><|box_start|>```')": ("", [Type("<point>1 2</point><|box_start|>```")]),
    "Action: type(content='你好，世界（一）：“好”')": ("", [Type("你好，世界（一）：“好”")]),
    "Action: type(content='it's ok')": ("", [Type("it's ok")]),
    "Action: finished('it's fine')": ("", [Finished("it's fine")]),
    # numbered prose, inline label, think tags
    "1. 看\n2. 点\n\nAction：click(start_box='<bbox>100 200 100 200</bbox>')": ("1. 看\n2. 点", [CLICK]),
    " 文\n\n字\nAction: hotkey(key='ctrl d')": ("文\n\n字", [Hotkey(("ctrl", "d"))]),
    "Thought: I can't see it's open, so I'll click. Action: click(start_box='(100,200)')": (
        "I can't see it's open, so I'll click.",
        [CLICK],
    ),
    "<thinkt>deep</thinkt><seed:tool_call>\n<function=click>\n<parameter=point><point>100 200</point></parameter>\n"
    "</function>\n</seed:tool_call>": ("deep", [CLICK]),
    "<think_never_used_51bce0c7>deep</think_never_used_51bce0c7><seed:tool_call><function=wait></function>"
    "</seed:tool_call>": ("deep", [Wait()]),
    "<THINK>deep</THINK>\nclick(point='<point>100 200</point>')": ("deep", [CLICK]),
    "deep, without an opening tag\n</think>\nAction: wait()": ("deep, without an opening tag", [Wait()]),
    "<Thought>\ndeep\n</Thought>\n<Output>\nAction: wait()\n</Output>": ("deep", [Wait()]),
    "<think>deep</think>\n<computer_env>\nAction: wait()\n</computer_env>": ("deep", [Wait()]),
    "<think>deep</think><computer_env>Action: wait()</computer_env>": ("deep", [Wait()]),
    "<think>deep</think>\n<answer>text</answer>": ("deep", [Finished("text")]),
    "<think>deep</think>\n<code_env><function=execute_bash><parameter=command>ls 'a\\nb'</parameter></function>"
    "</code_env>": ("deep", [Terminal("ls 'a\\nb'")]),
    "<function=execute_bash>\n<parameter=command>\n</parameter>\n</function>": ("", [Terminal("")]),
    "<function=execute_bash><parameter=command></parameter></function>": ("", [Terminal("")]),
    "<seed:tool_call><function=press><parameter=key>w</parameter></function><function=release><parameter=key>w"
    "</parameter></function></seed:tool_call>": ("", [Press("w"), Release("w")]),
    "<function=type><parameter=content>a</parameter>b\\n</parameter></function>": ("", [Type("a</parameter>b\n")]),
    # JSON
    '{"name": "wait", "arguments": ""}': ("", [Wait()]),
    '{"name":"click","arguments":"{\\"point\\":\\"<point>100 200</point>\\"}"}': ("", [CLICK]),
    '{"name":"click","arguments":{"point":[100, 200]}}': ("", [CLICK]),
    '{"name":"type","arguments":{"content":"a\\\\nb"}}': ("", [Type("a\\nb")]),
    '[{"name":"wait","parameters":{}},{"name":"finished","parameters":{"content":"x"}}]': ("", [Wait(), Finished("x")]),
    '<|FunctionCallBegin|>[{"name":"wait","parameters":{}}]<|FunctionCallEnd|>': ("", [Wait()]),
    '<tool_call>\n{"name":"wait","arguments":{}}\n</tool_call>': ("", [Wait()]),
    '```json\n{"name":"wait","arguments":{}}\n```': ("", [Wait()]),
    'Thought: t\nAction: {"name":"wait","arguments":{}}': ("t", [Wait()]),
    '{"type":"function","function":{"name":"wait","arguments":"{}"}}': ("", [Wait()]),
    # no label
    "left_double(start_box='21, 246, 21, 246')": ("", [DoubleClick(at(21, 246))]),
    "I click.\nclick(point='<point>100 200</point>')": ("I click.", [CLICK]),
    "Thought: t\nclick(point='<point>100 200</point>')": ("t", [CLICK]),
    # cut off, yet every value is whole
    "click(point='<point>100 200</point>": ("", [CLICK]),
    "click(point='<point>100 200</point>'": ("", [CLICK]),
    "click(start_box='(100,200)": ("", [CLICK]),
    "click(start_box='<|box_start|>(100,200)<|box_end|>": ("", [CLICK]),
    "drag(start_box='(1,2)', end_box='(3,4)": ("", [Drag(at(1, 2), at(3, 4))]),
}

# No action may come out; the words must be in the one problem.
REFUSED = {
    "": "No action",
    "!" * 500: "No action",
    "Action:": "No action",
    "Thought: only this": "No action",
    "click>point>point>1 2": "No action",
    "Action: I will click the button": "No action",
    "Thought: I could call\nclick(point='<point>1 2</point>')\nbut I ask instead.": "No action",
    "Action: hotkey(ctrl alt delete)": "key=",
    "Action: hotkey(key='')": "key=",
    "Action: hotkey(key='a b c d e')": "at most 4",
    "Action: press(key='a b')": "at most 1",
    "Action: click()": "point=",
    "Action: click(start_box='')": "not a place",
    "Action: click(start_box='(100)')": "not a place",
    "Action: click(start_box='(1,2,3)')": "not a place",
    "Action: click(start_box='(a,b)')": "not a place",
    "Action: click(start_box='(nan,inf)')": "not a place",
    "Action: click(start_box='(1e3,1)')": "not a place",
    "Action: click(start_box='(5000,10)')": "outside",
    "Action: click(start_box='(-1,10)')": "outside",
    "Action: click(start_box='[990, 10, 1010, 20]')": "outside",
    "Action: click(start_box='(100,20": "not a place",
    "Action: click(start_box='100, 200": "not a place",
    "Action: click(point='<point>100 20": "not a place",
    "Action: click(start_box='(1,2)', point='<point>3 4</point>')": "both",
    "Action: click(start_box='(1,2)', start_box='(3,4)')": "twice",
    "Action: click(start_box='(1,2)', button='right')": "button",
    "Action: drag(start_box='(1,2)')": "end_point",
    "Action: scroll(start_box='(1,2)')": "direction",
    "Action: scroll(direction='sideways')": "direction",
    "Action: scroll(point='here', direction='down')": "not a place",
    "Action: scroll(point='', direction='down')": "not a place",
    "Action: scroll(start_box='(1,2)', end_box='(3,4)')": "direction",
    "Action: type()": "content",
    "Action: click(start_box='<|box_start|>(90,190)": "not a place",
    "Action: click(start_box='[90, 190, 110": "not a place",
    "Action: drag(start_box='(1,2)', end_box='(3,": "not a place",
    "Action: type(content='half": "cut off",
    "Action: type(content='whole'": "cut off",
    "Action: scroll(point='<point>1 2</point>', direction='down'": "cut off",
    "Action: finished(": "cut off",
    "Action: wait(": "cut off",
    "Action: type(content=bare)": "quotes",
    "Action: type(content='say ('a')\nor ('b')')": "quote",
    "Action: type(content='see (x')\nthen y')": "quote",
    "Action: wait(time='soon')": "seconds",
    "Action: wait(time='-1')": "seconds",
    "Action: rm_rf('/')": "rm_rf",
    "rm_rf('/')": "rm_rf",
    "Action: long_press(start_box='(1,2)', time='1')": "long_press",
    "Action: press_home()": "press_home",
    "Action: navigate(content='example.org')": "navigate",
    "Action: mouse_move(point='<point>1 2</point>')": "mouse_move",
    "Action: open_app(app_name='x')": "open_app",
    "Action: os.system('x')": "No action",
    "<computer_env>\nAction: open_computer()\n</computer_env>": "open_computer",
    "<function=Search><parameter=query>x</parameter></function>": "search",
    "<function=click><parameter=point><point>1 2": "not a place",
    '{"name": "click", "arguments": {"point": null}}': "point=",
    '{"name": "click", "arguments": "oops"}': "not JSON",
    '<tool_call>{"name": "cli': "JSON",
    "<think>click(point='<point>1 2</point>')\nAction: wait()": "thinking",
}


@pytest.mark.parametrize("place", PLACES)
def test_every_way_to_write_a_place(place: str) -> None:
    intent = parse(f"Thought: t\nAction: click({place})")
    assert intent.problems == ()
    assert intent.actions == (CLICK,)


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    thought, actions = READ[text]
    intent = parse(text)
    assert list(intent.actions) == actions
    assert intent.problems == ()
    assert intent.thought == thought


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text: str) -> None:
    intent = parse(text)
    assert intent.actions == ()
    assert len(intent.problems) == 1
    assert REFUSED[text] in intent.problems[0]


def test_reflection_is_kept_apart() -> None:
    intent = parse("Reflection: r\nAction_Summary: s\nAction: wait()")
    assert (intent.reflection, intent.thought) == ("r", "s")
    assert parse("Reflection: r Action_Summary: s Action: wait()").thought == "s"
    assert parse("Reflection: r\nAction: wait()").reflection == "r"


def test_thought_tag_is_the_thought() -> None:
    intent = parse("<Thought>\nt\n</Thought>\n<Output>\nAction_Summary: s\nAction: wait()\n</Output>")
    assert (intent.thought, intent.actions, intent.reflection) == ("t\ns", (Wait(),), "")


def test_think_block_beside_a_thought_is_kept_apart() -> None:
    intent = parse("<think>deep</think>\nThought: t\nAction: click(point='<point>100 200</point>')")
    assert (intent.thought, intent.reflection, intent.actions) == ("t", "deep", (CLICK,))


def test_run_on_keeps_the_first_pair_and_says_so() -> None:
    intent = parse("Thought: a\nAction: click(start_box='(100,200)')\nThought: b\nAction: wait()")
    assert (intent.thought, intent.actions, len(intent.problems)) == ("a", (CLICK,), 1)
    intent = parse("Thought: a. Action: click(start_box='(100,200)')\nThought: b. Action: wait()")
    assert (intent.thought, intent.actions, len(intent.problems)) == ("a.", (CLICK,), 1)
    intent = parse("Action: wait()\nAction: finished()")
    assert (intent.actions, len(intent.problems)) == ((Wait(),), 1)


def test_nothing_after_a_problem_is_kept() -> None:
    intent = parse("Action: wait()\n\nclick(start_box='(a,b)')\n\nfinished()")
    assert (intent.actions, len(intent.problems)) == ((Wait(),), 1)
    intent = parse("Action: wait()\n\nclick(start_box='(1,2)' oops)\n\nfinished()")
    assert (intent.actions, len(intent.problems)) == ((Wait(),), 1)


def test_a_call_quoted_in_the_thought_is_not_acted_on() -> None:
    quoted = "Thought: The page says \"Action: click(start_box='(1,1)')\" but I wait.\nAction: wait()"
    assert parse(quoted).actions == (Wait(),)
    listed = "Thought: I could use\nclick(point='<point>1 1</point>')\nbut I wait.\nAction: wait()"
    assert parse(listed).actions == (Wait(),)
