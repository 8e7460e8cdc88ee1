"""What a desk task is made of: wordings, drawn parameters, a set-up, a check from outside and the teacher's moves.

A task names no coordinates. The teacher aims at labels, and finds them among the elements read from the screenshot,
so that everything it does can be learnt from what the agent sees; when the label was not read it gives up.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from pathlib import Path
from random import Random
from threading import Event
from typing import Literal

from agent_core.actions import Action, Click, DoubleClick, Finished, Hotkey, RightClick, Terminal, Type
from agent_core.protocols import Dialect, Reader
from agent_core.screen.virtual import VirtualDesktop
from agent_core.step import Element, ElementKind, Prompt, Reply, Screenshot
from training.tasks.desk_browser_stage import BrowserStage
from training.tasks.teacher import GaveUp

Values = dict[str, str]
"""The parameters of one episode, by the names that the wordings use."""

Place = Literal["desktop", "browser"]
_CLOSE_ENOUGH = 0.8  # how alike two labels are when they differ by what character recognition gets wrong


class Stage:
    """What a task may use to set itself up and to check: the desktop's home, its programs, its clipboard, the page."""

    def __init__(
        self, desktop: VirtualDesktop, browser: Callable[[], BrowserStage], read: Callable[[], tuple[Element, ...]]
    ) -> None:
        self.desktop = desktop
        self._browser = browser
        self.read = read  # what stands on the desktop's screen now, for programs that can be checked in no other way
        self.program: subprocess.Popen[bytes] | None = None

    @property
    def home(self) -> Path:
        return self.desktop.home

    @property
    def browser(self) -> BrowserStage:
        """The browser on its own screen, started when first asked for."""
        return self._browser()

    def put(self, name: str, text: str) -> None:
        """Writes a file below the home, with its folders."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def text(self, name: str) -> str:
        """What a file below the home holds, without line ends after the last line; empty when there is none."""
        path = self.home / name
        return path.read_text(encoding="utf-8", errors="replace").rstrip("\n") if path.is_file() else ""

    def start(self, argv: Sequence[str], title_part: str) -> None:
        """Starts the program that the task is about and waits for its window."""
        self.program = self.desktop.start(argv)
        self.desktop.wait_window(title_part)

    def clipboard(self) -> str:
        """The text on the clipboard; empty when nothing was copied."""
        command = ["xclip", "-o", "-selection", "clipboard"]
        try:
            told = subprocess.run(command, env=self.desktop.environment, capture_output=True, timeout=2, check=False)
        except subprocess.TimeoutExpired:  # the owner of the clipboard does not answer
            return ""
        return told.stdout.decode("utf-8", errors="replace").strip()

    def has_ended(self) -> bool:
        """Whether the task's program is gone."""
        return self.program is not None and self.program.poll() is not None


@dataclass(frozen=True, slots=True)
class Aim:
    """A place named by its label: `kinds` says what may bear it. Becomes an action once the label is found."""

    label: str
    kinds: tuple[ElementKind, ...] = ()
    how: type[Click] | type[DoubleClick] | type[RightClick] = Click


def _never(shot: Screenshot) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Move:
    """One reply of a teacher: a thought and what is done. `done` tells from the screenshot that it is behind us."""

    thought: str
    parts: tuple[Action | Aim, ...]
    done: Callable[[Screenshot], bool] = _never


@dataclass(frozen=True, slots=True)
class DeskTask:
    """One kind of task. The last of `wordings` is kept out of training.

    `draw` gives the parameters, `prepare` places files and starts programs, `solved` looks from outside, `teach`
    lists the moves that solve it, without the last one, which gives `answer`. `consequential`: it deletes
    or overwrites.
    """

    name: str
    wordings: tuple[str, ...]
    draw: Callable[[Random], Values]
    prepare: Callable[[Stage, Values], None]
    solved: Callable[[Stage, Values], bool]
    teach: Callable[[Values], list[Move]]
    answer: str
    place: Place = "desktop"
    consequential: bool = False
    suite: str = field(default="desk", init=False)

    def last(self, values: Values) -> Move:
        """The move when everything is done: to finish."""
        return Move("The task is done.", (Finished(self.answer.format_map(values)),))


def click(label: str, *kinds: ElementKind) -> Move:
    return Move(f'Click "{label}".', (Aim(label, kinds),))


def double_click(label: str, *kinds: ElementKind) -> Move:
    return Move(f'Double-click "{label}".', (Aim(label, kinds, DoubleClick),))


def switch_on(label: str, kind: Literal["check", "radio"]) -> Move:
    """Clicks a box that is off."""

    def is_on(shot: Screenshot) -> bool:
        box = find(shot.elements, label, (kind,))
        if box is not None:
            return box.on is True
        # A mark that was taken for a letter leaves the label alone in its row; a box that is off never does.
        words = find(shot.elements, label, ("text",))
        return words is not None and not any(e.kind == kind and _in_row(e, words) for e in shot.elements)

    return Move(f'{"Tick" if kind == "check" else "Choose"} "{label}".', (Aim(label, (kind,)),), is_on)


def fill(label: str, text: str) -> Move:
    """Clicks a field and types into it, unless the text can be read on the screen already."""

    def is_filled(shot: Screenshot) -> bool:
        return any(alike(text, words) >= _CLOSE_ENOUGH for e in shot.elements for words in (e.text, e.value))

    return Move(f'Type into the field "{label}".', (Aim(label, ("field",)), Type(text)), is_filled)


def keys(thought: str, *parts: str | Type | Aim, done: Callable[[Screenshot], bool] = _never) -> Move:
    """Presses keys written as "ctrl s", types text and clicks, in the order given."""
    actions = (Hotkey(tuple(part.split())) if isinstance(part, str) else part for part in parts)
    return Move(thought, tuple(actions), done)


def terminal(thought: str, command: str) -> Move:
    return Move(thought, (Terminal(command),))


def in_window(title_part: str) -> Callable[[Screenshot], bool]:
    """Whether the active window's title contains this text: what `done` is for moves that open a dialog."""
    return lambda shot: title_part in shot.window


class Watching:
    """A reader that remembers the last screenshot for the teacher: both see what the agent sees."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.shot: Screenshot | None = None

    def read(self, shot: Screenshot) -> tuple[Element, ...]:
        elements = self._reader.read(shot)
        self.shot = replace(shot, elements=elements)
        return elements


class DeskTeacher:
    """Replies with the first of the task's moves that is not done yet, and finishes when the task is `solved`.

    It decides from the state at hand and so can take over in the middle. Raises GaveUp when a label was not read, no
    move is left, or a move is due for the third time.
    """

    name = "desk teacher"

    def __init__(
        self, moves: Sequence[Move], last: Move, solved: Callable[[], bool], seen: Watching, dialect: Dialect
    ) -> None:
        self._moves, self._last = moves, last
        self._solved = solved
        self._seen = seen
        self._dialect = dialect
        self._made: list[Move] = []

    def reply(self, prompt: Prompt, stop: Event, on_text: Callable[[str], None] | None = None) -> Reply:
        """The next move, written in the dialect of the agent that is taught."""
        shot = self._seen.shot
        if shot is None:
            raise GaveUp("The teacher has not seen the screen: read the screenshot with the episode's reader.")
        move = self._next(shot)
        actions = [_aimed(part, shot) if isinstance(part, Aim) else part for part in move.parts]
        return Reply(self._dialect.write(move.thought, actions, shot))

    def close(self) -> None:
        """Nothing is held."""

    def _next(self, shot: Screenshot) -> Move:
        if self._solved():
            return self._last
        move = next((move for move in self._moves if not move.done(shot)), None)
        if (move is None or move in self._made) and soon(self._solved):
            return self._last
        if move is None or self._made.count(move) > 1:
            raise GaveUp("The teacher gave up: what it did had no effect that it can see.")
        self._made.append(move)
        return move


def _aimed(aim: Aim, shot: Screenshot) -> Action:
    element = find(shot.elements, aim.label, aim.kinds)
    if element is None:
        raise GaveUp(f"The teacher gave up: “{aim.label}” was not read from the screenshot.")
    return aim.how(element.point)


def find(elements: Sequence[Element], label: str, kinds: Sequence[ElementKind] = ()) -> Element | None:
    """The element of one of `kinds` (of any, when empty) that bears the label; None when none or several equals do.

    Labels may differ by a letter or two that were misread; when kinds were left open, buttons and the like come
    before bare text with the same words.
    """
    able = [e for e in elements if not kinds or e.kind in kinds]
    best = max((alike(label, e.text) for e in able), default=0.0)
    found = [e for e in able if alike(label, e.text) == best]
    found.sort(key=lambda e: e.kind == "text")
    alone = len(found) == 1 or (found and found[0].kind != "text" and found[1].kind == "text")
    return found[0] if best >= _CLOSE_ENOUGH and alone else None


def _in_row(a: Element, b: Element) -> bool:
    return a.box.top <= b.point.y <= a.box.bottom


def alike(label: str, read: str) -> float:
    """How alike two texts are, 0..1, without regard to case, spaces and punctuation."""
    a, b = _letters(label), _letters(read)
    return SequenceMatcher(None, a, b, autojunk=False).ratio() if a and b else 0.0


def soon(solved: Callable[[], bool], seconds: float = 0.5) -> bool:
    """Whether it is solved now or becomes so while the program writes what it was told to."""
    end = time.monotonic() + seconds
    while not solved():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()
