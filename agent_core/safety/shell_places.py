"""Which files a reading command may name unasked: those of the task's folder, of the home folder, and public ones.

Never: hidden files, names that speak of secrets, other people's folders, /proc and its kin. Judged by the words
alone, without a look at the disk: what a link in an allowed place points to is not known here, and a search below a
folder sees every file in it. The terminal's jail is what holds there.
"""

from __future__ import annotations

import os
import posixpath
import re

from agent_core.safety.shell_words import Word, listed

# Parts of a name that speak of something secret, standing alone between signs that are no letters.
_SECRET = re.compile(
    r"(?<![a-z])(id_[a-z0-9]+|g?shadow|(ht)?passw(or)?ds?|passphrases?|secrets?|credentials?|tokens?|cookies|keyrings?"
    r"|kwallet|wallets?|netrc|pgpass|kubeconfig|environ|history|vault|otp|private|logins\.json|key[34]\.db|login data"
    r"|hosts\.yml|sudoers|known_hosts|authorized_keys|api_?keys?|recovery[ _-]codes?|seed[ _-]phrase)(?![a-z])",
    re.IGNORECASE,
)
_SECRET_ENDS = tuple(
    listed(".pem .key .p12 .pfx .jks .kdbx .kdb .ppk .asc .gpg .pgp .ovpn .env .keystore .tfstate .pkcs12 .cookie")
)
# Hidden by name only: every repository shows them.
_OPEN_HIDDEN = listed(
    ".gitignore .gitattributes .gitmodules .gitkeep .github .editorconfig .dockerignore .python-version .nvmrc "
    ".prettierrc .prettierignore .eslintrc .eslintrc.js .eslintrc.json .pre-commit-config.yaml .gitlab-ci.yml "
    ".clang-format .rustfmt.toml .flake8"
)
_PUBLIC_FOLDERS = ("/usr", "/bin", "/lib", "/lib64", "/opt", "/sys/class/power_supply", "/sys/class/thermal")
_PUBLIC_FILES = listed(
    "/dev/null /etc/os-release /etc/lsb-release /etc/debian_version /etc/hostname /etc/hosts /etc/fstab /etc/timezone "
    "/etc/issue /etc/shells /etc/resolv.conf /etc/services /etc/protocols /etc/locale.gen /etc/debian_chroot "
    "/etc/environment.d /etc/apt/sources.list /proc/cpuinfo /proc/meminfo /proc/version /proc/uptime /proc/loadavg "
    "/proc/filesystems /proc/swaps /proc/partitions /proc/mounts"
)
# Endings under which people keep text for everybody: a glob for these may be read.
_TEXT_GLOB = re.compile(
    r"[^/]*\*\.(md|txt|rst|py|js|ts|tsx|jsx|c|h|cpp|hpp|rs|go|java|css|html|csv|tsv|log|sh|toml|yaml|yml|xml|json)"
)


def why_asked(word: Word, names_only: bool, folder: str | None) -> str:
    """Why a word that may name a file has to be asked about; empty if nothing speaks against it.

    `names_only`: the program shows names and sizes, no contents. `folder` is the task's folder, an absolute path.
    """
    if reason := why_text_asked(word):
        return reason
    if word.loose.startswith("~") and word.text != "~" and not word.loose.startswith("~/"):
        return f"{word.text} is somebody else's folder."
    if word.text.startswith("@") and word.text[1:2] not in ("", "{", "~", "^"):
        return f"{word.text} stands for arguments written in a file."
    if "=~" in word.loose or ":~" in word.loose:
        return f"{word.text} stands for another folder."
    if word.globs and (reason := _why_glob_asked(word.loose, names_only)):
        return f"{word.text} {reason}"
    return next(filter(None, (_why_path_asked(path, names_only, folder) for path in _paths_in(word.text))), "")


def why_text_asked(word: Word) -> str:
    """The same for a word that is only text to its program: what the shell itself would make of it."""
    if re.search(r"!\S", word.loose.replace("!=", "").replace("[!", "")):
        return f"{word.text} calls up an earlier command in some shells."
    if word.globs and (reason := _why_glob_asked(word.loose, names_only=True)):
        return f"{word.text} {reason}"
    return ""


def speaks_of_secrets(text: str) -> bool:
    """Whether a name has a part like "password" or "id_rsa", or ends like a key file."""
    return _SECRET.search(text) is not None or text.lower().rstrip("/").endswith(_SECRET_ENDS)


def may_be_entered(path: str, folder: str | None) -> bool:
    """Whether `cd` may go there unasked: relative paths downwards, the home folder, and wholly public folders."""
    if path in ("-", "~", "."):
        return True
    return not _why_path_asked(path, False, folder) and path not in _PUBLIC_FILES


def home() -> str:
    """The user's home folder as an absolute path without links resolved."""
    return posixpath.normpath(os.path.expanduser("~"))


def _paths_in(text: str) -> list[str]:
    """The text itself, and what stands behind an `=` or an option's letter."""
    found = [text]
    if "=" in text:
        found.append(text.split("=", 1)[1])
    if text.startswith("-") and "/" in text:
        found.append(text[text.index("/") :])
    return found


def _why_glob_asked(loose: str, names_only: bool) -> str:
    parts = loose.split("/")
    if any(part.startswith(".") and any(sign in part for sign in "*?[") for part in parts):
        return "stands for hidden files."
    if names_only:
        return ""
    if _TEXT_GLOB.fullmatch(loose.removeprefix("./")):
        return ""
    if len(parts) > 1 and not any(sign in "/".join(parts[:-1]) for sign in "*?[~") and _TEXT_GLOB.fullmatch(parts[-1]):
        return ""
    return "may stand for files that hold something secret."


def _why_path_asked(path: str, names_only: bool, folder: str | None) -> str:
    if speaks_of_secrets(path):
        return f"{path} may hold something secret."
    path = re.sub("/+", "/", path)
    if path.startswith("/"):
        path = re.sub(r"(/\.)+(?=/|$)", "", path) or "/"
    inside = _inside(path, folder) if folder else None
    parts = re.split("[/:]", path if inside is None else inside)
    hidden = [part for part in parts if part.startswith(".") and part not in (".", "..", *_OPEN_HIDDEN)]
    if hidden:
        return f"{path} is hidden and may hold something secret."
    if inside is not None:
        return ""
    if ".." in parts and (not names_only or path.startswith(("/", "~"))):
        return f"{path} lies outside of the folder the command runs in."
    if not path.startswith("/") or _inside(path, home()) is not None:
        return ""
    return _why_elsewhere_asked(path, names_only)


def _why_elsewhere_asked(path: str, names_only: bool) -> str:
    """For absolute paths outside of the user's own folders."""
    if path in _PUBLIC_FILES or any(_inside(path, public) is not None for public in _PUBLIC_FOLDERS):
        return ""
    closed = ("/proc", "/root", "/etc/ssl", "/run", "/var/run", "/etc/sudoers.d")
    if names_only and path != "/home" and not any(_inside(path, place) is not None for place in (*closed, "/home")):
        return ""
    if names_only and path == "/home":
        return ""
    return f"{path} lies outside of the task's folder."


def _inside(path: str, folder: str) -> str | None:
    """The rest of the path below the folder, "" for the folder itself, None if it lies elsewhere."""
    folder = folder.rstrip("/")
    if not folder or ".." in path.split("/"):
        return None
    if path.rstrip("/") == folder:
        return ""
    return path[len(folder) + 1 :] if path.startswith(folder + "/") else None
