"""A policy on an OpenAI-compatible server such as vLLM, with its adapter changed while it serves.

Prompts are sent as token ids to `/v1/completions`, so the server reads exactly what is trained on, and the reply
comes back as ids with log-probabilities. A prompt with pictures goes to `/v1/chat/completions`, each picture at the
size that the model sees, and the ids that the server made of it must be the ones that are trained on. Every update is
loaded under a name of its own (`policy-7`) by `/v1/load_lora_adapter`; a question names the version that is to answer
it, and versions that nobody asks any more are unloaded. The server must see the adapter's folder. For vLLM:
`--enable-lora --max-loras N`, N at least max_stale + 2, and the environment variable
VLLM_ALLOW_RUNTIME_LORA_UPDATING=True.
"""

from __future__ import annotations

import base64
import io
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
from PIL import Image

from agent_core.dialects.window import IMAGE
from agent_core.errors import ModelError
from agent_core.step import CHATML_STOP, Prompt, Reply, StopReason
from training.album import Album
from training.examples import prompt_ids
from training.serving import Answer, Ask

KEPT = 2  # versions that stay loaded: the newest, and the one that questions on their way still name
CONNECT_SECONDS = 10.0


class ServerActor:
    """An Actor over `url`, which ends in /v1. Safe for many threads: the server makes its own batches.

    `base` is the server's name for the weights without adapter, `tokenizer` the one that the server has; with an
    `album` the policy is shown pictures. A folder that is loaded is copied under `folder` first, because the trainer
    writes the next one over it. Of several ranks' actors only the one that `leads` tells the server of adapters.
    """

    def __init__(
        self,
        url: str,
        base: str,
        tokenizer: Any,
        folder: Path,
        *,
        album: Album | None = None,
        leads: bool = True,
        max_new_tokens: int = 256,
        key: str = "",
        parallel: int = 16,
    ) -> None:
        self._base, self._name, self._version = base, base, 0
        self._tokenizer, self._stop_id = tokenizer, tokenizer.convert_tokens_to_ids(CHATML_STOP)
        self._folder, self._album, self._leads = folder, album, leads
        self._max_new_tokens = max_new_tokens
        self._loaded: list[tuple[str, Path]] = []
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        timeout = httpx.Timeout(None, connect=CONNECT_SECONDS)
        self._client = httpx.Client(base_url=url.rstrip("/") + "/", headers=headers, timeout=timeout)
        self._threads = ThreadPoolExecutor(parallel, "ask")

    @property
    def version(self) -> int:
        return self._version

    def act(self, asks: Sequence[Ask]) -> list[Answer]:
        name, version = self._name, self._version
        if len(asks) == 1:
            return [self._answer(asks[0], name, version)]
        return list(self._threads.map(lambda ask: self._answer(ask, name, version), asks))

    def load(self, adapter: Path | None, version: int) -> None:
        name = self._base
        if adapter is not None:
            name = f"policy-{version}"
        if adapter is not None and self._leads:
            kept = self._folder / name
            shutil.copytree(adapter, kept, dirs_exist_ok=True)
            self._post("load_lora_adapter", {"lora_name": name, "lora_path": str(kept.resolve())})
            self._loaded.append((name, kept))
        self._name, self._version = name, version
        while len(self._loaded) > KEPT:
            old, kept = self._loaded.pop(0)
            self._post("unload_lora_adapter", {"lora_name": old})
            shutil.rmtree(kept)

    def close(self) -> None:
        self._threads.shutdown()
        self._client.close()

    def _answer(self, ask: Ask, name: str, version: int) -> Answer:
        images = self._album.shown(ask.prompt) if self._album else ()
        ids = prompt_ids(self._tokenizer, ask.prompt.chatml(), images)
        asked = {
            "model": name,
            "max_tokens": self._max_new_tokens,
            "temperature": 1.0,
            "top_p": 1.0,
            "top_k": -1,
            "seed": ask.seed % 2**31,
            "stop_token_ids": [self._stop_id],
            "include_stop_str_in_output": True,
            "skip_special_tokens": False,
            "return_token_ids": True,
        }
        if self._album and images:
            messages = as_chat(ask.prompt, [self._album.image(image) for image in images])
            told = self._post("chat/completions", {**asked, "messages": messages, "logprobs": True})
            if tuple(told.get("prompt_token_ids") or ()) != ids:
                raise ModelError(
                    "The server read a prompt with pictures as other tokens than are trained on: give it the model's "
                    "own chat template, and pixel limits that leave a picture as large as it is sent."
                )
        else:
            told = self._post("completions", {**asked, "prompt": list(ids), "logprobs": 1})
        return Answer(self._reply(told, len(ids)), ids, version, images)

    def _reply(self, told: dict[str, Any], prompt_tokens: int) -> Reply:
        """Raises ModelError for an answer without ids and log-probabilities: nothing could be learnt from it."""
        choice = (told.get("choices") or [{}])[0]
        ids = tuple(choice.get("token_ids") or ())
        said = choice.get("logprobs") or {}
        logprobs = tuple(said.get("token_logprobs") or (one["logprob"] for one in said.get("content") or ()))
        if not ids or len(ids) != len(logprobs):
            raise ModelError(
                "The server tells no token ids or log-probabilities; use one that takes return_token_ids, such as vLLM."
            )
        ended = ids[-1] == self._stop_id
        reason: StopReason = "stop" if ended else "length"
        text = self._tokenizer.decode(ids[:-1] if ended else ids)
        return Reply(text, ids, logprobs, reason, prompt_tokens=prompt_tokens)

    def _post(self, where: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            response = self._client.post(where, json=body)
        except httpx.HTTPError as error:
            raise ModelError(f"The model server {self._client.base_url} does not answer; start it again.") from error
        if response.status_code != 200:
            detail = response.text[:200]
            raise ModelError(f"The model server refused {where} ({response.status_code}: {detail}); look at its log.")
        try:
            told = response.json()
        except ValueError:
            return {}  # vLLM answers a load with plain words
        return told if isinstance(told, dict) else {}


def as_chat(prompt: Prompt, images: Sequence[Image.Image]) -> list[dict[str, Any]]:
    """The prompt as OpenAI-compatible messages, with its pictures as PNG in their places."""
    left = iter(images)
    messages = []
    for message in prompt.messages:
        parts: list[dict[str, Any]] = []
        for n, text in enumerate(message.text.replace("<|im_", "< |im_").split(IMAGE)):
            if n:
                parts.append({"type": "image_url", "image_url": {"url": png(next(left))}})
            if text:
                parts.append({"type": "text", "text": text})
        messages.append({"role": message.role, "content": parts})
    return messages


def png(image: Image.Image) -> str:
    """A data address."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
