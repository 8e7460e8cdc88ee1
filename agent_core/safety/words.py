"""What the words on a control say: which act it promises, whether it answers yes or no.

The same words weigh differently by what bears them: on a button they are an order, in a bare line they may be the
title of a mail. So a bare line counts only when it is short and begins with the act, as menus and links do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from agent_core.safety.act import Act
from agent_core.safety.acts import ACTS
from agent_core.safety.plain import unmasked

LONGEST_CONTROL = (
    120  # characters of what is framed; a longer line is a document's text, and says nothing about what a click does
)
LONGEST_LINE = 40  # the same for bare text, in which menus and links are read, and documents too
MOST_WORDS = 5
SHORT_CHINESE = 6  # a bare Chinese line of so few signs is a control wherever in it the act stands

_YES = re.compile(
    r"(?:yes|ok|okay|confirm|continue|proceed|i?\s?accept|i?\s?agree|done|sure|apply|go ahead|(?:yes, )?i'm sure|allow"
    r"|next|go|do it|got it|understood|i understand|retry|finish|yes to all|ok to all"
    r"|是|是的|确定|确认|好|好的|继续|同意|允许|下一步|没错|应用|完成|知道了|我知道了|全部是)(?: ?[(（][a-z][)）])?"
)
_NO = re.compile(
    r"(?:no|cancel|close|back|keep|later|not now|abort|dismiss|skip|no,? thanks|don'?t (?:allow|delete|send)|deny|never"
    r"|stay|go back|keep editing|ignore|maybe later|decline"
    r"|否|取消|不|不了|返回|关闭|稍后|保留|暂不|不允许|以后再说|拒绝|继续编辑|不删除|不发送)(?: ?[(（][a-z][)）])?"
)
# Turned to the opposite: "Don't delete", "Undo send". Not saving, and cancelling what was booked, are acts themselves.
_TURNED = re.compile(
    r"(?:don'?t|do not|never|undo|cancel(?:l?ing)?|keep|not) (?:the |this |my )?|(?:不|取消|撤销|别)(?!再)"
)
_TURNED_ANYWAY = re.compile(
    r"don'?t save|do not save|cancel (?:\w+ )?(?:order|subscr|book|reserv|appoint|plan|member|flight|trip|account)"
    r"|不保存|取消(?:订阅|订单|预订|预约|会员|关注|配对)"
)
# What may stand before the act on a bare line: "Yes, delete", "Review and pay", "Slide to pay".
_LEAD = re.compile(
    r"(?:(?:yes|ok|okay)\b[,;:.!]? |(?:confirm|continue|proceed|review|accept|agree|save|update|schedule|swipe|slide"
    r"|hold"
    r"|tap|click(?: here)?|press)(?: (?:and|to)| &)? |i want to )+"
)
_FILE = re.compile(r"\S+\.[a-z][a-z0-9]{0,4}")
_NOISE = re.compile(r"^(?:(?:[^\w\s]+|(?![ai]\b)[a-z0-9]|[\u3400-\u9fff])(?:\s|$)+)+(?=\w)")


def label(text: str) -> str:
    """What stands on a control, without the marks that a picture beside the words was read as ("C ) Yes")."""
    words = unmasked(text)
    return _NOISE.sub("", words).strip() or words


def is_yes(text: str) -> bool:
    """Whether a control answers a question with yes."""
    return _YES.fullmatch(label(text).strip(" .!…")) is not None


def is_no(text: str) -> bool:
    """Whether a control answers a question with no, or leaves everything as it is."""
    return _NO.fullmatch(label(text).strip(" .!…")) is not None


def is_file(text: str) -> bool:
    """Whether the text is a file's name and so stands for the file, not for what its words say."""
    return _FILE.fullmatch(label(text)) is not None


def on_control(text: str, bare: bool = False) -> tuple[Act, ...]:
    """The acts that a control's words promise, gravest first. `bare`: read as text without a frame around it."""
    words = label(text)
    if not words or len(words) > LONGEST_CONTROL or _FILE.fullmatch(words):
        return ()
    if bare and (len(words) > LONGEST_LINE or len(words.split()) > MOST_WORDS):
        return ()
    anywhere = not bare or (not words.isascii() and len(words) <= SHORT_CHINESE)
    lead = _LEAD.match(words)
    after = lead.end() if lead else 0
    turned = _TURNED.match(words) if not _TURNED_ANYWAY.match(words) else None
    found = []
    for act in ACTS:
        match = act.shown.search(words) if anywhere else act.shown.match(words) or act.shown.match(words, after)
        if match is None and not bare and act.framed is not None:
            match = act.framed.match(words)
        if match is not None and not (turned and match.start() <= turned.end()):
            found.append(act)
    return by_tier(found)


def by_tier(found: Iterable[Act]) -> tuple[Act, ...]:
    """The gravest act first; acts of one tier in the table's order."""
    return tuple(sorted(found, key=lambda act: act.tier, reverse=True))


def in_question(text: str) -> tuple[Act, ...]:
    """The acts that a dialog's question or title is about, gravest first."""
    words = unmasked(text)
    return by_tier(act for act in ACTS if act.shown.search(words))


def matched(act: Act, text: str) -> str:
    """The words of `text` by which the act is known; empty if it is not."""
    found = act.shown.search(unmasked(text))
    return found[0].strip() if found else ""
