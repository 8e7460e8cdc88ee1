"""Time that passes only when it is told to: what a page waits for is there at once, and twice the same.

The page's timers, animation frames and dates hang on a clock of ours (`page_clock.js`), which stands still and jumps
on by the settle time after each action. A frame is then at rest without anybody having waited, and with a fixed seed
the same actions give the same pixels, which is what checkpoints rest on. Chromium's own virtual time
(Emulation.setVirtualTimePolicy) is not used: while it is paused some screenshots wait for a frame that never comes
(measured). What CSS animates does not hang on a page's clock, so it is switched off, and so is the caret's blinking.
"""

from __future__ import annotations

import base64
import io
import time
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event

import numpy as np
from PIL import Image

from agent_core import actions as act
from agent_core.errors import ScreenError
from agent_core.operators.browser import BrowserOperator, Clip
from agent_core.step import Outcome, Screenshot, Transform
from training.sandboxes.devtools import DevTools

CLOCK = Path(__file__).with_name("page_clock.js")
LOAD_SECONDS = 5.0  # a page that is on its way to another document cannot be asked


class InVirtualTime:
    """An operator on a page whose time stands still: after each action, and before the first look, `settle_seconds` of
    the page's time pass. A wait passes as quickly. Input is the `operator`'s, which looks at the same page."""

    name = "browser"

    def __init__(
        self, operator: BrowserOperator, devtools: DevTools, clip: Clip, scale: float, settle_seconds: float
    ) -> None:
        self._operator, self._devtools = operator, devtools
        self._clip, self._scale = clip, scale
        self._settle_seconds = settle_seconds
        self._due = settle_seconds

    def look(self) -> Screenshot:
        began = time.monotonic()
        title = self._pass_time()
        left, top, width, height = self._clip
        clip = {"x": left, "y": top, "width": width, "height": height, "scale": self._scale}
        told = self._devtools.send("Page.captureScreenshot", format="png", clip=clip, optimizeForSpeed=True)
        frame = np.asarray(Image.open(io.BytesIO(base64.b64decode(told["data"]))).convert("RGB"))
        high, wide = frame.shape[:2]
        place = Transform("browser", round(left * self._scale), round(top * self._scale), wide, high, self._scale)
        taken = (time.monotonic() - began) * 1000
        return Screenshot(frame.tobytes(), wide, high, place, window=title, capture_ms=taken)

    def do(self, action: act.Action, shot: Screenshot, stop: Event) -> Outcome:
        match action:
            case act.Wait(seconds):
                self._due += seconds
                return Outcome(ok=True)
            case _:
                self._due = max(self._due, self._settle_seconds)
                return self._operator.do(action, shot, stop)

    def let_go(self) -> None:
        self._operator.let_go()

    def hands_off(self) -> AbstractContextManager[None]:
        return self._operator.hands_off()

    def close(self) -> None:
        self._operator.close()

    def _pass_time(self) -> str:
        """Lets pass what is due; the page's title."""
        until = time.monotonic() + LOAD_SECONDS
        while True:
            try:
                due = round(self._due * 1000)
                title = self._devtools.evaluate(f"deskhandClock.advance({due}).then(() => document.title)")
            except ScreenError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)  # one document went, the next one comes
            else:
                self._due = 0.0
                return str(title)
