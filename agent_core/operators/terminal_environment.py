"""The environment variables that commands get: those of this program without what holds a secret.

Judged by names first, then by the look of values. Also left out: variables that make bash run something before or
after every command, because nobody is asked about those.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_SECRET_NAME = re.compile(
    r"(^|_)(TOKENS?|SECRETS?|PASS|PASSWD|PASSWORD|PASSPHRASE|PWD_HASH|KEYS?|APIKEY|CREDENTIALS?|COOKIES?|AUTH|JWT|PAT|PIN|DSN"
    r"|OTP|WEBHOOK|SALT)(_|$)|TOKEN$|SECRET$|PASSWORD$|APIKEY$|ACCESSKEY|DATABASE_URL|REDIS_URL|MONGO.*_UR[IL]|CONNECTION_STRING",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"-----BEGIN |gh[pousr]_\w{20}|github_pat_|glpat-|sk-[\w-]{20}|xox[abpr]-|AKIA[0-9A-Z]{16}|AIza[\w-]{30}"
    r"|eyJ[\w-]{10,}\.[\w-]{10,}\.|hf_\w{20}|npm_\w{20}|\w+://[^/\s:@]+:[^/\s@]+@"
)
_NOT_SECRET = frozenset({"SSH_AUTH_SOCK", "XAUTHORITY", "GPG_TTY"})
_RUNS_UNASKED = re.compile(
    r"BASH_ENV|ENV|PROMPT_COMMAND|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|CDPATH|GLOBIGNORE|PS[04]|EXECIGNORE"
)


def for_commands(given: Mapping[str, str]) -> dict[str, str]:
    """The variables that a command may have."""
    return {
        name: value
        for name, value in given.items()
        if not _RUNS_UNASKED.fullmatch(name) and (name in _NOT_SECRET or not _holds_a_secret(name, value))
    }


def _holds_a_secret(name: str, value: str) -> bool:
    return _SECRET_NAME.search(name) is not None or _SECRET_VALUE.search(value) is not None
