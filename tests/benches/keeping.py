"""Keeping steps with their pictures, beside the least that SQLite itself needs for as many bytes."""

from __future__ import annotations

import dataclasses
import itertools
import sqlite3
from contextlib import closing
from pathlib import Path

from agent_core import paths
from agent_core.actions import Click, Point
from agent_core.step import Intent, Message, Outcome, Prompt, Reply, Run, Screenshot, Step, Tier, Turn, Verdict
from agent_core.traces.store import TraceStore
from tests.benches.measure import Result, beside, cpu_seconds
from tests.traces.sample import desktop

TIMES = 3
STEPS = 25  # at each measurement
RUN = Run("bench", "Put the three invoices into one folder", 1_760_000_000.0, consent="bench")
PROMPT = Prompt((Message("user", "Screen:\n" + "button New folder 630 645\n" * 90),))


def trace_write() -> Result:
    """A step, its outcome and a new 1280 x 800 frame, against one plain insert of the same frame and prompt."""
    numbers = itertools.count(1)
    frame = desktop()
    with TraceStore() as store, closing(_plain(paths.home() / "plain.db")) as plain:
        store.started(RUN, frame)

        def ours() -> float:
            made = [_step(n, _different(frame, n)) for n in itertools.islice(numbers, STEPS)]
            return cpu_seconds(lambda: _keep(store, made))

        def floor() -> float:
            rows = [(n, PROMPT.chatml(), _different(frame, n).rgb) for n in itertools.islice(numbers, STEPS)]
            return cpu_seconds(lambda: [plain.execute("INSERT INTO steps VALUES (?, ?, ?)", row) for row in rows])

        taken = beside(ours, floor, TIMES)
        stored = store.path.stat().st_size + sum(f.stat().st_size for f in store.folder.rglob("*.png"))
    kept = TIMES * STEPS
    detail = (
        f"{STEPS / taken.ours:.0f} steps/s ours, {STEPS / taken.peer:.0f} plain inserts/s, of processor time; "
        f"{stored / kept / 1000:.0f} kB a step ours, {len(frame.rgb) / 1000:.0f} kB plain"
    )
    return Result("trace_write", taken.ratio, 0.2, "one sqlite3 INSERT a step of the raw frame, WAL", detail)


def _plain(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("CREATE TABLE steps (n INTEGER PRIMARY KEY, prompt TEXT, frame BLOB)")
    return db


def _different(frame: Screenshot, n: int) -> Screenshot:
    """The frame with a few pixels of its own, so that it is stored anew."""
    return dataclasses.replace(frame, rgb=n.to_bytes(12, "little") + frame.rgb[12:])


def _step(n: int, shot: Screenshot) -> tuple[Turn, Step]:
    intent = Intent("The invoices have to go into a folder.", (Click(Point(0.63, 0.645)),))
    turn = Turn(n, shot, PROMPT, Reply("Thought: ...\nAction: click(point='<point>630 645</point>')"), intent)
    return turn, Step(n, n, intent.actions[0], Verdict("allow", Tier.R1, "This can be undone."), shot.elements[0])


def _keep(store: TraceStore, made: list[tuple[Turn, Step]]) -> None:
    for turn, step in made:
        store.decided(RUN, turn, step)
        store.happened(RUN, step, Outcome(ok=True, changed=True), None)
