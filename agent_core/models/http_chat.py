"""Any OpenAI-compatible server: vLLM for a team, llama-server or Ollama on this machine.

The reply is streamed. There is no limit on how long a server may think: local models are slow and a person can stop
them at once. A broken try is repeated from the start and leaves no trace in the reply. Nothing is ever logged here,
and the key comes from the system's keyring.
"""

from __future__ import annotations

import asyncio
import copy
import json
import queue
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from threading import Event
from typing import Any

import httpx

from agent_core.errors import ModelError
from agent_core.models import keys
from agent_core.models.chat_messages import Sight, chat_messages
from agent_core.models.manifest import SAFE, SEEING, Manifest
from agent_core.screen.shrink import FACTOR
from agent_core.settings import ModelSettings
from agent_core.step import Prompt, Reply, StopReason

POLL_SECONDS = 0.05
CONNECT_SECONDS = 10.0
PAUSES = (0.5, 1.5)  # seconds before the second and the third try
BUSY_SECONDS = 300.0  # how long a server that is loading its model or busy is asked again
BUSY_PAUSE = 2.0

# What the connection's thread says: pieces of text, then the exception that ended it or None.
_Queue = queue.SimpleQueue[str | BaseException | None]


class _Again(Exception):
    """A failure that another try may mend. The text is the sentence to show when none did."""


class _Busy(_Again):
    """The server asks for patience: it is loading its model, or others are before us. `pause` is in seconds."""

    def __init__(self, sentence: str, pause: float) -> None:
        super().__init__(sentence)
        self.pause = pause


@dataclass(slots=True)
class _Heard:
    """One try's reply so far."""

    text: str = ""
    stop_reason: StopReason | None = None
    prompt_tokens: int = 0
    reused_tokens: int = 0


class HttpChat:
    """The Model protocol over `POST {url}/chat/completions`. `url` ends in /v1; `served_name` is the server's name."""

    def __init__(
        self,
        url: str,
        served_name: str,
        *,
        name: str = "http_chat",
        max_new_tokens: int = 256,
        temperature: float = 0.0,
        pauses: tuple[float, ...] = PAUSES,
        busy_seconds: float = BUSY_SECONDS,
        sight: Sight | None = None,
    ) -> None:
        self.name = name
        self._busy_seconds = busy_seconds
        self._sight = sight
        self._url = url.rstrip("/")
        if not self._url.startswith(("http://", "https://")):
            raise ModelError(f"The server address {url!r} must begin with http:// or https://; correct it in Settings.")
        self._settings: dict[str, Any] = {
            "model": served_name,
            "max_tokens": max_new_tokens,
            "temperature": temperature,
        }
        self._pauses = pauses

    @classmethod
    def from_manifest(cls, manifest: Manifest, settings: ModelSettings, temperature: float = 0.0) -> HttpChat:
        """The address in the settings wins over the manifest's. Raises ModelError when there is none."""
        url = settings.url or manifest.url
        if not url:
            raise ModelError(f"The model {manifest.name!r} needs a server address; enter it in Settings under Model.")
        tokens = min(manifest.max_new_tokens, settings.max_new_tokens)
        served_name = manifest.served_name or manifest.name
        sight = Sight(manifest.image_limit, manifest.factor or FACTOR, manifest.min_pixels, manifest.max_pixels)
        return cls(
            url,
            served_name,
            name=manifest.name,
            max_new_tokens=tokens,
            temperature=temperature,
            sight=sight if manifest.dialect in SEEING else None,
        )

    def reply(self, prompt: Prompt, stop: Event, on_text: Callable[[str], None] | None = None) -> Reply:
        """Asks the server, up to three times, and for some minutes while it says that it is loading or busy.

        `on_text` hears each piece once, whatever was repeated.

        Raises ModelError: server down, key refused, model unknown, prompt refused, or the stream broke every time.
        """
        started = time.perf_counter()
        body = self._settings | {
            "messages": chat_messages(prompt.messages, self._sight),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        heard, told = _Heard(), 0
        pause, pauses = 0.0, iter(self._pauses)
        while not stop.wait(pause):
            heard = _Heard()
            try:
                for piece in self._pieces(body, heard, stop):
                    heard.text += piece
                    if on_text and len(heard.text) > told:
                        on_text(heard.text[told:])
                        told = len(heard.text)
                break
            except _Busy as busy:
                pause = busy.pause
                if time.perf_counter() - started + pause > self._busy_seconds:
                    raise ModelError(str(busy)) from busy
            except _Again as error:
                try:
                    pause = next(pauses)
                except StopIteration:
                    raise ModelError(str(error)) from error
        reason: StopReason = "stopped" if stop.is_set() else heard.stop_reason or "stop"
        spent = (time.perf_counter() - started) * 1000
        return Reply(heard.text, (), (), reason, spent, heard.prompt_tokens, heard.reused_tokens)

    def draw(self, prompt: Prompt, stop: Event) -> Reply:
        """One reply sampled at temperature 1, whatever this model's own is. Raises ModelError as `reply` does."""
        warm = copy.copy(self)  # nothing but settings is kept between replies
        warm._settings = self._settings | {"temperature": 1.0}
        return warm.reply(prompt, stop)

    def close(self) -> None:
        """Nothing is kept open between replies."""

    def _pieces(self, body: dict[str, Any], heard: _Heard, stop: Event) -> Iterator[str]:
        """The reply's pieces, yielded in the caller's thread; ends within POLL_SECONDS or so of a stop.

        A thread of its own runs the connection: the caller's may belong to another event loop already.
        """
        said: _Queue = queue.SimpleQueue()
        left = Event()
        talk = _converse(self._stream(body, heard, said), lambda: stop.is_set() or left.is_set(), said)
        worker = threading.Thread(target=asyncio.run, args=(talk,), daemon=True, name="http")
        worker.start()
        try:
            while (piece := said.get()) is not None:
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            left.set()
            worker.join()

    async def _stream(self, body: dict[str, Any], heard: _Heard, said: _Queue) -> None:
        timeout = httpx.Timeout(None, connect=CONNECT_SECONDS)
        try:
            async with (
                httpx.AsyncClient(timeout=timeout, headers=_headers(self._url)) as client,
                client.stream("POST", f"{self._url}/chat/completions", json=body) as response,
            ):
                if response.status_code != 200:
                    text = (await response.aread()).decode("utf-8", "replace")
                    raise self._refusal(response.status_code, text, response.headers.get("retry-after", ""))
                if "text/event-stream" not in response.headers.get("content-type", ""):
                    _hear(_parsed((await response.aread()).decode("utf-8", "replace")), heard, said)
                else:
                    async for line in response.aiter_lines():
                        if line.startswith("data:") and (data := line[5:].strip()) != "[DONE]":
                            _hear(_parsed(data), heard, said)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise _Again(f"The model server at {self._url} does not answer. {SAFE} Start it and try again.") from error
        except httpx.InvalidURL as error:
            raise ModelError(f"The server address {self._url!r} is not valid; correct it in Settings.") from error
        except httpx.HTTPError as error:
            raise _Again(_BROKEN.format(url=self._url)) from error
        if heard.stop_reason is None:
            raise _Again(_BROKEN.format(url=self._url))

    def _refusal(self, status: int, text: str, retry_after: str) -> Exception:
        """What a status other than 200 means for the person."""
        detail = _detail(text)
        if status in (401, 403):
            return ModelError(f"The model server at {self._url} refused the key; enter it again in Settings.")
        if status == 404:
            model = self._settings["model"]
            return ModelError(f"The server at {self._url} has no model {model!r}; check the name and the address.")
        if status == 429 or status >= 500:
            sentence = f"The model server at {self._url} failed ({status}{detail}). {SAFE} Try again later."
            if retry_after.isdecimal() and len(retry_after) < 5:
                return _Busy(sentence, max(BUSY_PAUSE, float(retry_after)))
            return _Busy(sentence, BUSY_PAUSE) if status == 503 and "loading" in detail.lower() else _Again(sentence)
        return ModelError(f"The model server at {self._url} refused the prompt ({status}{detail}); try another model.")


_BROKEN = f"The model server at {{url}} broke off its answer. {SAFE} Look at the server and try again."


async def _converse(stream: Coroutine[Any, Any, None], halted: Callable[[], bool], said: _Queue) -> None:
    """Runs the stream to its end or until halted; the last thing said is an exception or None."""
    task = asyncio.create_task(stream)
    while not task.done():
        await asyncio.wait({task}, timeout=POLL_SECONDS)
        if halted():
            task.cancel()  # closes the connection, so that the server stops too
    said.put(None if task.cancelled() else task.exception())


def _hear(event: dict[str, Any], heard: _Heard, said: _Queue) -> None:
    """Takes one event, or a whole answer of a server that does not stream."""
    if error := event.get("error"):
        raise _Again(f"The model server failed{_detail(json.dumps({'error': error}))}. {SAFE} Try again later.")
    usage = event.get("usage") or {}
    heard.prompt_tokens = usage.get("prompt_tokens") or heard.prompt_tokens
    heard.reused_tokens = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or heard.reused_tokens
    for choice in (event.get("choices") or ())[:1]:
        part = choice.get("delta") or choice.get("message") or {}
        if text := part.get("content"):
            said.put(text)
        if reason := choice.get("finish_reason"):
            heard.stop_reason = "length" if reason == "length" else "stop"


def _parsed(data: str) -> dict[str, Any]:
    try:
        event = json.loads(data)
    except ValueError as error:
        raise _Again(f"The model server sent something that is not JSON. {SAFE} Check the server's address.") from error
    return event if isinstance(event, dict) else {}


def _detail(text: str) -> str:
    """The server's own words, cut short, to stand in brackets; empty when it gave none."""
    try:
        error = json.loads(text).get("error")
        words = error.get("message") if isinstance(error, dict) else error
    except (ValueError, AttributeError):
        words = ""
    return f": {str(words).splitlines()[0][:200]}" if words else ""


def _headers(url: str) -> dict[str, str]:
    """The server's key, where one is kept for its address."""
    key = keys.of(url)
    return {"Authorization": f"Bearer {key}"} if key else {}
