"""Real programs on a virtual screen as scenes: an editor, a calculator and a form, told of by their accessibility tree.

Each scene has a screen of its own that is thrown away, in one of several looks; files and texts are made up. A program
without an accessibility bridge of its own (PCManFM is GTK 2) cannot be crawled so, and is left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from threading import Event

from agent_core.actions import Action, Hotkey
from agent_core.errors import ScreenError
from training.crawl_atspi import Accessibility
from training.crawl_qt import drawn_spec
from training.crawl_screen import Ended, Seen, tidy
from training.sandboxes.accessible import AccessibleDesktop
from training.tasks.desk_words import TOPICS, sentences
from training.tasks.programs import form

SIZES = ((1024, 640), (800, 600), (1280, 720))
THEMES = ("Adwaita", "Adwaita:dark", "HighContrast")
SETTLE_SECONDS = 1.0
TRIES = 4  # looks until the picture before reading the tree and the one after it are the same
_GTK3 = """[Settings]
gtk-font-name=DejaVu Sans {size}
gtk-cursor-blink=false
gtk-enable-animations=false
"""


@dataclass(frozen=True, slots=True)
class Started:
    """A program's command, a part of its title, and the keys that bring up one of its dialogs."""

    argv: tuple[str, ...]
    title: str
    keys: tuple[tuple[str, ...], ...] = ()


class ProgramScene:
    """One program on its screen."""

    def __init__(self, started: Callable[[Path], Started], rng: Random) -> None:
        width, height = rng.choice(SIZES)
        self._screen = AccessibleDesktop(width, height, maximized=rng.random() < 0.7)
        self._bus: Accessibility | None = None
        self.home = home = self._screen.home
        try:
            (home / ".config/gtk-3.0/settings.ini").write_text(
                _GTK3.format(size=rng.choice((10, 11, 12))), encoding="utf-8"
            )
            program = started(home)
            extra = {"GTK_THEME": rng.choice(THEMES)}
            self._operator = self._screen.open(program.argv, program.title, extra, SETTLE_SECONDS)
            self._bus = Accessibility(self._screen.session_bus)
            self._bus.windows()
            self._shot = self._operator.look()
            for keys in program.keys:
                self.do(Hotkey(keys))
                self._shot = self._operator.look()
        except BaseException:
            self.close()
            raise

    def look(self) -> Seen:
        assert self._bus is not None
        if not self._screen.desktop.titles():
            raise Ended("The window was closed.")
        shot = self._operator.look()
        for _ in range(TRIES):
            found = self._bus.widgets()
            before, shot = shot, self._operator.look()
            if before.rgb == shot.rgb:
                break
        self._shot = shot
        return Seen(shot.rgb, shot.width, shot.height, shot.window, tidy(found, shot.width, shot.height))

    def do(self, action: Action) -> None:
        outcome = self._operator.do(action, self._shot, Event())
        if not outcome.ok:
            raise ScreenError(outcome.text)

    def happen(self) -> bool:
        return False

    def close(self) -> None:
        if self._bus is not None:
            self._bus.close()
        self._screen.close()


class Programs:
    """The programs in turn, as the generator has it."""

    def open(self, rng: Random) -> ProgramScene:
        kind = rng.choice((_editor, _editor, _calculator, _form))
        return ProgramScene(kind(rng), rng)

    def close(self) -> None:
        """Every scene has its own screen."""


def _editor(rng: Random) -> Callable[[Path], Started]:
    """Mousepad with a text, and maybe its search or replace bar."""
    name = f"{rng.choice(TOPICS).lower()}.txt"
    text = "\n".join(sentences(rng, rng.randint(3, 9))) + "\n"
    keys = rng.choice(((), (("ctrl", "f"),), (("ctrl", "h"),), (("ctrl", "g"),)))

    def started(home: Path) -> Started:
        (home / name).write_text(text, encoding="utf-8")
        return Started(("mousepad", "--disable-server", name), name, keys)

    return started


def _calculator(rng: Random) -> Callable[[Path], Started]:
    return lambda home: Started(("galculator",), "galculator")


def _form(rng: Random) -> Callable[[Path], Started]:
    """The desk suite's form."""
    spec = drawn_spec(rng)

    def started(home: Path) -> Started:
        file = home / "spec.json"
        file.write_text(json.dumps(spec), encoding="utf-8")
        return Started((sys.executable, str(form.__file__), str(file), str(home / "result.json")), spec["title"])

    return started
