"""One long command at a time, with its progress on the screen and its output in a log file.

A failed command becomes one sentence: the few causes that people meet (no network, full disk, a locked package
database) are told apart by what the command printed last.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

POLL_SECONDS = 0.2
TERMINAL_TICK_SECONDS = 0.5
PLAIN_TICK_SECONDS = 10.0  # in a log file every tick is a line
TAIL_BYTES = 200_000  # a compiler can say a great deal between two lines that count

CAUSES = (
    (r"No space left on device|Disk quota exceeded", "The disk is full; make room and start again."),
    (
        r"Could not get lock|Unable to acquire the dpkg frontend lock",
        "Another program is installing packages; wait until it has finished and start again.",
    ),
    (
        r"Temporary failure in name resolution|Temporary failure resolving|Could not resolve|Name or service not known"
        r"|getaddrinfo failed|nodename nor servname|Failed to establish a new connection|Network is unreachable"
        r"|Connection refused|timed out|ProxyError|Could not connect to",
        "Packages could not be downloaded; check the network connection and start again.",
    ),
    (
        r"dpkg was interrupted",
        "An earlier installation was interrupted; run `sudo dpkg --configure -a` and start again.",
    ),
)


class SetupError(Exception):
    """The setup cannot go on. The text is one sentence for the person, saying what to do."""


_stopped = threading.Event()


def stop_on_signals() -> None:
    """Makes Ctrl+C, an end from outside and a closed terminal stop the setup, at a place where nothing is left behind.

    An exception out of the blue could fall between the start of a command and the note that it has been started.
    """
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: _stopped.set())


def check_stopped() -> None:
    """Raises KeyboardInterrupt if the person has stopped the setup."""
    if _stopped.is_set():
        raise KeyboardInterrupt


def say(text: str) -> None:
    """Prints a line of progress, over an unfinished tick if there is one."""
    print(f"{_clear()}{text}", flush=True)


class Work:
    """A command that has been started. Its output goes to `log`; `wait` shows what it is doing."""

    def __init__(self, title: str, command: Sequence[str], log: Path) -> None:
        """Starts the command, apart from our terminal: Ctrl+C reaches only us."""
        check_stopped()
        self.title = title
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        self._began = time.monotonic()
        self._ended: float | None = None
        try:
            with log.open("wb") as output:
                self._process = subprocess.Popen(
                    list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=sys.platform != "win32",
                )
        except OSError as error:
            raise SetupError(f"{command[0]} could not be started ({error}); install it and start again.") from error

    def wait(self, beside: Work | None = None) -> None:
        """Shows the progress of this work, and of the one beside it, until this one ends. Raises SetupError."""
        tick = TERMINAL_TICK_SECONDS if sys.stdout.isatty() else PLAIN_TICK_SECONDS
        next_tick = time.monotonic() + tick
        while self.running:
            if _stopped.wait(POLL_SECONDS):
                self.stop()
                check_stopped()
            if time.monotonic() >= next_tick:
                _show([work for work in (self, beside) if work and work.running])
                next_tick = time.monotonic() + tick
        if self._process.returncode != 0:
            raise SetupError(f"{cause(tail(self.log))} ({self.title}; all it said is in {self.log})")
        say(f"  {self.title}: done in {self.seconds:.0f} s")

    @property
    def seconds(self) -> float:
        """How long it has taken so far, or took until its end was noticed."""
        return (self._ended or time.monotonic()) - self._began

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        if self._ended is None and self._process.poll() is not None:
            self._ended = time.monotonic()
        return self._ended is None

    def stop(self) -> None:
        """Ends the command and everything it has started."""
        if not self.running:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._process.terminate()
            else:
                os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()


def cause(said: str) -> str:
    """What went wrong and what to do, in one sentence, from the end of a command's output."""
    for pattern, sentence in CAUSES:
        if re.search(pattern, said, re.IGNORECASE):
            return sentence
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(error|E)\b:?", line, re.IGNORECASE)]
    last = (errors or lines or ["it said nothing"])[-1]
    return f"A step of the setup failed: {last[:300]}"


def doing(said: str) -> str:
    """What a pip or apt command is busy with, from the end of its output: a percentage, a package, or nothing."""
    built = re.findall(r"\[\s*(\d+)/(\d+)\]", said)
    if built:
        done, total = map(int, built[-1])
        return f"{100 * done // max(total, 1)} %"
    named = re.findall(
        r"^\s*(?:Collecting|Downloading|Using cached|Unpacking|Setting up) +([\w.+-]+)"
        r"|^(Installing collected packages)|^(Building wheels?)",
        said,
        re.MULTILINE,
    )
    if not named:
        return ""
    package, unpacking, compiling = named[-1]
    return package or ("unpacking" if unpacking else "compiling" if compiling else "")


def tail(log: Path) -> str:
    """The end of a log file as text."""
    with log.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - TAIL_BYTES))
        return file.read().decode("utf-8", "replace")


def _show(works: Sequence[Work]) -> None:
    text = "  " + " · ".join(_line(work) for work in works)
    print(f"{_clear()}{text}", end="" if sys.stdout.isatty() else "\n", flush=True)


def _line(work: Work) -> str:
    minutes, seconds = divmod(int(work.seconds), 60)
    busy = doing(tail(work.log))
    return f"{work.title} {minutes}:{seconds:02d}" + (f" ({busy})" if busy else "")


def _clear() -> str:
    return "\r\033[K" if sys.stdout.isatty() else ""
