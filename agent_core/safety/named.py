"""Whether the person's own request plainly named an act, so that it need not be asked again.

Only the request counts, never the screen's text. The screen can only take away: where a dialog, a recipient or a title
shows another object than the request names, the act was not named. R4 is never named, and neither is anything in a
request that wants to be asked first.
Not covered: acts that follow from a request without being said ("clean up" may mean anything).
"""

from __future__ import annotations

import re

from agent_core.actions import Action, Click, DoubleClick, Drag, Hotkey, Press, RightClick, Terminal, Type
from agent_core.safety.act import Act
from agent_core.safety.plain import plain, quote, squeezed
from agent_core.safety.request import mentions, orders, presses, quotations, runs, sentences, wants
from agent_core.safety.shell_request import asked_command
from agent_core.safety.tiers import Risk
from agent_core.safety.windows import SECRET_FIELD, SENSITIVE, is_terminal, title_of
from agent_core.secrets import names_in
from agent_core.step import Element, Screenshot, Tier

_THING = re.compile(
    r"[\"'“‘「『《`]([^\"'”’」』》`]{1,80})[\"'”’」』》`]|(?<![\w/.-])([\w-]{1,60}\.[a-z][a-z0-9]{0,4})(?![\w.])"
)
_COUNT = re.compile(
    r"\b(\d+|all|these|multiple|several|selected)\b (?:\w+ ){0,2}(?:items?|files?|folders?|messages?|mails?|emails?"
    r"|photos?|pictures?|rows?|records?|conversations?)\b|(\d+)\s*(?:个|封|条|张|份|项)|(所有|全部|这些)"
)
_EVERY = re.compile(r"\b(?:all|every|everything|each|both|these|those)\b|所有|全部|每|这些|那些|都")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_TO = re.compile(
    r"\b(?:to|an|tell|text|message|write|call|email|mail|with) ([A-Z][\w-]+)|(?:给|向|发给|告诉)([\u4e00-\u9fff]{2,3})"
)
_RECIPIENT = re.compile(r"^(?:to|cc|bcc|recipients?|收件人|抄送|密送|发送至)\W*$")
_WORDS = re.compile(r"\w[\w.-]+\w|[\u4e00-\u9fff]{2,}")
_IDLE = re.compile(r"the|this|that|and|for|from|with|into|please|file|page|now|its|then|onto")
_VERBS = re.compile(r"install|download|upload|book|reserve|update|order|安装|下载|上传|预订")
_ANY_WINDOW = re.compile(
    r"\b(?:windows?|editor|programs?|app|apps|applications?|tabs?|browser|it|this|that|everything|document|text|dialog|all)\b"
    r"|窗口|编辑器|程序|应用|标签|浏览器|它|文档|对话框"
)
_SHELL = re.compile(r"\b(?:terminal|command(?: line)?|shell|console)\b|终端|命令|控制台")
# Acts whose object has to be seen in the dialog that asks: a list shows many, and which one is chosen is not read.
# Acts of many kinds: that one of them was asked for names no other.
_MANY_KINDS = frozenset({"release", "leave", "publish", "authorise", "switch off", "power", "call", "reset", "join"})
_SHOWN_IN_QUESTION = frozenset({"delete", "overwrite", "uninstall"})


def named(action: Action, risk: Risk, shot: Screenshot, task: str) -> str:
    """One sentence that quotes the request where it named this act at R2 or R3; empty if it did not."""
    if risk.tier not in (Tier.R2, Tier.R3) or risk.denied:
        return ""
    match action:
        case Terminal(command):
            said = _named_command(command, task)
        case Type(text):
            said = _named_typing(text, risk, shot, task)
        case Hotkey() | Press():
            said = _named_keys(risk, shot, task)
        case Drag(start, _):
            said = _named_drop(risk, shot.under(start), task)
        case Click() | DoubleClick() | RightClick():
            said = _named_click(risk, shot, task)
        case _:
            said = ""
    return f"You asked for this: “{quote(said, 120)}”" if said else ""


def _named_click(risk: Risk, shot: Screenshot, task: str) -> str:
    if not risk.acts:
        return _named_place(risk, shot, task)
    if risk.question:
        return _named_answer(risk, shot, task)
    if [act.name for act in risk.acts] == ["close"]:
        return _named_closing(risk.acts[0], shot, task)
    if said := presses(risk.control, task):
        return said if _right_people(risk.acts, shot, task) else ""
    said = wants(risk.acts[0], task)
    if not said or not all(wants(act, task) for act in risk.acts[1:]):
        return ""
    if any(act.name in _SHOWN_IN_QUESTION for act in risk.acts):
        return ""  # what it would be done to cannot be seen
    if any(act.needs_object for act in risk.acts) and not _object_is_seen(risk.acts[0], said, shot, task):
        return ""
    if any(act.name in _MANY_KINDS for act in risk.acts) and not _says_the_same(risk.control, task):
        return ""
    return said if _right_people(risk.acts, shot, task) else ""


def _named_drop(risk: Risk, dragged: Element | None, task: str) -> str:
    """Dropping something on the trash is named when the request wants it and names what is dragged."""
    if dragged is None or not dragged.text or not risk.acts or not mentions(task, dragged.text):
        return ""
    said = [wants(act, task) for act in risk.acts]
    return said[0] if all(said) else ""


def _named_answer(risk: Risk, shot: Screenshot, task: str) -> str:
    """An answer is named when every act that its question is about is, and everything that the question names."""
    question = risk.question
    said = [wants(act, task) or (presses(risk.control, task) if not _says_only_yes(risk) else "") for act in risk.acts]
    if not all(said):
        return ""
    things = [next(g for g in found.groups() if g) for found in _THING.finditer(question)]
    if not all(mentions(task, thing) for thing in things):
        return ""
    if found := _COUNT.search(plain(question)):
        number = found[1] or found[2] or found[3]
        if not (_EVERY.search(plain(task)) or (number.isdigit() and mentions(task, number))):
            return ""
    elif not things and any(act.name in _SHOWN_IN_QUESTION for act in risk.acts):
        return ""
    return said[0] if _right_people(risk.acts, shot, task) else ""


def _says_only_yes(risk: Risk) -> bool:
    """Whether the control itself promises none of the acts: then pressing it was named, and not what it does."""
    return not any(act.shown.search(plain(risk.control)) for act in risk.acts)


def _named_place(risk: Risk, shot: Screenshot, task: str) -> str:
    """A sensitive field or window is named when the request speaks of what makes it sensitive."""
    if risk.tier is not Tier.R2:
        return ""
    told = plain(task)
    title = SENSITIVE.search(title_of(shot.window))
    words = [found[0] for found in [*SECRET_FIELD.finditer(plain(risk.resource)), *([title] if title else [])]]
    if not words or not all(word.rstrip("s") in told for word in words):
        return ""
    return next((s for s in sentences(task) if words[0].rstrip("s") in plain(s)), "")


def _named_typing(text: str, risk: Risk, shot: Screenshot, task: str) -> str:
    if names_in(text):
        return ""  # a page can look like the one that is meant
    if is_terminal(shot):
        lines = [line for line in text.split("\n") if line.strip()]
        said = [_named_command(line, task) for line in lines]
        if "\n" not in text and _SHELL.search(plain(task)):
            said = [found or (next(iter(sentences(task)), "") if mentions(task, text) else "") for found in said]
        return said[0] if said and all(said) else ""
    if risk.tier is Tier.R2 and mentions(task, text.strip()):
        return next((s for s in sentences(task) if mentions(s, text.strip())), "")
    return _named_keys(risk, shot, task)


def _named_keys(risk: Risk, shot: Screenshot, task: str) -> str:
    if risk.question:
        return _named_answer(risk, shot, task)
    names = {act.name for act in risk.acts}
    if names == {"close"}:
        return _named_closing(risk.acts[0], shot, task)
    if names == {"send"}:
        said = wants(risk.acts[0], task)
        return said if said and _right_people(risk.acts, shot, task) else ""
    return _named_place(risk, shot, task) if not names else ""


def _named_closing(close: Act, shot: Screenshot, task: str) -> str:
    """Closing is named when the request asks for it, means this window, and nothing in it waits to be saved."""
    said = wants(close, task)
    if not said or shot.window.lstrip().startswith(("*", "•")):
        return ""
    words = [word for word in _WORDS.findall(plain(said)) if not _IDLE.fullmatch(word)]
    title = plain(shot.window)
    return said if _ANY_WINDOW.search(plain(said)) or any(word in title for word in words) else ""


def _named_command(command: str, task: str) -> str:
    """The command stands in the request as one, or does with plain words what the request says with others."""
    if said := runs(command, task):
        return said
    asked = asked_command(command)
    if asked is None or not all(mentions(task, name) for name in asked.names):
        return ""
    return orders(asked.verb, task) if asked.names else ""


def _says_the_same(control: str, task: str) -> bool:
    """Whether every word on the control has its like in the request: "Reset password" is not "reset the zoom"."""
    told = plain(task)
    words = [word for word in _WORDS.findall(plain(control)) if word.isascii() and not _IDLE.fullmatch(word)]
    return all(word[:4] in told for word in words)


def _object_is_seen(act: Act, said: str, shot: Screenshot, task: str) -> bool:
    """Whether anything that the request speaks of stands in the window: "Install Firefox" and a page about it."""
    things = [*quotations(task), *(found[0] for found in _MAIL.finditer(task))]
    idle = (_IDLE.fullmatch, _VERBS.fullmatch, act.said.fullmatch, act.shown.fullmatch)
    words = things or [w for w in _WORDS.findall(plain(said)) if not any(match(w) for match in idle)]
    seen = _seen(shot)
    return any(squeezed(word) in seen for word in words)


def _right_people(acts: tuple[Act, ...], shot: Screenshot, task: str) -> bool:
    """Whether nothing on the screen shows that it would go to somebody else than the request names."""
    if not any(act.name == "send" for act in acts):
        return True
    for element in shot.elements:
        if element.kind == "field" and element.value and _RECIPIENT.match(plain(element.text)):
            people = [person.strip() for person in re.split(r"[,;，；]", element.value) if person.strip()]
            if not all(mentions(task, person) for person in people):
                return False
    wanted = [found[0] for found in _MAIL.finditer(task)]
    wanted += [next(g for g in found.groups() if g) for found in _TO.finditer(task)]
    seen = _seen(shot)
    return not wanted or any(squeezed(person) in seen for person in wanted)


def _seen(shot: Screenshot) -> str:
    """Everything that can be read, squeezed."""
    return squeezed(" ".join([shot.window, *(e.text for e in shot.elements), *(e.value for e in shot.elements)]))
