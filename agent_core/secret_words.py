"""Words that say that something is secret: labels of fields, names of variables, titles of windows that ask for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise

_LABEL_WORDS = (
    r"passwor[dt]|passwd|passphrase|passcode|master key|pin|otp|cvv|cvc|ssn|"
    r"(?:security|verification|one[- ]time|access|login|auth\w*) code|"
    r"card number|social security|(?:api|secret|private|access|licen[cs]e|recovery) key|(?:access |api )?token|secret"
)
_CHINESE = r"密码|口令|验证码|校验码|卡号|密钥|令牌"
_LABEL = re.compile(rf"\b(?:{_LABEL_WORDS})\b|{_CHINESE}", re.IGNORECASE)
# A control that is about a secret but takes none.
_ABOUT = re.compile(
    r"\b(?:forgot|forgotten|show|hide|change|reset|remember|save|generate|strength|manager|hint|hunt|ballot|santa)\b|"
    r"忘记|显示|修改|重置|记住",
    re.IGNORECASE,
)
_PROMPT_LINE = re.compile(rf"(?:(?:{_LABEL_WORDS})\b|{_CHINESE})[^:：\n]{{0,60}}[:：]\s*$", re.IGNORECASE)
_PROMPT_WINDOW = re.compile(
    r"\bunlock\b|\bauthenticat|password required|enter (?:your |the )?(?:password|passphrase|pin)|passphrase|keyring|"
    r"\bpolkit|pinentry|askpass|kwallet|解锁|认证|输入密码",
    re.IGNORECASE,
)

_ONE_PART = """
    password passwd passphrase passcode passwort pwd pass secret secrets token credential credentials apikey accesskey
    privatekey secretkey authkey pin otp cvv cvc pat psk webhook jwt bearer authtoken accesstoken sshpass dbpass
"""
_TWO_PARTS = """
    api_key access_key private_key secret_key auth_key session_key encryption_key signing_key master_key account_key
    client_key service_key license_key deploy_key key_base session_id session_cookie auth_cookie
"""
# The last part of a name that only speaks about a secret.
_ABOUT_IT = """
    count ids id limit limits type url uri file path dir length len size policy field hint manager expires expiry ttl
    env label index name names store prompt required min max timeout helper enabled reset rate hash
"""
_PARTS, _PAIRS, _HARMLESS = (frozenset(words.split()) for words in (_ONE_PART, _TWO_PARTS, _ABOUT_IT))
_SPLIT = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_FILE = re.compile(
    r"\.(?:py|js|ts|txt|md|json|toml|ya?ml|html?|css|c|h|go|rs|db|log|csv|sh|conf|cfg|ini|xml|kdbx)$", re.I
)
SHORTEST_VALUE = 6  # of an environment variable: shorter ones are switches


def is_secret_label(text: str) -> bool:
    """Whether a field with this label takes something secret."""
    return bool(_LABEL.search(text))


def labels_a_secret(text: str) -> bool:
    """Whether a short text by itself names a secret thing to type or to show, as "Password:" does."""
    return len(text) <= 40 and bool(_LABEL.search(text)) and not _ABOUT.search(text)


def asks_for_secret(line: str) -> bool:
    """Whether the line ends by asking for a secret, as "[sudo] password for ann:" does."""
    return bool(_PROMPT_LINE.search(line[-160:]))


def is_secret_prompt(window: str) -> bool:
    """Whether a window with this title asks for a password and nothing else."""
    return bool(_PROMPT_WINDOW.search(window))


def is_secret_name(name: str) -> bool:
    """Whether a variable, option or key with this name holds a secret: DB_PASSWORD and apiKey, not max_tokens."""
    if _FILE.search(name):
        return False
    parts = [part.lower() for part in _SPLIT.split(name) if part]
    pairs = {"_".join(pair) for pair in pairwise(parts)}
    grown = any(part.endswith(("password", "passwd", "passphrase")) for part in parts)  # PGPASSWORD, userpassword
    if not parts or not (grown or _PARTS.intersection(parts) or _PAIRS & pairs):
        return False
    return parts[-1] not in _HARMLESS or "_".join(parts[-2:]) in _PAIRS


def secret_values(environment: Mapping[str, str]) -> Iterable[str]:
    """The values of variables with a secret's name."""
    for name, value in environment.items():
        if is_secret_name(name) and len(value) >= SHORTEST_VALUE:
            yield value
