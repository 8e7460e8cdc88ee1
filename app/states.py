"""How Deskhand stands, seen from outside: one enum drives the icon, the tooltip, the menu and the status line."""

from __future__ import annotations

import time
from enum import StrEnum

from agent_core.loop import Progress
from agent_core.step import Status
from app import words
from app.text import one_line


class State(StrEnum):
    """The value is the icon's file name and the stem of its words."""

    IDLE = "idle"
    RUNNING = "running"
    THINKING = "thinking"
    WAITING = "waiting"
    PAUSED = "paused"
    STOPPED = "stopped"
    ERROR = "error"

    @property
    def busy(self) -> bool:
        """Whether a run is under way."""
        return self in (State.RUNNING, State.THINKING, State.WAITING, State.PAUSED)


class Stage:
    """What the run is at, and for how long it has been."""

    def __init__(self) -> None:
        self.progress: Progress | None = None
        self._since = time.monotonic()

    def move_to(self, progress: Progress) -> None:
        old, self.progress = self.progress, progress
        if old is None or (old.stage, old.turn) != (progress.stage, progress.turn):
            self._since = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._since


def while_running(progress: Progress) -> State:
    """The state that a stage of the loop shows."""
    match progress.stage:
        case "looking" | "reading" | "doing":
            return State.RUNNING
        case "thinking":
            return State.THINKING
        case "asking":
            return State.WAITING


def after(status: Status) -> State:
    """The state that an ended run leaves behind."""
    match status:
        case Status.RUNNING:
            return State.RUNNING
        case Status.FINISHED:
            return State.IDLE
        case Status.STOPPED:
            return State.STOPPED
        case Status.REFUSED | Status.LIMIT | Status.FAILED:
            return State.ERROR


def in_words(state: State, stage: Stage, stopping: bool, taken: bool) -> str:
    """What goes on, for the status line: the words that move. `taken`: it is paused by the person's own mouse."""
    progress = stage.progress
    if stopping:
        return words.say("stage.stopping")
    if state is State.PAUSED:
        return words.say("taken.text" if taken else "stage.paused")
    if progress is None:
        return words.say("stage.starting")
    lasted = words.seconds(stage.seconds * 1000)
    match progress.stage:
        case "thinking" if progress.tokens:
            return words.say("stage.thinking", tokens=progress.tokens, seconds=lasted)
        case "thinking":
            return words.say("stage.thinking_first", seconds=lasted)
        case "doing":
            return words.say("stage.doing", action=one_line(progress.text))
        case plain:
            return words.say(f"stage.{plain}")
