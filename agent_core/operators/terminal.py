"""The terminal: a shell session that lasts as long as the run, and the operator that has nothing but that.

The session tells the model in words what it could not see for itself: exit codes, time limits, that nobody answers
prompts. The operator's frames are drawn from the session's text, so that its runs have pictures like all others.
"""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import assert_never

from agent_core.actions import (
    Action,
    CallUser,
    Click,
    DoubleClick,
    Drag,
    Finished,
    Hotkey,
    Press,
    Release,
    RightClick,
    Scroll,
    Terminal,
    Type,
    Wait,
)
from agent_core.errors import InputError
from agent_core.operators.jail import Jail
from agent_core.operators.shell import POLL_SECONDS, Shell
from agent_core.operators.terminal_environment import for_commands
from agent_core.operators.terminal_output import Collected
from agent_core.operators.terminal_picture import picture
from agent_core.step import Outcome, Screenshot

INTERRUPT = "C-c"
MORE_SECONDS = 2.0  # how long an empty command waits for output of background jobs
QUIET_SECONDS = 0.3
SHOWN_LINES = 40

_ASKED = re.compile(
    r"EOFError|EOF when reading|a terminal is required|no tty present|not a tty|/dev/tty|a password is required"
    r"|Input is not from a terminal|Inappropriate ioctl for device",
    re.IGNORECASE,
)


class TerminalSession:
    """A bash whose folder and variables stay from one command to the next.

    `cwd` is where it starts (the home folder when None), `seconds` the longest time of one command, `output_limit` the
    most characters of output in an outcome, `env` the environment (the program's own when None); variables that look
    secret are left out of it. `jail` is where commands are locked into.
    """

    def __init__(
        self,
        cwd: str | Path | None = None,
        seconds: float = 60.0,
        output_limit: int = 8000,
        env: Mapping[str, str] | None = None,
        jail: Jail | None = None,
    ) -> None:
        self._seconds = seconds
        self._limit = output_limit
        self._jail = jail
        folder = Path(cwd).expanduser() if cwd is not None else Path.home()
        given = for_commands(os.environ if env is None else env)
        self._shell = Shell(folder, given, room=4 * output_limit, jail=jail)

    def run(self, command: str, stop: Event) -> Outcome:
        """Runs one command and waits for its end. "" reads more output of background jobs, "C-c" ends them.

        The text of the outcome is the output; a failed, stopped or too long command says so on its last line.
        """
        started = time.monotonic()
        try:
            if not command.strip():
                outcome = self._more(stop)
            elif command.strip() == INTERRUPT:
                outcome = self._end_jobs()
            else:
                outcome = self._run(command, stop)
        except InputError as problem:
            outcome = Outcome(ok=False, text=str(problem))
        return dataclasses.replace(outcome, duration_ms=(time.monotonic() - started) * 1000)

    def freeze(self) -> None:
        """Stops everything that runs where it is, until `thaw`: for the time a question is open to the person."""
        self._shell.freeze()

    def thaw(self) -> None:
        """Lets go on what `freeze` has stopped."""
        self._shell.thaw()

    def close(self) -> None:
        """Ends the shell and everything it started. Safe to call twice."""
        self._shell.close()

    def _run(self, command: str, stop: Event) -> Outcome:
        output, code = self._shell.run(command, self._seconds, stop)
        text = output.text(self._limit).replace(f"{self._shell.script_name()}: line ", "line ").strip("\n")
        notes = []
        if code is None:
            notes.append("[stopped]" if stop.is_set() else f"[ended after the time limit of {self._seconds:g} s]")
        elif self._shell.ended:
            notes.append(f"[the shell ended with exit code {code}; the next command starts a new one]")
        elif code:
            notes.append(f"[exit code {code}]")
        if code != 0 and _ASKED.search(text):
            notes.append("[nobody can type into a command here: pass what it asks for as arguments or through a pipe]")
        if self._jail is not None:
            notes.append(self._jail.note(text))
        return Outcome(ok=code == 0, text="\n".join(filter(None, [text, *notes])))

    def _more(self, stop: Event) -> Outcome:
        """What background jobs have printed since."""
        output = Collected(4 * self._limit)
        limit = time.monotonic() + (MORE_SECONDS if self._shell.jobs() else QUIET_SECONDS)
        while time.monotonic() < limit and not stop.is_set():
            data = self._shell.read(POLL_SECONDS)
            if data is None:
                break
            if data:
                output.add(data)
                limit = min(limit, time.monotonic() + QUIET_SECONDS)
        return Outcome(ok=True, text=output.text(self._limit).strip("\n") or "[no more output]")

    def _end_jobs(self) -> Outcome:
        """Ends all background jobs. They ignore interrupts, as in any shell, so they are told to terminate."""
        jobs = self._shell.jobs()
        if not jobs:
            return Outcome(ok=True, text="[nothing was running]")
        self._shell.end(jobs, signal.SIGTERM)
        return Outcome(ok=True, text=f"[ended {len(jobs)} running process{'es' if len(jobs) > 1 else ''}]")


class TerminalOperator:
    """Works in a terminal only: `do` takes terminal actions, `look` draws what the terminal shows.

    Takes the options of TerminalSession.
    """

    name = "terminal"

    def __init__(
        self,
        cwd: str | Path | None = None,
        seconds: float = 60.0,
        output_limit: int = 8000,
        env: Mapping[str, str] | None = None,
        jail: Jail | None = None,
    ) -> None:
        self._session = TerminalSession(cwd, seconds, output_limit, env, jail)
        self._lines: list[str] = []

    def look(self) -> Screenshot:
        """The last lines of the terminal as a picture, each line an element."""
        return picture(self._lines)

    def do(self, action: Action, shot: Screenshot, stop: Event) -> Outcome:
        """Runs terminal actions and waits; whatever needs a screen comes back as a failure in one sentence."""
        match action:
            case Terminal(command):
                outcome = self._session.run(command, stop)
                new = [f"$ {command}", *outcome.text.splitlines()]
                self._lines = (self._lines + new)[-SHOWN_LINES:]
                return outcome
            case Wait(seconds):
                stopped = stop.wait(max(0.0, seconds))
                return Outcome(ok=not stopped, text="Stopped." if stopped else "")
            case Finished() | CallUser():
                return Outcome(ok=True)
            case Click() | DoubleClick() | RightClick() | Drag() | Scroll() | Hotkey() | Press() | Release() | Type():
                return Outcome(
                    ok=False, text="This run has a terminal only, no screen: use a terminal command instead."
                )
            case _:
                assert_never(action)

    def let_go(self) -> None:
        """Nothing is ever held."""

    @contextmanager
    def hands_off(self) -> Iterator[None]:
        """While entered the jobs in the background stand still."""
        self._session.freeze()
        try:
            yield
        finally:
            self._session.thaw()

    def close(self) -> None:
        """Ends the shell and everything it started."""
        self._session.close()
