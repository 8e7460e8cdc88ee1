"""Which processes a shell has started, read from /proc: its descendants, and what has left them but not its session."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

GONE_SECONDS = 2.0  # a process that waits for a disk may outlive being killed


class Process(NamedTuple):
    """A live process. The time of its start tells it from a later one that got the same number."""

    pid: int
    started: int


def started_by(shell: int) -> set[Process]:
    """The live processes that come from the shell (not itself): its descendants and the rest of its session."""
    parents: dict[int, int] = {}
    live: dict[int, Process] = {}
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        stat = _stat(int(entry.name)) if entry.name.isdigit() else None
        if stat is None:
            continue
        pid = int(entry.name)
        live[pid] = Process(pid, int(stat[19]))
        parents[pid] = int(stat[1])
        if int(stat[3]) == shell:
            found.add(pid)
    for pid in live:
        line = pid
        while line in parents and line != shell:
            line = parents[line]
        if line == shell:
            found.add(pid)
    return {live[pid] for pid in found - {shell}}


def seen_inside_as(pid: int, candidates: Iterable[Process]) -> Process | None:
    """Which of the processes calls itself `pid`: its number in a jail's namespace, the same number without one."""
    found = [(len(names), p) for p in candidates if (names := _names(p.pid)) and names[-1] == pid]
    return min(found)[1] if found else None  # a namespace within the jail starts counting anew


def above(process: Process, among: Iterable[Process]) -> set[Process]:
    """The parents of a process, as far up as they are among the others."""
    known = {p.pid: p for p in among}
    found: set[Process] = set()
    stat = _stat(process.pid)
    while stat is not None and (parent := known.get(int(stat[1]))) is not None and parent not in found:
        found.add(parent)
        stat = _stat(parent.pid)
    return found


def stop_all(jobs: Callable[[], set[Process]]) -> set[Process]:
    """Stops every process that `jobs` finds, those started meanwhile too; returns what was not stopped before."""
    stopped: set[Process] = set()
    while fresh := {p for p in jobs() - stopped if (stat := _stat(p.pid)) is not None and stat[0] not in "Tt"}:
        send(fresh, signal.SIGSTOP)
        stopped |= fresh
    return stopped


def still_alive(processes: Iterable[Process]) -> set[Process]:
    """Those of the processes that have not ended."""
    return {p for p in processes if (stat := _stat(p.pid)) is not None and int(stat[19]) == p.started}


def send(processes: Iterable[Process], sent: signal.Signals) -> None:
    """Sends a signal to each that is still alive."""
    for process in still_alive(processes):
        try:
            os.kill(process.pid, sent)
        except ProcessLookupError:
            pass  # it has ended this moment


def kill(processes: Iterable[Process]) -> None:
    """Ends each at once and waits until they are gone, which takes a moment on a busy machine."""
    ending = set(processes)
    send(ending, signal.SIGKILL)
    limit = time.monotonic() + GONE_SECONDS
    while still_alive(ending) and time.monotonic() < limit:
        time.sleep(0.005)


def _names(pid: int) -> list[int]:
    """The numbers a process has, from the outermost namespace to its own."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return []
    line = next((line for line in status.splitlines() if line.startswith("NSpid:")), f"NSpid: {pid}")
    return [int(number) for number in line.split()[1:]]


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the state on; None for a process that has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The name in brackets may hold anything, blanks and brackets too: the fields come after the last bracket.
    stat = text.rpartition(")")[2].split()
    return None if stat[0] in "ZX" else stat
