"""Real runs in a real store for those who read them, and a chat server on this machine to ask."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event
from typing import Any

from agent_core import loop, paths
from agent_core.actions import Action
from agent_core.dialects.elements import Elements
from agent_core.models.scripted import Scripted
from agent_core.step import Box, Prompt, Run, Screenshot, Tier, Verdict
from agent_core.traces.reads import Traces
from agent_core.traces.store import TraceStore
from training.episodes import NoReader
from training.sandboxes.pretend import Form, PretendDesktop, Widget

NAME_PLACE, OK_PLACE, NO_PLACE = "500 150", "200 550", "500 550"


def click(place: str, thought: str) -> str:
    return f"Thought: {thought}\nAction: click(point='<point>{place}</point>')"


def fill(text: str, thought: str) -> str:
    return f"{click(NAME_PLACE, thought)}\n\ntype(content='{text}')"


DONE = "Thought: The task is done.\nAction: finished(content='')"


def desktop() -> PretendDesktop:
    """A field and two buttons."""
    widgets = [
        Widget("field", "Name", Box(0.3, 0.1, 0.7, 0.2)),
        Widget("button", "OK", Box(0.1, 0.5, 0.3, 0.6)),
        Widget("button", "No", Box(0.4, 0.5, 0.6, 0.6)),
    ]
    return PretendDesktop(Form("Form", widgets, closes=("OK",), after="Saved."))


def allow(action: Action, shot: Screenshot, task: str) -> Verdict:
    return Verdict("allow", Tier.R1, "")


def opened(folder: Path) -> TraceStore:
    return TraceStore(folder / "traces.db", folder / "images", sandbox_as_is=True)


def read(folder: Path) -> Traces:
    return Traces(folder / "traces.db", folder / "images")


def play(
    store: TraceStore,
    replies: Sequence[str] | Callable[[Prompt], str],
    task: str = "Enter the name bob and press OK.",
    consent: str = "sandbox",
    decide: Callable[[Action, Screenshot, str], Verdict] = allow,
    score: float | None = None,
    model: str = "scripted",
) -> str:
    """One run through the program's own loop; with a `score` it has a verifier's. Returns its id."""
    run = Run(uuid.uuid4().hex, task, time.time(), consent, operator="pretend", model=model, dialect="elements")
    parts = loop.Parts(desktop(), Elements(), Scripted(replies), decide, store, NoReader())
    for _ in loop.run_task(run, parts, Event()):
        pass
    if score is not None:
        store.label(run.id, None, "score", score, f"pretend/name/{run.id}", "verifier")
    return run.id


class ChatServer(ThreadingHTTPServer):
    """Answers each question by `says`; keeps what it was asked. Used in a `with`."""

    daemon_threads = True

    def __init__(self, says: Callable[[list[dict[str, Any]]], str]) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.says, self.bodies = says, list[dict[str, Any]]()

    def __enter__(self) -> ChatServer:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def as_model(self, name: str = "team") -> str:
        """A manifest of this server in the data folder; returns the model's name."""
        folder = paths.models_folder()
        folder.mkdir(parents=True, exist_ok=True)
        url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        text = f'name = "{name}"\ndialect = "uitars"\nkind = "http_chat"\n[server]\nurl = "{url}"\nname = "big"\n'
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
        return name


class _Answering(BaseHTTPRequestHandler):
    server: ChatServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        said = {"choices": [{"message": {"content": self.server.says(body["messages"])}, "finish_reason": "stop"}]}
        data = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""
