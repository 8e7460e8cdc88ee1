"""What an act that costs something is: a name, a tier, the patterns by which it is known. The table is in `acts`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_core.step import Tier


@dataclass(frozen=True, slots=True)
class Act:
    """One kind of consequence. `needs_object`: a request names it only together with what it is done to.
    `framed` finds it on a button alone: the same word as bare text is the name of a menu or a folder."""

    name: str
    tier: Tier
    shown: re.Pattern[str]
    said: re.Pattern[str]
    needs_object: bool = False
    framed: re.Pattern[str] | None = None


# What makes a thing of a Chinese act: a time, a record, a list.
_THINGS = "时间|日期|记录|方式|历史|管理|列表|指南|结果|设置|内容|详情|给我的|键|者|人|课|全屏|购物车|收藏|游戏"


def act(
    name: str,
    tier: Tier,
    shown: str,
    shown_zh: str,
    said: str,
    said_zh: str,
    needs_object: bool = False,
    framed: str = "",
) -> Act:
    """An act from its words, the English ones as whole words, the Chinese ones where they are no part of a thing."""
    english = rf"\b(?:{shown})(?!\w)"
    chinese = rf"(?<!已)(?<!最近)(?<!不要)(?:{shown_zh})(?!{_THINGS})"
    return Act(
        name,
        tier,
        re.compile(f"{english}|{chinese}"),
        re.compile(rf"\b(?:{said})(?!\w)|(?:{said_zh})"),
        needs_object,
        re.compile(rf"(?:{framed})\W*$") if framed else None,
    )


TRASH = r"(?:the )?(?:trash|rubbish|wastebasket|recycle bin|bin)(?: can)?"


def alone(words: str) -> str:
    """The words where they are all that stands on the control."""
    return rf"(?<! )(?:{words})\W*$"
