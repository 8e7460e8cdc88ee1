"""Approvers and answerers without a window: for the terminal and for a virtual screen."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import Future
from dataclasses import replace

from agent_core.actions import in_words
from agent_core.protocols import Ask
from agent_core.step import Screenshot, Verdict


def on_terminal(ask: Ask) -> Future[Verdict]:
    """Asks on the terminal. Anything but an explicit yes is a deny; without a terminal it denies at once."""
    future: Future[Verdict] = Future()
    if not sys.stdin.isatty():
        future.set_result(replace(ask.verdict, decision="deny", who="nobody", reason="There is no terminal to ask on."))
        return future

    def read() -> None:
        where = f' on "{ask.element.text}"' if ask.element and ask.element.text else ""
        told = (
            f"\nDeskhand wants to {in_words(ask.action)}{where}",
            f"  in: {ask.screenshot.window or 'the screen'}",
            f"  why it asks: {ask.verdict.reason}",
            "  allow? [y = once, anything else = no, or write what to do instead] ",
        )
        print("\n".join(told), end="", file=sys.stderr, flush=True)
        words = sys.stdin.readline().strip()
        if words.lower() in ("y", "yes"):
            future.set_result(replace(ask.verdict, decision="allow", who="person"))
        else:
            instead = "" if words.lower() in ("", "n", "no") else words
            future.set_result(replace(ask.verdict, decision="deny", who="person", instead=instead))

    threading.Thread(target=read, name="approval", daemon=True).start()
    return future


def allow_all(ask: Ask) -> Future[Verdict]:
    """Says yes to everything: only for --approve all, which the person typed."""
    future: Future[Verdict] = Future()
    future.set_result(
        replace(ask.verdict, decision="allow", who="person", reason=f"{ask.verdict.reason} Allowed by --approve all.")
    )
    return future


def deny_all(ask: Ask) -> Future[Verdict]:
    """Says no to everything that is asked."""
    future: Future[Verdict] = Future()
    future.set_result(
        replace(ask.verdict, decision="deny", who="person", reason=f"{ask.verdict.reason} Denied by --approve deny.")
    )
    return future


def answer_on_terminal(question: str, shot: Screenshot) -> Future[str | None]:
    """Puts the agent's question on the terminal; None without one or on end of input."""
    future: Future[str | None] = Future()
    if not sys.stdin.isatty():
        future.set_result(None)
        return future

    def read() -> None:
        print(f"\nThe agent asks: {question}\n> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        future.set_result(line.strip() if line else None)

    threading.Thread(target=read, name="answer", daemon=True).start()
    return future
