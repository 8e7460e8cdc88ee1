"""What personal data and secrets look like in a text: rules that give spans, each in time linear in the text.

Every pattern either begins at a fixed word and looks a bounded way, or consumes what it scans for good (possessive), so
no text makes a rule slow. Numbers are checked, not only counted: cards by Luhn, IBAN by mod 97, identity numbers by
their check digit. What is written after a name ("password: ...") is in `secret_values.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

Span = tuple[int, int]
Rule = Callable[[str], Iterator[Span]]

_START, _END = r"(?<![A-Za-z0-9_])", r"(?![A-Za-z0-9_])"
_LETTER = "A-Za-z0-9\u00c0-\u024f"

_EMAIL = re.compile(rf"(?<![{_LETTER}._%+-])[{_LETTER}._%+-]++@(?:[{_LETTER}-]++\.)+([A-Za-z]{{2,24}})(?![{_LETTER}-])")
# Ends of file names, no domains.
_FILES = "png jpg jpeg gif svg webp ico py js ts css html json md txt sh tgz gz ics pdf whl csv xml yaml toml log"
_NOT_DOMAINS = frozenset(_FILES.split())

_PHONE = re.compile(
    r"(?<![A-Za-z0-9_+)])\+[1-9](?:[ .\-/()]{0,2}\d){7,14}+(?!\w)"
    r"|(?<![A-Za-z0-9_.+\-/])00[1-9]\d{0,2}[ \-/](?:[ .\-/()]{0,2}\d){6,13}+(?!\w)"
    r"|(?<![A-Za-z0-9_.+])(?:86[ -]?)?1(?:3\d|4[014-9]|5[0-35-9]|6[2567]|7[0-8]|8\d|9[0-35-9])"
    r"(?:\d{8}|[ -]\d{4}[ -]\d{4})(?![A-Za-z0-9_-]|\.\d)"
    r"|(?<![A-Za-z0-9_.+(-])(?:1[ -])?(?:\([2-9]\d\d\) ?|[2-9]\d\d-)\d{3}-\d{4}(?![A-Za-z0-9_-])"
)
_LABELLED_PHONE = re.compile(
    r"(?:\b(?:tel|phone|telephone|mobile|cell|fax|whatsapp|hotline|call)\b|电话|手机|传真|联系方式)\.?"
    r"[ \t]{0,2}(?:number|no\.?|nr\.?|号码|号)?(?P<sign>[ \t]{0,2}[:=：]|[ \t]{1,2}is\b)?[ \t\"'“]{0,3}"
    r"(?P<number>\(?\d(?:[ .\-/()]{0,2}\d){6,14}+)(?![A-Za-z0-9_])",
    re.IGNORECASE,
)

_CARD = re.compile(
    r"(?<![A-Za-z0-9_.])(?:\d{13,19}|\d{4}[ .\-–]{0,2}\d{4}[ .\-–]{0,2}\d{4}[ .\-–]{0,2}\d{4}(?:[ -]\d{3})?"
    r"|\d{4} \d{4}(?: \d{4})?\n\d{4}(?: \d{4})?"  # broken over two lines, or over two elements of a screen
    r"|3\d{3}[ -]?\d{6}[ -]?\d{4,5}"
    r"|\d{6} \d{13})(?![A-Za-z0-9_]|\.\d)"
)
_LOOKS_LIKE_DIGIT = re.compile(r"(?<=\d)[OoIl|]|[OoIl|](?=\d)")
_ISSUER = re.compile(r"4|5[0-8]|6[0-9]|3[0478]|35|36|39|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|81")

_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}")
_IBAN_COUNTRIES = """
    AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18
    FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21
    LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SD18 SE24 SI19 SK24
    SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20
"""
_IBAN_LENGTHS = {part[:2]: int(part[2:]) for part in _IBAN_COUNTRIES.split()}

_IDENTITY = re.compile(
    r"(?<![A-Za-z0-9])[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?![A-Za-z0-9])"
)
_SOCIAL = re.compile(
    r"(?:(?<![A-Za-z0-9-])(?=\d{3}-\d\d-)|\b(?:ssn|social security(?: number)?)[ :#=]{1,4})"
    r"((?!000|666|9)\d{3}[- ]?(?!00)\d{2}[- ]?(?!0000)\d{4})(?![A-Za-z0-9-])",
    re.IGNORECASE,
)

_KEYS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:AK[I1l]A|AS[I1l]A|A[I1l]DA|AROA|AGPA|ANPA|AB[I1l]A|ACCA)(?=[A-Za-z0-9]{0,24}[0-9])[A-Z0-9l]{12,24}"
    r"|gh[pousr](?:_ ?| )[A-Za-z0-9]{20,255}"
    r"|github_pat_[A-Za-z0-9_]{20,255}|glpat-[A-Za-z0-9_-]{16,64}|xox[abeoprs]-[A-Za-z0-9-]{10,255}"
    r"|xapp-[A-Za-z0-9-]{10,255}|AIza[A-Za-z0-9_-]{30,64}|ya29\.[A-Za-z0-9_-]{20,1024}|GOCSPX-[A-Za-z0-9_-]{20,64}"
    r"|[rsp]k_(?:live|test)_[A-Za-z0-9]{10,255}|hf_[A-Za-z0-9]{30,64}|npm_[A-Za-z0-9]{30,64}"
    r"|pypi-[A-Za-z0-9_-]{16,255}|SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}|dop_v1_[a-f0-9]{60,64}"
    r"|whsec_[A-Za-z0-9+/=]{16,128}|shp(?:at|ca|pa|ss)_[A-Za-z0-9]{16,64}|AGE-SECRET-KEY-1[A-Z0-9]{20,80}"
    r"|\d{8,10}:[A-Za-z0-9_-]{35}|eyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,8192}(?:\.[A-Za-z0-9_-]{0,4096})?"
    r")|hooks\.slack\.com/services/[A-Za-z0-9/]{10,128}"
)
_SK = re.compile(r"(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{16,512}")
_PEM = re.compile(
    r"-{2,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?(?: ?-{1,5})?"
    r"(?s:.*?)(?:-{2,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?(?: ?-{1,5})?|\Z)"
)
_BLOB = re.compile(r"(?<![A-Za-z0-9+/=_.:\-])[A-Za-z0-9+/]{40,}+={0,2}(?![A-Za-z0-9_.-])")
_USERINFO = re.compile(r"(?<=://)[^\s/@:?#\"'<>«»]{0,128}:[^\s/\"'<>«»]{1,256}(?=@)")
_BEARER = re.compile(r"\bbearer[ \t]{1,3}([A-Za-z0-9._~+/=-]{12,4096})", re.IGNORECASE)
_AUTHORIZATION = re.compile(
    r"\b(?:proxy-)?authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?:(?:bearer|basic|token|digest|apikey)[ \t]{1,3})?"
    r"([^\s\"',;«»]{4,4096})",
    re.IGNORECASE,
)
_COOKIE = re.compile(
    r"\b(?:set-)?cookie[\"']?[ \t]{0,2}:[ \t]{0,2}[\"']?([^\s\"=«»:]{1,60}=[^\n\"«»]{1,4096})", re.IGNORECASE
)
_LOGIN_OPTION = re.compile(
    r"(?<![^\s])(?:-u|--user)[ =]{0,2}[\"']?(?!\d{1,9}:\d{1,9}\b)([^\s:\"'«»$]{1,64}:[^\s\"'«»]{1,256})"
)
_GLUED_OPTION = re.compile(
    r"\b(?:(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;«»]{0,80}? -p|sshpass -p ?)[\"']?([^\s\"'$«»]{2,256})"
)


def email(text: str) -> Iterator[Span]:
    for found in _EMAIL.finditer(text) if "@" in text else ():
        if found[1].lower() not in _NOT_DOMAINS and not found[0].startswith("git@"):
            yield found.span()


def phone(text: str) -> Iterator[Span]:
    """International numbers, Chinese mobile numbers, (555) 123-4567, and other numbers after a word such as Tel."""
    for found in _PHONE.finditer(text):
        yield found.span()
    for found in _LABELLED_PHONE.finditer(text):
        # Without a colon, numbers with blanks between them are rather two numbers than a phone's.
        if found["sign"] or found["number"][0] == "(" or not re.search(r"\s", found["number"]):
            yield found.span("number")


def card(text: str) -> Iterator[Span]:
    """Payment cards: 13 to 19 digits in a usual grouping that begin as an issuer's do and pass Luhn's check."""
    for found in _CARD.finditer(_LOOKS_LIKE_DIGIT.sub(lambda m: "0" if m[0] in "Oo" else "1", text)):
        whole = found[0]
        shorter = whole[:-4] if len(whole) > 19 and whole[-4] in " -" else whole
        for candidate in dict.fromkeys((whole, shorter)):
            digits = re.sub(r"\D", "", candidate)
            if 13 <= len(digits) <= 19 and _ISSUER.match(digits) and _luhn(digits):
                yield found.start(), found.start() + len(candidate)
                break


def iban(text: str) -> Iterator[Span]:
    for found in _IBAN.finditer(text):
        wanted = _IBAN_LENGTHS.get(found[0][:2].upper(), 0)
        places = [i for i, sign in enumerate(found[0]) if sign not in " -"][:wanted]
        if wanted and len(places) == wanted:
            code = "".join(found[0][i] for i in places).upper()
            end = found.start() + places[-1] + 1
            follows = text[end : end + 1]
            number = "".join(str(int(sign, 36)) for sign in code[4:] + code[:4])
            if int(number) % 97 == 1 and not (follows.isascii() and follows.isalnum()):
                yield found.start(), end


def identity(text: str) -> Iterator[Span]:
    """Chinese identity numbers with their check digit, and American social security numbers."""
    for found in _IDENTITY.finditer(text):
        digits = found[0]
        total = sum(int(sign) * pow(2, 17 - i, 11) for i, sign in enumerate(digits[:17]))
        if "10X98765432"[total % 11] == digits[17].upper():
            yield found.span()
    for found in _SOCIAL.finditer(text):
        yield found.span(1)


def key(text: str) -> Iterator[Span]:
    """Keys and tokens known by their form, private keys, and long words that are nothing but random signs."""
    for found in _KEYS.finditer(text):
        yield found.span()
    for found in _SK.finditer(text):
        if sum(sign.isdigit() for sign in found[0]) >= 2:
            yield found.span()
    for found in _PEM.finditer(text):
        yield found.span()
    for found in _BLOB.finditer(text):
        if _is_base64(found[0][:400]):
            yield found.span()


def credentials(text: str) -> Iterator[Span]:
    """What stands in headers, addresses and options in the place of a password."""
    for found in _USERINFO.finditer(text):
        yield found.span()
    for pattern in (_BEARER, _AUTHORIZATION, _COOKIE, _LOGIN_OPTION, _GLUED_OPTION):
        for found in pattern.finditer(text):
            if found[1].lower() not in ("bearer", "basic", "token", "digest", "apikey", "required", "failed"):
                yield found.span(1)


def looks_random(word: str) -> bool:
    """Whether a word of letters and digits changes its kind of sign as often as chance would."""
    letters, digits = sum(c.isalpha() for c in word), sum(c.isdigit() for c in word)
    return letters >= 4 and digits >= 2 and len(set(word)) >= 9 and _changes(word) > 0.22


def _is_base64(word: str) -> bool:
    return sum(c.isdigit() for c in word) >= 2 and any(c.isupper() for c in word) and _changes(word) > 0.4


def _changes(word: str) -> float:
    """The share of neighbours of different kinds: small letter, capital, digit, other."""
    kinds = ["a" if c.islower() else "A" if c.isupper() else "0" if c.isdigit() else "." for c in word]
    return sum(a != b for a, b in pairwise(kinds)) / max(1, len(kinds) - 1)


def _luhn(digits: str) -> bool:
    total = 0
    for i, sign in enumerate(reversed(digits)):
        value = int(sign) * (1 + i % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0
