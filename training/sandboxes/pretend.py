"""A pretend desktop made of Python: one window with a form, drawn with Pillow, that takes the same actions.

It knows its elements without reading pixels, so an episode takes milliseconds. It is for tests of the loop and for
learning the first things (name a target, copy its place, fill a form, stop when done); what counts is measured in
real programs. `done` lists every action that reached it, which is how a test proves that something was not done.
"""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from threading import Event
from typing import assert_never

from PIL import Image, ImageDraw

from agent_core import actions as act
from agent_core.actions import Action, Point
from agent_core.step import Box, Element, ElementKind, Outcome, Screenshot, Transform

WIDTH, HEIGHT = 800, 600


@dataclass(slots=True)
class Widget:
    """One thing in the window. `label` is what is read beside or in it."""

    kind: ElementKind
    label: str
    box: Box
    value: str = ""
    on: bool | None = None
    clicks: int = 0
    hidden: bool = False


@dataclass(slots=True)
class Form:
    """A window: its title, its widgets, and whether its last button was pressed.

    Pressing one of `closes` ends the form: its widgets make room for the text `after`, if there is one.
    """

    title: str
    widgets: list[Widget]
    submitted: str = ""
    saved: int = 0
    closes: tuple[str, ...] = ()
    after: str = ""

    def press(self, label: str) -> None:
        """The end of the form, once."""
        if self.submitted or label not in self.closes:
            return
        self.submitted = label
        if self.after:
            for widget in self.widgets:
                widget.hidden = True
            self.widgets.append(Widget("text", self.after, Box(0.1, 0.1, 0.1 + 0.012 * len(self.after), 0.14)))

    def named(self, label: str, kind: ElementKind | None = None) -> Widget:
        """The widget with this label. Raises KeyError."""
        for widget in self.widgets:
            if widget.label == label and kind in (None, widget.kind):
                return widget
        raise KeyError(label)


@dataclass
class PretendDesktop:
    """The operator. `form` may be changed by the caller at any time: that is how a screen changes by itself."""

    form: Form
    name: str = "pretend"
    done: list[Action] = field(default_factory=list)
    held: set[str] = field(default_factory=set)
    focus: Widget | None = None
    selected: bool = False
    let_go_calls: int = 0

    def look(self) -> Screenshot:
        """The window as it stands; its elements are exact."""
        shown = [w for w in self.form.widgets if not w.hidden]
        elements = tuple(Element(w.kind, w.label, w.box, w.value, w.on) for w in shown)
        rgb = self._draw(shown)
        place = Transform("pretend", 0, 0, WIDTH, HEIGHT)
        return Screenshot(rgb, WIDTH, HEIGHT, place, window=self.form.title, elements=elements)

    def do(self, action: Action, shot: Screenshot, stop: Event) -> Outcome:
        """Carries an action out on the form."""
        if stop.is_set():
            return Outcome(ok=False, text="Stopped.")
        self.done.append(action)
        match action:
            case act.Click(at) | act.DoubleClick(at):
                self._click(at)
            case act.Type(text):
                return self._type(text)
            case act.Hotkey(keys):
                self._hotkey(frozenset(keys))
            case act.Press(key):
                self.held.add(key)
            case act.Release(key):
                self.held.discard(key)
            case act.Terminal(command):
                return Outcome(ok=False, text=f"There is no terminal here to run {command!r} in.")
            case act.RightClick() | act.Drag() | act.Scroll() | act.Wait() | act.Finished() | act.CallUser():
                pass
            case _:
                assert_never(action)
        return Outcome(ok=True)

    def let_go(self) -> None:
        self.let_go_calls += 1
        self.held.clear()

    def hands_off(self) -> AbstractContextManager[None]:
        """Nobody sits at this desktop."""
        return contextlib.nullcontext()

    def close(self) -> None:
        """Nothing to free."""

    def _click(self, at: Point) -> None:
        self.selected = False
        hit = next((w for w in reversed(self.form.widgets) if not w.hidden and w.box.holds(at)), None)
        self.focus = hit if hit is not None and hit.kind == "field" else None
        if hit is None:
            return
        hit.clicks += 1
        if hit.kind == "check":
            hit.on = not hit.on
        elif hit.kind == "radio":
            for other in self.form.widgets:
                if other.kind == "radio":
                    other.on = other is hit
        elif hit.kind in ("button", "text", "icon"):
            self.form.press(hit.label)

    def _type(self, text: str) -> Outcome:
        if self.focus is None:
            return Outcome(ok=False, text="Nothing that takes text has the focus. Click a field first.")
        typed = text.removesuffix("\n")
        self.focus.value = typed if self.selected else self.focus.value + typed
        self.selected = False
        if text.endswith("\n") and self.form.closes:
            self.form.press(self.form.closes[0])
        return Outcome(ok=True)

    def _hotkey(self, keys: frozenset[str]) -> None:
        if keys == {"ctrl", "a"}:
            self.selected = self.focus is not None
        elif keys == {"ctrl", "s"}:
            self.form.saved += 1

    def _draw(self, shown: list[Widget]) -> bytes:
        picture = Image.new("RGB", (WIDTH, HEIGHT), "#fafaf8")
        pen = ImageDraw.Draw(picture)
        for w in shown:
            left, top = w.box.left * WIDTH, w.box.top * HEIGHT
            right, bottom = w.box.right * WIDTH, w.box.bottom * HEIGHT
            if w.kind != "text":
                pen.rectangle(
                    (left, top, right, bottom), outline="#3a3b40", fill="#ffffff" if w.kind == "field" else "#e3e3df"
                )
            if w.on:
                pen.rectangle((left + 3, top + 3, right - 3, bottom - 3), fill="#2f6feb")
            inside = w.value if w.kind == "field" else w.label
            pen.text(
                (right + 6 if w.kind in ("check", "radio") else left + 4, top + 2),
                inside.encode("latin-1", "replace").decode("latin-1"),
                fill="#1f2328",
            )
        return picture.tobytes()


def moved(widget: Widget, dx: float, dy: float) -> Widget:
    """The same widget elsewhere, e.g. a button that moves while a dialog is open."""
    b = widget.box
    return replace(widget, box=Box(b.left + dx, b.top + dy, b.right + dx, b.bottom + dy))
