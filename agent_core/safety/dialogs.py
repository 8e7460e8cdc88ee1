"""The question that a dialog asks: read from the lines above its answers and from the window's title.

"Yes" means what it is asked about, so an answer takes its tier from the question. A question is a line that ends with a
question mark, with the line above it that belongs to it, or a line that warns. What is further away is not asked here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent_core.safety.act import Act
from agent_core.safety.plain import plain
from agent_core.safety.words import by_tier, in_question, is_no, is_yes, label, on_control
from agent_core.step import Element, Screenshot

REACH = 0.28  # how far above its answers a question stands at most, as a share of the screen's height
BESIDE = 0.4  # the same to the side, as a share of its width
_LINE = 0.02  # the gap between two lines of one sentence is smaller than this
_LONGEST = 220  # characters of one line
_WARNS = re.compile(
    r"(?:cannot|can't|can not) be (?:undone|reversed|recovered|restored)|irreversible|permanently|will be (?:\w+ ){0,2}"
    r"(?:deleted|removed|lost|erased|overwritten|sent|published|charged|uninstalled|discarded|closed|moved)"
    r"|are you sure|already exists|unsaved changes|will lose|going to (?:delete|remove|send|pay|erase|install)"
    r"|(?:无法|不可|不能)(?:撤销|撤消|恢复|还原)|将(?:被|会|永久).{0,6}(?:删除|丢失|覆盖|清除|发送|扣款|关闭)"
    r"|永久|已经?存在|未保存|丢失"
)
_ABOUT_SAVING = re.compile(r"\bsave\b.*\?|(?:changes|work).{0,40}\bsaved\?|保存.*(?:\?|吗)")
_KEEPS_OPEN = re.compile(
    r"cancel|back|go back|stay|keep(?: editing)?|later|dismiss|continue editing|取消|返回|稍后|继续编辑"
)
_DOCUMENT = re.compile(r" [-—–] |\.[a-z0-9]{1,5}$")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, in the words read, and the acts that it is about, gravest first."""

    text: str
    acts: tuple[Act, ...]


def question_over(answer: Element, shot: Screenshot) -> Question:
    """What the question over an answer is about, and the title of its window where that names an act."""
    lines = _asked(_lines_over(answer, shot.elements))
    if is_title(shot.window) and in_question(shot.window):
        lines.insert(0, shot.window)
    text = " ".join(" ".join(lines).split())
    return Question(text, in_question(text) if text else ())


def open_question(shot: Screenshot) -> Question:
    """What the dialog on the screen is about, which Enter would answer. Without a dialog: an empty question.

    A dialog is a button, or bare words that agree, with a question over it and, beside it, an answer that declines.
    Which of its buttons Enter presses is not read, so the gravest counts, its own words with the question.
    """
    found: list[Question] = []
    declining = [e for e in shot.elements if e.text and is_no(e.text)]
    for element in shot.elements:
        if element.kind not in ("button", "text") or not element.text:
            continue
        is_button, agrees = element.kind == "button", is_yes(element.text)
        if is_no(element.text) or not (is_button or agrees):
            continue
        own = on_control(element.text) if is_button else ()
        declined = any(_in_row(e, element) for e in declining)
        question = question_over(element, shot) if declined or agrees else Question("", ())
        if question.acts and (declined or (agrees and is_title(shot.window))):
            found.append(Question(question.text, by_tier({*question.acts, *own})))
        elif own and declined and question.text:
            found.append(Question(question.text, own))
    return max(found, key=lambda question: question.acts[0].tier, default=Question("", ()))


def unsaved_by(answer: Element, shot: Screenshot) -> str:
    """The question about saving that an answer turns down, so that what was not saved is lost; empty without one."""
    words = label(answer.text).strip(" .!…")
    if answer.kind not in ("button", "text") or not is_no(words) or _KEEPS_OPEN.fullmatch(words):
        return ""
    text = " ".join(" ".join(_asked(_lines_over(answer, shot.elements))).split())
    return text if _ABOUT_SAVING.search(plain(text)) and "password" not in plain(text) else ""


def unsaved_here(shot: Screenshot) -> str:
    """The question about saving on the screen that a button turns down; empty without one."""
    return next(filter(None, (unsaved_by(element, shot) for element in shot.elements)), "")


def is_declined_beside(answer: Element, shot: Screenshot) -> bool:
    """Whether an answer stands in a row with one that declines, as answers in dialogs do."""
    return any(e is not answer and e.text and _in_row(e, answer) and is_no(e.text) for e in shot.elements)


def is_title(window: str) -> bool:
    """Whether a title can be a dialog's: short, and not that of a document."""
    return 0 < len(window) <= 50 and _DOCUMENT.search(plain(window)) is None


def _lines_over(answer: Element, elements: Sequence[Element]) -> list[Element]:
    """The bare lines over an answer and near it, from top to bottom."""
    top = answer.box.top
    near = [
        e
        for e in elements
        if e.kind == "text"
        and e.text
        and len(e.text) <= _LONGEST
        and top - REACH <= e.box.top
        and e.box.bottom <= top + 0.01
        and e.box.left - BESIDE <= answer.box.right
        and answer.box.left <= e.box.right + BESIDE
    ]
    return sorted(near, key=lambda e: (e.box.top, e.box.left))


def _asked(lines: Sequence[Element]) -> list[str]:
    """The texts that ask or warn, each with the line before it that runs into it."""
    kept: list[str] = []
    for i, line in enumerate(lines):
        words = plain(line.text)
        if not (words.endswith("?") and len(words) > 1) and not _WARNS.search(words):
            continue
        above = lines[i - 1] if i else None
        runs_on = (
            above is not None
            and line.box.top - above.box.bottom < _LINE
            and above.box.left < line.box.right
            and line.box.left < above.box.right
            and above.text not in kept
            and not above.text.rstrip().endswith((".", "。", "!", "?", "？"))
        )
        if above is not None and runs_on:
            kept.append(above.text)
        kept.append(line.text)
    return kept


def _in_row(a: Element, b: Element) -> bool:
    return abs(a.point.y - b.point.y) < 0.03 and abs(a.point.x - b.point.x) < BESIDE
