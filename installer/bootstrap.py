"""Sets everything up, then starts: `python installer/bootstrap.py run [TASK]` or `test [ARGUMENTS]`.

`run` starts the tray program where there is a display, and a demonstration on a virtual screen where there is none.
`test` starts tests/check.py. What is already there is left alone: a second start does no installing and needs no
network. Exit code 2: it could not be set up, and the last line says what to do; otherwise the program's own code.

This file must stay readable by old Pythons, so that they can say that they are too old. Standard library only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
USAGE = "usage: python installer/bootstrap.py run [TASK] | test [ARGUMENTS OF tests/check.py]"


def main(arguments: list[str]) -> int:
    """Sets up what the command needs and becomes the program. Returns only when that cannot be done."""
    if sys.version_info < OLDEST:
        found = f"{sys.version_info[0]}.{sys.version_info[1]}"
        print(f"Deskhand needs Python 3.11 or newer and this is {found}; start it with a newer one.", file=sys.stderr)
        return 2
    if not arguments or arguments[0] not in ("run", "test"):
        print(USAGE, file=sys.stderr)
        return 2
    stage, rest = arguments[0], arguments[1:]

    sys.path[0] = str(ROOT)  # instead of this file's folder; only now, because these modules need a new Python
    from installer.python_packages import Place
    from installer.setting_up import set_up
    from installer.work import SetupError, check_stopped, stop_on_signals

    place = Place(ROOT)
    stop_on_signals()
    try:
        set_up(place, stage, has_display())
        check_stopped()
    except SetupError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped. Start it again to go on from here.", file=sys.stderr)
        return 130
    return start([str(place.python), *program(stage, rest, has_display())])


def has_display() -> bool:
    """Whether windows can be shown. Windows and macOS always have a desktop."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def program(stage: str, rest: list[str], display: bool) -> list[str]:
    """What the Python of the environment is to run. A task that looks like an option is kept from being read as one."""
    if stage == "test":
        return [os.path.join("tests", "check.py"), *rest]
    task = " ".join(rest).strip()
    words = [] if not task else ["--", task] if task.startswith("-") else [task]
    return ["-m", "app" if display else "agent_core.demonstration", *words]


def start(command: list[str]) -> int:
    """Becomes the command, so that its exit code, its signals and its terminal are its own."""
    os.chdir(ROOT)
    sys.stdout.flush()
    if sys.platform == "win32":  # there execv returns to the terminal at once
        return subprocess.run(command, check=False).returncode
    return os.execv(command[0], command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
