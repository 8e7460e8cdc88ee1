"""What runs in the sandboxes' processes in a test: suites that read nothing, and sandboxes that break on purpose."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from agent_core.actions import Action
from agent_core.errors import ScreenError
from agent_core.operators.processes import started_by
from agent_core.step import Element, Outcome, Reply, Screenshot
from training.serving import Answer, Ask
from training.tasks.leased import SuiteSandbox
from training.tasks.task import Split, Suite

FAULTS = ("crash", "stop", "stop_all", "loop", "guard", "program", "leak")
LEAKED = 45  # processes


class Unread:
    """A reader that reads nothing: what is tried out here does not hang on what is seen."""

    def read(self, shot: Screenshot) -> tuple[Element, ...]:
        return ()


def desk() -> Suite:
    from training.tasks.desk import Desk  # what a test does not use is not loaded in each of its processes

    return Desk(Unread())


def miniwob(chromium: Path | None = None, scale: float = 1.0) -> Suite:
    from training.sandboxes.browser import BrowserSandbox
    from training.tasks.miniwob import MiniWob
    from training.tasks.miniwob_page import WINDOW

    return MiniWob(Unread(), sandbox=BrowserSandbox(*WINDOW, scale, chromium=chromium))


def no_desktop() -> SuiteSandbox:
    raise ScreenError("There is no desktop here.")


class Faulty(SuiteSandbox):
    """In `share` of the episodes one of `faults` strikes, at the first action or, without one, when it is evaluated.

    Each is noted as a line in `log`.
    """

    def __init__(self, make: Callable[[], Suite], share: float, faults: Sequence[str], log: Path) -> None:
        super().__init__(make)
        self._share, self._faults, self._log = share, faults, log
        self._strikes = ""

    def reset(self, task: str, seed: int, split: Split) -> tuple[str, bool]:
        chance = random.SystemRandom()  # not by the seed: the episode must be able to end when it is played again
        self._strikes = chance.choice(self._faults) if chance.random() < self._share else ""
        return super().reset(task, seed, split)

    def act(self, action: Action) -> Outcome:
        self._meet()
        return super().act(action)

    def evaluate(self) -> float:
        self._meet()
        return super().evaluate()

    def _meet(self) -> None:
        if fault := self._strikes:
            self._strikes = ""
            with self._log.open("a", encoding="utf-8") as log:
                log.write(f"{fault}\n")
            strike(fault)


def strike(fault: str) -> None:
    """Does what its name says to this process and those that it has started."""
    me, guard = os.getpid(), os.getppid()
    match fault:
        case "crash":
            os.kill(me, signal.SIGKILL)
        case "stop":
            os.kill(me, signal.SIGSTOP)
        case "stop_all":
            for process in started_by(guard):
                if process.pid != me:
                    os.kill(process.pid, signal.SIGSTOP)
            os.kill(me, signal.SIGSTOP)
        case "loop":
            while True:
                pass
        case "guard":
            os.kill(guard, signal.SIGKILL)
            time.sleep(60)
        case "program":
            for process in started_by(me):
                os.kill(process.pid, signal.SIGKILL)
        case "leak":
            script = f"for n in $(seq {LEAKED}); do setsid sleep 3600 & done"
            subprocess.run(["sh", "-c", script], check=True, start_new_session=True)
        case _:
            raise AssertionError(fault)


class Clicking:
    """A policy that clicks somewhere or says that it is done."""

    version = 0

    def act(self, asks: Sequence[Ask]) -> list[Answer]:
        return [Answer(Reply(self._reply(ask.seed), (7, 1), (-0.5, -0.1)), (3, 4), 0) for ask in asks]

    def load(self, adapter: Path | None, version: int) -> None:
        self.version = version

    def close(self) -> None:
        """Nothing is held."""

    @staticmethod
    def _reply(seed: int) -> str:
        if seed % 4 == 0:
            return "Thought: It is done.\nAction: finished(content='')"
        return f"Thought: Click.\nAction: click(point='<point>{seed % 997} {seed % 991}</point>')"


def faulty(share: float, faults: Sequence[str], log: Path) -> Callable[[Callable[[], Suite]], SuiteSandbox]:
    return partial(Faulty, share=share, faults=faults, log=log)
