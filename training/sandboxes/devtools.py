"""A page of Chromium spoken to directly, by its debugging protocol: for what is done at every step of every episode.

Playwright takes each question through a process of its own, which costs more than most answers. This is the least
that does without: one WebSocket to one page, one question after the other, events left aside.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
from typing import Any
from urllib.parse import urlsplit

from agent_core.errors import ScreenError

ANSWER_SECONDS = 30.0  # a page may have a second full of animation to draw
_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10
_GONE = ("Inspector.targetCrashed", "Inspector.detached")


class DevTools:
    """`browser` is where the browser listens, ws://host:port/..., `target` the page's number there.

    Everything raises ScreenError: the page is gone, hangs, or did not like the question.
    """

    def __init__(self, browser: str, target: str) -> None:
        place = urlsplit(browser)
        self._asked = 0
        self._heard = b""
        try:
            self._socket = socket.create_connection((place.hostname, place.port or 80), ANSWER_SECONDS)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            key = base64.b64encode(os.urandom(16)).decode()
            self._socket.sendall(
                f"GET /devtools/page/{target} HTTP/1.1\r\nHost: {place.netloc}\r\nUpgrade: websocket\r\n"
                f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
            )
            while b"\r\n\r\n" not in self._heard:
                self._heard += self._some()
        except OSError as error:
            raise ScreenError(f"The browser page cannot be reached ({error}); start the task again.") from error
        head, _, self._heard = self._heard.partition(b"\r\n\r\n")
        if b" 101 " not in head:
            self.close()
            raise ScreenError("The browser page cannot be reached; start the task again.")

    def send(self, method: str, **given: Any) -> dict[str, Any]:
        """The result of one command."""
        self._asked += 1
        question = json.dumps({"id": self._asked, "method": method, "params": given})
        try:
            self._write(_TEXT, question.encode())
            while True:
                told: dict[str, Any] = json.loads(self._message())
                if told.get("method") in _GONE:
                    raise ScreenError("The browser page is gone. Start the task again.")
                if told.get("id") == self._asked:
                    break
        except OSError as error:
            raise ScreenError(f"The browser page does not answer ({error}). Start the task again.") from error
        if "error" in told:
            raise ScreenError(f"The browser page refused {method}: {told['error'].get('message')}.")
        result: dict[str, Any] = told["result"]
        return result

    def evaluate(self, expression: str) -> Any:
        """What a JavaScript expression gives, as plain values; a promise is waited for."""
        told = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            raise ScreenError(f"The browser page failed: {told['exceptionDetails'].get('text')}. Start the task again.")
        return told["result"].get("value")

    def close(self) -> None:
        self._socket.close()

    def _message(self) -> bytes:
        """The next whole text message."""
        whole = b""
        while True:
            first, second = self._take(2)
            length = second & 127
            if length > 125:
                length = struct.unpack(">H" if length == 126 else ">Q", self._take(2 if length == 126 else 8))[0]
            content = self._take(length)
            kind = first & 15
            if kind == _CLOSE:
                raise ConnectionResetError("closed")
            if kind == _PING:
                self._write(_PONG, content)
            elif kind != _PONG:
                whole += content
                if first & 128:
                    return whole

    def _write(self, kind: int, content: bytes) -> None:
        """One frame, masked as a client's must be; with a mask of zeros the content stays as it is."""
        size = len(content)
        if size < 126:
            length = bytes([128 | size])
        elif size < 1 << 16:
            length = struct.pack(">BH", 128 | 126, size)
        else:
            length = struct.pack(">BQ", 128 | 127, size)
        self._socket.sendall(bytes([128 | kind]) + length + bytes(4) + content)

    def _take(self, count: int) -> bytes:
        parts = [self._heard]
        have = len(self._heard)
        while have < count:
            parts.append(self._some())
            have += len(parts[-1])
        everything = b"".join(parts)
        self._heard = everything[count:]
        return everything[:count]

    def _some(self) -> bytes:
        received = self._socket.recv(1 << 18)
        if not received:
            raise ConnectionResetError("closed")
        return received
