"""Says the sentences of `phrases.py` in the chosen language, and actions and times in words.

A key that is missing is a bug and raises KeyError. Text that comes from the model, a program or the policy is shown
as it is and is never looked up here.
"""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QLocale

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
    in_words,
)
from app.phrases import PHRASES
from app.reason_words import in_chinese
from app.setting_phrases import CHOICES, SETTINGS

Language = Literal["en", "zh"]

_language: Language = "en"


def choose(choice: str) -> None:
    """Sets the language of all windows made from now on: "en", "zh" or "system"."""
    global _language
    if choice == "system":
        choice = "zh" if QLocale.system().language() is QLocale.Language.Chinese else "en"
    _language = "zh" if choice == "zh" else "en"


def language() -> Language:
    """The language in use."""
    return _language


def say(key: str, **values: object) -> str:
    """The sentence for a key in the chosen language, with its values put in."""
    english, chinese = PHRASES[key]
    return (chinese if _language == "zh" else english).format(**values)


def setting(name: str, help_text: str) -> str:
    """A setting's help in the chosen language; a setting without a translation keeps its own."""
    return SETTINGS.get(name, help_text) if _language == "zh" else help_text


def choice(value: str) -> str:
    """One of a setting's choices in words; an unknown one is shown as it is."""
    english, chinese = CHOICES.get(value, (value, value))
    return chinese if _language == "zh" else english


def reason(sentence: str) -> str:
    """The policy's reason or warning in the chosen language; one that is not known is shown as it is."""
    return in_chinese(sentence) if _language == "zh" else sentence


def action(done: Action) -> str:
    """The action in plain words: the verb and exactly what it acts on."""
    return _in_chinese(done) if _language == "zh" else in_words(done)


def seconds(milliseconds: float) -> str:
    """A length of time as a person reads it: 0.3 s, 1.4 s, 2 min 5 s."""
    whole = milliseconds / 1000
    minute, second = ("分", "秒") if _language == "zh" else ("min", "s")
    if whole < 60:
        return f"{whole:.1f} {second}"
    return f"{int(whole // 60)} {minute} {int(whole % 60)} {second}"


def _in_chinese(done: Action) -> str:
    directions = {"up": "向上", "down": "向下", "left": "向左", "right": "向右"}
    match done:
        case Click():
            return "单击"
        case DoubleClick():
            return "双击"
        case RightClick():
            return "右键单击"
        case Drag():
            return "拖动"
        case Scroll(direction, _, notches):
            return f"{directions[direction]}滚动 {notches} 格"
        case Hotkey(names):
            return "按下 " + " + ".join(names)
        case Press(key):
            return f"按住 {key}"
        case Release(key):
            return f"松开 {key}"
        case Type(text):
            return f"输入 {text!r}"
        case Wait(length):
            return f"等待 {length:g} 秒"
        case Finished(answer):
            return f"完成：{answer}" if answer else "完成"
        case CallUser(question):
            return f"询问您：{question}" if question else "询问您"
        case Terminal(command):
            return f"在终端运行：{command}"
