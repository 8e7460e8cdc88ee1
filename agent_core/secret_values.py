"""What stands after a name that means a secret: PASSWORD=..., "api_key": "...", the password is ..., --token ....

A sign between name and value ("=", ":") says that a value follows; in prose only what could not be an ordinary word is
taken. Names that only speak about secrets (max_tokens, password_file, "Forgot password?") have no value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_core.secret_rules import Span, looks_random
from agent_core.secret_words import is_secret_name

_ASCII_WORDS = (
    r"passwor[dt]|passwd|passphrase|passcode|pwd|secret|token|(?:api|access|private|auth|session|account|master)"
    r"[_\- ]?key"
    r"|credential|(?<![a-z])(?:pin|otp|cvv|cvc|psk|pass)(?![a-z])|(?:verification|security|one[- ]time|access) code"
    r"|(?:wi-?fi|wlan|wpa\d?|network) key"
)
# Besides Chinese, a password in a few more languages: there too the word by itself is name enough.
_CHINESE_WORDS = r"密码|口令|密钥|令牌|验证码|校验码|kennwort|mot de passe|contraseña|пароль|パスワード"
_HIT = re.compile(rf"{_ASCII_WORDS}|(?P<chinese>{_CHINESE_WORDS})", re.IGNORECASE)
_VALUE = (
    r"(?:(?P<quote>\\?[\"`'])(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\\\n«»])){1,512})(?=(?P=quote))"
    r"|[“‘「](?P<curly>[^\"”’」`'\n«»]{1,512})(?=[\"”’」`'])"
    r"|(?P<bare>[^\s\"'“”‘’「」`«»<>&,;]{1,4096}))"
)
_SIGN = r"(?P<sign>=>|:=|={1,2}|[:：＝])[ \t]{0,4}"
_WORD = r"(?:'s|[ \t]{1,2}(?P<word>is|was|be|为|是))[ \t]{1,2}"
# Signs that do not say for sure that a value follows: arrows and dashes, the bars of a table, the end of the line.
_GAP = r"(?P<gap>[ \t]{1,2}(?:(?:→|->|[-–|])[ \t]{1,2}|\()?|[ \t]?[:：][ \t]?(?:[|>][+-]?)?[ \t]{0,4}\n[ \t]{0,12})"
_AFTER = re.compile(
    rf"(?P<tail>[A-Za-z0-9_.-]{{0,48}})(?P<closing>[\"'\])\\]{{0,4}})"
    rf"(?:[ \t]{{0,3}}{_SIGN}|{_WORD}|{_GAP}){_VALUE}",
    re.IGNORECASE,
)
_AFTER_CHINESE = re.compile(
    rf"(?P<tail>)(?P<closing>[\"'\])”」]{{0,3}})"
    rf"(?:[ \t]{{0,3}}{_SIGN}|[ \t]?(?P<word>为|是)[ \t]?|(?P<gap>[ \t]{{0,2}})(?=[!-~])){_VALUE}"
)
_BEFORE = re.compile(r"[A-Za-z0-9_.-]{0,48}\Z")
_NO_VALUE = re.compile(
    r"null|none|nil|undefined|true|false|yes|no|on|off|empty|\$.*|%\w+%|\{.*|\[.*|\(.*|[•●*xX._…-]+|\W+|"
    r"str|int|bool|string|bytes|number|text|field|button|check|optional\W?|required\W?|forgot\W?|show|hide|change|reset|"
    r"enter|new|confirm|your|incorrect|wrong|invalid|missing|must|not|the|too|weak|strong|medium|hidden|and|or|in|is|"
    r"unknown|click|type|press|please|await|process\.env.*|os\.environ.*|getenv.*|(?:alt|ctrl|shift|option)\+.*|"
    r"[\w-]+=|x:\d+:.*|[~.]{0,2}/[A-Za-z/_.:-]*",  # attributes, lines of /etc/passwd, paths
    re.IGNORECASE,
)
_DIGITS_ARE_SECRET = re.compile(
    r"pin|otp|cvv|cvc|code|passcode|pass|pwd|passwor[dt]|passwd|密码|验证码|校验码|口令", re.IGNORECASE
)
_CODE = re.compile(r"[A-Za-z_][\w.]*[(\[].*|[A-Za-z_]+(?:\.[A-Za-z_]+)+", re.DOTALL)  # a call, an attribute
_PARAMETER = re.compile(
    r"[?&](?:code|sig|signature|auth|key|sid|session|jsessionid|access|assertion|samlresponse|ticket)="
    r"([^\s&#\"'<>«»]{8,4096})",
    re.IGNORECASE,
)
_NEAR = re.compile(
    r"(?:secret|token|\bkey\b|passw|credential|signature|session|cookie|密钥|令牌)[^\n«»]{0,24}?"
    r"(?<![A-Za-z0-9+/_=.\-])(?=[A-Za-z0-9+/_=-]{16})([A-Za-z0-9+/_-]{16,200}={0,2})(?![A-Za-z0-9+/_=-])",
    re.IGNORECASE,
)
_PHRASE = re.compile(
    r"\b(?:passphrase|(?:recovery|seed|secret|backup) phrase|mnemonic|助记词)[ \t]?[:=：][ \t]{0,4}([^\n«»]{4,512})",
    re.IGNORECASE,
)
_MARKED_UP = re.compile(r"<([\w.:-]{1,64})>([^<>\n«»]{1,512})</")
_NAME_AND_VALUE = re.compile(
    r"\b(?:name|key|id)[\"']?[ \t]{0,2}[:=][ \t]{0,2}[\"']?([\w.-]{1,64})[\"']?,?\s{0,12}[\"']?value[\"']?"
    r"[ \t]{0,2}[:=][ \t]{0,2}(?:\"([^\"\n«»]{1,512})|'([^'\n«»]{1,512})|([^\s\"'«»,<>]{1,512}))",
    re.IGNORECASE,
)
_ONE_TIME = re.compile(
    r"\b(?:[A-Z]-)?(?P<before>\d{4,8}) (?:is|as) your [^\n«»]{0,40}\bcode\b"
    r"|\byour (?:[\w-]{1,16} ){0,3}code(?: is:?|:) (?:[A-Z]-)?(?P<after>\d{4,8})\b",
    re.IGNORECASE,
)
_AS_PASSWORD = re.compile(
    r"(?<!\S)[\"'“‘]?(?=[^\s\"'“”‘’«»()]{0,64}[A-Za-z])(?=[^\s\"'“”‘’«»()]{0,64}[0-9!@#$%^&*+=?~])"
    r"([^\s\"'“”‘’«»()]{4,64})[\"'”’]? (?:as|for|into|in) (?:the |my |your |its )?(?:password|passcode|pin\b)",
    re.IGNORECASE,
)
_FIELD_LINE = re.compile(r"(?m)^field [^\n=]{0,200}= ([^\n«»]+)$")


def named_values(text: str) -> Iterator[Span]:
    """The values after names of secrets, left to right; none lies in another."""
    at = 0
    while (hit := _HIT.search(text, at)) is not None:
        at = hit.end()
        after = (_AFTER_CHINESE if hit["chinese"] else _AFTER).match(text, hit.end())
        if after is None:
            continue
        span = _value_span(text, hit, after)
        if span is not None:
            yield span
            at = max(at, span[1])


def told_otherwise(text: str) -> Iterator[Span]:
    """Phrases of many words, values in mark-up and in pairs of name and value, codes that were sent, x as password."""
    for found in _PHRASE.finditer(text):
        if not _NO_VALUE.fullmatch(found[1]):
            yield found.span(1)
    for found in _MARKED_UP.finditer(text) if "</" in text else ():
        if is_secret_name(found[1]) and not _NO_VALUE.fullmatch(found[2]):
            yield found.span(2)
    for pattern in (_NAME_AND_VALUE, _ONE_TIME, _AS_PASSWORD):
        for found in pattern.finditer(text):
            group = found.lastindex or 0
            if pattern is not _NAME_AND_VALUE or (is_secret_name(found[1]) and not _NO_VALUE.fullmatch(found[group])):
                yield found.span(group)


def parameters(text: str) -> Iterator[Span]:
    """Values of parameters in addresses that open a session."""
    for found in _PARAMETER.finditer(text) if "=" in text else ():
        yield found.span(1)


def near_secret_words(text: str) -> Iterator[Span]:
    """Random words shortly after a word such as token."""
    for found in _NEAR.finditer(text):
        if looks_random(found[1]) and "/" not in found[1][:1]:
            yield found.span(1)


def _value_span(text: str, hit: re.Match[str], after: re.Match[str]) -> Span | None:
    """Where the value lies, None when what follows the name is no value."""
    before = _BEFORE.search(text, max(0, hit.start() - 48), hit.start())
    name = f"{before[0] if before else ''}{hit[0]}{after['tail']}"
    kind = next(kind for kind in ("quoted", "curly", "bare") if after[kind] is not None)
    start, end = after.span(kind)
    if not hit["chinese"] and not _is_name(name, bool(after["sign"])):
        return None
    if kind != "bare":
        closed = any(quote in after["closing"] for quote in "\"'")
        is_value = bool(after["sign"] or after["word"] or not closed) and not _NO_VALUE.fullmatch(after[kind])
        return (start, end) if is_value and "\x1f" not in after[kind] else None
    if (line := _whole_field(text, hit.start(), start)) is not None:
        return line
    if not (after["sign"] or "").startswith("=") and after["sign"] != ":=":
        end = start + len(after["bare"].rstrip(".,!?:)]}。，"))
    return (start, end) if end > start and _is_value(text[start:end], text[end : end + 1], hit[0], after) else None


def _is_name(name: str, signed: bool) -> bool:
    """Whether the name is a secret's. In prose it is the bare word, perhaps an option such as --token."""
    stripped = name.strip("-.").replace("-", "_")
    return is_secret_name(stripped) or " " in name


def _is_value(value: str, follows: str, word: str, after: re.Match[str]) -> bool:
    digits, letters = any(c.isdigit() for c in value), any(c.isalpha() for c in value)
    odd = any(not c.isalnum() and c not in "-_./" for c in value)
    if _NO_VALUE.fullmatch(value):
        return False
    if value.isdigit() and (len(value) < 3 or not _DIGITS_ARE_SECRET.search(word)):
        return False
    if (sign := after["sign"]) and sign not in (":", "："):
        return not (_CODE.fullmatch(value) or (value.isidentifier() and is_secret_name(value)))
    if value.isdigit():
        return len(value) >= (3 if sign or after["word"] or word.lower() in ("cvv", "cvc") else 4)
    if len(value) < 4:
        return False
    if digits or (odd and letters):
        return True
    mostly_last = follows in ("", "\n", "\x1f") and not (word.lower() == "pass" and "_" in value)
    return bool(sign) and letters and mostly_last and _DIGITS_ARE_SECRET.search(word) is not None


def _whole_field(text: str, hit: int, start: int) -> Span | None:
    """In a list of elements ("field Password = correct horse") the value goes on to the end of the line."""
    begin = text.rfind("\n", max(0, hit - 240), hit) + 1
    found = _FIELD_LINE.match(text, begin) if text.startswith("field ", begin) else None
    if found is None or found.start(1) != start or _NO_VALUE.fullmatch(found[1]):
        return None
    return found.span(1)
