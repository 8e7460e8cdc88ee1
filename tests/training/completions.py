"""A server in the tests' own process that speaks what vLLM speaks about completions, chats and adapters."""

from __future__ import annotations

import base64
import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from PIL import Image

from agent_core.dialects.window import IMAGE
from agent_core.models.transformers_vlm import Asked, TransformersModel
from agent_core.step import Message, Prompt, Screenshot, Transform


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """The server while its thread runs."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class Server(ThreadingHTTPServer):
    """The weights are those of a TransformersModel; adapters are loaded beside it from `base`, its folder."""

    daemon_threads = True

    def __init__(self, model: TransformersModel, base: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.base = base
        self.models = {"base": model}
        self.log: list[str] = []
        self.tells_ids = True
        self.guard = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.guard:
            match self.path:
                case "/v1/load_lora_adapter":
                    folder = Path(body["lora_path"])
                    self.server.models[body["lora_name"]] = TransformersModel.from_folder(self.server.base, folder)
                    self.server.log.append(f"load {body['lora_name']}")
                    self.say("Success", "text/plain")
                case "/v1/unload_lora_adapter":
                    del self.server.models[body["lora_name"]]
                    self.server.log.append(f"unload {body['lora_name']}")
                    self.say("Success", "text/plain")
                case "/v1/completions" | "/v1/chat/completions":
                    self.complete(body)

    def complete(self, body: dict[str, Any]) -> None:
        """Both kinds: of token ids, and of messages with pictures."""
        model = self.server.models.get(body["model"])
        if model is None:
            self.say(json.dumps({"error": {"message": "no such model"}}), status=404)
            return
        assert (body["temperature"], body["top_p"], body["top_k"]) == (1.0, 1.0, -1)
        model.max_new_tokens = body["max_tokens"]
        chat = "messages" in body
        asked = model.asked(prompt_of(body["messages"]), body["seed"]) if chat else None
        asked = asked or Asked(tuple(body["prompt"]), body["seed"])
        [reply] = model.sample([asked])
        said: dict[str, Any] = {"token_logprobs": list(reply.logprobs)}
        if chat:
            said = {"content": [{"logprob": logprob} for logprob in reply.logprobs]}
        choice: dict[str, Any] = {"text": reply.text, "logprobs": said}
        if self.server.tells_ids and body["return_token_ids"]:
            choice["token_ids"] = list(reply.token_ids)
        self.say(json.dumps({"choices": [choice], "prompt_token_ids": list(asked.ids) if chat else None}))

    def say(self, text: str, kind: str = "application/json", status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Quiet."""


def prompt_of(messages: list[dict[str, Any]]) -> Prompt:
    """What the messages of a chat say and show."""
    told = []
    for message in messages:
        text, images = "", []
        for part in message["content"]:
            if part["type"] == "text":
                text += part["text"]
                continue
            text += IMAGE
            data = part["image_url"]["url"].removeprefix("data:image/png;base64,")
            with Image.open(io.BytesIO(base64.b64decode(data))) as image:
                place = Transform("", 0, 0, image.width, image.height)
                images.append(Screenshot(image.tobytes(), image.width, image.height, place))
        told.append(Message(message["role"], text, tuple(images)))
    return Prompt(tuple(told))
