"""llama.cpp's child process as its parent sees it: how it is started, spoken to, heard and ended.

What is said over the pipes is described in llama_child.py, what it means in llama_cpp.py.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from threading import Event
from typing import IO, Any

import agent_core
from agent_core import paths
from agent_core.errors import ModelError


class Crashed(Exception):
    """The child is gone. Never leaves the models package."""


class LlamaProcess:
    """One child process, and the thread that starts it and hears it.

    The thread starts it too because Linux kills the child when the *thread* that started it ends, and this one
    lives exactly as long as the child.
    """

    def __init__(self, path: Path, context: int, threads: int) -> None:
        self._events: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._process: subprocess.Popen[bytes] | None = None
        self._failure: OSError | None = None
        self._gone = False
        self._started = Event()
        command = [*_program(), str(path), f"--context={context}", f"--threads={threads}"]
        self._thread = threading.Thread(target=self._run, args=(command, threads), daemon=True, name="llama")
        self._thread.start()
        self._started.wait()
        if self._failure:
            raise ModelError("The model's own process cannot be started; close some programs.") from self._failure

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def alive(self) -> bool:
        return not self._gone and self._process is not None and self._process.poll() is None

    def send(self, message: dict[str, Any]) -> None:
        """Writes one message; a child that is gone is noticed by `hear`."""
        pipe = self._process.stdin if self._process else None
        try:
            if pipe:
                pipe.write(json.dumps(message).encode("ascii") + b"\n")
                pipe.flush()
        except OSError:
            self._gone = True

    def hear(self, seconds: float) -> dict[str, Any] | None:
        """The next event, None if there is none in that time. Raises Crashed when the child is gone."""
        try:
            event = self._events.get(timeout=seconds)
        except queue.Empty:
            return None
        if event is None:
            self._gone = True
            raise Crashed
        return event

    def end(self) -> None:
        """Kills the child and waits for it; it holds nothing that must be saved."""
        self._gone = True
        if self._process:
            self._process.kill()
        self._thread.join()
        pipe = self._process.stdin if self._process else None
        try:
            if pipe:
                pipe.close()
        except OSError:
            return  # bytes that the dead child never read

    def _run(self, command: list[str], threads: int) -> None:
        log = _log()
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=_environment(threads)
            )
        except OSError as error:
            self._failure = error
            return
        finally:
            self._started.set()
            if not isinstance(log, int):
                log.close()
        if self._process.stdout:
            with self._process.stdout as output:
                for line in output:
                    if line.endswith(b"\n"):  # a killed child may leave half a line
                        self._events.put(json.loads(line))
        self._process.wait()
        self._events.put(None)


def _program() -> list[str]:
    """How to start the child; a frozen program has no `-m` and dispatches on the flag itself."""
    if getattr(sys, "frozen", False):
        return [sys.executable, "--llama-child"]
    return [sys.executable, "-m", "agent_core.models.llama_child"]


def _environment(threads: int) -> dict[str, str]:
    """Passive waiting: with few cores, spinning at OpenMP's barriers makes llama.cpp crawl beside other programs."""
    root = str(Path(agent_core.__file__).resolve().parent.parent)
    search = os.pathsep.join(part for part in (root, os.environ.get("PYTHONPATH", "")) if part)
    return os.environ | {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": str(threads), "PYTHONPATH": search}


def _log() -> IO[bytes] | int:
    """Where the child's warnings go: one file, begun anew at each start."""
    try:
        paths.logs_folder().mkdir(parents=True, exist_ok=True)
        return (paths.logs_folder() / "llama.log").open("wb")
    except OSError:
        return subprocess.DEVNULL
