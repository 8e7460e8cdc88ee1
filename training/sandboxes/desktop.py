"""A virtual screen with one real program on it, made for one episode and thrown away after it.

Nothing is kept warm: on two busy cores screen, window manager and an editor's window are there in a third of a second,
and gone in a fiftieth. What an episode left behind, in its home or running, goes with its screen.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_core.operators.desktop import DesktopOperator
from agent_core.screen.capture import Screen
from agent_core.screen.virtual import VirtualDesktop


class DesktopSandbox:
    """Screens of `width` x `height` pixels, one at a time. For one thread."""

    def __init__(self, width: int = 1024, height: int = 640, settle_seconds: float = 1.0) -> None:
        self._size, self._settle_seconds = (width, height), settle_seconds
        self.desktop: VirtualDesktop | None = None

    def open(self, argv: Sequence[str], title_part: str) -> DesktopOperator:
        """A fresh screen on which the program has opened its window. Raises ScreenError when one of them does not."""
        self.close()
        self.desktop = VirtualDesktop(*self._size)
        self.desktop.start(argv)
        self.desktop.wait_window(title_part)
        screen = Screen()
        with self.desktop.as_display():
            screen.grab()  # connects this thread for good
            return DesktopOperator(settle_seconds=self._settle_seconds, screen=screen)

    def close(self) -> None:
        """Throws the screen away with everything on it. Safe to call twice."""
        desktop, self.desktop = self.desktop, None
        if desktop is not None:
            desktop.close()
