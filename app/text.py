"""Labels and buttons in the program's voice. Text from outside (model, programs, web pages) is always plain text here.

`visible` makes hostile text harmless to read: control, zero-width and direction-changing characters are shown as what
they are instead of hiding or reordering what a person is asked to allow.
"""

from __future__ import annotations

import re
import unicodedata

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton, QToolButton, QWidget

SHORT = 200
LONG = 20_000
LONGEST_WORD = 24


def visible(text: str, most: int = LONG) -> str:
    """The text with nothing hidden in it, at most `most` characters; what was cut is counted."""
    cut = len(text) - most
    shown = "".join(map(_shown, text[:most]))
    return f"{shown} … (+{cut:,})" if cut > 0 else shown


def one_line(text: str, most: int = SHORT) -> str:
    """The text as one paragraph that can break anywhere in a long word, so that it never widens a window."""
    words = visible(" ".join(text.split()), most).split(" ")
    return " ".join("\u200b".join(re.findall(f".{{1,{LONGEST_WORD}}}", word)) for word in words)


def exact_field(role: str = "") -> QPlainTextEdit:
    """A read-only field for text that must be seen whole: it breaks anywhere and scrolls, and is never rich text."""
    made = QPlainTextEdit()
    made.setReadOnly(True)
    if role:
        made.setProperty("role", role)
    made.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    made.setTabChangesFocus(True)
    return made


def fit_lines(field: QPlainTextEdit, width: int, most: int) -> None:
    """Sets the height of a field that is `width` pixels wide to its lines, at most `most`; more than that scrolls."""
    field.ensurePolished()
    metrics = field.fontMetrics()
    across = max(1, (width - 48) // metrics.averageCharWidth())
    lines = sum(max(1, -(-len(part) // across)) for part in field.toPlainText().split("\n"))
    shown = min(lines, most)
    field.setFixedHeight(metrics.lineSpacing() * shown + 24)
    never, needed = Qt.ScrollBarPolicy.ScrollBarAlwaysOff, Qt.ScrollBarPolicy.ScrollBarAsNeeded
    field.setVerticalScrollBarPolicy(never if lines < shown else needed)


def fit_window(window: QWidget) -> None:
    """Gives a window of fixed width the height that its wrapped text needs."""
    window.ensurePolished()
    layout = window.layout()
    if layout is not None:
        layout.activate()
        window.setFixedHeight(layout.totalHeightForWidth(window.width()))


def _shown(char: str) -> str:
    if char in "\n\t":
        return char
    return f"⟨U+{ord(char):04X}⟩" if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") else char


def label(text: str = "", role: str = "", wrap: bool = True) -> QLabel:
    """A plain-text label. `role` is a name in the style sheet."""
    made = QLabel()
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setWordWrap(wrap)
    made.setText(text)
    if role:
        made.setProperty("role", role)
    return made


def plain_tip(text: str) -> str:
    """A tooltip that is never read as rich text: Qt guesses by a tag at the start, an escape keeps it plain."""
    shown = visible(text, 1000)
    escaped = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", "<br>")
    return f"<span>{escaped}</span>"


def button(text: str, role: str = "") -> QPushButton:
    """A push button that Enter never presses by itself."""
    made = QPushButton(text)
    made.setAutoDefault(False)
    made.setDefault(False)
    if role:
        made.setProperty("role", role)
    return made


def tool(text: str, name: str) -> QToolButton:
    """A small button that shows a sign and is called by its name."""
    made = QToolButton()
    made.setText(text)
    made.setToolTip(name)
    made.setAccessibleName(name)
    return made
