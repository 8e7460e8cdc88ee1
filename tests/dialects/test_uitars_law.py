"""What holds for every reply: what was written is read back, any text is read in time, places are on the screen."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
    kind_of,
)
from agent_core.dialects.chords import split_keys, write_keys
from agent_core.dialects.coordinates import Scale
from agent_core.dialects.uitars import UiTars, UiTarsRules, read
from tests.drawn_actions import KEY, PIECES, TEXT, actions, shot

SIZES = [(1280, 800), (1920, 1080), (1366, 768), (3840, 2160), (3440, 1440), (100, 100), (768, 1366)]
RULES = [
    UiTarsRules(),
    UiTarsRules(places="box"),
    UiTarsRules(coordinates="pixels", places="box"),
    UiTarsRules(coordinates="pixels", places="box", max_pixels=1350 * 784),
]
THOUSAND = Scale(1000, 1000)


@pytest.mark.parametrize("rules", RULES, ids=lambda rules: f"{rules.coordinates}-{rules.places}-{rules.max_pixels}")
@settings(max_examples=150, deadline=None)
@given(data=st.data(), size=st.sampled_from(SIZES), thought=TEXT)
def test_what_is_written_is_read_back(
    rules: UiTarsRules, data: st.DataObject, size: tuple[int, int], thought: str
) -> None:
    dialect, screen = UiTars(rules), shot(*size)
    todo = data.draw(st.lists(actions(dialect.scale(screen)), min_size=1, max_size=4))
    intent = dialect.parse(dialect.write(thought, todo, screen), screen)
    assert intent.problems == ()
    assert list(intent.actions) == todo


@settings(max_examples=200, deadline=None)
@given(thought=st.text(alphabet="abc xyz,.!?'\"()=\\\n好é😀", max_size=60))
def test_a_plain_thought_is_read_back(thought: str) -> None:
    screen = shot(1280, 800)
    assert UiTars().parse(UiTars().write(thought, [Wait()], screen), screen).thought == thought.strip()


@settings(max_examples=150, deadline=None)
@given(data=st.data(), rules=st.sampled_from(RULES), thought=TEXT)
def test_a_reply_cut_off_anywhere_loses_actions_but_changes_none(
    data: st.DataObject, rules: UiTarsRules, thought: str
) -> None:
    dialect, screen = UiTars(rules), shot(1280, 800)
    todo = data.draw(st.lists(actions(dialect.scale(screen)), min_size=1, max_size=3))
    written = dialect.write(thought, todo, screen)
    cut = data.draw(st.integers(written.index("Action: ") + len("Action:"), len(written)))
    read_back = list(dialect.parse(written[:cut], screen).actions)
    assert read_back == todo[: len(read_back)]


def test_every_kind_of_action_is_drawn() -> None:
    wanted = {
        *("click", "double_click", "right_click", "drag", "scroll", "hotkey", "press", "release", "type", "wait"),
        *("finished", "call_user", "terminal"),
    }
    screen = shot(1280, 800)
    here = Point(0.5, 0.25)
    samples: list[Action] = [
        *(Click(here), DoubleClick(here), RightClick(here), Drag(here, here), Scroll("up", here), Hotkey(("a",))),
        *(Press("a"), Release("a"), Type("a"), Wait(), Finished("a"), CallUser("a"), Terminal("a")),
    ]
    assert {kind_of(action) for action in samples} == wanted
    for action in samples:
        assert UiTars().parse(UiTars().write("t", [action], screen), screen).actions == (action,)


@settings(max_examples=250, deadline=None)
@given(text=st.one_of(TEXT, st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=40).map("".join)))
def test_any_text_is_read(text: str) -> None:
    in_range(text)


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=400))
def test_any_bytes_are_read(data: bytes) -> None:
    in_range(data.decode("utf-8", errors="replace"))


NUMBER = st.one_of(st.integers(-2000, 3000), st.floats(), st.just("1" * 400), st.just(""), st.just("x"))


@settings(max_examples=250, deadline=None)
@given(
    name=st.sampled_from(["click", "left_double", "right_single", "drag", "scroll", "type"]),
    numbers=st.lists(NUMBER, max_size=6),
    form=st.sampled_from(
        ["({})", "[{}]", "<point>{}</point>", "<bbox>{}</bbox>", "{}", "<|box_start|>({})<|box_end|>"]
    ),
    joint=st.sampled_from([",", " ", ", "]),
)
def test_places_that_come_out_are_on_the_screen(name: str, numbers: list[object], form: str, joint: str) -> None:
    place = form.format(joint.join(map(str, numbers)))
    in_range(f"Action: {name}(start_box='{place}', end_box='{place}', direction='up', content='x')")
    in_range(f"Action: {name}(point='{place}')")


def in_range(text: str) -> None:
    """Reads the text; the points that come out exist, which is proof of their range (Point checks it)."""
    for scale in (THOUSAND, Scale(1932, 1092)):
        intent = read(text, scale.to_point)
        assert intent.actions or intent.problems
        assert len(intent.problems) <= 1


GOOD = [
    ("Thought: I click.\nAction: click(point='<point>100 200</point>')", "I click."),
    ("Thought: a\nb\nAction: type(content='x\\n')\n\nwait()", "a\nb"),
    ("<think>deep</think>\n<computer_env>\nAction: wait()\n</computer_env>", "deep"),
    ('{"name": "click", "arguments": {"point": "<point>1 2</point>"}}', ""),
    ("<seed:tool_call>\n<function=wait>\n</function>\n</seed:tool_call>", ""),
    ("scroll(point='<point>500 500</point>', direction='right')", ""),
]
WRAPS: list[Callable[[str], str]] = [
    lambda reply: f"\n\n  {reply}\n \n",
    lambda reply: f"```\n{reply}\n```",
    lambda reply: f"```text\n{reply}\n```\n",
    lambda reply: reply.replace("\n", "\n\n"),
    lambda reply: reply.replace("\n", " \n"),
    lambda reply: reply.replace("\n", "\r\n"),
    lambda reply: f"{reply}<|im_end|>",
    lambda reply: f"<|im_start|>assistant\n{reply}<|im_end|>\n",
]


@pytest.mark.parametrize("reply", [good[0] for good in GOOD])
@pytest.mark.parametrize("wrap", WRAPS)
def test_wrapping_changes_nothing(reply: str, wrap: Callable[[str], str]) -> None:
    plain, wrapped = read(reply, THOUSAND.to_point), read(wrap(reply), THOUSAND.to_point)
    assert wrapped.actions == plain.actions
    assert wrapped.actions
    assert wrapped.problems == plain.problems == ()
    assert wrapped.thought.split() == plain.thought.split() == dict(GOOD)[reply].split()


BIG = 100_000
HOSTILE = {
    **{repr(piece): piece * (BIG // len(piece)) for piece in ["!", " ", "\n", "(", "[", "{", "'", '"', "\\", "<", "a"]},
    **{
        repr(piece): piece * (BIG // len(piece))
        for piece in [
            *("Action: click('", "Action: type(content='x ", "click(", "click(a=", "click(\n", "\nclick('", "wait()\n"),
            *(
                "Thought: ",
                "\nAction:",
                "Action:",
                "<think>",
                "</think>",
                "</think> ",
                "<a>",
                "<function=f>",
                "`",
                "```",
            ),
            *("<function=f><parameter=p>", "</parameter>", "</parameter> ", "<|im_end|>", "<|", "a(a", "a(a('", "')"),
            *("', ", "' ", "'\n)", '{"a":', '[{"name":', '\n{"', "\n{ ", "\n[", "- ", "1. ", "#", "# \n", "*", "** "),
            *("Action_Summary: ", "<answer>", "\n<answer>", "</s>", "x' , ", "\\'", "') x ", "é", "click(point='1 1 "),
        ]
    },
    "open string and quotes": "Action: type(content='" + "'x" * (BIG // 2),
    "quote and blanks": "Action: type(content='" + ("'" + " " * 300) * 330,
    "quote, bracket and blanks": "Action: type(content='" + "')" + " " * BIG,
    "one long number": "Action: click(point='" + "1" * BIG + "')",
    "many numbers": "Action: click(point='" + "1 " * (BIG // 2) + "')",
    "many arguments": "Action: click(" + "a," * (BIG // 2) + ")",
    "many named arguments": "Action: click(" + "".join(f"a{n}=1," for n in range(BIG // 9)) + ")",
    "many keys": "Action: hotkey(key='" + "ctrl+" * (BIG // 5) + "')",
    "deep JSON": "Action: " + '{"name":' * (BIG // 8),
    "deep JSON in JSON": '{"name":"click","arguments":"' + "[" * BIG + '"}',
    "long JSON number": '{"name":"click","arguments":{"point":' + "9" * BIG + "}}",
}


@pytest.mark.parametrize("text", list(HOSTILE.values()), ids=list(HOSTILE))
def test_hostile_texts_are_read_in_bounded_time(text: str) -> None:
    for prefix in ("", "Thought: t\n"):
        started = time.process_time()
        in_range(prefix + text)
        assert time.process_time() - started < 2.0


@pytest.mark.parametrize(
    ("value", "keys"),
    [
        ("ctrl c", ("ctrl", "c")),
        ("ctrl+c", ("ctrl", "c")),
        ("ctrl + c", ("ctrl", "c")),
        ("Ctrl+Shift+T", ("ctrl", "shift", "t")),
        ("ctrl +", ("ctrl", "+")),
        ("ctrl++", ("ctrl", "+")),
        ("ctrl + +", ("ctrl", "+")),
        ("+", ("+",)),
        ("ctrl -", ("ctrl", "-")),
        ("ctrl \\", ("ctrl", "\\")),
        ("page down", ("pagedown",)),
        ("shift page up", ("shift", "pageup")),
        ("ctrl+left arrow", ("ctrl", "arrowleft")),
        ("page_down", ("page_down",)),
        (" ", ("space",)),
        ("\n", ("enter",)),
        ("", ()),
    ],
)
def test_key_names(value: str, keys: tuple[str, ...]) -> None:
    assert split_keys(value) == keys


@settings(max_examples=250, suppress_health_check=[HealthCheck.filter_too_much])
@given(keys=st.lists(KEY, min_size=1, max_size=4).map(tuple))
def test_keys_are_read_back(keys: tuple[str, ...]) -> None:
    assert split_keys(write_keys(keys)) == keys
