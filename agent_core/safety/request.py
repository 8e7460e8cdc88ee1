"""What a person's request plainly asks for, and what it forbids or merely mentions. English and Chinese.

A verb counts where it is an order: at the start of a clause, after "and", "to", "please" and the like, not inside a
quotation, not denied, not under an "if", not in a question about how something is done. Where a request wants to be
asked first, it asks for nothing. In doubt the answer is no: then the person is asked, which costs a click.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from agent_core.safety.act import Act
from agent_core.safety.plain import plain

_ENDS = re.compile(r"(?<=[.!?])\s+|[\n;。；！？]+")
_QUOTED = re.compile(
    r"\"([^\"]{1,400})\"|“([^”]{1,400})”|`([^`]{1,400})`|「([^」]{1,400})」|『([^』]{1,400})』|《([^》]{1,400})》"
    r"|(?<!\w)['‘]([^'’]{1,400})['’](?!\w)"
)
_BREAK = re.compile(r"[,:]|\bbut\b|\bjust\b|\bonly\b|\binstead\b(?! of)|但|而是|只")
_DENIES = re.compile(
    r"\b(?:do not|don'?t|does not|doesn'?t|never|not|without|instead of|rather than|avoid|nor|no|stop|refrain from"
    r"|except|unless|before|until|cannot|can'?t|mustn'?t|shouldn'?t|won'?t|how|whether|says?|said|saying|titled"
    r"|about)\b"
    r"(?:\W+\w+){0,4}\W*$"
    r"|(?:别|不要|请勿|勿|不用|无需|不必|不能|不得|禁止|避免|而不是|不|没|未|如何|怎么|怎样|关于)[^,。]{0,4}$"
)
_DENIED_AFTER = re.compile(
    r"^(?:之前|以前|前(?!面))|^\W*(?:myself|it myself|nothing|none|no\b|key\b|button\b|is\b|are\b|was\b)"
    r"|^[^,;]{0,60}\b(?:to|with) me\b"
)
_TELLS_ME = re.compile(r"^ (?:me|us|back)\b")
_FOR_ME = re.compile(r"book|reserv|order|buy|subscrib|sign|register|install|download|enrol|add|invite|connect")
# What speaks of an act that somebody else does, that is to be possible, or that is only a text.
_SPEAKS_OF = re.compile(
    r"\b(?:so (?:that )?(?:i|we|he|she|they)|i can|ready|remind(?:er|s)?|ask|let|who|has|for (?:me|us|him|her|them)"
    r"|button|option"
    r"|to-?do|task|note|called|titled|named|saying|says|search(?: the web| for)?|google|translate|nothing|nobody|none"
    r"|forgot"
    r"|wants|(?:set|change|rename) (?:\w+ ){1,4}to)\b(?:\W+(?!and\b|then\b|or\b)\w+){0,4}\W*$"
)
_IS_TEXT = re.compile(
    r"\b(?:writ\w+|typ(?:e|ing)|note|add|enter|put|insert|search|say(?:s|ing)?|text|title|subject|to-?do|task"
    r"|remind\w*|paste"
    r"|append|translate|called|contain\w*)\b[^:]*: ?(?=\S)|(?:写|输入|添加|翻译|搜索|提醒)[^:]*:(?=\S)"
)
_HEDGED = re.compile(
    r"\b(?:if|unless|in case|whenever|when(?! (?:you(?:'re| are|) ?)?(?:done|finished|ready|complete))"
    r"|might|maybe|perhaps|myself|i will|i'll)\b"
    r"|如果|若|万一|要是|也许|我自己|我来"
)
_ASKS = re.compile(
    r"^(?:how|what|why|which|who|where|is|are|does|did|explain|tell me (?:how|what|why))\b"
    r"|^(?:怎么|如何|为什么|什么|哪)"
)
_ASK_FIRST = re.compile(
    r"\b(?:ask|check with|confirm with|show|tell|consult) me\b.{0,30}\b(?:before|first)\b"
    r"|\b(?:before|first)\b.{0,60}\bask me|\bask (?:me )?(?:for )?(?:my )?(?:permission|confirmation|approval)"
    r"|\bwait for (?:me|my)\b|\bmy (?:ok|approval|permission)\b|\blet me (?:check|confirm|review|see)\b"
    r"|先.{0,4}(?:问|让我|给我|告诉)|等我(?:确认|同意)|经我|征求我"
)
_LEADS = re.compile(
    r"(?:and|then|to|please|also|just|now|you|finally|first|next|afterwards|must|should|can|could|would|will|shall"
    r"|let'?s"
    r"|by|for|need|be|kindly|simply|immediately|or|so|me|us|it|them|get|is|are|being|only|after|have|go"
    r"|that|which|who|mind)"
)
_LEADS_ZH = re.compile(
    r"(?:^|[,:、\s]|请|并|再|后|去|来|要|我|你|给|就|且|和|或|需|应|能|想|接着|最后|立即|马上|直接|地|下|的话)$"
    r"|[把将].+$"
)
_WISHES = re.compile(r"\b(?:i want|i'?d like|i would like|i need|have|please)\b(?:\W+\S+){1,8}\W*$")
_PRESS = re.compile(
    r"\b(?:press|pressing|click|clicking|push|hit|tap|choose|select|pick|use|using|with|via|through|confirm|called"
    r"|named)"
    r"(?:\W+\w+){0,6}?\W*$|(?:点|按|选|用|通过).{0,6}$"
)
_RUNS = re.compile(r"\b(?:run|execute|type|enter|issue|use)\b|运行|执行|输入|键入")


@lru_cache(maxsize=64)
def sentences(task: str) -> tuple[str, ...]:
    """The sentences of a request, as written. None where the request wants to be asked before anything is done."""
    if _ASK_FIRST.search(plain(task)):
        return ()
    return tuple(part.strip() for part in _ENDS.split(task) if part and part.strip())


@lru_cache(maxsize=64)
def quotations(task: str) -> tuple[str, ...]:
    """What stands in quotation marks or backticks, as written."""
    return tuple(next(g for g in found.groups() if g is not None) for found in _QUOTED.finditer(task))


def mentions(task: str, name: str) -> bool:
    """Whether a name stands in the request whole: "report" does not stand in "report.txt"."""
    wanted, said = plain(name).strip("\"'"), plain(task)
    if not wanted:
        return False
    if not wanted.isascii():
        return wanted in said
    return re.search(rf"(?<![\w.-]){re.escape(wanted)}(?![\w-]|\.\w)", said) is not None


def wants(act: Act, task: str) -> str:
    """The sentence that plainly asks for the act; empty if none does."""
    return orders(act.said, task)


def orders(verb: re.Pattern[str], task: str) -> str:
    """The sentence in which a verb is an order; empty if there is none."""
    for sentence in sentences(task):
        said = plain(_QUOTED.sub(' "" ', sentence))
        if _HEDGED.search(said) or _ASKS.search(said):
            continue
        if text := _IS_TEXT.search(said):  # what stands behind "write:" is to be written
            said = said[: text.end()]
        if any(_is_order(said, found) for found in verb.finditer(said)):
            return sentence
    return ""


def presses(label: str, task: str) -> str:
    """The sentence that names a control by its label as one to be pressed; empty if none does."""
    wanted = plain(label).strip(" .!…")
    if len(wanted) < 2:
        return ""
    for sentence in sentences(task):
        said = plain(sentence)
        if _HEDGED.search(said) or _ASKS.search(said):
            continue
        for start in _places(wanted, said):
            before = said[:start].rstrip("\"'“‘「` ")
            leader = _PRESS.search(_clause(before))
            if leader is None:
                continue
            lead = _clause(before)[: leader.start()]
            if not (_DENIES.search(lead) or _SPEAKS_OF.search(lead)):
                return sentence
    return ""


def runs(command: str, task: str) -> str:
    """The sentence that says to run exactly this command, which it has in quotation marks; empty if none does."""
    wanted = " ".join(command.split())
    for sentence in sentences(task):
        said = plain(sentence)
        if _HEDGED.search(said) or _ASKS.search(said):
            continue
        for found in _QUOTED.finditer(sentence):
            if not any(group and " ".join(group.split()) == wanted for group in found.groups()):
                continue
            clause = _clause(plain(_QUOTED.sub(' "" ', sentence[: found.start()])))
            verbs = list(_RUNS.finditer(clause))
            if verbs and not _DENIES.search(clause[: verbs[-1].start()]):
                return sentence
    return ""


def _is_order(said: str, found: re.Match[str]) -> bool:
    clause, after = _clause(said[: found.start()]), said[found.end() :]
    if _DENIES.search(clause) or _DENIED_AFTER.match(after) or _SPEAKS_OF.search(clause):
        return False
    if _TELLS_ME.match(after) and not _FOR_ME.match(found[0]):
        return False
    if not found[0][0].isascii():
        return _LEADS_ZH.search(said[: found.start()]) is not None
    before = said[: found.start()].rstrip()
    if found[0].startswith(("without", "do not", "don't", "dont")):
        return True
    if not before or before[-1] in ",:&(-" or not before.isascii():
        return True
    last = before.split()[-1].strip("\"'()")
    return _LEADS.fullmatch(last) is not None or (found[0].endswith("ed") and _WISHES.search(clause) is not None)


def _clause(before: str) -> str:
    """What of the text before a place belongs to the same clause."""
    breaks = list(_BREAK.finditer(before))
    return before[breaks[-1].end() :] if breaks else before


def _places(wanted: str, said: str) -> Iterator[int]:
    pattern = rf"(?<!\w){re.escape(wanted)}(?!\w)" if wanted.isascii() else re.escape(wanted)
    return (found.start() for found in re.finditer(pattern, said))
