"""Which programs and libraries of the system are missing, and getting them through apt-get.

What counts is whether a program, library or font is there, not who put it there: the table beside this file names a
proof for each package. Where we may not install (no root, no password-less sudo, no apt), the person gets the one
command that does, or the names.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shlex
import shutil
import subprocess
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from installer.work import SetupError, Work

TABLE = Path(__file__).with_name("system_packages.txt")
FONTS = (Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), Path.home() / ".local/share/fonts")
INSTALL = ("apt-get", "install", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120")
QUIET = ("env", "DEBIAN_FRONTEND=noninteractive")


@dataclass(frozen=True)
class Need:
    """A line of the table. `packages`: names in different releases, the first that apt knows is taken."""

    packages: tuple[str, ...]
    purpose: str
    proof: str

    @property
    def met(self) -> bool:
        """Whether it is there."""
        kind, _, name = self.proof.partition(":")
        match kind:
            case "program":
                return any(shutil.which(choice) for choice in name.split("|"))
            case "library":
                return _loads(name)
            case "font":
                return any(next(folder.rglob(f"{name}*"), None) for folder in FONTS)
            case "module":
                return importlib.util.find_spec(name) is not None
        raise ValueError(f"{TABLE.name}: no such proof as {self.proof!r}")


def table(text: str) -> list[Need]:
    """Reads the table: package or package|package, purpose, proof; # begins a comment."""
    needs = []
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words:
            packages, purpose, proof = words
            needs.append(Need(tuple(packages.split("|")), purpose, proof))
    return needs


def missing(purposes: Collection[str]) -> list[Need]:
    """What is not on this machine of all that serves the purposes."""
    needs = table(TABLE.read_text(encoding="utf-8"))
    return [need for need in needs if need.purpose in purposes and not need.met]


def check_installable(needs: Sequence[Need]) -> None:
    """Raises SetupError with the one command that installs them, when it may not be run from here."""
    if not needs:
        return
    if shutil.which("apt-get") is None:
        names = ", ".join(f"{need.proof.partition(':')[2]} (Debian's {need.packages[0]})" for need in needs)
        raise SetupError(f"Install these with your system's package manager, then start again: {names}")
    if _rights() is None:
        raise SetupError(
            f"{len(needs)} system packages are missing and installing them needs an administrator; "
            f"run this, then start again:\n\n  {command_for_person(names_for(needs))}\n"
        )


def install(needs: Sequence[Need], title: str, log: Path, beside: Work | None = None) -> None:
    """Gets them with apt-get. Raises SetupError when that fails or one of them is still missing afterwards."""
    if not needs:
        return
    rights = _rights()
    if rights is None:
        check_installable(needs)
        return
    # A failing update need not matter: what is already listed or downloaded can often be installed all the same.
    update = Work(f"{title} (list)", [*rights, *QUIET, "apt-get", "update"], log)
    try:
        update.wait(beside)
    except SetupError as error:
        told: SetupError | None = error
    else:
        told = None
    try:
        Work(title, [*rights, *QUIET, *INSTALL, *names_for(needs)], log).wait(beside)
    except SetupError as error:
        raise told or error from error
    importlib.invalidate_caches()
    still = [need.packages[0] for need in needs if not need.met]
    if still:
        raise SetupError(f"apt-get ran but these are still missing: {', '.join(still)}; the log is {log}.")


def names_for(needs: Iterable[Need]) -> list[str]:
    """The package names for this release."""
    return [next((name for name in need.packages if _known(name)), need.packages[0]) for need in needs]


def command_for_person(names: Sequence[str]) -> str:
    """One line for a terminal that installs the packages."""
    inner = f"apt-get update && apt-get install -y --no-install-recommends {' '.join(names)}"
    return f"{'sudo sh -c' if shutil.which('sudo') else 'su -c'} {shlex.quote(inner)}"


def _rights() -> list[str] | None:
    """The words before a command that has to run as root; None where we cannot without a password."""
    if os.geteuid() == 0:
        return []
    if (
        shutil.which("sudo")
        and subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0
    ):
        return ["sudo", "-n"]
    return None


def _known(package: str) -> bool:
    if shutil.which("apt-cache") is None:
        return False
    told = subprocess.run(["apt-cache", "show", "--no-all-versions", package], capture_output=True, check=False)
    return told.returncode == 0 and bool(told.stdout.strip())


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
