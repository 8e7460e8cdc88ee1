"""Approvers, answerers and the handing back of the mouse without a window: for the terminal and a virtual screen."""

from __future__ import annotations

import contextlib
import sys
import threading
from concurrent.futures import Future
from dataclasses import replace
from typing import TypeVar

from agent_core.actions import in_words
from agent_core.protocols import Ask
from agent_core.safety.confirm import same_words, to_type
from agent_core.step import Screenshot, Verdict

if sys.platform == "win32":
    import msvcrt
else:
    import termios

T = TypeVar("T")


def on_terminal(ask: Ask) -> Future[Verdict]:
    """Asks on the terminal. Anything but an explicit yes is a deny; without a terminal it denies at once.

    What is critical is allowed by its own words, typed whole, and by nothing else.
    """
    future: Future[Verdict] = Future()
    if not sys.stdin.isatty():
        future.set_result(replace(ask.verdict, decision="deny", who="nobody", reason="There is no terminal to ask on."))
        return future

    def read() -> None:
        wanted = to_type(ask.verdict, in_words(ask.action))
        print(_question(ask, wanted), end="", file=sys.stderr, flush=True)
        words = _typed_now()
        if same_words(words, wanted) if wanted else words.lower() in ("y", "yes"):
            _settle(future, replace(ask.verdict, decision="allow", who="person"))
        else:  # words that nearly confirm a critical act are no wish for something else
            instead = "" if wanted or words.lower() in ("", "n", "no") else words
            _settle(future, replace(ask.verdict, decision="deny", who="person", instead=instead))

    threading.Thread(target=read, name="approval", daemon=True).start()
    return future


def allow_all(ask: Ask) -> Future[Verdict]:
    """Says yes to everything: only for --approve all, which the person typed."""
    future: Future[Verdict] = Future()
    future.set_result(
        replace(ask.verdict, decision="allow", who="option", reason=f"{ask.verdict.reason} Allowed by --approve all.")
    )
    return future


def deny_all(ask: Ask) -> Future[Verdict]:
    """Says no to everything that is asked."""
    future: Future[Verdict] = Future()
    future.set_result(
        replace(ask.verdict, decision="deny", who="option", reason=f"{ask.verdict.reason} Denied by --approve deny.")
    )
    return future


def answer_on_terminal(question: str, shot: Screenshot) -> Future[str | None]:
    """Puts the agent's question on the terminal; None without one or on end of input."""
    future: Future[str | None] = Future()
    if not sys.stdin.isatty():
        future.set_result(None)
        return future

    def read() -> None:
        print(f"\nThe agent asks: {_visible(question)}\n> ", end="", file=sys.stderr, flush=True)
        _settle(future, _typed_now() or None)

    threading.Thread(target=read, name="answer", daemon=True).start()
    return future


class HandBack:
    """What is called when the person takes the mouse: pauses the run until they press Enter on the terminal.

    Without a terminal the run is stopped: nobody could say that it may go on. `paused` and `taken` are for the loop.
    """

    def __init__(self, stop: threading.Event) -> None:
        self.paused, self.taken = threading.Event(), threading.Event()
        self._stop = stop

    def __call__(self) -> None:
        if self.paused.is_set():
            return
        self.paused.set()
        self.taken.set()
        if sys.stdin.isatty():
            print(
                "\nYou moved the mouse, so Deskhand paused. Press Enter to go on, or Ctrl+C to stop.",
                file=sys.stderr,
                flush=True,
            )
            threading.Thread(target=self._wait, name="hand back", daemon=True).start()
        else:
            print("You moved the mouse, so the run was ended.", file=sys.stderr, flush=True)
            self._stop.set()

    def _wait(self) -> None:
        _drop_typed()
        if not sys.stdin.readline():  # the terminal has gone
            self._stop.set()
        self.paused.clear()


def _question(ask: Ask, wanted: str) -> str:
    """The question as it is printed; nothing in it can repaint the terminal."""
    where = f' on "{ask.element.text}"' if ask.element and ask.element.text else ""
    lines = [
        f"\nDeskhand wants to {_visible(in_words(ask.action) + where)}",
        f"  in: {_visible(ask.screenshot.window) or 'the screen'}",
        f"  why it asks: {_visible(ask.verdict.reason)}",
    ]
    if ask.verdict.warning:
        lines.append(f"  WARNING: {_visible(ask.verdict.warning)}")
    if wanted:
        lines.append(f"  This is critical. To allow it, type: {_visible(wanted)}")
        lines.append("  [anything else = no] ")
    else:
        lines.append("  allow? [y = once, anything else = no, or write what to do instead] ")
    return "\n".join(lines)


def _typed_now() -> str:
    """A line typed after the question: what waited in the terminal before it is no answer to it."""
    _drop_typed()
    return sys.stdin.readline().strip()


def _drop_typed() -> None:
    """Throws away what was typed before now."""
    if sys.platform == "win32":
        while msvcrt.kbhit():
            msvcrt.getwch()
    else:
        with contextlib.suppress(termios.error):
            termios.tcflush(sys.stdin, termios.TCIFLUSH)


def _visible(text: str) -> str:
    """Control characters as escapes, so that no text can repaint the question that it is part of."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _settle(future: Future[T], value: T) -> None:
    """Answers unless the loop has withdrawn the question meanwhile."""
    if future.set_running_or_notify_cancel():
        future.set_result(value)
