"""A virtual screen whose programs tell what is in their windows: the desktop sandbox with an accessibility bus.

Ordinary sandboxes have no bus at all, so that every start is alike and quick. Here a session bus runs on the screen, in
its home; the accessibility bus is started by the first who asks for it. Both end with the screen.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from agent_core.errors import ScreenError
from agent_core.operators.desktop import DesktopOperator
from agent_core.screen.capture import Screen
from agent_core.screen.virtual import VirtualDesktop

BUS = ".run/bus"  # below the home
START_SECONDS = 10.0
TELLING = {
    "NO_AT_BRIDGE": "0",
    "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
    "QT_ACCESSIBILITY": "1",
}


class AccessibleDesktop:
    """One screen of `width` x `height` pixels; `home` may be filled before `open`. For one thread."""

    def __init__(self, width: int = 1024, height: int = 640, *, maximized: bool = True) -> None:
        self.desktop = VirtualDesktop(width, height, maximized=maximized)
        self.home = self.desktop.home
        self.session_bus = f"unix:path={self.home / BUS}"
        self._operator: DesktopOperator | None = None

    def open(
        self, argv: Sequence[str], title_part: str, extra: Mapping[str, str] | None = None, settle_seconds: float = 1.0
    ) -> DesktopOperator:
        """Starts bus and program and waits for its window. Raises ScreenError when one of them does not come."""
        env = {**TELLING, "DBUS_SESSION_BUS_ADDRESS": self.session_bus, **(extra or {})}
        self.desktop.start(
            ["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address={self.session_bus}"], env
        )
        end = time.monotonic() + START_SECONDS
        while not (self.home / BUS).exists():
            if time.monotonic() > end:
                raise ScreenError("The message bus did not start; install dbus and at-spi2-core and try again.")
            time.sleep(0.02)
        self.desktop.start(argv, env)
        self.desktop.wait_window(title_part)
        screen = Screen()
        with self.desktop.as_display():
            screen.grab()  # connects this thread for good
            self._operator = DesktopOperator(settle_seconds=settle_seconds, screen=screen)
        return self._operator

    def close(self) -> None:
        """Throws the screen away with everything on it. Safe to call twice."""
        operator, self._operator = self._operator, None
        if operator is not None:
            operator.close()  # before the screen that it is connected to goes
        self.desktop.close()
