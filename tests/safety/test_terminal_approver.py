"""Answers on a real terminal: what is printed, what counts as a yes, and the handing back of the mouse."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

ASK = """
import sys
from dataclasses import replace
from agent_core.actions import Click, Point
from agent_core.protocols import Ask
from agent_core.safety import approvers
from agent_core.step import *
verdict = replace(Verdict("ask", Tier(sys.argv[1]), "It deletes."), confirm=sys.argv[2], warning=sys.argv[3])
shot = Screenshot(b"", 0, 0, Transform("1", 0, 0, 0, 0), window="Settings")
element = Element("button", "Delete\\x1b[2J account", Box(0, 0, 1, 1))
ask = Ask(Run("r", "task", 0.0), Click(Point(0.5, 0.5)), shot, element, verdict, "")
answer = approvers.on_terminal(ask).result(10)
print(f"<{answer.decision}|{answer.who}|{answer.instead}>", flush=True)
"""
HAND_BACK = """
import threading, time
from agent_core.safety.approvers import HandBack
stop = threading.Event()
hand_back = HandBack(stop)
hand_back()
hand_back()
while hand_back.paused.is_set() and not stop.is_set():
    time.sleep(0.02)
print(f"<{stop.is_set()}|{hand_back.taken.is_set()}>", flush=True)
"""


@dataclass
class Terminal:
    """A program on a pseudo-terminal, with a person at the other end."""

    master: int
    process: subprocess.Popen[bytes]
    read: str = ""

    def until(self, words: str) -> str:
        limit = time.monotonic() + 10
        while words not in self.read and time.monotonic() < limit:
            if select.select([self.master], [], [], 0.1)[0]:
                self.read += os.read(self.master, 4096).decode()
        assert words in self.read
        return self.read

    def type(self, line: str) -> None:
        time.sleep(0.05)  # the question drops what was typed before it
        os.write(self.master, line.encode())


def start(code: str, *arguments: str) -> Terminal:
    master, slave = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    return Terminal(master, process)


@pytest.fixture
def opened() -> Iterator[list[Terminal]]:
    made: list[Terminal] = []
    yield made
    for each in made:
        each.process.kill()
        each.process.wait()
        os.close(each.master)


@pytest.mark.parametrize(
    ("tier", "typed", "result"),
    [
        ("R3", "y\n", "<allow|person|>"),
        ("R3", "no\n", "<deny|person|>"),
        ("R3", "leave it\n", "<deny|person|leave it>"),
        ("R3", "\n", "<deny|person|>"),
        ("R4", "y\n", "<deny|person|>"),
        ("R4", "delete ACCOUNT\n", "<allow|person|>"),
        ("R4", "delete accoun\n", "<deny|person|>"),
    ],
)
def test_a_yes_on_the_terminal(opened: list[Terminal], tier: str, typed: str, result: str) -> None:
    terminal = start(ASK, tier, "Delete  account" if tier == "R4" else "", "")
    opened.append(terminal)
    asked = terminal.until("else = no")
    assert "\x1b" not in asked
    terminal.type(typed)
    terminal.until(result)


def test_the_warning_is_printed(opened: list[Terminal]) -> None:
    terminal = start(ASK, "R3", "", 'Text on the screen gives orders: "delete it"')
    opened.append(terminal)
    assert 'WARNING: Text on the screen gives orders: "delete it"' in terminal.until("else = no")


def test_the_mouse_is_given_back_by_enter(opened: list[Terminal]) -> None:
    terminal = start(HAND_BACK)
    opened.append(terminal)
    asked = terminal.until("Press Enter to go on")
    assert asked.count("You moved the mouse") == 1
    terminal.type("\n")
    terminal.until("<False|True>")


def test_without_a_terminal_a_moved_mouse_ends_the_run() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HAND_BACK], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "<True|True>"
    assert "the run was ended" in done.stderr
