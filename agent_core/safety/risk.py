"""How much an action can cost, as a pure function of the action, what was read on the screen and the window it is in.

Covered: words on and around the target in English and Chinese, windows that hold secrets or a shell, hotkeys, a newline
typed into a terminal window, commands of the agent's own terminal.
Not covered: what a picture without words means, what a page does behind a harmless label. A tier is an estimate of
meaning from words; where the window is sensitive and the words say nothing, the answer is never below "ask".
"""

from __future__ import annotations

import re
from typing import assert_never

from agent_core.actions import (
    Action,
    CallUser,
    Click,
    DoubleClick,
    Drag,
    Finished,
    Hotkey,
    Press,
    Release,
    RightClick,
    Scroll,
    Terminal,
    Type,
    Wait,
    target_of,
)
from agent_core.errors import InputError
from agent_core.keys import chord
from agent_core.safety import shell
from agent_core.step import Screenshot, Tier

CRITICAL = re.compile(
    r"\b(pay|buy( now)?|purchase|checkout|place order|transfer money|wire|delete (account|permanently|all|forever)|"
    r"empty trash|format|erase|wipe|factory reset|accept (the )?(terms|license|agreement)|i agree|sign contract)\b|"
    r"付款|支付|购买|下单|转账|永久删除|清空回收站|格式化|注销账号|同意协议",
    re.IGNORECASE,
)
CONSEQUENTIAL = re.compile(
    r"\b(send|post|publish|tweet|share|reply all|upload|download|install|uninstall|delete|remove|discard|"
    r"don'?t save|close without saving|move to trash|trash|sign out|log out|unsubscribe|book|reserve|"
    r"restart|shut ?down|power off|overwrite|replace all|reset)\b|"
    r"发送|发布|分享|上传|下载|安装|卸载|删除|移除|丢弃|不保存|退出登录|预订|重启|关机|覆盖",
    re.IGNORECASE,
)
SECRET_WORDS = re.compile(
    r"\b(password|passcode|pin|otp|cvv|card number|security code|ssn)\b|密码|验证码|卡号", re.IGNORECASE
)
TERMINAL_WINDOW = re.compile(
    r"terminal|xterm|konsole|\bbash\b|\bzsh\b|powershell|command prompt|终端|^\S+@\S+:", re.IGNORECASE
)
SENSITIVE_WINDOW = re.compile(
    r"keyring|passwords?\b|keepass|bitwarden|1password|settings|preferences|control panel|authenticat|polkit|"
    r"wallet|bank|设置|密码|银行|钱包",
    re.IGNORECASE,
)

_ENTER = frozenset({"Return", "KP_Enter"})
_ENTER_CHORDS = (frozenset({"ctrl", "m"}), frozenset({"ctrl", "j"}))  # what a terminal takes for Enter
_HOLDS = frozenset({"ctrl", "alt", "super"})  # held down, they make another action of every key that follows
_RISKY_CHORDS: dict[frozenset[str], tuple[Tier, str]] = {
    frozenset({"alt", "F4"}): (Tier.R3, "This closes a window; unsaved work could be lost."),
    frozenset({"ctrl", "q"}): (Tier.R3, "This quits a program; unsaved work could be lost."),
    frozenset({"ctrl", "w"}): (Tier.R3, "This closes a tab or window; unsaved work could be lost."),
    frozenset({"shift", "Delete"}): (Tier.R4, "This deletes without the trash."),
    frozenset({"ctrl", "alt", "Delete"}): (Tier.R4, "This reaches the system itself."),
    frozenset({"ctrl", "alt", "t"}): (Tier.R2, "This opens a terminal."),
    frozenset({"super", "r"}): (Tier.R2, "This opens a box that runs programs."),
    frozenset({"alt", "F2"}): (Tier.R2, "This opens a box that runs programs."),
    frozenset({"super", "l"}): (Tier.R3, "This locks the screen."),
}
_MODIFIERS = {"Control": "ctrl", "Shift": "shift", "Alt": "alt", "Super": "super"}


def tier_of(action: Action, shot: Screenshot) -> tuple[Tier, str]:
    """The tier and one plain reason. Unknown in a sensitive window is never below R2."""
    match action:
        case Wait() | Finished() | CallUser() | Scroll():
            return Tier.R0, "This only looks or talks."
        case Release():
            return Tier.R0, "This lets a key go."
        case Click() | DoubleClick() | RightClick() | Drag():
            return _pointer(action, shot)
        case Hotkey(keys):
            return _keys(keys, shot)
        case Press(key):
            return _keys((key,), shot, held=True)
        case Type(text):
            return _typing(text, shot)
        case Terminal(command):
            return shell.tier_of(command)
        case _:
            assert_never(action)


def _pointer(action: Action, shot: Screenshot) -> tuple[Tier, str]:
    at = target_of(action)
    element = shot.under(at) if at is not None else None
    words = element.text if element is not None and element.kind != "field" else ""
    # A long line is a document's text, not a control: its words say nothing about what a click does.
    control = words if len(words) <= 60 else ""
    if control and CRITICAL.search(control):
        return Tier.R4, f'"{control}" cannot be undone or costs money.'
    if control and CONSEQUENTIAL.search(control):
        return Tier.R3, f'"{control}" has consequences beyond this window.'
    if element is not None and element.kind == "field" and SECRET_WORDS.search(element.text):
        return Tier.R2, f'"{element.text}" is a field for something secret.'
    if SENSITIVE_WINDOW.search(shot.window):
        return Tier.R2, f'"{shot.window}" is a window with settings or secrets.'
    return Tier.R1, "This can be undone."


def _keys(keys: tuple[str, ...], shot: Screenshot, held: bool = False) -> tuple[Tier, str]:
    try:
        names = frozenset(_plain(name) for name in chord(keys))
    except InputError:
        return Tier.R1, "There is no such key, so nothing will be pressed."
    for risky, verdict in _RISKY_CHORDS.items():
        if risky <= names:
            return verdict
    if held and names & _HOLDS:
        return Tier.R2, "A held key changes what every further key does."
    if names & _ENTER or names in _ENTER_CHORDS:
        return _enter(shot)
    if SENSITIVE_WINDOW.search(shot.window):
        return Tier.R2, f'"{shot.window}" is a window with settings or secrets.'
    return Tier.R1, "This can be undone."


def _plain(keysym: str) -> str:
    """Left and right modifiers are one; other keys keep their X name."""
    return _MODIFIERS.get(keysym.removesuffix("_L").removesuffix("_R"), keysym)


def _enter(shot: Screenshot) -> tuple[Tier, str]:
    """Enter does what the window is about."""
    if TERMINAL_WINDOW.search(shot.window):
        return Tier.R3, "Enter in a terminal window runs what stands there."
    if CRITICAL.search(shot.window):
        return Tier.R4, f'Enter confirms "{shot.window}".'
    if CONSEQUENTIAL.search(shot.window):
        return Tier.R3, f'Enter confirms "{shot.window}".'
    if SENSITIVE_WINDOW.search(shot.window):
        return Tier.R2, f'"{shot.window}" is a window with settings or secrets.'
    return Tier.R1, "This can be undone."


def _typing(text: str, shot: Screenshot) -> tuple[Tier, str]:
    if TERMINAL_WINDOW.search(shot.window):
        if "\n" not in text:
            return Tier.R2, "This types into a terminal window."
        tier, reason = max((shell.tier_of(line) for line in text.split("\n") if line.strip()), default=(Tier.R3, ""))
        return max(tier, Tier.R3), reason or "Enter in a terminal window runs what stands there."
    if "\n" in text:
        return _enter(shot)
    if SENSITIVE_WINDOW.search(shot.window):
        return Tier.R2, f'"{shot.window}" is a window with settings or secrets.'
    return Tier.R1, "This can be undone."
