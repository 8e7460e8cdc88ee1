"""Pictures of every window on the display that is set, in both languages and themes, and what is cut off in them.

python -m tests.app.window_pictures FOLDER SCALE     SCALE names the files; QT_SCALE_FACTOR makes it so
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QWidget

from app import theme, words
from tests.app.every_window import WINDOWS

REST_S = 0.4


def main() -> int:
    folder, scale = Path(sys.argv[1]), sys.argv[2]
    app = QApplication(sys.argv[:1])
    app.setQuitOnLastWindowClosed(False)
    cut = 0
    for language in ("en", "zh"):
        for choice in ("light", "dark"):
            words.choose(language)
            theme.apply(app, choice)
            for name, make in WINDOWS.items():
                window = make()
                window.show()
                end = time.monotonic() + REST_S
                while time.monotonic() < end:
                    app.processEvents()
                window.grab().save(str(folder / f"{name}-{language}-{choice}-{scale}.png"))
                for said in cut_off(window):
                    print(f"{name}-{language}-{choice}-{scale}: cut off: {said}")
                    cut += 1
                window.hide()
                window.deleteLater()
    print(f"{4 * len(WINDOWS)} pictures at {scale} % in {folder}, {cut} texts cut off")
    return 1 if cut else 0


def cut_off(window: QWidget) -> Iterator[str]:
    """The texts of labels and buttons that have less room than they need, or reach out of what holds them."""
    for each in window.findChildren(QWidget):
        if not each.isVisible() or not isinstance(each, (QLabel, QAbstractButton)) or not each.text():
            continue
        tall = each.heightForWidth(each.width()) if each.hasHeightForWidth() else each.minimumSizeHint().height()
        wide = 0 if each.hasHeightForWidth() else each.minimumSizeHint().width()
        if each.width() < wide or each.height() < tall:
            yield each.text()
        parent = each.parentWidget()
        if parent is not None and not QRect(0, 0, parent.width(), parent.height()).contains(each.geometry()):
            yield each.text()


if __name__ == "__main__":
    sys.exit(main())
