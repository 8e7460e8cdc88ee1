"""A jail for the terminal's commands, made by bubblewrap: no network, no windows, the system read-only.

Only the task's folder can be changed. Folders that hold secrets (keys, browser profiles, Deskhand's own data) look
empty, startup files in the home folder are read-only, other programs of the user cannot be seen or reached.
Startup files that do not exist yet are held by placeholders while a jail runs, so that no command can make them.
Not covered: what lies in the folder itself (a repository's hooks, a project's build files) is at the commands' mercy,
and so are files of the home folder that few programs start from. The jail is a second line, no replacement.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from agent_core import paths
from agent_core.settings import Settings

TRY_SECONDS = 10.0

# Below the home folder. Folders are made to look empty, files to be empty.
SECRET_PLACES = (
    ".ssh .gnupg .aws .azure .kube .docker .password-store .pki .mozilla .thunderbird .librewolf .var/app .electrum "
    ".bitcoin .config/gcloud .config/google-chrome .config/google-chrome-beta .config/chromium "
    ".config/BraveSoftware .config/microsoft-edge .config/vivaldi .config/opera .config/Bitwarden .config/1Password "
    ".config/keepassxc .config/KeePass .config/Signal .config/Slack .config/discord .config/Element .config/gh "
    ".config/hub .config/op .config/rclone .config/github-copilot .config/evolution .config/git/credentials "
    ".local/share/keyrings .local/share/kwalletd .local/share/evolution .local/share/fish/fish_history "
    ".local/share/TelegramDesktop snap/firefox snap/chromium .netrc .git-credentials .pgpass .my.cnf .npmrc .pypirc "
    ".vault-token .bash_history .zsh_history .python_history .node_repl_history .psql_history .mysql_history "
    ".sqlite_history .lesshst .Xauthority .ICEauthority .cargo/credentials .cargo/credentials.toml .terraform.d .s3cfg "
    ".boto .envrc .cache"
)
# What a session, a shell or an editor runs or obeys later: where missing, held by a placeholder. Not in here: .xinitrc
# and .xsession, of which an empty one would end the session.
_STARTUP_FILES = (
    ".bashrc .bash_profile .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .inputrc .gitconfig .xprofile "
    ".xsessionrc .pam_environment .npmrc .vimrc .tmux.conf"
)
_STARTUP_FOLDERS = ".config .local .ssh .vim .cargo bin"
_PLACEHOLDER = "{} Held by Deskhand while its terminal runs, so that no command can make this file. May be deleted.\n"
# A bash that finds this file reads no .profile.
_READ_PROFILE = "[ -r ~/.profile ] && . ~/.profile\n"
_SYSTEM_SECRETS = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssl/private", "/var/lib/NetworkManager")
# Sockets of other programs lie in here; what some systems keep their programs in is put back.
_EMPTIED = ("/tmp", "/var/tmp", "/run", "/dev/shm")
_SOCKETS = ("/tmp/.X11-unix", "/tmp/.ICE-unix", "/run/user")  # emptied even where the task's folder is around them
_PUT_BACK = ("/run/current-system", "/run/opengl-driver")

# What would lead out of the jail, or say where the user's session is.
_OUTSIDE = re.compile(
    r"DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|ICEAUTHORITY|SESSION_MANAGER|DBUS_.*|SSH_.*|GPG_AGENT_INFO|XDG_RUNTIME_DIR"
    r"|DESKHAND_HOME|.*_SOCK|.*_SOCKET|DOCKER_HOST|PULSE_SERVER|TMUX|STY|WINDOWID|DESKTOP_STARTUP_ID"
)
_FAILED_FOR_IT = re.compile(
    r"Network is unreachable|Could not resolve|Temporary failure in name resolution|Name or service not known"
    r"|Temporary failure resolving|No address associated with hostname|Read-only file system"
    r"|(?:can't|cannot|could not|unable to) (?:open|connect to) display|no display name and no \$DISPLAY"
    r"|Failed to connect to (?:the )?bus|Cannot autolaunch D-Bus",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Jail:
    """Where commands are locked into. `folder` is the only one they can change; `home` the user's home folder."""

    folder: Path
    home: Path = field(default_factory=Path.home)
    _made: list[Path] = field(default_factory=list, init=False, repr=False, compare=False)

    def argv(self, command: Sequence[str], writable: Sequence[Path] = ()) -> list[str]:
        """The command line that runs a command in the jail, in which the `writable` folders can be changed as well.

        What starts it must be the thread that lives as long as the command: with that thread the jail ends.
        """
        return [
            "bwrap",
            *("--unshare-user-try", "--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
            *("--unshare-cgroup-try", "--cap-drop", "ALL", "--die-with-parent", "--new-session"),
            *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
            *_each("--tmpfs", (place for place in _EMPTIED if Path(place).is_dir() or place == "/dev/shm")),
            *(word for place in _PUT_BACK for word in ("--ro-bind-try", place, place)),
            *_bound("--bind", self.changeable),
            *self._protected(),
            *self._hidden(),
            *(word for folder in writable for word in _bound("--bind", folder)),
            *("--", *command),
        ]

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """The variables without those that lead out of the jail."""
        return {name: value for name, value in given.items() if not _OUTSIDE.fullmatch(name)}

    def hold(self) -> None:
        """Puts placeholders where startup files are missing, before a jail starts that could make them."""
        if self.changeable != self.home.resolve():
            return
        for name in _STARTUP_FILES.split():
            with contextlib.suppress(OSError), (self.home / name).open("x", encoding="utf-8") as file:
                file.write(_placeholder(name))
        for name in _STARTUP_FOLDERS.split():
            with contextlib.suppress(OSError):
                (self.home / name).mkdir(mode=0o700)
                self._made.append(self.home / name)

    def let_go(self) -> None:
        """Takes away the placeholders that nobody has changed, those of a program that was killed too."""
        if self.changeable != self.home.resolve():
            return
        for name in _STARTUP_FILES.split():
            with contextlib.suppress(OSError, UnicodeDecodeError):
                if (self.home / name).read_text(encoding="utf-8") == _placeholder(name):
                    (self.home / name).unlink()
        while self._made:
            with contextlib.suppress(OSError):
                self._made.pop().rmdir()

    def note(self, output: str) -> str:
        """A sentence for a command that seems to have failed because of the jail; empty for all others."""
        if not _FAILED_FOR_IT.search(output):
            return ""
        return f"[in the jail: no network, no windows; only {self.changeable} can be changed]"

    @property
    def changeable(self) -> Path:
        """The task's folder without links; the home folder where the task's folder is one above it."""
        folder, home = self.folder.resolve(), self.home.resolve()
        return home if home.is_relative_to(folder) else folder

    def _protected(self) -> list[str]:
        """Startup files, settings and programs of the home folder read-only, where that folder can be changed."""
        home = self.home.resolve()
        if self.changeable != home:
            return []
        kept = sorted(entry for pattern in (".*", "bin") for entry in home.glob(pattern) if not entry.is_symlink())
        return [word for entry in kept for word in _bound("--ro-bind-try", entry)]

    def _hidden(self) -> list[str]:
        home = self.home.resolve()
        places = [home / place for place in SECRET_PLACES.split()] + [paths.home().resolve()]
        places += map(Path, _SYSTEM_SECRETS)
        places += [Path(place) for place in _SOCKETS if Path(place).is_relative_to(self.changeable)]
        words: list[str] = []
        for place in dict.fromkeys(place.resolve() for place in places):
            if not os.path.exists(place) or home.is_relative_to(place):
                continue
            words += ["--tmpfs", str(place)] if place.is_dir() else ["--ro-bind", "/dev/null", str(place)]
        return words


def jail_of(settings: Settings) -> Jail | None:
    """The jail for a run with these settings; None where none is wanted or bubblewrap cannot make one."""
    if not settings.safety.jail or not available():
        return None
    return Jail(settings.run.task_folder)


@cache
def available() -> bool:
    """Whether bubblewrap is installed and really makes a jail on this computer: tried once."""
    with tempfile.TemporaryDirectory(prefix="deskhand-jail-") as folder:
        try:
            tried = subprocess.run(
                Jail(Path(folder)).argv(["true"]),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=TRY_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return tried.returncode == 0


def _placeholder(name: str) -> str:
    text = _PLACEHOLDER.format('"' if name == ".vimrc" else "#")
    return text + _READ_PROFILE if name == ".bash_profile" else text


def _bound(how: str, place: Path) -> tuple[str, str, str]:
    return how, str(place), str(place)


def _each(how: str, places: Iterable[str]) -> list[str]:
    return [word for place in places for word in (how, place)]
