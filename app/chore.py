"""Work that would hold a window up (files, the database), in a thread of its own; the window is told how it went."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

from PySide6.QtCore import QObject, Signal

from agent_core.errors import DeskhandError


class Chore(QObject):
    """Begins with `start`. `done` carries what the work gave, `failed` the sentence of its DeskhandError.

    Connect both to methods of windows: what is connected to a lambda would run in the thread.
    """

    done = Signal(object)
    failed = Signal(str)

    def __init__(self, work: Callable[[], object], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._work = work
        self._thread = Thread(target=self._run, name="chore")

    def start(self) -> None:
        self._thread.start()

    def wait(self) -> None:
        """Until the work is over: a window that goes away waits for what it began."""
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            result = self._work()
        except DeskhandError as error:
            self.failed.emit(str(error))
        else:
            self.done.emit(result)
