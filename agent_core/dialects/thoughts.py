"""What was thought: the prose before a reply's first action, told apart by labels and think tags.

A labelled thought comes first, then the think block, then plain prose; what is left over is kept as the reflection.
Total and linear in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LINE_START = r"(?:\A|(?<=[\r\n]))[ \t]{0,40}\*{0,2}"
COLON = r"\*{0,2}[ \t]{0,4}[:：]\*{0,2}"
# Marks around a reply and its calls that carry no meaning of their own.
MARKUP = (
    r"<\|(?!FunctionCallBegin)[^<>|\n]{0,40}\|>|```(?:[\w+-]{1,20}(?=\s|\Z))?|</?(?:s|eos|output|action|actions|computer_env|code_env"
    r"|mcp_env|tool_call|seed:tool_call)>|\[EOS\]"
)
_TURN = re.compile(r"\s*+<\|im_start\|>[ \t]*+(?:assistant\b)?", re.IGNORECASE)
_HEAD = re.compile(rf"(?:\s|{MARKUP})*+", re.IGNORECASE)
_TAIL = re.compile(rf"(?:{MARKUP})\Z", re.IGNORECASE)
_MARKUP_TAG = re.compile(rf"(?:{MARKUP}|<answer>|<function=[^>]*>)", re.IGNORECASE)
_TAG = re.compile(r"<([^\W\d][\w:-]{0,63})>")
_LABEL = re.compile(
    rf"{LINE_START}(?P<line>Thought|Reflection){COLON}|(?<!\w)(?P<summary>Action_Summary){COLON}", re.IGNORECASE
)
_LABELLED = re.compile(rf"\*{{0,2}}(?:Thought|Reflection|Action|Action_Summary){COLON}", re.IGNORECASE)
_ORPHAN_END = re.compile(r"</(?:think|thought)\w{0,63}>\s*+(?=[<{\[*]|Thought|Action|\w{1,64}\(|\Z)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Thinking:
    """A leading think block (None without one) and where the rest of the reply begins.

    `open` if the block never ends; `said` if its tag calls it the thought itself.
    """

    block: str | None
    rest: int
    open: bool = False
    said: bool = False


def think_block(text: str) -> Thinking:
    """Finds the think block at the start of a reply, whatever its tag is called.

    Some servers put the opening tag into the prompt: a closing tag alone ends a block that began with the reply.
    """
    turn = _TURN.match(text)
    at = _after_head(text, turn.end() if turn else 0)
    tag = _TAG.match(text, at)
    if tag and not _MARKUP_TAG.match(text, at):
        closing = re.compile(f"</{re.escape(tag[1])}>", re.IGNORECASE).search(text, tag.end())
        if closing:
            said = tag[1].lower() == "thought"
            return Thinking(text[tag.end() : closing.start()].strip(), closing.end(), said=said)
        if tag[1].lower().startswith("think"):
            return Thinking(text[tag.end() :].strip(), len(text), open=True)
    orphan = None if _LABELLED.match(text, at) else _ORPHAN_END.search(text, at)
    if orphan:
        return Thinking(text[at : orphan.start()].strip(), orphan.end())
    return Thinking(None, at)


def thought_and_reflection(thinking: Thinking, prose: str) -> tuple[str, str]:
    """The thought and what is kept beside it, from the think block and the prose before the first action."""
    found = list(_LABEL.finditer(prose))
    lead = trim(prose[: found[0].start()] if found else prose)
    labelled: dict[str, list[str]] = {"thought": [], "action_summary": [], "reflection": []}
    for n, label in enumerate(found):
        end = found[n + 1].start() if n + 1 < len(found) else len(prose)
        labelled[(label["line"] or label["summary"]).lower()].append(trim(prose[label.end() : end]))
    said = labelled["thought"] + labelled["action_summary"]
    aside = labelled["reflection"]
    block = thinking.block
    if block and thinking.said:
        said, block = [block, *said], None
    for other in (block, lead):
        if other and not any(said):
            said = [other]
        elif other:
            aside = [other, *aside]
    return "\n".join(filter(None, said)), "\n".join(filter(None, aside))


def trim(text: str) -> str:
    """The text without white space, fences and tags around it."""
    start, end = _after_head(text, 0), len(text)
    while True:
        while end > start and text[end - 1].isspace():
            end -= 1
        tail = _TAIL.search(text, max(start, end - 60), end)
        if tail is None:
            return text[start:end]
        end = tail.start()


def _after_head(text: str, at: int) -> int:
    head = _HEAD.match(text, at)
    return head.end() if head else at
