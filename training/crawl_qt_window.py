"""A Qt window that nobody sees, as a program of its own: `crawl_qt_window SPEC` shows what the JSON text SPEC lists.

It is driven by lines of JSON: {"do": "look"} answers with the picture as PNG (base64) and its widgets; {"do": "click",
"x", "y"} and {"do": "type", "text"} act at places in pixels of the picture as a person would, and answer {}. It ends
with its standard input. SPEC is that of `tasks.programs.form` with "style", "dark", "font" (points) and "size" more,
and "tabs", "slider", "spin", "entries" and "menus" for what the form has not.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, Qt
from PySide6.QtGui import QColor, QPainter, QPalette, QPixmap
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QFormLayout,
    QLabel,
    QListWidget,
    QMenuBar,
    QPushButton,
    QSlider,
    QSpinBox,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from training.crawl_qt_widgets import widgets
from training.tasks.programs.form import Form

DARK = {
    QPalette.ColorRole.Window: "#2b2d31",
    QPalette.ColorRole.Base: "#1e1f22",
    QPalette.ColorRole.Button: "#3a3d42",
    QPalette.ColorRole.WindowText: "#e6e6e6",
    QPalette.ColorRole.Text: "#e6e6e6",
    QPalette.ColorRole.ButtonText: "#e6e6e6",
    QPalette.ColorRole.PlaceholderText: "#9a9a9a",
}


class Window(QWidget):
    """The form of the desk suite, with more kinds of widgets around it."""

    def __init__(self, spec: dict[str, Any]) -> None:
        super().__init__()
        self.setWindowTitle(spec["title"])
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        if spec.get("menus"):
            bar = QMenuBar()
            for name, items in spec["menus"].items():
                menu = bar.addMenu(name)
                for item in items:
                    menu.addAction(item)
            column.addWidget(bar)
        form = Form(spec, Path(os.devnull))
        note = QLabel("Ready")
        for button in form.findChildren(QPushButton):
            button.clicked.disconnect()  # the window stays, and no answer is written
            button.clicked.connect(partial(note.setText, f"{button.text()} was pressed"))
        pages = spec.get("tabs", [])
        if pages:
            tabs = QTabWidget()
            tabs.addTab(form, pages[0])
            for name in pages[1:]:
                tabs.addTab(_more(spec), name)
            column.addWidget(tabs)
        else:
            column.addWidget(form)
            column.addWidget(_more(spec))
        note.setContentsMargins(8, 4, 8, 4)
        column.addWidget(note)


def _more(spec: dict[str, Any]) -> QWidget:
    """A slider, a number field and a list, as far as the spec has them."""
    page = QWidget()
    rows = QFormLayout(page)
    rows.setContentsMargins(40, 10, 40, 20)
    for name, value in spec.get("slider", {}).items():
        slider = QSlider(Qt.Orientation.Horizontal)
        slider.setValue(value)
        slider.setAccessibleName(name)
        rows.addRow(name, slider)
    for name, value in spec.get("spin", {}).items():
        spin = QSpinBox()
        spin.setMaximum(999)
        spin.setValue(value)
        rows.addRow(name, spin)
    if spec.get("entries"):
        entries = QListWidget()
        entries.addItems(spec["entries"])
        entries.setCurrentRow(0)
        entries.setMaximumHeight(150)
        rows.addRow(entries)
    return page


def picture(window: QWidget) -> QPixmap:
    """The window with what has popped up over it, clipped to it."""
    shown = window.grab()
    popup = QApplication.activePopupWidget()
    if popup is not None:
        painter = QPainter(shown)
        painter.drawPixmap(window.mapFromGlobal(popup.mapToGlobal(QPoint())), popup.grab())
        painter.end()
    return shown


def click(window: QWidget, x: int, y: int) -> None:
    """A left click at a place in pixels of the picture; one outside a popup closes it."""
    at = QPoint(round(x / window.devicePixelRatioF()), round(y / window.devicePixelRatioF()))
    popup = QApplication.activePopupWidget()
    if popup is not None:
        inside = popup.mapFromGlobal(window.mapToGlobal(at))
        if not popup.rect().contains(inside):
            popup.close()
            return
        target = popup.childAt(inside) or popup
        QTest.mouseClick(target, Qt.MouseButton.LeftButton, pos=target.mapFrom(popup, inside))
        return
    target = window.childAt(at) or window
    QTest.mouseClick(target, Qt.MouseButton.LeftButton, pos=target.mapFrom(window, at))


def type_text(text: str) -> None:
    """Replaces what the focused field holds."""
    target = QApplication.focusWidget()
    if target is not None:
        QTest.keyClick(target, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        QTest.keyClicks(target, text)


def answered(window: QWidget, asked: dict[str, Any]) -> dict[str, Any]:
    """Does what one line asks for."""
    match asked["do"]:
        case "click":
            click(window, asked["x"], asked["y"])
        case "type":
            type_text(asked["text"])
        case "look":
            QApplication.processEvents()
            store = QByteArray()
            buffer = QBuffer(store)
            buffer.open(QIODevice.OpenModeFlag.WriteOnly)
            picture(window).toImage().save(buffer, "PNG")  # type: ignore[call-overload]
            return {"png": base64.b64encode(store.data()).decode(), "widgets": list(widgets(window))}
    QApplication.processEvents()
    return {}


def main(spec_text: str) -> int:
    """Shows the window and answers line after line."""
    spec = json.loads(spec_text)
    app = QApplication(["crawl"])
    app.setStyle(spec["style"])
    app.setCursorFlashTime(0)
    font = app.font()
    font.setPointSize(spec["font"])
    app.setFont(font)
    if spec["dark"]:
        palette = QPalette(QColor("#3a3d42"), QColor("#2b2d31"))
        for role, colour in DARK.items():
            palette.setColor(role, QColor(colour))
        app.setPalette(palette)
    window = Window(spec)
    window.resize(*spec["size"])
    window.show()
    window.activateWindow()
    app.processEvents()
    for line in sys.stdin:
        print(json.dumps(answered(window, json.loads(line))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
