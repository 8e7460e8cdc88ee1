"""Short everyday tasks in ordinary windows on a virtual desktop: editor, files, calculator, web pages, forms, terminal.

Every episode starts from an empty home with the same few files and one program over the whole screen. Whether it is
solved is read from outside, from files, clipboard, processes, windows and the page, never from what the agent says.
"""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Sequence
from pathlib import Path
from random import Random

from agent_core.dialects.elements import Elements
from agent_core.operators.desktop import DesktopOperator
from agent_core.operators.terminal import TerminalSession
from agent_core.protocols import Dialect, Reader
from agent_core.screen.capture import Screen
from agent_core.screen.virtual import VirtualDesktop
from agent_core.step import Element
from training.tasks.desk_browser import BROWSER
from training.tasks.desk_browser_stage import BrowserStage
from training.tasks.desk_calculator import CALCULATOR
from training.tasks.desk_editor import EDITOR
from training.tasks.desk_files import FILES
from training.tasks.desk_form import FORM
from training.tasks.desk_task import DeskTask, DeskTeacher, Stage, Values, Watching, soon
from training.tasks.desk_terminal import TERMINAL
from training.tasks.task import Episode, Split, check_seed

WIDTH, HEIGHT = 1024, 640  # small, because reading the screenshot is what takes the time
SETTLE_SECONDS = 1.0
TERMINAL_SECONDS = 10.0

TASKS: dict[str, DeskTask] = {task.name: task for task in (*EDITOR, *FILES, *CALCULATOR, *FORM, *BROWSER, *TERMINAL)}
TRAINED: tuple[str, ...] = tuple(TASKS)
EVALUATED: tuple[str, ...] = TRAINED
WORDINGS = Path(__file__).with_name("desk_wordings.toml")


class Desk:
    """`reader` reads the screenshots for the teachers; without one the program's own element reader is used."""

    name = "desk"
    evaluated = EVALUATED
    episodes = 5

    def __init__(self, reader: Reader | None = None, dialect: Dialect | None = None) -> None:
        self._reader = reader
        self._dialect = dialect or Elements()
        self._desktop: VirtualDesktop | None = None
        self._browser: BrowserStage | None = None

    @property
    def home(self) -> Path | None:
        """The home folder on the desktop; None before the first episode."""
        return self._desktop.home if self._desktop is not None else None

    def tasks(self) -> tuple[str, ...]:
        return TRAINED

    def open(self, task_name: str, seed: int, split: Split) -> Episode:
        """Sets the task up on a fresh desktop. Raises ValueError for an unknown name or a seed of the other split."""
        if task_name not in TASKS:
            raise ValueError(f"there is no task {task_name!r}; there are {', '.join(TRAINED)}")
        check_seed(seed, split)
        task = TASKS[task_name]
        text, values = worded(task, seed, split)
        stage = self._stage()
        task.prepare(stage, values)
        operator = self._operator(task, stage)
        seen = Watching(self._own_reader())

        def solved() -> bool:
            return task.solved(stage, values)

        return Episode(
            task=text,
            operator=operator,
            teacher=DeskTeacher(task.teach(values), task.last(values), solved, seen, self._dialect),
            score=lambda: 1.0 if soon(solved) else 0.0,
            close=operator.close,
            reader=seen,
        )

    def close(self) -> None:
        for sandbox in (self._desktop, self._browser):
            if sandbox is not None:
                sandbox.close()
        self._desktop = self._browser = None

    def _stage(self) -> Stage:
        if self._desktop is None:
            self._desktop = VirtualDesktop(WIDTH, HEIGHT)
        else:
            self._desktop.reset()
        if self._browser is not None and not self._browser.is_whole():
            self._browser.close()
            self._browser = None
        return Stage(self._desktop, self._own_browser, self._read_desktop)

    def _read_desktop(self) -> tuple[Element, ...]:
        """The elements on the desktop's screen now, by a frame of our own."""
        assert self._desktop is not None
        with self._desktop.as_display(), contextlib.closing(Screen(1)) as screen:
            return self._own_reader().read(screen.grab())

    def _own_browser(self) -> BrowserStage:
        if self._browser is None:
            self._browser = BrowserStage(WIDTH, HEIGHT)
        return self._browser

    def _operator(self, task: DeskTask, stage: Stage) -> DesktopOperator:
        desktop = stage.browser.desktop if task.place == "browser" else stage.desktop
        terminal = TerminalSession(stage.home, TERMINAL_SECONDS, env=stage.desktop.environment)
        screen = Screen()
        with desktop.as_display():
            screen.grab()  # connects this thread for good
            return DesktopOperator(settle_seconds=SETTLE_SECONDS, screen=screen, terminal=terminal)

    def _own_reader(self) -> Reader:
        if self._reader is None:
            from agent_core.screen.elements import ElementReader  # loads OCR weights: only when needed

            self._reader = ElementReader()
        return self._reader


def worded(task: DeskTask, seed: int, split: Split) -> tuple[str, Values]:
    """The task's text and parameters at a seed. The last wording is used for held-out episodes and only for them."""
    rng = Random(f"{task.name} {seed}")
    values = task.draw(rng)
    wordings: Sequence[str] = task.wordings[:-1] if split == "train" else task.wordings[-1:]
    return rng.choice(wordings).format_map(values), values


def rewordings(task_name: str, seed: int) -> tuple[str, ...]:
    """Every training text of an episode: its own wordings and those that others wrote from a description of the task.

    Raises ValueError for an unknown task or a held-out seed.
    """
    if task_name not in TASKS:
        raise ValueError(f"there is no task {task_name!r}; there are {', '.join(TRAINED)}")
    check_seed(seed, "train")
    task = TASKS[task_name]
    _, values = worded(task, seed, "train")
    more = tomllib.loads(WORDINGS.read_text(encoding="utf-8"))[task_name]
    return tuple(wording.format_map(values) for wording in (*task.wordings[:-1], *more))
