"""A program under a guard: started in a folder of its own, and ended with everything that came of it.

The guard (`guard.py`) does the ending. Where the guard itself was killed, what it left is found by its folder: every
program of a sandbox has that folder in its environment, as TMPDIR or in HOME.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_core.errors import ScreenError
from agent_core.operators.processes import Process, kill, started_by

PREFIX = "deskhand-sandbox-"  # and the number of the process whose sandbox it is
END_SECONDS = 10.0  # a loaded machine takes its time to end a browser
LOG = "log.txt"
_ROOT = str(Path(__file__).resolve().parents[2])
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a program and all it has started hold: processes, bytes of memory, open files."""

    processes: int
    memory: int
    files: int


class Guarded:
    """`command` is made from the program's folder; the file descriptors in `keep` are handed on to it.

    Raises ScreenError when it cannot be started. `end` may be called from any thread, and twice.
    """

    def __init__(self, command: Callable[[Path], Sequence[str]], keep: Sequence[int] = ()) -> None:
        self.folder = own_folder()
        guard = [sys.executable, "-I", "-S", str(Path(__file__).with_name("guard.py"))]
        path = os.pathsep.join(part for part in (_ROOT, os.environ.get("PYTHONPATH", "")) if part)
        own = {"TMPDIR": str(self.folder), "PYTHONPATH": path, "OMP_WAIT_POLICY": "passive"}
        try:
            with (self.folder / LOG).open("wb") as log:
                self._guard = subprocess.Popen(
                    [*guard, str(self.folder), ",".join(map(str, keep)), *command(self.folder)],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    pass_fds=tuple(keep),
                    env=dict(os.environ) | own,
                    start_new_session=True,
                )
        except OSError as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise ScreenError(f"A sandbox could not be started ({error}); close some programs.") from error

    @property
    def pid(self) -> int:
        """The guard's."""
        return self._guard.pid

    @property
    def is_alive(self) -> bool:
        return self._guard.poll() is None

    def usage(self) -> Usage:
        """Of the program's whole tree now; the guard is not counted."""
        tree = started_by(self.pid)
        return Usage(len(tree), sum(_memory(one.pid) for one in tree), sum(_files(one.pid) for one in tree))

    def last_words(self) -> str:
        """The last line that the program wrote to its standard output or error."""
        try:
            lines = (self.folder / LOG).read_text("utf-8", "replace").split("\n")
        except OSError:
            return ""
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def end(self) -> None:
        """Ends the program and everything that it started, and removes its folder."""
        if self._guard.stdin is not None:
            self._guard.stdin.close()
        try:
            self._guard.wait(END_SECONDS)
        except subprocess.TimeoutExpired:  # the guard itself hangs or was stopped
            while tree := started_by(self.pid):
                kill(tree)
            self._guard.kill()
            self._guard.wait()
        if self._guard.returncode != 0:  # it was killed and could not do its work
            end = time.monotonic() + END_SECONDS
            while (left := marked(self.folder)) and time.monotonic() < end:
                kill(left)
        shutil.rmtree(self.folder, ignore_errors=True)


def own_folder() -> Path:
    """A new temporary folder whose name tells whose it is. Those of processes that have ended are removed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        if not Path(f"/proc/{owner}").exists():
            shutil.rmtree(folder, ignore_errors=True)  # another person's stays: it cannot be removed
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))


def left_by(pid: int) -> set[Process]:
    """The live processes of all the sandboxes that a process has, or had, if it is no more."""
    return marked(Path(tempfile.gettempdir()) / f"{PREFIX}{pid}-")


def marked(folder: Path | str) -> set[Process]:
    """The live processes that have the folder, or one whose name begins like it, in their environment."""
    mark = os.fsencode(str(folder))
    mine = os.getpid()
    found: set[Process] = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == mine:
            continue
        try:
            if mark in (entry / "environ").read_bytes():
                stat = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
                if stat[0] not in "ZX":
                    found.add(Process(int(entry.name), int(stat[19])))
        except OSError:
            pass  # ended meanwhile, or another person's
    return found


def _memory(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _files(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0
