"""The lists the shell gate judges by: programs that only read and the options they may have, phrases, the denied.

Every list names what is known to be harmless; what is in no list asks. The options of a program are written as getopt
does: a letter per option, `:` behind one that takes a value, `::` behind one that may have a value stuck to it.
Not in here on purpose, though they read: pagers and `man` (they start a shell), `printf` (`%n` and `-v` evaluate a
subscript), `env` and `history` (they print secrets), `tee`, `xargs`, `awk` and every other language.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_core.safety.shell_words import listed

Kind = Literal["contents", "names", "text"]  # what a program's operands are: files read, files named, just text


@dataclass(frozen=True, slots=True)
class Reader:
    """A program that only reads. `options` None takes every option but those in `never`.

    `skip` operands at the front are no files (a pattern); `most` is how many operands it may have.
    """

    kind: Kind = "contents"
    options: str | None = None
    long: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    skip: int = 0
    most: int = 1000


def _many(names: str, reader: Reader) -> dict[str, Reader]:
    return dict.fromkeys(names.split(), reader)


_FILE_LISTS = frozenset({"X", "--files0-from", "--exclude-from"})
_GREP = Reader(
    options="abcEFGhHiIlLnoPqsTUvVwxyz0123456789A:B:C:m:e:",
    long=listed(
        "--after-context --basic-regexp --before-context --binary-files --byte-offset --color --colour --context "
        "--count --extended-regexp --files-with-matches --files-without-match --fixed-strings --help --ignore-case "
        "--invert-match --line-number --line-regexp --max-count --no-filename --no-ignore-case --no-messages "
        "--only-matching --perl-regexp --quiet --regexp --silent --text --version --with-filename --word-regexp"
    ),
    skip=1,
)
# Without globs and types: files that match one are searched though they are hidden.
_RIPGREP = Reader(
    options="iSsnNlcowvFxUPHIpqbj:A:B:C:e:m:d:M:",
    long=listed(
        "--after-context --before-context --case-sensitive --color --column --context --count --count-matches --files "
        "--files-with-matches --files-without-match --fixed-strings --heading --ignore-case --invert-match "
        "--line-number --max-count --max-depth --multiline --no-filename --no-heading --no-line-number "
        "--only-matching --pretty --quiet --regexp --smart-case --sort --stats --version --vimgrep "
        "--with-filename --word-regexp"
    ),
    skip=1,
)

READERS: dict[str, Reader] = {
    **_many(
        "b2sum cat cksum cmp comm cut expand fmt fold head join md5sum nl od paste rev sha1sum sha224sum sha256sum "
        "sha384sum sha512sum sum tac unexpand column who users uptime",
        Reader(),
    ),
    "zcat": Reader(options=""),
    **_many("ls stat realpath readlink vdir dir", Reader("names")),
    **_many(
        "arch basename cal dirname echo expr factor false groups id logname ncal nproc pwd seq sleep tr true tty uname "
        "w whoami whatis",
        Reader("text"),
    ),
    **_many("free lsblk lscpu lsmem locale", Reader("text", most=0)),
    "cd": Reader(options="LPe", most=1),
    "date": Reader("text", options="uRr:d:I::", long=frozenset({"--utc", "--date", "--iso-8601", "--rfc-3339"})),
    "df": Reader("names"),
    "du": Reader("names", never=_FILE_LISTS),
    "diff": Reader(
        options="uUbBwiqsyZENtTc0123456789U:W:",
        long=listed(
            "--brief --color --side-by-side --unified --ignore-case --ignore-all-space --ignore-blank-lines "
            "--suppress-common-lines --report-identical-files --width --text"
        ),
    ),
    **_many("grep egrep fgrep", _GREP),
    "rg": _RIPGREP,
    "file": Reader(
        "names", options="biLhkNnr0", long=frozenset({"--brief", "--mime", "--mime-type", "--mime-encoding"})
    ),
    "hexdump": Reader(options="bcCdovxn:s:"),
    "hostname": Reader("text", options="sI", most=0),
    "sort": Reader(
        options="bdfghiMnRrVsucCmzk:t:",
        long=listed(
            "--reverse --numeric-sort --unique --key --field-separator --ignore-case --human-numeric-sort --check "
            "--version-sort --general-numeric-sort --stable --month-sort --ignore-leading-blanks"
        ),
    ),
    "strings": Reader(options="an:t:e:"),
    "tail": Reader(never=frozenset({"f", "F", "--follow", "--retry"})),
    "tree": Reader("names", options="adfLhpsugDCFtrnL:I:P:", long=frozenset({"--dirsfirst", "--du", "--prune"})),
    "uniq": Reader(
        options="cdiuDzf:s:w:", long=frozenset({"--count", "--repeated", "--unique", "--ignore-case"}), most=1
    ),
    "wc": Reader(never=frozenset({"--files0-from"})),
    "which": Reader("text", options="as"),
    "whereis": Reader("text", options="bms"),
    "xxd": Reader(options="bugpl:s:c:", most=1),
}

# Fixed beginnings, each with the words that may follow; "" stands for names (a package, a unit, a user).
_NAMES = frozenset({""})
_IP = frozenset({"show", "-br", "-brief"})
PHRASES: dict[tuple[str, ...], frozenset[str]] = {
    ("apt", "list"): _NAMES | {"--installed", "--upgradable", "--upgradeable", "--all-versions", "-a"},
    ("apt", "search"): _NAMES,
    ("apt", "show"): _NAMES,
    ("apt-cache", "policy"): _NAMES,
    ("apt-cache", "search"): _NAMES,
    ("apt-cache", "show"): _NAMES,
    ("command", "-v"): _NAMES,
    ("dpkg", "-L"): _NAMES,
    ("dpkg", "-S"): _NAMES,
    ("dpkg", "-l"): _NAMES,
    ("dpkg", "-s"): _NAMES,
    ("dpkg", "--list"): _NAMES,
    ("dpkg", "--print-architecture"): frozenset(),
    ("dpkg", "--status"): _NAMES,
    ("flatpak", "list"): frozenset(),
    ("gzip", "-l"): _NAMES,
    ("hostnamectl",): frozenset(),
    ("ip", "a"): _IP,
    ("ip", "addr"): _IP,
    ("ip", "address"): _IP,
    ("ip", "link"): _IP,
    ("ip", "r"): _IP,
    ("ip", "route"): _IP,
    ("jobs",): frozenset({"-l", "-p", "-r"}),
    ("lsb_release", "-a"): frozenset(),
    ("lsusb",): frozenset(),
    ("mount",): frozenset(),
    ("nvidia-smi",): frozenset(),
    ("pip", "list"): frozenset({"--user", "--local"}),
    ("pip", "show"): _NAMES,
    ("pip3", "list"): frozenset({"--user", "--local"}),
    ("pip3", "show"): _NAMES,
    ("sensors",): frozenset(),
    ("snap", "list"): _NAMES,
    ("ss",): frozenset({"-t", "-u", "-l", "-n", "-a", "-s", "-tl", "-tln", "-tlnp", "-tuln", "-tulnp", "-ltn", "-an"}),
    ("timedatectl",): frozenset(),
    ("type",): _NAMES | {"-a", "-t", "-p"},
    ("ulimit", "-a"): frozenset(),
    ("umask",): frozenset({"-S"}),
    ("unzip", "-l"): _NAMES,
    ("unzip", "-v"): _NAMES,
}
# Programs that do nothing but say their version when asked for it alone. Those that fetch the version a project asks
# for before they answer (cargo, go, yarn) are not among them.
SAY_VERSION: dict[str, frozenset[str]] = {
    "--version": listed(
        "bash bwrap clang cmake curl docker g++ gcc gdb git gpg java make node openssl pandoc perl pip pip3 "
        "python python3 rsync ruby sed sqlite3 tar vim wget zip"
    ),
    "-V": listed("pip pip3 python python3 rsync ssh tmux"),
    "-v": listed("node perl ruby make gcc g++"),
    "-version": frozenset({"java"}),
}

DENIED = frozenset({"mkfs", "shutdown", "reboot", "halt", "poweroff", "wipefs", "shred", "telinit"})
CRITICAL = listed(
    "sudo su doas pkexec dd fdisk parted sgdisk rm chown chmod chgrp crontab at systemctl service passwd chpasswd "
    "useradd userdel usermod groupadd visudo mount umount swapoff kill killall pkill iptables nft ufw "
    "cryptsetup truncate insmod modprobe rmmod sysctl"
)
SHELLS = frozenset({"sh", "bash", "zsh", "dash", "fish", "ksh", "ash", "csh", "tcsh"})
INTERPRETERS = SHELLS | listed("python python3 perl ruby node php lua eval source . pwsh osascript")
FETCHERS = frozenset({"curl", "wget", "fetch", "aria2c"})
# Programs that run the command in their arguments.
WRAPPERS = listed(
    "sudo doas command builtin exec nohup time env nice ionice timeout stdbuf setsid xargs busybox toybox chroot "
    "unshare strace ltrace watch flock pkexec parallel script systemd-run"
)
# Names for a whole system or home folder, trailing slashes and stars taken off.
WHOLE = frozenset({"", "~", "$HOME", "${HOME}", "/home", "/etc", "/usr", "/var", "/boot", "/root", "/lib", "/bin"})
FILE_TOOLS = listed("cat cd cp cut echo grep head ls mkdir mv pwd rm rmdir sort tail touch tr uniq wc")
