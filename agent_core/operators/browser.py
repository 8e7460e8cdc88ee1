"""Eyes and hands on one Chromium page: what the window shows, and input as real mouse and keyboard events.

The page is never asked what is in it and never changed: what a person at this window could see and do is all there
is. Playwright's sync objects belong to the thread that made them, so does this operator.
"""

from __future__ import annotations

import io
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Browser, FloatRect, Page, Playwright, Request, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from agent_core import actions as act
from agent_core.errors import InputError, ScreenError, SecretError
from agent_core.operators.browser_keys import chord, key_name
from agent_core.operators.geometry import to_input
from agent_core.secrets import VAULT
from agent_core.step import Outcome, Screenshot, Transform

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
FRAME_PAUSE = 0.01  # seconds between two frames that are compared, on top of the 50 ms that a frame takes
FRAME_SECONDS = 5.0  # longest wait for one frame
RETRY_PAUSE = 0.05  # seconds until a frame is tried again
LOAD_SECONDS = 10.0  # longest wait for a page that is on its way
NOTCH = 100.0  # CSS pixels that Chromium scrolls for one notch of a wheel
TYPE_CHUNK = 16  # characters typed between two looks at the stop
DRAG_MOVES = 12
CARET_WIDTH, CARET_HEIGHT = 3, 40  # CSS pixels; a change no larger than this is a blinking caret

Frame = NDArray[np.uint8]
Clip = tuple[int, int, int, int]


def launch_chromium(playwright: Playwright, headless: bool = True) -> Browser:
    """Starts the Chromium of this machine with a fresh profile. Raises ScreenError when there is none."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        raise ScreenError("No Chromium was found on this computer: install the package chromium and try again.")
    try:
        return playwright.chromium.launch(executable_path=path, headless=headless, args=list(FLAGS))
    except PlaywrightError as error:
        raise ScreenError(f"Chromium ({path}) did not start: {_first_line(error)} Try starting it by hand.") from error


class BrowserOperator:
    """`clip` is the part of the page that is seen and acted on: left, top, width, height in CSS pixels."""

    name = "browser"
    vault = VAULT  # fills the placeholders of secrets in what is typed

    def __init__(self, page: Page, clip: Clip | None = None, settle_seconds: float = 1.5) -> None:
        self._clip = clip
        self._region: FloatRect | None = None
        if clip is not None:
            self._region = {"x": clip[0], "y": clip[1], "width": clip[2], "height": clip[3]}
        self._settle_seconds = settle_seconds
        self._title = ""
        self._scale = 0.0
        self._held: list[str] = []
        self._button_down = False
        self._hands_off = False
        self._stop = Event()  # that of the run under way
        self._on_close: Callable[[], None] = lambda: None
        self._watch(page)

    @classmethod
    def launch(cls, url: str | None = None, headless: bool = True, settle_seconds: float = 1.5) -> BrowserOperator:
        """A browser of its own with one window, ended by `close`. Raises ScreenError when it cannot start."""
        playwright = sync_playwright().start()
        try:
            browser = launch_chromium(playwright, headless)
            context = browser.new_context(viewport={"width": 1024, "height": 768})
            page = context.new_page()
            operator = cls(page, settle_seconds=settle_seconds)
            context.on("page", operator._follow)
            if url:
                page.goto(url)
        except (PlaywrightError, ScreenError) as error:
            playwright.stop()
            if isinstance(error, ScreenError):
                raise
            raise ScreenError(f"The page {url} could not be opened: {_first_line(error)} Check the address.") from error

        def end() -> None:
            try:
                browser.close()
            except PlaywrightError:
                pass  # already gone
            playwright.stop()

        operator._on_close = end
        return operator

    def look(self) -> Screenshot:
        """The frame once two in a row are equal, or when the settle time is over. A blinking caret counts as equal."""
        begin = time.monotonic()
        frame = self._frame(begin + LOAD_SECONDS)
        while time.monotonic() - begin < (LOAD_SECONDS if self._loading else self._settle_seconds):
            time.sleep(FRAME_PAUSE)
            last, frame = frame, self._frame(begin + LOAD_SECONDS)
            if self._stop.is_set() or (_at_rest(last, frame, self._scale) and not self._loading):
                break
        height, width = frame.shape[:2]
        left, top = (self._clip or (0, 0))[:2]
        place = Transform("browser", round(left * self._scale), round(top * self._scale), width, height, self._scale)
        taken = (time.monotonic() - begin) * 1000
        return Screenshot(frame.tobytes(), width, height, place, window=self._title, capture_ms=taken)

    def do(self, action: act.Action, shot: Screenshot, stop: Event) -> Outcome:
        begin = time.monotonic()
        self._stop = stop
        if stop.is_set():
            return Outcome(ok=False, text="Stopped.")
        try:
            if self._hands_off:
                raise InputError("The user is being asked something, so nothing may be pressed or moved now.")
            self._do(action, shot, stop)
            ok, text = True, ""
        except (InputError, ScreenError, SecretError) as error:
            ok, text = False, str(error)
        except PlaywrightError as error:
            ok, text = False, f"The browser did not take the input: {_first_line(error)}"
        return Outcome(ok, text, duration_ms=(time.monotonic() - begin) * 1000)

    def let_go(self) -> None:
        """Releases every held key and button, also on a page that is already gone."""
        try:
            while self._held:
                self._page.keyboard.up(self._held.pop())
            if self._button_down:
                self._page.mouse.up()
        except PlaywrightError:
            self._held.clear()  # the page is gone, and what was held on it as well
        self._button_down = False
        self._stop = Event()

    @contextmanager
    def hands_off(self) -> Iterator[None]:
        """While entered no input is made. What is held is held in this page alone, where it can answer nobody."""
        self._hands_off = True
        try:
            yield
        finally:
            self._hands_off = False

    def close(self) -> None:
        self.let_go()
        self._leave(self._page)
        self._on_close()

    def _do(self, action: act.Action, shot: Screenshot, stop: Event) -> None:
        mouse, keyboard = self._page.mouse, self._page.keyboard
        match action:
            case act.Click(at):
                mouse.click(*to_input(at, shot.transform))
            case act.DoubleClick(at):
                mouse.dblclick(*to_input(at, shot.transform))
            case act.RightClick(at):
                mouse.click(*to_input(at, shot.transform), button="right")
            case act.Drag(start, end):
                self._drag(to_input(start, shot.transform), to_input(end, shot.transform), stop)
            case act.Scroll(direction, at, notches):
                mouse.move(*to_input(at or act.Point(0.5, 0.5), shot.transform))
                amount = NOTCH * notches * (-1 if direction in ("up", "left") else 1)
                mouse.wheel(*((0, amount) if direction in ("up", "down") else (amount, 0)))
            case act.Hotkey(keys):
                self._hotkey(keys, stop)
            case act.Press(key):
                name = key_name(key)
                if name not in self._held:
                    keyboard.down(name)
                    self._held.append(name)
            case act.Release(key):
                name = key_name(key)
                keyboard.up(name)
                if name in self._held:
                    self._held.remove(name)
            case act.Type(written):
                text = self.vault.fill(written)
                for start_at in range(0, len(text), TYPE_CHUNK):
                    if stop.is_set():
                        return
                    keyboard.type(text[start_at : start_at + TYPE_CHUNK].replace("\r\n", "\n"))
            case act.Wait(seconds):
                stop.wait(seconds)
            case act.Terminal() | act.Finished() | act.CallUser():
                raise InputError(
                    f"The browser cannot {act.in_words(action)}: it has a page, a mouse and a keyboard only."
                )

    def _drag(self, start: tuple[float, float], end: tuple[float, float], stop: Event) -> None:
        mouse = self._page.mouse
        mouse.move(*start)
        mouse.down()
        self._button_down = True
        for n in range(1, DRAG_MOVES + 1):
            if stop.is_set():
                break
            part = n / DRAG_MOVES
            mouse.move(start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part)
        mouse.up()
        self._button_down = False

    def _hotkey(self, keys: tuple[str, ...], stop: Event) -> None:
        names = chord(keys)  # all of them first: an unknown one presses nothing
        pressed: list[str] = []
        try:
            for name in names:
                if stop.is_set():
                    break
                self._page.keyboard.down(name)
                pressed.append(name)
        finally:
            for name in reversed(pressed):
                if name not in self._held:
                    self._page.keyboard.up(name)

    def _frame(self, until: float) -> Frame:
        """The clip as it looks now. While one document goes and the next comes there is nothing to see: tried again
        until the monotonic time `until`. Raises ScreenError then, and at once when the page is closed."""
        while True:
            try:
                if self._scale == 0:
                    self._scale = float(self._page.evaluate("window.devicePixelRatio"))
                png = self._page.screenshot(
                    clip=self._region, timeout=FRAME_SECONDS * 1000, animations="allow", caret="initial", scale="device"
                )
                self._title = self._page.title()
            except PlaywrightError as error:
                if time.monotonic() > until or self._page.is_closed():
                    sentence = f"The browser page cannot be seen: {_first_line(error)} Start the task again."
                    raise ScreenError(sentence) from error
                time.sleep(RETRY_PAUSE)
            else:
                frame: Frame = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
                return frame

    def _watch(self, page: Page) -> None:
        """Takes a page as the one to see, and notices when it goes for another document."""
        self._page, self._loading = page, False
        page.on("request", self._request)
        page.on("requestfailed", self._arrived)
        page.on("load", self._arrived)

    def _leave(self, page: Page) -> None:
        page.remove_listener("request", self._request)
        page.remove_listener("requestfailed", self._arrived)
        page.remove_listener("load", self._arrived)

    def _request(self, request: Request) -> None:
        if request.is_navigation_request() and request.frame.parent_frame is None:
            self._loading = True

    def _arrived(self, what: Request | Page) -> None:
        if isinstance(what, Page) or what.is_navigation_request():
            self._loading = False

    def _follow(self, page: Page) -> None:
        """A link opened a new window: that is where a person would look now."""
        self.let_go()
        self._leave(self._page)
        self._watch(page)


def _at_rest(last: Frame, frame: Frame, scale: float) -> bool:
    """Whether two frames are equal but for a caret."""
    if last.shape != frame.shape:
        return False
    changed = np.any(last != frame, axis=2)
    rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
    if not len(rows):
        return True
    height, width = rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1
    return bool(width <= CARET_WIDTH * scale and height <= CARET_HEIGHT * scale)


def _first_line(error: PlaywrightError) -> str:
    return error.message.strip().split("\n")[0].rstrip(".") + "."
