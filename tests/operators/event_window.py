"""A real Qt program for the operator tests: a text field, a pad that logs pointer events, and a large scrolled area.

Prints one JSON object a line: first where its parts lie on the screen, then each event as it arrives. F9 keeps it
busy for a second, as a slow program would be.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QScrollArea, QWidget

BUSY_SECONDS = 1.0
_MOUSE = {
    QEvent.Type.MouseButtonPress: "press",
    QEvent.Type.MouseButtonRelease: "release",
    QEvent.Type.MouseButtonDblClick: "double",
    QEvent.Type.MouseMove: "move",
}


def say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


class Pad(QWidget):
    """Logs every pointer event with its place on the screen and the buttons held."""

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QMouseEvent) and event.type() in _MOUSE:
            at = event.globalPosition().toPoint()
            say(kind=_MOUSE[event.type()], x=at.x(), y=at.y(), button=event.button().value, held=event.buttons().value)
            return True
        return super().event(event)


class Keys(QObject):
    """Logs each key event of the program once: where it comes in, not where it goes on to."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is QApplication.focusWidget() and isinstance(event, QKeyEvent):
            if event.type() == QEvent.Type.KeyPress:
                say(kind="key_down", key=Qt.Key(event.key()).name, text=event.text())
                if event.key() == Qt.Key.Key_F9:
                    time.sleep(BUSY_SECONDS)
            elif event.type() == QEvent.Type.KeyRelease:
                say(kind="key_up", key=Qt.Key(event.key()).name)
        return False


class Wheel(QObject):
    """Logs wheel events in degrees."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QWheelEvent) and isinstance(watched, QWidget) and not watched.isWindow():
            say(kind="wheel", across=event.angleDelta().x(), down=event.angleDelta().y())
        return False


def main() -> None:
    app = QApplication(sys.argv)
    window = QWidget(windowTitle="event window")
    window.setWindowFlag(Qt.WindowType.FramelessWindowHint)
    window.setGeometry(0, 0, 900, 600)
    edit, pad, area = QPlainTextEdit(window), Pad(window), QScrollArea(window)
    edit.setGeometry(300, 0, 600, 300)
    pad.setGeometry(0, 0, 300, 300)
    area.setGeometry(0, 300, 900, 300)
    inside = QWidget()
    inside.resize(5000, 5000)
    area.setWidget(inside)
    area.horizontalScrollBar().setValue(1000)
    area.verticalScrollBar().setValue(1000)
    edit.textChanged.connect(lambda: say(kind="text", text=edit.toPlainText()))
    for bar, name in ((area.horizontalScrollBar(), "across"), (area.verticalScrollBar(), "down")):
        bar.valueChanged.connect(lambda value, name=name: say(kind="scrolled", bar=name, value=value))
    keys, wheel = Keys(), Wheel()
    app.installEventFilter(keys)
    inside.installEventFilter(wheel)
    window.show()
    window.activateWindow()
    edit.setFocus()

    def places() -> None:
        parts = {"edit": edit, "pad": pad, "area": area}
        corners = {name: part.mapToGlobal(QPoint(0, 0)) for name, part in parts.items()}
        say(kind="places", **{n: [at.x(), at.y(), parts[n].width(), parts[n].height()] for n, at in corners.items()})

    QTimer.singleShot(300, places)
    app.exec()


if __name__ == "__main__":
    main()
