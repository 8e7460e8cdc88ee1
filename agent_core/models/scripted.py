"""A model that replays replies in order: for tests, demonstrations and teachers that know the answer.

It never repeats itself: asked once more than it has replies, it fails with a sentence.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from threading import Event

from agent_core.errors import ModelError
from agent_core.models.manifest import Manifest
from agent_core.step import Prompt, Reply

Answer = Callable[[Prompt], str]


class Scripted:
    """Answers from a list, an iterator, or a function of the prompt; `delay` seconds pass before each answer."""

    def __init__(self, replies: Iterable[str] | Answer, delay: float = 0.0, name: str = "scripted") -> None:
        self.name = name
        self._delay = delay
        self._answer = replies if callable(replies) else _in_order(iter(replies))

    @classmethod
    def from_manifest(cls, manifest: Manifest) -> Scripted:
        return cls(manifest.replies, name=manifest.name)

    def reply(self, prompt: Prompt, stop: Event, on_text: Callable[[str], None] | None = None) -> Reply:
        """The next reply, told to `on_text` in one piece. Raises ModelError when there is none left."""
        started = time.perf_counter()
        if stop.wait(self._delay):
            return Reply("", stop_reason="stopped", think_ms=(time.perf_counter() - started) * 1000)
        text = self._answer(prompt)
        if on_text:
            on_text(text)
        return Reply(text, think_ms=(time.perf_counter() - started) * 1000)

    def close(self) -> None:
        """Nothing to free."""


def _in_order(replies: Iterator[str]) -> Answer:
    def answer(_: Prompt) -> str:
        for text in replies:
            return text
        raise ModelError("The script has no replies left; give it more replies or end it with finished().")

    return answer
