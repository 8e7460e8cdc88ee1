"""A GGUF through llama.cpp in a child process: it can be stopped while it reads, and a native crash is survived.

The child keeps what it read, so a prompt that begins like the last one costs only its new end. After a crash it is
started again and the prompt asked again, once. Text only: pictures go to a server, through http_chat.
"""

from __future__ import annotations

import itertools
import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import Any

from agent_core import paths
from agent_core.errors import ModelError
from agent_core.models.assemble import Progress, assemble
from agent_core.models.llama_process import Crashed, LlamaProcess
from agent_core.models.manifest import SAFE, Manifest
from agent_core.settings import ModelSettings
from agent_core.step import Prompt, Reply

POLL_SECONDS = 0.02  # how often a stop is looked for
GRACE_SECONDS = 0.12  # how long a stopped child may take to answer before it is killed


class LlamaCpp:
    """The Model protocol over one child process, started at the first reply or by `start`.

    `context` and `max_new_tokens` are in tokens; `threads` 0 takes all cores. `temperature` 0 is greedy; above, replies
    are sampled from the whole distribution, reproducibly if `seed` is given. A reply's token ids include its end token.
    """

    def __init__(
        self,
        path: Path,
        *,
        name: str = "llama_cpp",
        context: int = 4096,
        max_new_tokens: int = 256,
        threads: int = 0,
        temperature: float = 0.0,
        seed: int | None = None,
    ) -> None:
        self.name = name
        self._path, self._context, self._max_new_tokens = path, context, max_new_tokens
        self._threads = threads or os.cpu_count() or 1
        self._temperature, self._seeds = temperature, random.Random(seed)
        self._asks = itertools.count(1)
        self._child: LlamaProcess | None = None
        self._lock = threading.Lock()

    @classmethod
    def from_manifest(
        cls,
        manifest: Manifest,
        settings: ModelSettings,
        on_progress: Progress | None = None,
        *,
        temperature: float = 0.0,
        seed: int | None = None,
    ) -> LlamaCpp:
        """Assembles the file if need be. Raises ModelError."""
        adapter = Path(settings.adapter).expanduser() if settings.adapter else None
        return cls(
            assemble(manifest, adapter, on_progress).path,
            name=manifest.name,
            context=manifest.context,
            max_new_tokens=min(manifest.max_new_tokens, settings.max_new_tokens),
            threads=settings.threads,
            temperature=temperature,
            seed=seed,
        )

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        return self._child.pid if self._child and self._child.alive else None

    def start(self) -> None:
        """Starts loading without waiting, so that the first reply is not late."""
        with self._lock:
            self._running()

    def reply(self, prompt: Prompt, stop: Event, on_text: Callable[[str], None] | None = None) -> Reply:
        """Answers greedily or by sampling. `on_text` hears the pieces as they come, each once even after a crash.

        Raises ModelError: cannot be loaded, prompt too long, or the second crash on one prompt.
        """
        return self._replied(prompt, stop, _Said(on_text))

    def draw(self, prompt: Prompt, stop: Event) -> Reply:
        """One reply sampled at temperature 1, whatever this model's own is. Raises ModelError as `reply` does."""
        return self._replied(prompt, stop, _Said(None), temperature=1.0)

    def sample(self, tokens: Sequence[int], seed: int, adapter: Path | None = None) -> Reply:
        """Answers a prompt of these token ids, for training: with a seed of its own, and the adapter GGUF put on
        first if it is another one than before. Raises ModelError."""
        worn = str(adapter.resolve()) if adapter else ""
        return self._answered({"tokens": list(tokens), "seed": seed, "adapter": worn}, Event(), _Said(None))

    def _replied(self, prompt: Prompt, stop: Event, said: _Said, **more: float) -> Reply:
        if any(message.images for message in prompt.messages):
            raise ModelError(f"The model {self.name!r} reads text only; choose a model that sees pictures.")
        ask = {"prompt": prompt.chatml(), "seed": self._seeds.getrandbits(32), **more}
        return self._answered(ask, stop, said)

    def _answered(self, asked: dict[str, Any], stop: Event, said: _Said) -> Reply:
        started = time.perf_counter()
        ask = {"ask": 0, "max_new_tokens": self._max_new_tokens, "temperature": self._temperature} | asked
        with self._lock:
            try:
                done = self._ask(ask, stop, said)
            except Crashed:
                self._end()
                said.again()
                try:
                    done = self._ask(ask, stop, said)
                except Crashed as error:
                    self._end()
                    raise ModelError(
                        f"The model crashed twice on this prompt. {SAFE} Try again, or choose another model; "
                        f"details are in {paths.logs_folder() / 'llama.log'}."
                    ) from error
        return Reply(
            said.text,
            token_ids=tuple(done.get("token_ids", ())),
            logprobs=tuple(done.get("logprobs", ())),
            stop_reason=done["stop_reason"],
            think_ms=(time.perf_counter() - started) * 1000,
            prompt_tokens=done.get("prompt_tokens", 0),
            reused_tokens=done.get("reused_tokens", 0),
        )

    def close(self) -> None:
        """Ends the child. A reply that is being made must be stopped first."""
        with self._lock:
            self._end()

    def _ask(self, ask: dict[str, Any], stop: Event, said: _Said) -> dict[str, Any]:
        """Puts one prompt to the child and hears it out; returns its "done" event, or one of our own if killed."""
        child, number = self._running(), next(self._asks)
        child.send(ask | {"ask": number})
        deadline = 0.0
        while True:
            if stop.is_set() and not deadline:
                deadline = time.monotonic() + GRACE_SECONDS
                child.send({"stop": number})
            if deadline and time.monotonic() > deadline:
                self._end()  # still loading, or deep in native code
                return {"stop_reason": "stopped"}
            event = child.hear(POLL_SECONDS)
            if event is None or event.get("ask", number) not in (0, number):
                continue  # nothing yet, or the rest of an answer that was stopped
            match event["event"]:
                case "text":
                    said.more(event["text"])
                case "done":
                    return event
                case "problem":
                    raise self._problem(event)

    def _problem(self, event: dict[str, Any]) -> ModelError:
        match event["what"]:
            case "too_long":
                return ModelError(
                    f"The prompt has {event['prompt_tokens']} tokens and the model {self.name!r} takes "
                    f"{event['room']}; shorten the task or choose a model with a longer context."
                )
            case "memory":
                self._end()
                return ModelError(
                    f"There is not enough memory for the model {self.name!r}. {SAFE} "
                    "Close programs or use a smaller model."
                )
            case "load":
                self._end()
                return ModelError(
                    f"The model file {self._path} cannot be loaded: it is missing, damaged or of an unknown kind. "
                    f"{SAFE} Install the model again or choose another."
                )
            case "adapter":
                return ModelError(f"llama.cpp cannot put the adapter on {self.name!r}: it was made for another model.")
            case what:
                self._end()
                return ModelError(f"The model {self.name!r} failed ({what}). {SAFE} Try again or choose another model.")

    def _running(self) -> LlamaProcess:
        if self._child and not self._child.alive:
            self._end()
        if not self._child:
            self._child = LlamaProcess(self._path, self._context, self._threads)
        return self._child

    def _end(self) -> None:
        if self._child:
            self._child.end()
            self._child = None


class _Said:
    """The reply's text, and what of it was told already: after a restart only what goes beyond that is told."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self._on_text = on_text
        self._told = 0
        self.text = ""

    def more(self, piece: str) -> None:
        self.text += piece
        if self._on_text and len(self.text) > self._told:
            self._on_text(self.text[self._told :])
            self._told = len(self.text)

    def again(self) -> None:
        self.text = ""
