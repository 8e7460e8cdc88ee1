"""An operator that moves nothing: it says in words what it would do. For watching an agent before trusting it."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from threading import Event

from agent_core.actions import Action, Drag, Point, Scroll, in_words, target_of
from agent_core.operators.geometry import to_device
from agent_core.protocols import Operator
from agent_core.step import Outcome, Screenshot, Transform

BLANK_WIDTH, BLANK_HEIGHT = 1280, 800


class DryRunOperator:
    """Sees through `real`, or a blank white screen without one; keeps the actions it was given in `would_do`."""

    name = "dry_run"

    def __init__(self, real: Operator | None = None) -> None:
        self._real = real
        self._blank = _blank()
        self.would_do: list[Action] = []

    def look(self) -> Screenshot:
        """The real operator's frame, or a blank one."""
        return self._real.look() if self._real is not None else self._blank

    def do(self, action: Action, shot: Screenshot, stop: Event) -> Outcome:
        """Notes the action and says what it would have done; does not even wait."""
        if stop.is_set():
            return Outcome(ok=False, text="Stopped.")
        self.would_do.append(action)
        return Outcome(ok=True, text=f"Not done, only watching: {in_words(action)}{_place(action, shot)}.")

    def let_go(self) -> None:
        """Nothing is ever held."""

    def hands_off(self) -> AbstractContextManager[None]:
        """As the real operator does; nothing is ever moved here."""
        return self._real.hands_off() if self._real is not None else contextlib.nullcontext()

    def close(self) -> None:
        """Closes the real operator."""
        if self._real is not None:
            self._real.close()


def _place(action: Action, shot: Screenshot) -> str:
    """Where on the screen, in device pixels, and on which element."""
    at = target_of(action) or (Point(0.5, 0.5) if isinstance(action, Scroll) else None)
    if at is None:
        return ""
    x, y = to_device(at, shot.transform)
    element = shot.under(at)
    on = f" on {element.text!r}" if element is not None and element.text else ""
    if isinstance(action, Drag):
        start_x, start_y = to_device(action.start, shot.transform)
        return f" from ({start_x}, {start_y}) to ({x}, {y}){on}"
    return f" at ({x}, {y}){on}"


def _blank() -> Screenshot:
    place = Transform("blank", 0, 0, BLANK_WIDTH, BLANK_HEIGHT)
    return Screenshot(b"\xff" * (3 * BLANK_WIDTH * BLANK_HEIGHT), BLANK_WIDTH, BLANK_HEIGHT, place)
