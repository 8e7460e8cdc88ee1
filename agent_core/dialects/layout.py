"""Takes a reply apart: what was thought, and the calls in their order.

Models of this family answer in many shapes whatever the prompt says: Thought/Action lines, think tags, environment
blocks, tool-call XML, JSON, a bare call, any of it in code fences or behind special tokens. The first place where an
action starts divides the reply; from there one loop reads call after call and stops at the first thing it cannot
read. Total and linear: nothing raises, and only a bounded number of places is tried. What calls mean is in
`meaning.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_core.dialects.calls import Call, Unreadable, Value, ends_line, name_at, scan
from agent_core.dialects.meaning import KNOWN
from agent_core.dialects.tagged import FUNCTION, scan_function, scan_json
from agent_core.dialects.thoughts import COLON, LINE_START, MARKUP, think_block, thought_and_reflection

_MAX_TRIES = 16  # places in the prose that look like a call and are read to find out

_START = re.compile(
    rf"(?P<label>{LINE_START}Action{COLON})|(?P<inside>(?<!\w)(?-i:Action)[ \t]{{0,4}}[:：])"
    rf"|(?P<tool><function=|<\|FunctionCallBegin\|>|<tool_call>|<seed:tool_call>|{LINE_START}<answer>)"
    rf"|(?P<json>{LINE_START}(?=[{{\[]\s*+[{{\"]))"
    rf"|(?P<bare>(?:{LINE_START}|(?<=_env>))(?=[^\W\d]\w{{0,63}}[ \t]{{0,4}}\())",
    re.IGNORECASE,
)
_THOUGHT = re.compile(rf"{LINE_START}Thought{COLON}", re.IGNORECASE)
_SKIP = re.compile(rf"(?:\s|{MARKUP}|[;,`*]|#[^\n]*|(?:\d{{1,2}}[.)]|-)[ \t])*+", re.IGNORECASE)
_JSON_BEGIN = re.compile(r"<\|FunctionCallBegin\|>\s*+", re.IGNORECASE)
_JSON_OBJECT = re.compile(r"\{\s*+\"")
_ANSWER = re.compile(r"<answer>(.*?)(</answer>|\Z)", re.IGNORECASE | re.DOTALL)
_NEXT_LABEL = re.compile(rf"(?<!\w)(?:Thought|Reflection|Action|Action_Summary){COLON}", re.IGNORECASE)
_CALL_LIKE = re.compile(r"\b[^\W\d]\w{0,63}\([^\n()]{0,200}[)'\"]|<function=|\{\s*+\"", re.IGNORECASE)

NO_CALL = "No action was found; end the reply with Action: and one call from the list of actions."
_RUN_ON = "Only the first action was read: give one Thought and one Action, then wait for the next screenshot."
_REST = "What follows the last action could not be read."
_OPEN_THINK = "The reply ended before the thinking did; think more briefly and end with one action."


@dataclass(frozen=True, slots=True)
class Layout:
    """A reply taken apart. `problem` stands after the calls; "" if all of the reply was read."""

    thought: str
    reflection: str
    calls: tuple[Call, ...]
    problem: str = ""


def take_apart(text: str) -> Layout:
    """Reads any text whatever: at worst there are no calls and one problem."""
    thinking = think_block(text)
    if thinking.open:
        return Layout(thinking.block or "", "", (), _OPEN_THINK)
    body = text[thinking.rest :]
    start = _start(body)
    thought, reflection = thought_and_reflection(thinking, body[: start[0]] if start else body)
    if start is None:
        return Layout(thought, reflection, (), NO_CALL)
    calls, problem = _calls(body, start[1])
    return Layout(thought, reflection, tuple(calls), problem)


def take_calls(text: str) -> Layout:
    """Reads a text that begins with its first call: nothing in it is a thought."""
    calls, problem = _calls(text, 0)
    return Layout("", "", tuple(calls), problem)


def _start(body: str) -> tuple[int, int] | None:
    """Where the thought ends and where the first action begins; None if no action is to be seen.

    An Action label at the start of a line and a tool-call tag settle it. Anything else may be a quotation inside the
    thought, so it counts only if a whole call follows and ends its line; a call or JSON without a label counts after
    "Thought:" only if the reply has nothing better and ends with it.
    """
    unlabelled: tuple[int, int] | None = None
    thought = _THOUGHT.search(body)
    tries = 0
    for found in _START.finditer(body):
        kind, place = found.lastgroup, (found.start(), found.end())
        if kind == "label":
            return place
        if kind == "tool":
            return found.start(), found.start()
        tries += 1
        if tries > _MAX_TRIES:
            continue
        if kind == "inside":
            if _whole_call(body, _skip(body, found.end()), known=False):
                return place
        elif unlabelled is None and _unlabelled_call(body, found.end(), found.lastgroup == "json"):
            if thought is None or found.start() < thought.start():
                return place
            if _reaches_end(body, found.end()):
                unlabelled = place
    first = _skip(body, 0)
    if unlabelled is None and (name_at(body, first) or _JSON_OBJECT.match(body, first)):
        return 0, first
    return unlabelled


def _unlabelled_call(text: str, at: int, json: bool) -> bool:
    if json:
        return not isinstance(scan_json(text, at)[0], Unreadable)
    return _whole_call(text, at, known=True)


def _whole_call(text: str, at: int, known: bool) -> bool:
    name = name_at(text, at)
    if not name or (known and name.lower() not in KNOWN):
        return False
    call, end = scan(text, at)
    return isinstance(call, Call) and ends_line(text, end)


def _reaches_end(text: str, at: int) -> bool:
    """Whether the reply is calls and nothing else from here on."""
    while (at := _skip(text, at)) < len(text):
        found = _calls_at(text, at)
        if found is None or isinstance(found[0], Unreadable):
            return False
        at = found[1]
    return True


def _calls(text: str, at: int) -> tuple[list[Call], str]:
    """Every call from this place on, and the problem that ended the reading."""
    calls: list[Call] = []
    while (at := _skip(text, at)) < len(text):
        found = _calls_at(text, at)
        if found is None:
            return _unread(text[at:], calls)
        more, at = found
        if isinstance(more, Unreadable):
            return calls, more.why
        calls.extend(more)
    return calls, "" if calls else NO_CALL


def _calls_at(text: str, at: int) -> tuple[list[Call] | Unreadable, int] | None:
    """The calls written exactly here in any form and where they end; None if there is something else."""
    begin = _JSON_BEGIN.match(text, at)
    if begin or text[at] in "{[":
        return scan_json(text, begin.end() if begin else at)
    answer = _ANSWER.match(text, at)
    if answer:
        return [Call("finished", {"content": Value(answer[1].strip(), cut=not answer[2])})], answer.end()
    if FUNCTION.match(text, at):
        call, end = scan_function(text, at)
    elif name_at(text, at):
        call, end = scan(text, at)
    else:
        return None
    return (call if isinstance(call, Unreadable) else [call]), end


def _unread(rest: str, calls: list[Call]) -> tuple[list[Call], str]:
    """What to make of text after the calls: another pair is a run-on, a call is a problem, prose is only prose."""
    if not calls:
        return [], NO_CALL
    if _NEXT_LABEL.search(rest):
        return calls, _RUN_ON
    if rest.rstrip().endswith(("')", '")')):
        # The end of a text whose quote was taken for the end of the value: half a text must not be typed.
        return calls[:-1], "A quote inside a text must be written with a backslash before it."
    return calls, _REST if _CALL_LIKE.search(rest) else ""


def _skip(text: str, at: int) -> int:
    skipped = _SKIP.match(text, at)
    return skipped.end() if skipped else at
