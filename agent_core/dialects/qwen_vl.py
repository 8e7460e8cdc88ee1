"""The computer_use dialect of Qwen2.5-VL and Qwen3-VL, which Fara speaks too: JSON tool calls after the thought.

    I will click "Save".
    <tool_call>
    {"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [640, 400]}}
    </tool_call>

Qwen2.5-VL and Fara count pixels of the resized screenshot, Qwen3-VL thousandths: the manifest says which. These models
drag from where the pointer is; only a drag right after a mouse_move in the same reply has both its ends.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

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
from agent_core.dialects.chords import write_keys
from agent_core.dialects.coordinates import Scale
from agent_core.dialects.layout import Layout, take_apart, take_calls
from agent_core.dialects.qwen_calls import NOTCH, Hand
from agent_core.dialects.qwen_prompt import system_prompt
from agent_core.dialects.thoughts import think_block, thought_and_reflection
from agent_core.dialects.uitars import UiTars, understood
from agent_core.dialects.uitars2 import untagged
from agent_core.step import Intent, Screenshot

_TAG = "<tool_call>"


class QwenVl(UiTars):
    """Tells the models apart by the rules alone."""

    name = "qwen_vl"

    def opening(self, task: str, shot: Screenshot) -> tuple[str, str]:
        """The tools with the size of the screen in the model's numbers, and the task."""
        scale = self.scale(shot)
        return system_prompt(scale.width, scale.height, self.rules.terminal, self.rules.browser), task

    def parse(self, text: str, shot: Screenshot) -> Intent:
        """Reads a reply whose numbers are counted in this screenshot."""
        hand = Hand(self.rules.browser)
        intent = understood(_taken_apart(text), self.scale(shot).to_point, hand.means)
        thought = "\n".join(filter(None, [intent.thought, *hand.facts]))
        problem = intent.problems or ((hand.unfinished,) if hand.unfinished else ())
        return Intent(thought, intent.actions, problem, intent.reflection)

    def write(self, thought: str, actions: Sequence[Action], shot: Screenshot) -> str:
        """The reply as the model would give it; a drag becomes two calls."""
        scale = self.scale(shot)
        calls = [call for action in actions for call in _calls(action, scale)]
        texts = [f"{_TAG}\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>" for call in calls]
        return "\n".join(filter(None, [untagged(thought), *texts]))


def _taken_apart(text: str) -> Layout:
    """A tool_call tag after the thinking settles where the thought ends; JSON quoted before it is only quoted."""
    at = text.find(_TAG)
    thinking = think_block(text[: max(at, 0)])
    if thinking.open:  # the tag may be a quotation inside the thinking
        thinking = think_block(text)
        at = text.find(_TAG, thinking.rest)
    if at < 0 or thinking.open:
        return take_apart(text)
    thought, reflection = thought_and_reflection(thinking, text[thinking.rest : at])
    calls = take_calls(text[at:])
    return Layout(thought, reflection, calls.calls, calls.problem)


def _calls(action: Action, scale: Scale) -> list[dict[str, Any]]:
    """The tool calls that stand for an action."""

    def use(name: str, at: Point | None = None, **values: Any) -> dict[str, Any]:
        place = {} if at is None else {"coordinate": list(scale.numbers(at))}
        return {"name": "computer_use", "arguments": {"action": name, **place, **values}}

    match action:
        case Click(at):
            return [use("left_click", at)]
        case DoubleClick(at):
            return [use("double_click", at)]
        case RightClick(at):
            return [use("right_click", at)]
        case Drag(start, end):
            return [use("mouse_move", start), use("left_click_drag", end)]
        case Scroll(direction, at, notches):
            sign = 1 if direction in ("up", "right") else -1
            name = "scroll" if direction in ("up", "down") else "hscroll"
            return [use(name, at, pixels=sign * notches * NOTCH)]
        case Hotkey(keys):
            return [use("key", keys=list(keys) if len(keys) > 1 else [write_keys(keys)])]
        case Press(key):
            return [use("key_down", keys=[write_keys((key,))])]
        case Release(key):
            return [use("key_up", keys=[write_keys((key,))])]
        case Type(text):
            return [use("type", text=text)]
        case Wait(seconds):
            return [use("wait", time=seconds)]
        case Finished(answer):
            return [use("answer", text=answer) if answer else use("terminate", status="success")]
        case CallUser(question):
            return [{"name": "call_user", "arguments": {"question": question}}]
        case Terminal(command):
            return [{"name": "terminal", "arguments": {"command": command}}]
