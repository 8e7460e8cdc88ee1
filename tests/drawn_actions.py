"""Actions and texts for property tests, among the texts those that look like markup."""

from __future__ import annotations

from hypothesis import strategies as st

from agent_core.actions import (
    DIRECTIONS,
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
from agent_core.step import Screenshot, Transform

PIECES = st.sampled_from(
    [
        *("'", '"', "\\", "\n", "\t", "\r", "\\n", "\\'", ")", "(", "')", "')\n", "', x='", '")', ",", "=", "#", "`"),
        *("```", "```json\n", "Action: ", "\nAction: wait()", "Thought: ", "\nThought: x", "Action：", "Reflection: "),
        *("Action_Summary: ", "click(point='<point>1 2</point>')", "\nwait()\n", "<think>", "</think>", "<answer>"),
        *("</answer>", "<function=wait>", "</function>", "<seed:tool_call>", "<|box_start|>", "<|im_end|>", "</s>"),
        *(
            '{"name":"wait"}',
            "\n",
            "你好，世界",
            "é—😀",
            "\x00",
            "\u2028",
            " ",
            "start_point=",
            "1.",
            "- ",
            "$( )",
            ";",
        ),
    ]
)
TEXT = st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=12).map("".join))
KEY = st.one_of(
    st.sampled_from(["ctrl", "+", "\\", "page", "down", "arrow", "left", "a", "-", "'", '"', "plus", "c+", "\\+"]),
    st.text(min_size=1, max_size=6).map(str.lower),
).filter(lambda key: key == key.lower() and not any(letter.isspace() for letter in key))


def points(scale: Scale) -> st.SearchStrategy[Point]:
    """Places on the grid of whole numbers that the model counts in: those are written without loss."""
    xs, ys = st.integers(0, scale.width), st.integers(0, scale.height)
    return st.builds(lambda x, y: Point(x / scale.width, y / scale.height), xs, ys)


def actions(scale: Scale) -> st.SearchStrategy[Action]:
    point = points(scale)
    return st.one_of(
        st.builds(Click, point),
        st.builds(DoubleClick, point),
        st.builds(RightClick, point),
        st.builds(Drag, point, point),
        st.builds(Scroll, st.sampled_from(DIRECTIONS), st.none() | point, st.integers(1, 100)),
        st.builds(Hotkey, st.lists(KEY, min_size=1, max_size=4).map(tuple)),
        st.builds(Press, KEY),
        st.builds(Release, KEY),
        st.builds(Type, TEXT),
        st.builds(Wait, st.floats(0, 3600) | st.integers(0, 60).map(float)),
        st.builds(Finished, TEXT),
        st.builds(CallUser, TEXT),
        st.builds(Terminal, TEXT),
    )


def shot(width: int, height: int) -> Screenshot:
    return Screenshot(b"", width, height, Transform("", 0, 0, width, height))
