"""The modes in words, which is stricter, and the menu that chooses one: the same in the tray and in the task window."""

from __future__ import annotations

from typing import cast

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from agent_core.safety.policy import Mode
from app import words

CHOICES: tuple[Mode, ...] = ("ask_all", "ask_risky", "watch")
BY_STRICTNESS: tuple[Mode, ...] = ("sandbox", "ask_risky", "ask_all", "watch")


def named(name: str) -> Mode:
    """The mode of that name. Raises ValueError for an unknown one."""
    return BY_STRICTNESS[BY_STRICTNESS.index(cast(Mode, name))]


def is_stricter(one: Mode, other: Mode) -> bool:
    return BY_STRICTNESS.index(one) > BY_STRICTNESS.index(other)


def say(mode: Mode) -> str:
    return words.say(f"mode.{mode}")


class ModeMenu(QMenu):
    """The modes that a person can choose, the one in the settings ticked. `chosen` gives the other one."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.choices: dict[Mode, QAction] = {}
        for mode in CHOICES:
            action = self.addAction(say(mode))
            action.setCheckable(True)
            action.setData(mode)
            self.choices[mode] = action
        self.triggered.connect(self._triggered)
        self.addSeparator()
        self.addAction(words.say("mode.note")).setEnabled(False)

    def tick(self, mode: Mode) -> None:
        for each, action in self.choices.items():
            action.setChecked(each == mode)

    def _triggered(self, action: QAction) -> None:
        self.chosen.emit(str(action.data()))
