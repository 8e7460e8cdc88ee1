"""Qt windows as scenes: the desk suite's form with more around it, in several styles, sizes and scales, off any screen.

Each window is a process of its own, so that styles and scales, which Qt takes once at its start, can differ. Places and
states are those of the widgets themselves (`crawl_qt_window`).
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from agent_core.actions import Action, Click, Hotkey, Scroll, Type
from agent_core.errors import ScreenError
from agent_core.screen.capture import from_png
from training.crawl_screen import Seen, Widget, tidy
from training.tasks.desk_words import TOPICS

STYLES = ("Fusion", "Windows")
SCALES = ("1", "1", "1.25", "1.5")
SIZES = ((640, 560), (720, 620), (860, 640), (980, 700))
END_SECONDS = 5.0
_TITLES = ("Contact", "Registration", "Booking", "Account", "Settings", "Export", "Profile", "Delivery")
_FIELDS = ("Name", "Email", "City", "Company", "Phone", "Remark", "Folder", "Subject")
_TICKS = ("Newsletter", "Parking", "Wifi", "Insurance", "Backup", "Sound", "Updates", "Receipt", "Catering")
_RADIOS = (("Small", "Medium", "Large"), ("Cash", "Card", "Transfer"), ("Morning", "Noon", "Evening"))
_CHOICES = {
    "Language": ("English", "German", "French"),
    "Quality": ("Low", "Medium", "High"),
    "Format": ("PNG", "JPEG", "PDF", "SVG"),
    "Theme": ("Light", "Dark", "System"),
}
_BUTTONS = ("OK", "Cancel", "Apply", "Save", "Close", "Help", "Reset")
_MENUS = {
    "File": ["New", "Open", "Save", "Save as", "Print"],
    "Edit": ["Undo", "Redo", "Cut", "Copy", "Paste"],
    "View": ["Zoom in", "Zoom out", "Full screen"],
    "Help": ["Contents", "Shortcuts", "About"],
}


class QtScene:
    """One window's process."""

    def __init__(self, spec: dict[str, Any], scale: str) -> None:
        env = os.environ | {"QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": scale}
        command = [sys.executable, "-m", "training.crawl_qt_window", json.dumps(spec)]
        self._process = subprocess.Popen(
            command,
            cwd=Path(__file__).parents[1],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        self._size = (1, 1)

    def look(self) -> Seen:
        told = self._ask(do="look")
        shot = from_png(base64.b64decode(told["png"]))
        self._size = (shot.width, shot.height)
        found = [_widget(node) for node in told["widgets"]]
        return Seen(shot.rgb, shot.width, shot.height, "", tidy(found, shot.width, shot.height))

    def do(self, action: Action) -> None:
        """Clicks and types; typing replaces what was there, so selecting all before it needs no doing."""
        match action:
            case Click(at):
                self._ask(do="click", x=int(at.x * self._size[0]), y=int(at.y * self._size[1]))
            case Type(text):
                self._ask(do="type", text=text)
            case Hotkey() | Scroll():
                pass
            case _:
                raise ScreenError(f"A window of the crawl cannot do {type(action).__name__}; only clicks and typing.")

    def happen(self) -> bool:
        return False

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _ask(self, **asked: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise ScreenError("The Qt window is gone. Check that PySide6 is installed, then start the crawl again.")
        answer: dict[str, Any] = json.loads(line)
        return answer


class QtWindows:
    """Windows at random."""

    def open(self, rng: Random) -> QtScene:
        scale = rng.choice(SCALES)
        return QtScene(drawn_spec(rng), scale)

    def close(self) -> None:
        """Nothing is shared."""


def drawn_spec(rng: Random) -> dict[str, Any]:
    """What one window shows and how."""
    choices = rng.sample(sorted(_CHOICES), rng.randint(0, 2))
    spec: dict[str, Any] = {
        "title": rng.choice(_TITLES),
        "fields": rng.sample(_FIELDS, rng.randint(1, 3)),
        "checks": rng.sample(_TICKS, rng.randint(0, 4)),
        "radios": list(rng.choice(_RADIOS)) if rng.random() < 0.6 else [],
        "choices": {name: list(_CHOICES[name]) for name in choices},
        "buttons": rng.sample(_BUTTONS, rng.randint(2, 3)),
        "style": rng.choice(STYLES),
        "dark": rng.random() < 0.35,
        "font": rng.choice((9, 10, 11, 12)),
        "size": rng.choice(SIZES),
        "tabs": rng.sample(TOPICS, rng.randint(2, 4)) if rng.random() < 0.4 else [],
    }
    if rng.random() < 0.5:
        spec["slider"] = {rng.choice(("Volume", "Zoom", "Speed")): rng.randint(0, 99)}
    if rng.random() < 0.5:
        spec["spin"] = {rng.choice(("Copies", "Guests", "Minutes")): rng.randint(1, 60)}
    if rng.random() < 0.4:
        spec["entries"] = rng.sample(TOPICS, rng.randint(3, 5))
    if rng.random() < 0.5:
        spec["menus"] = {name: _MENUS[name] for name in rng.sample(sorted(_MENUS), rng.randint(2, 4))}
    return spec


def _widget(node: dict[str, Any]) -> Widget:
    mark = tuple(node.pop("mark")) if node["mark"] else node.pop("mark")
    return Widget(box=tuple(node.pop("box")), mark=mark, **node)
