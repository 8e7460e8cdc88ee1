"""Which processes a shell has started, read from /proc: its descendants, and what has left them but not its session."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


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


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the state on; None for a process that has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The name in brackets may hold anything, blanks and brackets too: the fields come after the last bracket.
    stat = text.rpartition(")")[2].split()
    return None if stat[0] in "ZX" else stat
