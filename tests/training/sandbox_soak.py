"""Many leases with faults among them, played by the trainers' streaming pool: what came of them, and what was left."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agent_core.operators.processes import still_alive
from tests.training.sandbox_parts import FAULTS, Clicking, desk, faulty, miniwob
from training.episodes import EpisodeEnvironment
from training.jobs import JobSource, Trajectory
from training.pool import Pool, Together
from training.sandboxes.chromium import SharedChromium
from training.sandboxes.guarded import left_by, marked
from training.sandboxes.pool import Bounds, PoolFigures
from training.tasks.leased import LeasedSuite
from training.tasks.pretend_small import PretendSmall
from training.tasks.task import Suite, seed_of

TASKS = {
    "pretend_small": ("press", "fill"),
    "desk": ("form_name", "form_cancel"),
    "miniwob": ("click-test", "click-collapsible", "enter-text"),
}


@dataclass(frozen=True, slots=True)
class Soaked:
    """`lost` are the numbers of the rollouts that never ended, `scored` those that ended without being scored."""

    rollouts: int
    lost: tuple[int, ...]
    unscored: int
    failed: int
    faults: dict[str, int]
    browsers: int
    left: int
    seconds: float
    figures: PoolFigures


def soak(kind: str, rollouts: int, share: float, log: Path, size: int = 2, faults: Sequence[str] = FAULTS) -> Soaked:
    """Plays as many rollouts, of which `share` meet a fault; browsers are killed from outside as often."""
    chromium = SharedChromium() if kind == "miniwob" else None
    make: dict[str, Callable[[], Suite]] = {"pretend_small": PretendSmall, "desk": desk}
    made = make.get(kind) or partial(miniwob, chromium.address if chromium else None)
    began = time.monotonic()
    source = LeasedSuite(
        made,
        size,
        spares=1,
        call_seconds=20.0,
        bounds=Bounds(processes=45),
        chromium=chromium,
        sandbox=faulty(share, faults, log),
    )
    jobs = JobSource(TASKS[kind], lambda n: seed_of(n, "train"))
    environments = [EpisodeEnvironment(source, max_steps=3) for _ in range(size)]
    pool = Pool(Together(Clicking()), environments, jobs, batch=4, max_stale=1_000_000, retries=9)
    ended: dict[int, Trajectory] = {}
    chance = random.Random(rollouts)
    killed = failed = 0
    while not set(range(rollouts)) <= set(ended):
        for one in pool.take():
            ended[one.job.number] = one
            if chromium is not None and chance.random() < share:
                killed += 1
                _kill_browser(chromium, chance.random() < 0.5)
        failed += pool.metrics().failed
    pool.close()
    figures = source.pool.figures()
    source.close()
    left = left_by(os.getpid())
    struck = Counter(log.read_text(encoding="utf-8").split()) if log.exists() else Counter()
    return Soaked(
        rollouts,
        lost=tuple(sorted(set(range(rollouts)) - set(ended))),
        unscored=sum(one.reward is None for one in ended.values()),
        failed=failed,
        faults=dict(struck),
        browsers=killed,
        left=len(left),
        seconds=time.monotonic() - began,
        figures=figures,
    )


def _kill_browser(chromium: SharedChromium, whole: bool) -> None:
    """Kills the browser, or one of its renderers."""
    for process in still_alive(marked(chromium.program.folder)):
        try:
            line = Path(f"/proc/{process.pid}/cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            continue
        is_renderer = b"--type=renderer" in line
        is_browser = b"--user-data-dir" in line and b"--type=" not in line and b"guard.py" not in line
        if is_browser if whole else is_renderer:
            os.kill(process.pid, signal.SIGKILL)
            return
