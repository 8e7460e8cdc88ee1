"""What the program remembers between starts: window places and an unsent draft, in one small JSON file."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QWidget

from agent_core import paths


def state_file() -> Path:
    return paths.home() / "state.json"


class Remembered:
    """The file as a dict of strings. A missing, damaged or unwritable file only means that nothing is remembered."""

    def __init__(self) -> None:
        try:
            data: Any = json.loads(state_file().read_text(encoding="utf-8"))
        except (OSError, ValueError):
            data = {}
        self._values = {k: v for k, v in data.items() if isinstance(v, str)} if isinstance(data, dict) else {}

    def get(self, name: str) -> str:
        return self._values.get(name, "")

    def set(self, name: str, value: str) -> None:
        if self._values.get(name, "") == value:
            return
        self._values[name] = value
        try:
            state_file().parent.mkdir(parents=True, exist_ok=True)
            temporary = state_file().with_suffix(".new")
            temporary.write_text(json.dumps(self._values, indent=1), encoding="utf-8")
            temporary.replace(state_file())
        except OSError:
            return  # a place that is not remembered is no reason to bother anyone

    def keep_place(self, name: str, window: QWidget) -> None:
        self.set(f"place.{name}", base64.b64encode(window.saveGeometry().data()).decode())

    def put_back(self, name: str, window: QWidget) -> bool:
        """Moves a window where it was; false if no place is known."""
        kept = self.get(f"place.{name}")
        return bool(kept) and window.restoreGeometry(base64.b64decode(kept))
