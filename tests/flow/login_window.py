"""A real Qt program for the test of planted secrets: a page that shows some, and a form with a password and a PIN.

The words to show are its arguments. Prints one JSON line when Log in is pressed: what the fields hold.
"""

from __future__ import annotations

import json
import sys

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QWidget

FIELDS = {"User name": 60, "Password": 130, "PIN": 200}  # their tops in the window


def main() -> None:
    app = QApplication(sys.argv[:1])
    app.setStyleSheet(
        "* { font-size: 18px; color: black } QWidget { background: white } QLineEdit { border: 1px solid black }"
    )
    window = QWidget(windowTitle="Account")
    window.setWindowFlag(Qt.WindowType.FramelessWindowHint)
    window.setGeometry(0, 0, 1000, 640)
    fields = {}
    for name, top in FIELDS.items():
        QLabel(name, window).setGeometry(40, top, 120, 36)
        fields[name] = field = QLineEdit(window)
        field.setGeometry(180, top, 320, 36)
        if name != "User name":
            field.setEchoMode(QLineEdit.EchoMode.Password)
    button = QPushButton("Log in", window)
    button.setGeometry(180, 270, 160, 40)
    for n, words in enumerate(sys.argv[1:]):
        QLabel(words, window).setGeometry(40, 340 + 46 * n, 900, 40)

    def submit() -> None:
        print(json.dumps({name: field.text() for name, field in fields.items()}), flush=True)
        for field in fields.values():
            field.hide()

    button.clicked.connect(submit)
    window.show()
    window.activateWindow()
    app.exec()


if __name__ == "__main__":
    main()
