"""A real Qt text field: prints "ready" once it has the focus, then its text whenever that ends with a full stop."""

from __future__ import annotations

import json
import sys

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QPlainTextEdit


def main() -> None:
    app = QApplication(sys.argv)
    edit = QPlainTextEdit()
    edit.resize(900, 500)

    def tell() -> None:
        text = edit.toPlainText()
        if text.endswith("."):
            print(json.dumps(text), flush=True)
            edit.clear()

    def wait_for_focus() -> None:
        if edit.hasFocus() and edit.isActiveWindow():
            print(json.dumps("ready"), flush=True)
        else:
            QTimer.singleShot(50, wait_for_focus)

    edit.textChanged.connect(tell)
    edit.show()
    wait_for_focus()
    app.exec()


if __name__ == "__main__":
    main()
