"""Screens for the gate's tests, put together from elements as the reader gives them."""

from __future__ import annotations

from agent_core.actions import Action, Click, Point
from agent_core.safety.risk import judge
from agent_core.step import Box, Element, ElementKind, Screenshot, Tier, Transform

MIDDLE = Click(Point(0.5, 0.5))


def shot(*elements: Element, window: str = "Notes") -> Screenshot:
    return Screenshot(b"", 0, 0, Transform("m", 0, 0, 100, 100), window=window, elements=elements)


def at(kind: ElementKind, text: str, x: float, y: float, width: float = 0.1, value: str = "") -> Element:
    """An element of one line with its middle at (x, y)."""
    return Element(kind, text, Box(x - width / 2, y - 0.015, x + width / 2, y + 0.015), value)


def screen(text: str = "", kind: ElementKind = "button", window: str = "Notes") -> Screenshot:
    """One element in the middle, where MIDDLE clicks."""
    return shot(*([Element(kind, text, Box(0.4, 0.4, 0.6, 0.6))] if text else []), window=window)


def dialog(question: str, yes: str = "Yes", no: str = "No", window: str = "Question", second: str = "") -> Screenshot:
    """A dialog whose agreeing answer lies under MIDDLE, with the declining one beside it."""
    lines = [at("text", question, 0.5, 0.4, 0.4)] + ([at("text", second, 0.5, 0.435, 0.4)] if second else [])
    return shot(*lines, at("button", no, 0.35, 0.5), at("button", yes, 0.5, 0.5), window=window)


def files(*names: str, selected: str = "") -> Screenshot:
    """A file manager with these names in it."""
    menu = [at("text", "File Edit View Bookmarks", 0.1, 0.05, 0.2), at("text", "Go Tools", 0.3, 0.05)]
    shown = [at("text", name, 0.1 + 0.15 * i, 0.3) for i, name in enumerate(names)]
    return shot(*menu, at("text", "/home/anna/Desk", 0.4, 0.1, 0.3), *shown, window="Desk")


def tier(action: Action, seen: Screenshot) -> Tier:
    """What an action costs on a screen; its reason is a sentence."""
    risk = judge(action, seen)
    assert risk.reason.endswith((".", "”", "?"))
    return risk.tier
