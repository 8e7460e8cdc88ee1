"""One Chromium that many processes open pages in: watched, and started again when it has died or hangs.

Each page lives in a context of its own, so that no episode sees another's cookies or storage. The browser listens on
a port of this machine that it chooses; where it can be reached is written to a file, which outlives the browser: who
opens a page reads it anew, and so finds the next browser after a crash.
"""

from __future__ import annotations

import http.client
import shutil
import time

from agent_core.errors import ScreenError
from agent_core.operators.browser import FLAGS
from training.sandboxes.guarded import Guarded, own_folder

CHECK_SECONDS = 2.0
ANSWER_SECONDS = 5.0
START_SECONDS = 30.0


class SharedChromium:
    """`address` is the file. Raises ScreenError when no Chromium is installed or it does not start."""

    def __init__(self) -> None:
        self._folder = own_folder()
        self.address = self._folder / "address"
        self.restarts = 0
        self._checked = 0.0
        self._misses = 0
        self.program = self._start()

    def check(self) -> None:
        """Starts it again if it is gone or has not answered twice. Looks only every few seconds."""
        if self.program.is_alive and time.monotonic() < self._checked + CHECK_SECONDS:
            return
        self._checked = time.monotonic()
        self._misses = 0 if self._answers() else self._misses + 1
        if not self.program.is_alive or self._misses > 1:
            self.program.end()
            self.restarts += 1
            self._misses = 0
            self.program = self._start()

    def close(self) -> None:
        """Ends it. Safe to call twice."""
        self.program.end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> Guarded:
        path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if path is None:
            raise ScreenError("No Chromium was found on this computer: install the package chromium and try again.")
        more = ("--headless", "--remote-debugging-port=0", "--hide-scrollbars", "--mute-audio", "about:blank")
        program = Guarded(lambda folder: [path, f"--user-data-dir={folder / 'profile'}", *FLAGS, *more])
        end = time.monotonic() + START_SECONDS
        told = program.folder / "profile" / "DevToolsActivePort"
        while not (lines := told.read_text().split() if told.exists() else []):
            if not program.is_alive or time.monotonic() > end:
                words = program.last_words()
                program.end()
                raise ScreenError(f"Chromium ({path}) did not start: {words} Try starting it by hand.")
            time.sleep(0.05)
        self._port = int(lines[0])
        fresh = self.address.with_suffix(".new")
        fresh.write_text(f"ws://127.0.0.1:{lines[0]}{lines[1]}", encoding="utf-8")
        fresh.replace(self.address)  # never seen half written
        return program

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=ANSWER_SECONDS)
        try:
            connection.request("GET", "/json/version")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
