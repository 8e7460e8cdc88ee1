"""A page for many short episodes, and a new one, in a new browser if need be, when the old one has died.

The browser is one of its own or, with `chromium`, one that many sandboxes share, each in its own context. What a page
shows is decided by its own script and the random seed alone. Nothing leaves the machine: pages are files. Sync
Playwright belongs to the thread that made it, so one sandbox serves one thread.
"""

from __future__ import annotations

import time
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from agent_core.errors import ScreenError
from agent_core.operators.browser import BrowserOperator, Clip, launch_chromium
from agent_core.protocols import Operator
from training.sandboxes.devtools import DevTools
from training.sandboxes.virtual_time import CLOCK, InVirtualTime

OPEN_SECONDS = 20.0
TRIES = 2


class BrowserSandbox:
    """Chromium with windows of one size. `scale` is device pixels per CSS pixel: small print is read at 3.

    With `chromium`, the address of a SharedChromium, the pages are in that one, and their time stands still but for
    what their operators let pass. Such a sandbox may be sent to another process before it is used.
    """

    def __init__(self, width: int, height: int, scale: float = 3.0, *, chromium: Path | None = None) -> None:
        self._viewport = (width, height)
        self._scale = scale
        self._chromium = chromium
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._context: BrowserContext | None = None
        self._page: Page | None = None
        self._devtools: DevTools | None = None

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

    def operator(self, page: Page, clip: Clip, settle_seconds: float) -> Operator:
        """Eyes and hands on a page of this sandbox; the settle time is the page's own time where that is virtual."""
        if self._devtools is not None:
            return InVirtualTime(BrowserOperator(page, clip, 0.0), self._devtools, clip, self._scale, settle_seconds)
        return BrowserOperator(page, clip, settle_seconds)

    def close(self) -> None:
        """Ends the browser, or the pages in a shared one. Safe to call twice; `open` starts anew."""
        self._end_browser()
        if self._playwright is not None:
            self._playwright.stop()
            self._playwright = None

    def _living_page(self) -> Page:
        if self._playwright is None:
            self._playwright = sync_playwright().start()
        if self._browser is None or not self._browser.is_connected():
            self._end_browser()
            self._browser = self._connect(self._playwright, self._chromium) if self._chromium else None
            self._browser = self._browser or launch_chromium(self._playwright)
        if self._context is None:
            width, height = self._viewport
            size = {"width": width, "height": height}
            self._context = self._browser.new_context(viewport=size, device_scale_factor=self._scale)  # type: ignore[arg-type]
            if self._chromium is not None:
                self._context.add_init_script(path=CLOCK)
            self._page = None
        if self._page is None or self._page.is_closed():
            self._page = self._context.new_page()
            self._devtools = self._speak_to(self._page) if self._chromium is not None else None
        return self._page

    @staticmethod
    def _connect(playwright: Playwright, address: Path) -> Browser:
        """The shared browser; waits while it is being started again."""
        end = time.monotonic() + OPEN_SECONDS
        while True:
            try:
                return playwright.chromium.connect_over_cdp(address.read_text(encoding="utf-8"))
            except (PlaywrightError, OSError) as error:
                if time.monotonic() > end:
                    raise ScreenError(f"The shared Chromium cannot be reached ({error}); start it again.") from error
            time.sleep(0.2)

    def _speak_to(self, page: Page) -> DevTools:
        assert self._chromium is not None
        target = page.context.new_cdp_session(page).send("Target.getTargetInfo")["targetInfo"]["targetId"]
        return DevTools(self._chromium.read_text(encoding="utf-8"), target)

    def _end_browser(self) -> None:
        if self._devtools is not None:
            self._devtools.close()
            self._devtools = None
        browser, self._browser, self._context, self._page = self._browser, None, None, None
        if browser is not None:
            try:
                browser.close()
            except PlaywrightError:
                pass  # it was already dead
