"""The pool on a Ray cluster: environments and policies as Ray actors behind the same two protocols.

The streaming pool stays where the trainer is; what it talks to may be anywhere. An environment's node runs the program
and its screen, a policy's node the weights. Everything that crosses is a plain frozen value. A node that dies is an
environment that broke down: the rollout is not scored and is played again elsewhere.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError

from agent_core.errors import DeskhandError, ModelError, ScreenError
from agent_core.step import Prompt, Reply
from training.episodes import Environment, Score
from training.serving import Actor, Answer, Ask


def connect(address: str) -> None:
    """To the cluster at an address; `local` starts one on this machine. Does nothing when there is a connection."""
    if not ray.is_initialized():
        ray.init(address=None if address == "local" else address, log_to_driver=False)


class RemoteEnvironment:
    """An Environment in a Ray actor of its own, made there by `make`. `options` are Ray's (num_cpus, resources)."""

    def __init__(self, make: Callable[[], Environment], **options: Any) -> None:
        self._make, self._options = make, options
        self._worker: Any = None

    def reset(self, task: str, seed: int) -> Prompt | None:
        if self._worker is None:
            self._worker = ray.remote(_Worker).options(**self._options).remote(self._make)
        prompt: Prompt | None = self._ask("reset", task, seed)
        return prompt

    def step(self, reply: Reply) -> Prompt | None:
        prompt: Prompt | None = self._ask("step", reply)
        return prompt

    def score(self) -> Score:
        score: Score = self._ask("score")
        return score

    def close(self) -> None:
        if self._worker is not None:
            self._ask("close")
            self._drop()

    def _ask(self, method: str, *given: object) -> Any:
        """Raises what the environment raised, and ScreenError when its node is gone; the next reset starts another."""
        try:
            told, error = ray.get(getattr(self._worker, method).remote(*given))
        except RayError as broken:
            self._drop()
            raise ScreenError("A sandbox's process is gone; the rollout is played again in a new one.") from broken
        if error is not None:
            raise error
        return told

    def _drop(self) -> None:
        ray.kill(self._worker)
        self._worker = None


class RemoteActor:
    """Policies in Ray actors, each made by `make` on its node; questions go to them in turn. Safe for many threads.

    An adapter is handed over as its files, so the nodes need no common file system. Put `pool.Together` around what
    `make` gives where many threads ask at the same time: a Ray actor answers one call after the other otherwise.
    """

    def __init__(self, make: Callable[[], Actor], copies: int = 1, threads: int = 64, **options: Any) -> None:
        self._version = 0
        self._next = 0
        kind = ray.remote(_Policy).options(max_concurrency=threads, **options)
        self._copies = [kind.remote(make) for _ in range(copies)]

    @property
    def version(self) -> int:
        return self._version

    def act(self, asks: Sequence[Ask]) -> list[Answer]:
        self._next += 1
        answers: list[Answer] = self._get([self._copies[self._next % len(self._copies)].act.remote(list(asks))])[0]
        return answers

    def load(self, adapter: Path | None, version: int) -> None:
        files = {file.name: file.read_bytes() for file in adapter.iterdir() if file.is_file()} if adapter else None
        self._get([copy.load.remote(files, version) for copy in self._copies])
        self._version = version

    def close(self) -> None:
        self._get([copy.close.remote() for copy in self._copies])
        for copy in self._copies:
            ray.kill(copy)

    def _get(self, waiting: Sequence[Any]) -> list[Any]:
        try:
            told = ray.get(list(waiting))
        except RayError as broken:
            raise ModelError("A policy's process is gone; look at its node and start the run again.") from broken
        for _, error in told:
            if error is not None:
                raise error
        return [value for value, _ in told]


# -- in the Ray actors: (result, None) or (None, our error), so that errors keep their class ---------------------------


class _Worker:
    def __init__(self, make: Callable[[], Environment]) -> None:
        self._environment = make()

    def reset(self, task: str, seed: int) -> tuple[object, DeskhandError | None]:
        return _told(self._environment.reset, task, seed)

    def step(self, reply: Reply) -> tuple[object, DeskhandError | None]:
        return _told(self._environment.step, reply)

    def score(self) -> tuple[object, DeskhandError | None]:
        return _told(self._environment.score)

    def close(self) -> tuple[object, DeskhandError | None]:
        return _told(self._environment.close)


class _Policy:
    def __init__(self, make: Callable[[], Actor]) -> None:
        self._actor = make()

    def act(self, asks: list[Ask]) -> tuple[object, DeskhandError | None]:
        return _told(self._actor.act, asks)

    def load(self, files: dict[str, bytes] | None, version: int) -> tuple[object, DeskhandError | None]:
        if files is None:
            return _told(self._actor.load, None, version)
        with tempfile.TemporaryDirectory(prefix="adapter-") as folder:
            for name, content in files.items():
                (Path(folder) / name).write_bytes(content)
            return _told(self._actor.load, Path(folder), version)

    def close(self) -> tuple[object, DeskhandError | None]:
        return _told(self._actor.close)


def _told(work: Callable[..., object], *given: object) -> tuple[object, DeskhandError | None]:
    try:
        return work(*given), None
    except DeskhandError as error:
        return None, error
