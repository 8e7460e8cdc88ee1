"""A model behind HTTP, against a real server on this machine that streams, stalls, breaks off and refuses."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Timer
from typing import Any

import keyring
import keyring.backend
import keyring.errors
import pytest
from PIL import Image

from agent_core.errors import ModelError
from agent_core.models.chat_messages import Sight
from agent_core.models.http_chat import HttpChat
from agent_core.models.manifest import Manifest
from agent_core.settings import ModelSettings
from agent_core.step import Message, Prompt, Reply, Screenshot, Transform

PROMPT = Prompt(
    (Message("system", "You act."), Message("user", "Go."), Message("assistant", "click"), Message("user", "?"))
)
WORDS = ["wait", "()", " 你好"]


class Server(ThreadingHTTPServer):
    """Answers each request by the next of `plays`, the last one again and again; keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.plays: list[Callable[[Handler], None]] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.hung_up = Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, *_: object) -> None:
        """A client that hung up is part of the play."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.server.headers.append(dict(self.headers))
        number = len(self.server.bodies) - 1
        self.server.plays[min(number, len(self.server.plays) - 1)](self)

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def begin(self, status: int = 200, kind: str = "text/event-stream") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def say(self, event: dict[str, Any] | str) -> None:
        data = event if isinstance(event, str) else json.dumps(event)
        self.wfile.write(f"data: {data}\n\n".encode())
        self.wfile.flush()


def piece(text: str) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text}, "finish_reason": None}]}


def whole(handler: Handler) -> None:
    handler.begin()
    handler.wfile.write(b": a comment keeps the line open\n\n")
    handler.say({"choices": [{"delta": {"role": "assistant"}}]})
    for text in WORDS:
        handler.say(piece(text))
    handler.say({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    handler.say({"choices": [], "usage": {"prompt_tokens": 40, "prompt_tokens_details": {"cached_tokens": 30}}})
    handler.say("[DONE]")


def broken_off(handler: Handler) -> None:
    handler.begin()
    for text in WORDS[:2]:
        handler.say(piece(text))


def stalls(handler: Handler) -> None:
    """Says one piece, then nothing more; notes when the client hangs up."""
    handler.begin()
    handler.say(piece("thinking"))
    handler.connection.settimeout(10)
    if handler.connection.recv(1) == b"":
        handler.server.hung_up.set()


def silent(handler: Handler) -> None:
    """Does not even answer with a status."""
    handler.connection.settimeout(10)
    if handler.connection.recv(1) == b"":
        handler.server.hung_up.set()


def refuses(status: int, body: str = "") -> Callable[[Handler], None]:
    def play(handler: Handler) -> None:
        handler.begin(status, "application/json")
        handler.wfile.write(body.encode())

    return play


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def ask(server: Server, *plays: Callable[[Handler], None], stop: Event | None = None) -> tuple[Reply, list[str]]:
    server.plays = list(plays)
    pieces: list[str] = []
    model = HttpChat(server.url, "agent-7b", pauses=(0.01, 0.01))
    return model.reply(PROMPT, stop or Event(), pieces.append), pieces


def test_a_drawn_reply_is_asked_for_at_temperature_1(server: Server) -> None:
    server.plays = [whole]
    model = HttpChat(server.url, "agent-7b")
    assert model.draw(PROMPT, Event()).text == model.reply(PROMPT, Event()).text == "wait() 你好"
    assert [body["temperature"] for body in server.bodies] == [1.0, 0.0]


def test_a_streamed_reply_is_put_together(server: Server) -> None:
    reply, pieces = ask(server, whole)
    assert reply.text == "wait() 你好"
    assert pieces == WORDS
    assert (reply.stop_reason, reply.prompt_tokens, reply.reused_tokens) == ("stop", 40, 30)
    body = server.bodies[0]
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
    assert (body["model"], body["temperature"], body["stream"]) == ("agent-7b", 0.0, True)
    assert "Authorization" not in server.headers[0]


def test_a_reply_cut_at_its_length_says_so(server: Server) -> None:
    def cut(handler: Handler) -> None:
        handler.begin()
        handler.say(piece("a"))
        handler.say({"choices": [{"delta": {"content": "b"}, "finish_reason": "length"}]})

    reply, _ = ask(server, cut)
    assert (reply.text, reply.stop_reason) == ("ab", "length")


def test_a_server_that_does_not_stream_is_understood(server: Server) -> None:
    answer = {"choices": [{"message": {"content": "wait()"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 7}}
    reply, pieces = ask(server, refuses(200, json.dumps(answer)))
    assert (reply.text, pieces, reply.prompt_tokens) == ("wait()", ["wait()"], 7)


@pytest.mark.parametrize("bad", [broken_off, refuses(500), refuses(503), refuses(429), refuses(200, "<html>")])
def test_a_second_try_that_succeeds_leaves_no_trace(server: Server, bad: Callable[[Handler], None]) -> None:
    reply, pieces = ask(server, bad, whole)
    assert "".join(pieces) == reply.text == "wait() 你好"
    assert (reply.stop_reason, reply.prompt_tokens, len(server.bodies)) == ("stop", 40, 2)
    again, _ = ask(server, whole)
    assert again.text == reply.text


@pytest.mark.parametrize(
    ("play", "words", "tries"),
    [
        (broken_off, "broke off its answer", 3),
        (refuses(500, '{"error": {"message": "out of memory"}}'), r"failed \(500: out of memory\)", 3),
        (refuses(401), "refused the key", 1),
        (refuses(403), "refused the key", 1),
        (refuses(404), "has no model 'agent-7b'", 1),
        (refuses(400, '{"error": "too many images"}'), r"refused the prompt \(400: too many images\)", 1),
        (refuses(200, "<html>"), "not JSON", 3),
        (refuses(200, '{"error": {"message": "no such thing"}}'), "failed: no such thing", 3),
    ],
)
def test_what_does_not_mend_is_one_sentence(
    server: Server, play: Callable[[Handler], None], words: str, tries: int
) -> None:
    with pytest.raises(ModelError, match=words):
        ask(server, play)
    assert len(server.bodies) == tries


def test_a_server_that_is_down_is_one_sentence() -> None:
    model = HttpChat("http://127.0.0.1:9/v1", "x", pauses=(0.01,))
    with pytest.raises(ModelError, match=r"does not answer\. Your runs are safe. Start it"):
        model.reply(PROMPT, Event())


@pytest.mark.parametrize("play", [stalls, silent])
def test_a_stop_ends_a_silent_server_at_once_and_hangs_up(server: Server, play: Callable[[Handler], None]) -> None:
    stop = Event()
    Timer(0.4, stop.set).start()
    started = time.monotonic()
    reply, pieces = ask(server, play, stop=stop)
    assert 0.4 <= time.monotonic() - started < 0.7
    assert (reply.stop_reason, reply.text) == ("stopped", "".join(pieces))
    assert server.hung_up.wait(2)


class Keys(keyring.backend.KeyringBackend):  # type: ignore[misc]  # keyring has no types here
    """A keyring that knows one server's key."""

    priority = 1.0

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    def get_password(self, service: str, username: str) -> str | None:
        return "sk-secret" if (service, username) == ("deskhand", self._url) else None

    def set_password(self, service: str, username: str, password: str) -> None:
        raise keyring.errors.PasswordSetError

    def delete_password(self, service: str, username: str) -> None:
        raise keyring.errors.PasswordDeleteError


def test_the_key_comes_from_the_keyring_and_is_in_no_error(server: Server) -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(Keys(server.url))
    try:
        ask(server, whole)
        assert server.headers[0]["Authorization"] == "Bearer sk-secret"
        with pytest.raises(ModelError) as refused:
            ask(server, refuses(401))
        assert "sk-secret" not in str(refused.value)
    finally:
        keyring.set_keyring(before)


def test_a_stop_between_two_tries_ends_the_tries(server: Server) -> None:
    stop, model = Event(), HttpChat(server.url, "x", pauses=(30.0,))
    server.plays = [refuses(500)]
    Timer(0.2, stop.set).start()
    assert model.reply(PROMPT, stop).stop_reason == "stopped"
    assert len(server.bodies) == 1


def test_a_listener_that_fails_does_not_leave_the_connection_open(server: Server) -> None:
    def fails(_: str) -> None:
        raise LookupError("the window is gone")

    server.plays = [stalls]
    with pytest.raises(LookupError):
        HttpChat(server.url, "x").reply(PROMPT, Event(), fails)
    assert server.hung_up.wait(2)


def test_it_can_be_asked_inside_a_running_event_loop(server: Server) -> None:
    """The browser operator keeps one running in the agent's thread."""

    async def inside() -> str:
        return ask(server, whole)[0].text

    assert asyncio.run(inside()) == "wait() 你好"


def test_pictures_stand_at_their_places(server: Server) -> None:
    shot = Screenshot(bytes([255, 0, 0] * 4), 2, 2, Transform("m", 0, 0, 2, 2))
    server.plays = [whole]
    HttpChat(server.url, "x").reply(Prompt((Message("user", "Before <image> after", (shot,)),)), Event())
    before, picture, after = server.bodies[0]["messages"][0]["content"]
    assert (before, after) == ({"type": "text", "text": "Before "}, {"type": "text", "text": " after"})
    assert picture["image_url"]["url"].startswith("data:image/png;base64,iVBORw0KGgo")


def test_the_address_in_the_settings_wins_and_a_missing_one_is_a_sentence(server: Server, tmp_path: Any) -> None:
    manifest = Manifest("team", "uitars", "http_chat", tmp_path / "team.toml", url="http://127.0.0.1:9/v1")
    server.plays = [whole]
    model = HttpChat.from_manifest(manifest, ModelSettings(url=server.url))
    assert model.reply(PROMPT, Event()).text == "wait() 你好"
    assert server.bodies[0]["model"] == "team"
    nowhere = Manifest("team", "uitars", "http_chat", tmp_path / "team.toml")
    with pytest.raises(ModelError, match="needs a server address"):
        HttpChat.from_manifest(nowhere, ModelSettings())
    with pytest.raises(ModelError, match="must begin with http"):
        HttpChat("localhost:8080", "x")


def loading(handler: Handler) -> None:
    """What llama-server says until its model is in memory."""
    handler.begin(503, "application/json")
    handler.wfile.write(b'{"error": {"message": "Loading model", "code": 503}}')


def test_a_server_that_loads_its_model_is_waited_for(server: Server) -> None:
    server.plays = [*[loading] * 2, whole]
    model = HttpChat(server.url, "x", pauses=())
    assert model.reply(PROMPT, Event()).text == "".join(WORDS)
    server.plays, impatient = [loading], HttpChat(server.url, "x", pauses=(), busy_seconds=0.5)
    with pytest.raises(ModelError, match="Loading model"):
        impatient.reply(PROMPT, Event())


def test_pictures_are_limited_to_the_newest_and_have_the_models_size(server: Server) -> None:
    def shot(grey: int) -> Screenshot:
        return Screenshot(bytes([grey]) * 300 * 200 * 3, 300, 200, Transform("m", 0, 0, 300, 200))

    messages = [Message("user", f"<image>\nscreen {n}", (shot(n),)) for n in range(4)]
    server.plays = [whole]
    sight = Sight(images=2, factor=28, min_pixels=3136, max_pixels=30_000)
    HttpChat(server.url, "x", sight=sight).reply(Prompt(tuple(messages)), Event())
    sent = server.bodies[0]["messages"]
    assert [m["content"] for m in sent[:2]] == [f"(an earlier screenshot)\nscreen {n}" for n in (0, 1)]
    pictures = [part["image_url"]["url"] for m in sent[2:] for part in m["content"] if part["type"] == "image_url"]
    sizes = [Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).size for url in pictures]
    assert sizes == [(196, 140)] * 2
