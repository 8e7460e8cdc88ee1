"""One bash with its terminal: starts it, gives it commands, reads what comes, and ends what must be ended.

Commands see a terminal as their output but none to ask on: their standard input is empty and there is no controlling
terminal, so what would wait for a person (a password, `read x`) fails at once instead of hanging. A command that is
ended never goes on to its next part: the shell is frozen first and replaced by one with the same folder, variables
and functions. A keeper stands between this program and the shell: it starts the next shell when one has ended, in the
same jail, so that jobs in the background outlive the shell they came from. POSIX systems with /proc only.
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
from agent_core.operators.jail import Jail
from agent_core.operators.left_over import own_folder
from agent_core.operators.processes import Process
from agent_core.operators.terminal_output import Collected

COLUMNS, ROWS = 120, 40
POLL_SECONDS = 0.05
START_SECONDS = 10.0
INTERRUPT_SECONDS = 1.0  # what an interrupted program gets to end by itself, before it is killed

# Programs that page, colour or ask behave plainly.
_PLAIN = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "NO_COLOR": "1"}
_PLAIN |= {"DEBIAN_FRONTEND": "noninteractive", "SYSTEMD_PAGER": "", "HISTFILE": ""}


# Reads the folder of each next shell, one a line, and says how each has ended. Signals meant for a whole group of
# processes, as `kill 0` sends them, do not end it; the shell does not inherit that.
_KEEPER = r"""
trap : HUP INT QUIT TERM USR1 USR2
exec 2> /dev/null
while IFS= read -r folder; do
    cd -P -- "$folder" && unset OLDPWD && PS1= PS2= bash --noprofile --norc --noediting -i 2>&1
    printf '\036%s:ended:%d\036\n' "$0" $?
done
"""


class Shell:
    """A bash in `cwd`, in a jail if given one; started when first needed, again after it ended. Close it after use."""

    def __init__(self, cwd: Path, env: Mapping[str, str], room: int, jail: Jail | None = None) -> None:
        self._cwd = cwd
        self._jail = jail
        self._env = (dict(env) if jail is None else jail.environment(env)) | _PLAIN
        self._room = room  # bytes of output kept from each end
        self._token = secrets.token_hex(8).encode()
        self._mark = re.compile(rb"\x1e%s:(ready|ended):(\d+)(?::(\d+))?\x1e\r?\n" % self._token)
        self._keeper: subprocess.Popen[bytes] | None = None
        self._ours: set[Process] = set()  # what stands between the keeper's process and bash
        self._bash: Process | None = None
        self._left: set[Process] = set()  # background jobs of shells that have ended
        self._frozen: set[Process] = set()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._master = -1
        self._screen = ""

    def run(self, command: str, seconds: float, stop: Event) -> tuple[Collected, int | None]:
        """Runs a command: its output and exit code, None when it was ended after `seconds` or by `stop`.

        Raises InputError when the shell cannot be started.
        """
        self._start()
        before = self.jobs()
        self._write(self._file("command"), command + "\n")
        self._tell(f". {self._file('command')} < /dev/null")
        output, code = self._collect(time.monotonic() + seconds, stop)
        if code is None:
            self._abandon(before, output)
        return output, code

    @property
    def ended(self) -> bool:
        """Whether the last command ended the shell itself (`exit`); the next one starts a new shell."""
        return self._bash is None

    def jobs(self) -> set[Process]:
        """What runs now that a command has started."""
        now = processes.started_by(self._keeper.pid) if self._keeper is not None else set()
        return (now | processes.still_alive(self._left)) - self._ours - {self._bash}

    def freeze(self) -> None:
        """Stops all jobs where they are, until `thaw`."""
        self._frozen |= processes.stop_all(self.jobs)

    def thaw(self) -> None:
        """Lets the jobs go on that `freeze` stopped."""
        processes.send(self._frozen, signal.SIGCONT)
        self._frozen = set()

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
        processes.kill(jobs)
        return bytes(printed[-self._room :])

    def close(self) -> None:
        """Ends the shell and everything it started. Safe to call twice."""
        processes.stop_all(self.jobs)  # so that none starts another while they end
        self._end_keeper()
        processes.kill(self._left)
        self._left = self._frozen = set()
        if self._master >= 0:
            os.close(self._master)
            self._master = -1
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _collect(self, limit: float, stop: Event) -> tuple[Collected, int | None]:
        """Reads output until the shell is ready again or has ended, its exit code with it, or until time is up."""
        output = Collected(self._room)
        pending = b""
        while time.monotonic() < limit and not stop.is_set():
            data = self.read(POLL_SECONDS)
            if data is None:  # nobody can write any more: everything has ended, the jail too
                output.add(pending)
                return output, self._end_keeper()
            pending += data
            mark = self._mark.search(pending)
            if mark:
                output.add(pending[: mark.start()])
                self._meet(mark[1], int(mark[3] or 0))
                return output, int(mark[2])
            keep = pending.find(b"\x1e", max(0, len(pending) - len(self._token) - 32))  # a mark cut between two reads
            output.add(pending[:keep] if keep >= 0 else pending)
            pending = pending[keep:] if keep >= 0 else b""
        output.add(pending)
        return output, None

    def _meet(self, said: bytes, pid: int) -> None:
        """Takes note of the shell that is ready, which calls itself `pid`, or that the shell has ended."""
        if said == b"ended":
            self._left, self._bash = self.jobs(), None
        elif self._bash is None and self._keeper is not None:
            running = processes.started_by(self._keeper.pid)
            self._bash = processes.seen_inside_as(pid, running)
            self._ours = self._ours or (processes.above(self._bash, running) if self._bash is not None else set())

    def _abandon(self, before: set[Process], output: Collected) -> None:
        """Ends what a command started, and the shell, which must not go on to the rest of the command."""
        shell = {self._bash} if self._bash is not None else set()
        processes.send(shell, signal.SIGSTOP)
        output.add(self.end(self.jobs() - before, signal.SIGINT))
        processes.kill(self.jobs() - before)  # what these started while they were ending
        for bash in shell:
            try:
                self._cwd = Path(os.readlink(f"/proc/{bash.pid}/cwd"))
            except OSError:
                pass  # it ended meanwhile: the next shell starts where the first did
        processes.kill(shell)
        if self._collect(time.monotonic() + START_SECONDS, Event())[1] is None:
            self._end_keeper()

    def _start(self) -> None:
        """Starts a shell if none runs. Raises InputError."""
        if self._bash is not None and processes.still_alive({self._bash}):
            return
        if self._bash is not None:
            self._collect(time.monotonic() + START_SECONDS, Event())  # it ended between two commands: hear of it first
        if not self._cwd.is_dir() or "\n" in str(self._cwd):
            raise InputError(f"The terminal cannot be started in {self._cwd}: there is no such folder.")
        self._start_keeper()
        self._tell(str(self._cwd))
        state = self._file("state")
        self._tell(f"set +H +o history; {self._after_each(state)}; . {state} 2> /dev/null")
        self._collect(time.monotonic() + START_SECONDS, Event())
        if self._bash is None:
            self.close()
            raise InputError(
                f"The terminal did not start in {self._cwd}: bash gave no prompt. Check that bash runs on this machine"
                + (", and that the folder is not one that the jail hides." if self._jail else ".")
            )

    def _start_keeper(self) -> None:
        if self._keeper is not None and self._keeper.poll() is None:
            return
        self._end_keeper()
        self._open_terminal()
        command = ["bash", "--noprofile", "--norc", "-c", _KEEPER, self._token.decode()]
        if self._jail is not None:
            self._jail.hold()
        try:
            # Opened for writing only: a pager that falls back on reading its error output fails at once.
            screen = os.open(self._screen, os.O_WRONLY | os.O_NOCTTY)
            try:
                self._keeper = subprocess.Popen(
                    self._jail.argv(command, [self._file("")]) if self._jail is not None else command,
                    stdin=subprocess.PIPE,
                    stdout=screen,
                    stderr=screen,
                    cwd="/",
                    env=self._env,
                    start_new_session=True,
                )
            finally:
                os.close(screen)
        except OSError as error:
            raise InputError(f"The terminal cannot be started in {self._cwd}: {error.strerror}.") from error

    def _end_keeper(self) -> int | None:
        """Ends the keeper, and with it the jail if there is one; its exit code, None where none ran."""
        if self._keeper is None:
            return None
        self._left = self.jobs()
        processes.send(self._ours | ({self._bash} if self._bash else set()), signal.SIGKILL)
        self._keeper.kill()
        code = self._keeper.wait()
        if self._keeper.stdin is not None:
            self._keeper.stdin.close()
        self._keeper = self._bash = None
        self._ours = set()
        if self._jail is not None:
            self._jail.let_go()
        return code

    def _after_each(self, state: Path) -> str:
        """Makes bash keep its state after each command, for its successor, and then say that it is ready."""
        mark = f'printf "\\036%s:ready:%d:%d\\036\\n" {self._token.decode()} $deskhand_code $$'
        keep = f"{{ declare -p; declare -f; alias -p; }} > {state} 2> /dev/null"
        return f"readonly PROMPT_COMMAND='deskhand_code=$?; {keep}; {mark}'"

    def _open_terminal(self) -> None:
        if self._folder is None:
            self._folder = own_folder()
            self._file("state").touch()
        if self._master < 0:
            self._master, slave = pty.openpty()
            self._screen = os.ttyname(slave)
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.close(slave)

    def _file(self, name: str) -> Path:
        assert self._folder is not None
        return Path(self._folder.name, name)

    def _write(self, file: Path, text: str) -> None:
        """Makes a file anew: commands can change this folder, and put a link to a file of the user in its place.

        Raises InputError.
        """
        try:
            file.unlink(missing_ok=True)
            with file.open("x", encoding="utf-8", errors="surrogateescape") as made:  # "x" follows no link
                made.write(text)
        except OSError as error:
            raise InputError(f"The terminal cannot write its own files ({error.strerror}); run it again.") from error

    def _tell(self, line: str) -> None:
        assert self._keeper is not None
        assert self._keeper.stdin is not None
        try:
            self._keeper.stdin.write(os.fsencode(line) + b"\n")
            self._keeper.stdin.flush()
        except BrokenPipeError as error:
            raise InputError("The terminal's shell has ended; run the command again to start a new one.") from error
