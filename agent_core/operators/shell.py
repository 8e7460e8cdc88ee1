"""One bash with its terminal: starts it, gives it commands, reads what comes, and ends what must be ended.

Commands see a terminal as their output but none to ask on: their standard input is empty and there is no controlling
terminal, so what would wait for a person (a password, `read x`) fails at once instead of hanging. A command that is
ended never goes on to its next part: the shell is frozen first and replaced by one with the same folder, variables
and functions. POSIX systems with /proc only.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import secrets
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Event

from agent_core.errors import InputError
from agent_core.operators import processes
from agent_core.operators.processes import Process
from agent_core.operators.terminal_output import Collected

COLUMNS, ROWS = 120, 40
POLL_SECONDS = 0.05
START_SECONDS = 10.0
INTERRUPT_SECONDS = 1.0  # what an interrupted program gets to end by itself, before it is killed

# Programs that page, colour or ask behave plainly.
_PLAIN = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "NO_COLOR": "1"}
_PLAIN |= {"DEBIAN_FRONTEND": "noninteractive", "SYSTEMD_PAGER": "", "PS1": "", "PS2": "", "HISTFILE": ""}


class Shell:
    """A bash in `cwd`, started when first needed and again after it ended. Close it after use."""

    def __init__(self, cwd: Path, env: Mapping[str, str], room: int) -> None:
        self._cwd = cwd
        self._env = dict(env) | _PLAIN
        self._room = room  # bytes of output kept from each end
        self._token = secrets.token_hex(8).encode()
        self._ready = re.compile(rb"\x1e%s:(\d+)\x1e\r?\n" % self._token)
        self._bash: subprocess.Popen[bytes] | None = None
        self._left: set[Process] = set()  # background jobs of shells that have ended
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._master = -1
        self._screen = ""

    def run(self, command: str, seconds: float, stop: Event) -> tuple[Collected, int | None]:
        """Runs a command: its output and exit code, None when it was ended after `seconds` or by `stop`.

        Raises InputError when the shell cannot be started.
        """
        bash = self._started()
        before = self.jobs()
        self._file("command").write_text(command + "\n", encoding="utf-8", errors="surrogateescape")
        self._tell(bash, f". {self._file('command')} < /dev/null")
        output, code = self._collect(time.monotonic() + seconds, stop)
        if code is None and bash.poll() is not None:
            code = bash.returncode
        elif code is None:
            self._abandon(bash, before, output)
        return output, code

    @property
    def ended(self) -> bool:
        """Whether the last command ended the shell itself (`exit`); the next one starts a new shell."""
        return self._bash is not None and self._bash.poll() is not None

    def jobs(self) -> set[Process]:
        """What runs now that a command has started."""
        now = processes.started_by(self._bash.pid) if self._bash is not None else set()
        return now | processes.still_alive(self._left)

    def script_name(self) -> str:
        """What bash calls the command in its messages."""
        return str(self._file("command")) if self._folder is not None else "bash"

    def read(self, seconds: float) -> bytes | None:
        """What the terminal printed within some time: b"" for nothing, None when no program has it open."""
        if self._master < 0 or not select.select([self._master], [], [], seconds)[0]:
            return b""
        try:
            return os.read(self._master, 65536) or None
        except OSError:  # how Linux says that no program has the other end open
            return None

    def end(self, jobs: set[Process], first: signal.Signals) -> bytes:
        """Ends processes, politely first; returns what they still printed."""
        processes.send(jobs, first)
        limit = time.monotonic() + INTERRUPT_SECONDS
        printed = bytearray()
        while processes.still_alive(jobs) and time.monotonic() < limit:
            printed += self.read(POLL_SECONDS) or b""
        processes.send(jobs, signal.SIGKILL)
        return bytes(printed[-self._room :])

    def close(self) -> None:
        """Ends the shell and everything it started. Safe to call twice."""
        processes.send(self.jobs(), signal.SIGKILL)
        self._bury()
        self._left = set()
        if self._master >= 0:
            os.close(self._master)
            self._master = -1
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _collect(self, limit: float, stop: Event) -> tuple[Collected, int | None]:
        """Reads output until the shell is ready again, its exit code with it, or until time is up."""
        output = Collected(self._room)
        pending = b""
        while time.monotonic() < limit and not stop.is_set():
            data = self.read(POLL_SECONDS)
            if data is None:
                assert self._bash is not None
                self._bash.wait()  # nobody can write any more: the shell has ended
                break
            pending += data
            ready = self._ready.search(pending)
            if ready:
                output.add(pending[: ready.start()])
                return output, int(ready.group(1))
            keep = pending.find(b"\x1e", max(0, len(pending) - len(self._token) - 16))  # a mark cut between two reads
            output.add(pending[:keep] if keep >= 0 else pending)
            pending = pending[keep:] if keep >= 0 else b""
        output.add(pending)
        return output, None

    def _abandon(self, bash: subprocess.Popen[bytes], before: set[Process], output: Collected) -> None:
        """Ends what a command started, and the shell, which must not go on to the rest of the command."""
        bash.send_signal(signal.SIGSTOP)
        output.add(self.end(self.jobs() - before, signal.SIGINT))
        processes.send(self.jobs() - before, signal.SIGKILL)  # what these started while they were ending
        try:
            self._cwd = Path(os.readlink(f"/proc/{bash.pid}/cwd"))
        except OSError:
            pass  # it ended meanwhile: the next shell starts where the first did
        self._bury()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._bash is not None and self._bash.poll() is None:
            return self._bash
        self._bury()
        self._open_terminal()
        try:
            # Opened for writing only: a pager that falls back on reading its error output fails at once.
            screen = os.open(self._screen, os.O_WRONLY | os.O_NOCTTY)
            try:
                self._bash = subprocess.Popen(
                    ["bash", "--noprofile", "--norc", "--noediting", "-i"],
                    stdin=subprocess.PIPE,
                    stdout=screen,
                    stderr=screen,
                    cwd=self._cwd,
                    env=self._env,
                    start_new_session=True,
                )
            finally:
                os.close(screen)
        except OSError as error:
            raise InputError(f"The terminal cannot be started in {self._cwd}: {error.strerror}.") from error
        state = self._file("state")
        self._tell(self._bash, f"set +H +o history; {self._after_each(state)}; . {state} 2> /dev/null")
        if self._collect(time.monotonic() + START_SECONDS, Event())[1] is None:
            self.close()
            raise InputError("The terminal did not start: bash gave no prompt. Check that bash runs on this machine.")
        return self._bash

    def _after_each(self, state: Path) -> str:
        """Makes bash keep its state after each command, for its successor, and then say that it is ready."""
        mark = f'printf "\\036%s:%d\\036\\n" {self._token.decode()} $deskhand_code'
        keep = f"{{ declare -p; declare -f; alias -p; }} > {state} 2> /dev/null"
        return f"readonly PROMPT_COMMAND='deskhand_code=$?; {keep}; {mark}'"

    def _open_terminal(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="deskhand-terminal-")
            self._file("state").touch()
        if self._master < 0:
            self._master, slave = pty.openpty()
            self._screen = os.ttyname(slave)
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.close(slave)

    def _file(self, name: str) -> Path:
        assert self._folder is not None
        return Path(self._folder.name, name)

    def _tell(self, bash: subprocess.Popen[bytes], line: str) -> None:
        assert bash.stdin is not None
        try:
            bash.stdin.write(line.encode() + b"\n")
            bash.stdin.flush()
        except BrokenPipeError as error:
            raise InputError("The terminal's shell has ended; run the command again to start a new one.") from error

    def _bury(self) -> None:
        """Ends the shell alone and remembers the background jobs it leaves."""
        if self._bash is None:
            return
        self._left = self.jobs()
        self._bash.kill()
        self._bash.wait()
        if self._bash.stdin is not None:
            self._bash.stdin.close()
        self._bash = None
