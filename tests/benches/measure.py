"""What a benchmark gives back, and how two things are timed beside each other on a machine that does other work too.

Processor time of this process is used where the work is done here; it does not count what other programs take.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Result:
    """How many times as fast as the peer we are, and the ratio to reach. `detail` says in words what was timed."""

    name: str
    ratio: float
    goal: float
    peer: str
    detail: str

    @property
    def met(self) -> bool:
        return self.ratio >= self.goal


@dataclass(frozen=True, slots=True)
class Pair:
    """Median seconds of ours and of the peer."""

    ours: float
    peer: float

    @property
    def ratio(self) -> float:
        return self.peer / self.ours


Seconds = Callable[[], float]


def beside(ours: Seconds, peer: Seconds, times: int) -> Pair:
    """Both measured in turn, `times` times, so that a busy minute meets both. Each gives the seconds it took."""
    taken = [(ours(), peer()) for _ in range(times)]
    return Pair(statistics.median(a for a, _ in taken), statistics.median(b for _, b in taken))


def cpu_seconds(work: Callable[[], object]) -> float:
    """The processor time that all threads of this process spent while `work` ran."""
    began = time.process_time()
    work()
    return time.process_time() - began


def resident_megabytes(process: int) -> float:
    """What a process holds in memory, shared libraries included."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) / 1024
