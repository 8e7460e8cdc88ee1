"""The UI-TARS-2 dialect: a think block, then environment blocks or tool calls; places in thousandths.

    <think>..</think>                          <thinkt>..</thinkt><seed:tool_call>
    <computer_env>                             <function=click>
    Action: click(point='<point>1 2</point>')  <parameter=point><point>1 2</point></parameter>
    </computer_env>                            </function>
                                               </seed:tool_call>

Both forms are read whatever was asked for. The screen, the terminal and the answer are the environments we have; a
call to any other (search, notebooks, file editors) is a problem that the model is told of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_core.actions import Action, Finished, Point, Terminal, Wait
from agent_core.dialects.calls import Call, quote, scan, unescape
from agent_core.dialects.coordinates import place_text
from agent_core.dialects.layout import take_apart
from agent_core.dialects.meaning import ToPoint, meaning
from agent_core.dialects.uitars import UiTars, blunt, understood, write_call
from agent_core.dialects.uitars2_prompt import environment_prompt, tools_prompt
from agent_core.dialects.uitars_prompt import SYSTEM
from agent_core.step import Intent, Screenshot

_ANY_TAG = re.compile(r"<(?=[/|\w])")


class UiTars2(UiTars):
    """The runtime's two forms; `rules.form` says in which one the model is asked to answer."""

    name = "uitars2"

    def opening(self, task: str, shot: Screenshot) -> tuple[str, str]:
        """The system line, and the prompt with the task."""
        rules = self.rules
        prompt = environment_prompt if rules.form == "environment" else tools_prompt
        return SYSTEM, prompt(task, rules.language, rules.terminal)

    def parse(self, text: str, shot: Screenshot) -> Intent:
        """Reads a reply in either form, and the older forms of the family too."""
        return understood(take_apart(text), self.scale(shot).to_point, means)

    def write(self, thought: str, actions: Sequence[Action], shot: Screenshot) -> str:
        """The reply in the form asked for."""
        scale = self.scale(shot)

        def place(point: Point) -> str:
            return place_text(scale.numbers(point), "point")

        calls = [write_call(action, place) for action in actions]
        if self.rules.form == "tools":
            return _think("thinkt", thought) + _tools(actions, calls)
        return _think("think", thought) + _environments(actions, calls)


def means(call: Call, to_point: ToPoint) -> tuple[Action, ...] | str:
    """What a call means; open_computer() is a new look at the screen."""
    if call.name.lower() == "open_computer" and call.closed and not call.named and not call.bare:
        return (Wait(0.0),)
    return meaning(call, to_point)


def untagged(thought: str) -> str:
    """A thought in which nothing can be taken for a label or a tag of any name."""
    return _ANY_TAG.sub("‹", blunt(thought)).strip()


def _think(tag: str, thought: str) -> str:
    """The think block, also an empty one: then no text behind it can be taken for the end of another."""
    return f"<{tag}>{untagged(thought)}</{tag}>\n"


def _environments(actions: Sequence[Action], calls: Sequence[str]) -> str:
    """Blocks in the order of the actions; neighbours on the screen share one, and only the first has a label."""
    blocks: list[str] = []
    screen: list[str] = []
    label = "Action: "

    def end_screen() -> None:
        nonlocal label
        if screen:
            blocks.append(f"<computer_env>\n{label}" + "\n\n".join(screen) + "\n</computer_env>")
            label = ""
            screen.clear()

    for action, call in zip(actions, calls, strict=True):
        block = _own_block(action)
        if block is None:
            screen.append(call)
        else:
            end_screen()
            blocks.append(block)
            label = ""
    end_screen()
    return "\n".join(blocks)


def _own_block(action: Action) -> str | None:
    """The block of an action that has one of its own, None where the text in it could not be read back."""
    match action:
        case Terminal(command) if _fits(command):
            parameter = f"<parameter=command>{command}</parameter>"
            return f"<code_env>\n<function=execute_bash>\n{parameter}\n</function>\n</code_env>"
        case Finished(answer) if answer and answer == answer.strip() and "</answer" not in answer.lower():
            return f"<answer>{answer}</answer>"
        case _:
            return None


def _tools(actions: Sequence[Action], calls: Sequence[str]) -> str:
    functions = []
    for action, call in zip(actions, calls, strict=True):
        read, _ = scan(call, 0)
        assert isinstance(read, Call)  # written just now
        raw = isinstance(action, Terminal)
        values = {name: value.text if raw else quote(value.text)[1:-1] for name, value in read.named.items()}
        if not all(_fits(value) and (raw or unescape(value) == read.named[n].text) for n, value in values.items()):
            functions.append(call)
            continue
        name = "execute_bash" if raw else read.name
        lines = [f"<parameter={key}>{value}</parameter>" for key, value in values.items()]
        functions.append("\n".join([f"<function={name}>", *lines, "</function>"]))
    return "\n".join(["<seed:tool_call>", *functions, "</seed:tool_call>"])


def _fits(value: str) -> bool:
    """Whether a value can stand between parameter tags: nothing in it ends them, no line break is dropped."""
    return not value.startswith("\n") and "</parameter" not in value.lower()
