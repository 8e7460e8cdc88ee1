"""Approvers and answerers without a window: for the terminal and for a virtual screen."""

from __future__ import annotations

import contextlib
import sys
import termios
import threading
from concurrent.futures import Future
from dataclasses import replace
from typing import TypeVar

from agent_core.actions import in_words
from agent_core.protocols import Ask
from agent_core.step import Screenshot, Verdict

T = TypeVar("T")


def on_terminal(ask: Ask) -> Future[Verdict]:
    """Asks on the terminal. Anything but an explicit yes is a deny; without a terminal it denies at once."""
    future: Future[Verdict] = Future()
    if not sys.stdin.isatty():
        future.set_result(replace(ask.verdict, decision="deny", who="nobody", reason="There is no terminal to ask on."))
        return future

    def read() -> None:
        where = f' on "{ask.element.text}"' if ask.element and ask.element.text else ""
        told = (
            f"\nDeskhand wants to {_visible(in_words(ask.action))}{_visible(where)}",
            f"  in: {_visible(ask.screenshot.window) or 'the screen'}",
            f"  why it asks: {ask.verdict.reason}",
            "  allow? [y = once, anything else = no, or write what to do instead] ",
        )
        print("\n".join(told), end="", file=sys.stderr, flush=True)
        words = _typed_now()
        if words.lower() in ("y", "yes"):
            _settle(future, replace(ask.verdict, decision="allow", who="person"))
        else:
            instead = "" if words.lower() in ("", "n", "no") else words
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


def _typed_now() -> str:
    """A line typed after the question: what waited in the terminal before it is no answer to it."""
    with contextlib.suppress(termios.error):
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    return sys.stdin.readline().strip()


def _visible(text: str) -> str:
    """Control characters as escapes, so that no text can repaint the question that it is part of."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _settle(future: Future[T], value: T) -> None:
    """Answers unless the loop has withdrawn the question meanwhile."""
    if future.set_running_or_notify_cancel():
        future.set_result(value)
