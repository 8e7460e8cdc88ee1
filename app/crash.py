"""What happens with an exception that nobody expected: a file in the logs folder and a window that says so.

The report holds no values of variables. What the exception says is redacted, and what it quotes is left out unless it
is about code: it may quote what was typed or read.

Installs both hooks: slots and QThread.run end in `sys.excepthook`, plain threads in `threading.excepthook`.
"""

from __future__ import annotations

import platform
import re
import sys
import threading
import time
import traceback
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

import agent_core
from agent_core import paths
from agent_core.traces.discretion import default_redactor
from app import theme, words
from app.text import button, fit_window, label, one_line

ABOUT_CODE = (AttributeError, TypeError, NameError, ImportError)
_QUOTED = re.compile(r"(?<!\w)'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|“[^”\n]*”|‘[^’\n]*’", re.DOTALL)


def write_report(error: BaseException, thread: str) -> Path:
    """The file that says what happened. Where no file can be written, standard error gets it and the path is empty."""
    said = _trace_of(error)
    text = default_redactor().redact(
        f"Deskhand {agent_core.__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"{time.strftime('%Y-%m-%d %H:%M:%S')}, thread {thread}\n\n{said}"
    )
    try:
        paths.logs_folder().mkdir(parents=True, exist_ok=True)
        file = paths.logs_folder() / f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 1_000_000:06d}.txt"
        file.write_text(text, encoding="utf-8", errors="replace")
    except OSError:
        sys.stderr.write(text)
        return Path()
    return file


def _trace_of(error: BaseException) -> str:
    """The exception with what led to it, the oldest first, without what they quote."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    before = f"{_trace_of(cause)}\nThat led to:\n\n" if cause is not None else ""
    inside = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    said = str(error) if isinstance(error, ABOUT_CODE) else _QUOTED.sub("«withheld»", str(error))
    frames = "".join(traceback.format_tb(error.__traceback__))
    return f"{before}{frames}{type(error).__name__}: {said}\n" + "".join(f"\nIn it:\n{_trace_of(e)}" for e in inside)


class CrashReports(QObject):
    """The hooks. `crashed` reaches the UI thread from any thread and gives the path of the report."""

    crashed = Signal(str)

    def install(self) -> None:
        sys.excepthook = self._in_main
        threading.excepthook = self._in_thread

    def uninstall(self) -> None:
        sys.excepthook = sys.__excepthook__
        threading.excepthook = threading.__excepthook__

    def _in_main(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        self.crashed.emit(str(write_report(error, "UI")))

    def _in_thread(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not issubclass(args.exc_type, SystemExit):
            self.crashed.emit(str(write_report(args.exc_value, args.thread.name if args.thread else "unknown")))


class CrashWindow(QWidget):
    """Says what happened, what was kept and what to do."""

    def __init__(self, file: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("window")
        self.setWindowTitle(words.say("crash.title"))
        self.setFixedWidth(440)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(24, 24, 24, theme.MARGIN)
        rows.setSpacing(12)
        rows.addWidget(label(words.say("crash.title"), "heading"))
        rows.addWidget(label(words.say("crash.text", file=one_line(file, 400))))
        close = button(words.say("crash.close"))
        close.clicked.connect(self.close)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(close)
        rows.addLayout(row)
        fit_window(self)
