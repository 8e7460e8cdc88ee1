"""Frames of a virtual desktop with real programs on it, before and after one line was typed."""

from __future__ import annotations

import dataclasses
from threading import Event

from agent_core.actions import Type
from agent_core.operators.desktop import DesktopOperator
from agent_core.screen.virtual import VirtualDesktop
from agent_core.step import Screenshot

WIDTH, HEIGHT = 1280, 800
NOTES = "".join(
    f"{n}. {words}\n"
    for n, words in enumerate(
        (
            "Call the printer about the invoice from March",
            "Water the plants on the second floor",
            "Book a room for twelve people, Tuesday 14:30",
            "Send the photographs of the workshop to Ana",
            "Renew the library card before it runs out",
            "Ask Tom whether the projector works again",
            "Order paper: A4, 80 g, five boxes",
            "Move the old reports into the archive folder",
        )
        * 3,
        1,
    )
)


def two_frames() -> tuple[Screenshot, Screenshot]:
    """A calculator and a text editor over it, then the same with one more line in the text. 1280 x 800."""
    with VirtualDesktop(WIDTH, HEIGHT, maximized=False) as desktop, desktop.as_display():
        (desktop.home / "notes.txt").write_text(NOTES, encoding="utf-8")
        for argv, title in ((["galculator"], "galculator"), (["mousepad", "notes.txt"], "notes.txt")):
            desktop.start(argv)
            desktop.wait_window(title)
        hands = DesktopOperator(settle_seconds=3.0)
        try:
            before = hands.look()
            hands.do(Type("Buy coffee and milk for Monday\n"), before, Event())
            return before, hands.look()
        finally:
            hands.close()


def upside_down(shot: Screenshot) -> Screenshot:
    """The frame's rows in reverse: nothing in it was read before, and it takes as long. For warming up."""
    stride = shot.width * 3
    rows = [shot.rgb[start : start + stride] for start in range(0, len(shot.rgb), stride)]
    return dataclasses.replace(shot, rgb=b"".join(reversed(rows)))
