"""A real Qt program whose two buttons change places when it reads a line; prints each button that is clicked.

Also a field, which loses the focus to the other one on a line "focus", and a window over it on a line "cover".
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from PySide6.QtCore import QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton, QWidget


def say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


class Lines(QObject):
    """What is read from standard input, by a thread of its own."""

    came = Signal(str)

    def read(self) -> None:
        for line in sys.stdin:
            self.came.emit(line.strip())


class Window(QWidget):
    def __init__(self) -> None:
        super().__init__(windowTitle="moving window")
        self.setWindowFlag(Qt.WindowType.FramelessWindowHint)
        self.setGeometry(100, 100, 600, 400)
        self.keep, self.delete = QPushButton("Keep", self), QPushButton("Delete", self)
        self.first, self.second = QLineEdit(self), QLineEdit(self)
        for n, part in enumerate((self.keep, self.delete, self.first, self.second)):
            part.setGeometry(40 + 280 * (n % 2), 60 + 160 * (n // 2), 200, 60)
        self.keep.clicked.connect(lambda: say(kind="clicked", what="Keep"))
        self.delete.clicked.connect(lambda: say(kind="clicked", what="Delete"))
        for field, name in ((self.first, "first"), (self.second, "second")):
            field.textChanged.connect(lambda text, name=name: say(kind="text", what=name, text=text))
        self.other: QWidget | None = None

    def take(self, line: str) -> None:
        """Does what a line says, and says so once it is to be seen."""
        if line == "swap":
            place = self.keep.geometry()
            self.keep.setGeometry(self.delete.geometry())
            self.delete.setGeometry(place)
        elif line == "focus":
            self.second.setFocus()
        elif line == "cover":
            self.other = QWidget(windowTitle="another window")
            self.other.setGeometry(800, 500, 200, 100)
            self.other.show()
            self.other.activateWindow()
        QTimer.singleShot(200, lambda: say(kind="done", what=line))

    def places(self) -> None:
        parts = {"keep": self.keep, "delete": self.delete, "first": self.first, "second": self.second}
        middles = {name: part.mapToGlobal(QPoint(100, 30)) for name, part in parts.items()}
        say(kind="places", **{name: [at.x(), at.y()] for name, at in middles.items()})


def main() -> None:
    app = QApplication(sys.argv)
    window, lines = Window(), Lines()
    lines.came.connect(window.take)
    threading.Thread(target=lines.read, daemon=True).start()
    window.show()
    window.activateWindow()
    window.first.setFocus()
    QTimer.singleShot(300, window.places)
    app.exec()


if __name__ == "__main__":
    main()
