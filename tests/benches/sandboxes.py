"""Sandboxes: pages beside the Selenium environment that the package `miniwob` brings, and desktops beside a limit.

Both environments play the same tasks with the same clicks and take a picture after each. What counts is processor
time of all processes of a side, browser included: that is what decides how many steps a core can make in a second,
however busy the machine is. The peer takes its picture at once, ours when the page is at rest.

Needs `pip install -r tests/benches/requirements.txt` and chromium-driver.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any

from agent_core import actions as act
from agent_core.errors import ScreenError
from agent_core.operators.processes import started_by
from agent_core.protocols import Reader
from agent_core.screen.elements import ElementReader
from agent_core.step import Element, Screenshot
from tests.benches.measure import Result
from training.sandboxes.browser import BrowserSandbox
from training.sandboxes.chromium import SharedChromium
from training.sandboxes.desktop import DesktopSandbox
from training.tasks.miniwob import SCALE, MiniWob
from training.tasks.miniwob_page import BAR, HEIGHT, WIDTH, WINDOW
from training.tasks.task import Episode, seed_of

TASKS = ("click-test-2", "click-collapsible", "enter-text", "click-checkboxes")
EPISODES = 4  # of each task
STEPS = 8  # clicks of an episode at most
DESKTOPS = 20
DESKTOP_SECONDS = 2.0
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Played:
    """What one side did. Seconds of processor time and of the wall, for the steps and for opening the episodes."""

    steps: int = 0
    cpu: float = 0.0
    wall: float = 0.0
    episodes: int = 0
    opening: float = 0.0

    @property
    def per_core(self) -> float:
        """Steps per second of one core."""
        return self.steps / self.cpu

    @property
    def whole(self) -> float:
        """The same with the opening of the episodes."""
        return self.steps / (self.cpu + self.opening)


Open = Callable[[str, int], Callable[[float, float], bool]]
"""Opens a task at a seed; gives what clicks at fractions of the task's area, looks, and tells whether it has ended."""


def pages() -> Result:
    """Steps per second and core, without reading: pictures as large as the peer's."""
    peer = _peer()
    small = _ours(1.0, _Unread())
    large = _ours(SCALE, _Unread())
    reading = _ours(SCALE, ElementReader(threads=1))
    detail = (
        f"steps/s of a core: ours {small.per_core:.1f}, peer {peer.per_core:.1f}; opening counted too "
        f"{small.whole:.1f} and {peer.whole:.1f}; with pictures of {SCALE:g} times the side {large.per_core:.1f} "
        f"({large.per_core / peer.per_core:.2f} x), read as well {reading.per_core:.1f} "
        f"({reading.per_core / peer.per_core:.2f} x); seconds of the wall a step: {small.wall / small.steps:.3f}, "
        f"peer {peer.wall / peer.steps:.3f}; {small.steps} and {peer.steps} steps; frames at rest, the peer's at once"
    )
    return Result("sandbox_pages", small.per_core / peer.per_core, 3.0, "miniwob's own Selenium environment", detail)


def desktops() -> Result:
    """Seconds to make a screen with an editor's window on it, see it and throw it away; the slowest against a limit."""
    sandbox = DesktopSandbox()
    taken = []
    for _ in range(DESKTOPS):
        began = time.monotonic()
        sandbox.open(["mousepad", "notes.txt"], "notes.txt").look()
        sandbox.close()
        taken.append(time.monotonic() - began)
    detail = f"median {statistics.median(taken):.2f} s, worst {max(taken):.2f} s of {DESKTOPS}, none kept warm"
    return Result("sandbox_desktops", DESKTOP_SECONDS / max(taken), 1.0, f"{DESKTOP_SECONDS:g} s", detail)


class _Unread:
    def read(self, shot: Screenshot) -> tuple[Element, ...]:
        return ()


def _play(open_: Open) -> Played:
    """The same clicks for both sides."""
    played = Played()
    for task in TASKS:
        open_(task, 0)  # a browser that has shown the page once
        for seed in range(EPISODES):
            chance = random.Random(f"{task} {seed}")
            with _counted() as opening:
                step = open_(task, seed)
            played.opening += opening[0]
            played.episodes += 1
            with _counted() as spent:
                for _ in range(STEPS):
                    played.steps += 1
                    if step(chance.uniform(0.02, 0.98), chance.uniform(0.02, 0.98)):
                        break
            played.cpu += spent[0]
            played.wall += spent[1]
    return played


@contextmanager
def _counted() -> Iterator[list[float]]:
    """Processor time of this process and all below it, and time of the wall, when the block has ended."""
    told: list[float] = []
    cpu, wall = _processor_seconds(), time.monotonic()
    yield told
    told += [_processor_seconds() - cpu, time.monotonic() - wall]


def _processor_seconds() -> float:
    """Of the whole tree, with the children that have ended."""
    total = 0
    for pid in (os.getpid(), *(process.pid for process in started_by(os.getpid()))):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(int(ticks) for ticks in stat[11:15])
    return total / _TICK


def _ours(scale: float, reader: Reader) -> Played:
    chromium = SharedChromium()
    suite = MiniWob(reader, sandbox=BrowserSandbox(*WINDOW, scale, chromium=chromium.address))
    open_now: list[Episode] = []

    def open_(task: str, seed: int) -> Callable[[float, float], bool]:
        if open_now:
            open_now.pop().close()
        episode = suite.open(task, seed_of(seed, "train"), "train")
        open_now.append(episode)
        shots = [episode.operator.look()]

        def step(x: float, y: float) -> bool:
            episode.operator.do(act.Click(act.Point(x, y)), shots[-1], Event())
            shots[-1] = episode.operator.look()
            reader.read(shots[-1])
            return episode.done()

        return step

    try:
        return _play(open_)
    finally:
        suite.close()
        chromium.close()


def _peer() -> Played:
    """Raises ScreenError when a part of the peer is not installed."""
    driver, browser = shutil.which("chromedriver"), shutil.which("chromium")
    missing = [name for name in ("selenium", "gymnasium", "miniwob") if find_spec(name) is None]
    if missing or driver is None or browser is None:
        raise ScreenError(
            "The Selenium environment is not installed: pip install -r tests/benches/requirements.txt, "
            "and the package chromium-driver."
        )
    os.environ["MINIWOB_CHROME_BINARY"], os.environ["MINIWOB_CHROMEDRIVER"] = browser, driver
    import gymnasium
    import miniwob  # registers its environments
    from miniwob.action import ActionTypes

    assert miniwob
    made: dict[str, Any] = {}

    def open_(task: str, seed: int) -> Callable[[float, float], bool]:
        if task not in made:
            for other in made.values():
                other.close()
            made.clear()
            made[task] = gymnasium.make(f"miniwob/{task}-v1")
        environment = made[task]
        environment.reset(seed=seed)

        def step(x: float, y: float) -> bool:
            at = (x * WIDTH, BAR + y * (HEIGHT - BAR))
            action = environment.unwrapped.create_action(ActionTypes.CLICK_COORDS, coords=at)
            _, _, ended, cut, _ = environment.step(action)
            return bool(ended or cut)

        return step

    try:
        return _play(open_)
    finally:
        for environment in made.values():
            environment.close()
