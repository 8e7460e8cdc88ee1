"""One Chromium for many short episodes: a page per episode, and a new browser when the old one has died.

What a page shows is decided by its own script and the random seed alone. Nothing leaves the machine: pages are files.
Sync Playwright belongs to the thread that made it, so one sandbox serves one thread.
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from agent_core.errors import ScreenError
from agent_core.operators.browser import launch_chromium

OPEN_SECONDS = 20.0
TRIES = 2


class BrowserSandbox:
    """Chromium with windows of one size. `scale` is device pixels per CSS pixel: small print is read at 3."""

    def __init__(self, width: int, height: int, scale: float = 3.0) -> None:
        self._viewport = (width, height)
        self._scale = scale
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._context: BrowserContext | None = None
        self._page: Page | None = None

    def open(self, file: Path) -> Page:
        """The file in a page, loaded. The page of the episode before is reused while it lives.

        Raises ScreenError when Chromium cannot show it twice in a row.
        """
        problem = ""
        for _ in range(TRIES):
            try:
                page = self._living_page()
                page.goto(file.resolve().as_uri(), timeout=OPEN_SECONDS * 1000)
                return page
            except PlaywrightError as error:
                problem = error.message.split("\n")[0]
                self._end_browser()
        raise ScreenError(f"Chromium could not show {file.name}: {problem}. Check that Chromium runs on this computer.")

    def close(self) -> None:
        """Ends the browser. Safe to call twice; `open` starts a new one."""
        self._end_browser()
        if self._playwright is not None:
            self._playwright.stop()
            self._playwright = None

    def _living_page(self) -> Page:
        if self._playwright is None:
            self._playwright = sync_playwright().start()
        if self._browser is None or not self._browser.is_connected():
            self._end_browser()
            self._browser = launch_chromium(self._playwright)
        if self._context is None:
            width, height = self._viewport
            size = {"width": width, "height": height}
            self._context = self._browser.new_context(viewport=size, device_scale_factor=self._scale)  # type: ignore[arg-type]
            self._page = None
        if self._page is None or self._page.is_closed():
            self._page = self._context.new_page()
        return self._page

    def _end_browser(self) -> None:
        browser, self._browser, self._context, self._page = self._browser, None, None, None
        if browser is not None:
            try:
                browser.close()
            except PlaywrightError:
                pass  # it was already dead
