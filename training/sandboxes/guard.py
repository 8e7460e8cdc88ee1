"""The process above one sandbox: when the sandbox ends, or whoever started it does, nothing of it is left.

Started as a plain file with Python's standard library alone, so it costs milliseconds. It is the subreaper of all that
the command starts: whatever leaves its session or its parent becomes a child of the guard, so ending children until
there are none ends the whole tree, stopped processes included. Linux only.

    python guard.py FOLDER KEEP_FDS COMMAND...     ends when its standard input does; then removes FOLDER
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def main(folder: str, keep: list[int], command: list[str]) -> int:
    """Runs the command and returns its exit code once everything that it started is gone."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def die_with_us() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=keep, preexec_fn=die_with_us)
    for number in keep:
        os.close(number)  # so that the other end hears when the command is gone
    while not _reap_until(child.pid):
        ready, _, _ = select.select([0, woken], [], [])
        if 0 in ready and not os.read(0, 1):
            break
        if woken in ready:
            os.read(woken, 4096)
    _end_all()
    shutil.rmtree(folder, ignore_errors=True)
    return 0


def _reap_until(wanted: int) -> bool:
    """Takes note of every child that has ended; whether the wanted one is among them."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid in (0, wanted):
            return pid == wanted


def _end_all() -> None:
    """Kills children until there are none: those of a killed one come to us."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    while True:
        for pid in children.read_text().split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended this moment
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], [int(n) for n in sys.argv[2].split(",") if n], sys.argv[3:]))
