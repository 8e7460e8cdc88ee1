"""Pages in Chromium as scenes: generated ones in many themes, and those of the MiniWoB package with seeded contents.

What is on a page is read from its document by `sandboxes/crawl_dom.js`; what is done goes through the browser operator,
as in any run. Nothing leaves the machine: pages are files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page

from agent_core.actions import Action
from agent_core.errors import ScreenError
from agent_core.protocols import Operator
from training.crawl_pages import page as generated
from training.crawl_screen import Seen, Widget, tidy
from training.crawl_themes import drawn_theme
from training.sandboxes.browser import BrowserSandbox
from training.tasks.miniwob_page import AREA, WINDOW

SIZES = ((1024, 768), (1280, 720), (800, 600), (960, 640), (480, 800))  # CSS pixels
SETTLE_SECONDS = 0.6
MINIWOB_SCALE = 3.0
EPISODE_MS = 600_000
TASKS = (
    "click-button", "click-checkboxes", "click-checkboxes-large", "click-checkboxes-soft", "click-collapsible",
    "click-dialog", "click-dialog-2", "click-link", "click-option", "click-tab", "click-tab-2", "click-test-2",
    "click-widget",
    "enter-date", "enter-password", "enter-text", "enter-text-dynamic", "focus-text-2", "login-user", "choose-list",
    "email-inbox", "social-media", "search-engine", "book-flight", "multi-layouts", "multi-orderings", "navigate-tree",
    "use-autocomplete", "use-spinner", "read-table", "find-word", "phone-book",
)  # fmt: skip
_READ = Path(__file__).parent / "sandboxes" / "crawl_dom.js"
_STILL = "*{caret-color:transparent!important;animation:none!important;transition:none!important}"
_START = """([seed, limit]) => { core.EPISODE_MAX_TIME = limit; Math.seedrandom(seed); core.startEpisodeReal(); }"""
_NO_EFFECTS = "() => { if (window.jQuery) jQuery.fx.off = true; }"


class PageScene:
    """A page of a sandbox; `clip` is the part that is seen, in CSS pixels; a `titled` one shows its title."""

    def __init__(self, page: Page, operator: Operator, clip: tuple[int, int, int, int], titled: bool) -> None:
        self._page, self._operator, self._clip, self._titled = page, operator, clip, titled
        self._script = _READ.read_text(encoding="utf-8")
        self._shot = operator.look()

    def look(self) -> Seen:
        self._shot = shot = self._operator.look()
        scale = shot.width / self._clip[2]
        try:
            found = self._page.evaluate(self._script, list(self._clip))
            title = self._page.title() if self._titled else ""
        except PlaywrightError as error:
            raise ScreenError(f"The page is gone: {error.message.splitlines()[0]} Start the crawl again.") from error
        return Seen(shot.rgb, shot.width, shot.height, title, tidy(_widgets(found, scale), shot.width, shot.height))

    def do(self, action: Action) -> None:
        outcome = self._operator.do(action, self._shot, Event())
        if not outcome.ok:
            raise ScreenError(outcome.text)

    def happen(self) -> bool:
        try:
            return bool(self._page.evaluate("() => typeof arrive === 'function' && (arrive(), true)"))
        except PlaywrightError as error:
            raise ScreenError(f"The page is gone: {error.message.splitlines()[0]} Start the crawl again.") from error

    def close(self) -> None:
        """The page stays for the next scene."""
        self._operator.let_go()


class Pages:
    """Generated pages, each in a theme and a window size of its own."""

    def __init__(self) -> None:
        self._sandbox = BrowserSandbox(*SIZES[0], 1.0)
        self._folder = tempfile.TemporaryDirectory(prefix="deskhand-crawl-")

    def open(self, rng: Random) -> PageScene:
        theme = drawn_theme(rng)
        width, height = rng.choice(SIZES)
        file = Path(self._folder.name) / "page.html"
        file.write_text(generated(rng, theme), encoding="utf-8")
        page = self._sandbox.open(file)
        page.set_viewport_size({"width": width, "height": height})
        clip = (0, 0, width, height)
        return PageScene(page, self._sandbox.operator(page, clip, SETTLE_SECONDS), clip, True)

    def close(self) -> None:
        self._sandbox.close()
        self._folder.cleanup()


class MiniWobPages:
    """The task pages of the package `miniwob`, without the bar that holds the task."""

    def __init__(self, tasks: Sequence[str] = TASKS) -> None:
        spec = find_spec("miniwob")
        if spec is None or spec.origin is None:
            raise ScreenError("The MiniWoB pages are not installed: run `pip install miniwob`.")
        self._files = Path(spec.origin).parent / "html" / "miniwob"
        self._sandbox = BrowserSandbox(*WINDOW, MINIWOB_SCALE)
        self._tasks = tuple(tasks)

    def open(self, rng: Random) -> PageScene:
        page = self._sandbox.open(self._files / f"{rng.choice(self._tasks)}.html")
        page.add_style_tag(content=_STILL)
        page.evaluate(_NO_EFFECTS)
        page.evaluate(_START, [f"crawl {rng.randrange(1 << 30)}", EPISODE_MS])
        return PageScene(page, self._sandbox.operator(page, AREA, SETTLE_SECONDS), AREA, False)

    def close(self) -> None:
        self._sandbox.close()


def _widgets(found: Sequence[dict[str, Any]], scale: float) -> list[Widget]:
    out = []
    for node in found:
        left, top, right, bottom = (round(n * scale) for n in node.pop("box"))
        out.append(Widget(box=(left, top, right, bottom), **node))
    return out
