"""A Chromium window on a virtual desktop of its own, for tasks inside a web page.

The browser stays open between episodes and only its page is replaced, because starting it takes seconds. The agent
sees and uses it through the screen like any other window; only the task's check looks into the page from behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_core.errors import ScreenError
from agent_core.screen.virtual import VirtualDesktop

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Playwright

CHROMIUM = "/usr/bin/chromium"
_QUIET = (
    "--test-type",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-gpu",
    "--disable-features=Translate",
)
_ANIMATED = ("--enable-automation",)  # shows a bar about automated tests, which no person has


class BrowserStage:
    """One page in an application window over the whole screen. Raises ScreenError when Chromium does not start."""

    def __init__(self, width: int, height: int) -> None:
        self.desktop = VirtualDesktop(width, height)
        self._playwright: Playwright | None = None
        self._context: BrowserContext | None = None
        try:
            self._page = self._open(width, height)
        except BaseException:
            self.close()
            raise

    def show(self, title: str, html: str) -> None:
        """Replaces the page."""
        self._page.set_content(f"<!doctype html><html lang=en><head><title>{title}</title></head>{html}</html>")
        self.desktop.wait_window(title)

    def is_whole(self) -> bool:
        """Whether the one window is all there is: an agent may have closed it or opened others in front of it."""
        return not self._page.is_closed() and len(self.desktop.titles()) == 1

    def state(self, expression: str) -> Any:
        """What a JavaScript expression gives in the page now, as plain values."""
        return self._page.evaluate(expression)

    def title(self) -> str:
        return self._page.title()

    def close(self) -> None:
        """Ends the browser and its desktop."""
        if self._context is not None:
            self._context.close()
            self._context = None
        if self._playwright is not None:
            self._playwright.stop()
            self._playwright = None
        self.desktop.close()

    def _open(self, width: int, height: int) -> Page:
        from playwright.sync_api import Error, sync_playwright

        self._playwright = sync_playwright().start()
        environment: dict[str, str | float | bool] = dict(self.desktop.environment)
        try:
            self._context = self._playwright.chromium.launch_persistent_context(
                str(self.desktop.home / "profile"),
                executable_path=CHROMIUM,
                headless=False,
                no_viewport=True,
                chromium_sandbox=False,
                env=environment,
                ignore_default_args=list(_ANIMATED),
                args=["--app=data:text/html,<title>Page</title>", f"--window-size={width},{height}", *_QUIET],
            )
        except Error as error:
            raise ScreenError(
                f"Chromium could not be started ({error.message.splitlines()[0]}); install it."
            ) from error
        return self._context.pages[0]
