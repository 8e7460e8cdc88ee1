"""A policy on an OpenAI-compatible server such as vLLM, with its adapter changed while it serves.

Prompts are sent as token ids to `/v1/completions`, so the server reads exactly what is trained on, and the reply comes
back as ids with log-probabilities. Every update is loaded under a name of its own (`policy-7`) by
`/v1/load_lora_adapter`; a question names the version that is to answer it, and versions that nobody asks any more are
unloaded. The server must see the adapter's folder. For vLLM: `--enable-lora --max-loras N`, N at least max_stale + 2,
and the environment variable VLLM_ALLOW_RUNTIME_LORA_UPDATING=True.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

from agent_core.errors import ModelError
from agent_core.step import Reply, StopReason
from training.serving import Answer, Ask

KEPT = 2  # versions that stay loaded: the newest, and the one that questions on their way still name
CONNECT_SECONDS = 10.0


class ServerActor:
    """An Actor over `url`, which ends in /v1. Safe for many threads: the server makes its own batches.

    `base` is the server's name for the weights without adapter, `encode` gives the ids of a prompt, `decode` the text
    of a reply, `stop_id` the id of the stop token: all of the tokenizer that the server has. A folder that is loaded is
    copied under `folder` first, because the trainer writes the next one over it.
    """

    def __init__(
        self,
        url: str,
        base: str,
        *,
        encode: Callable[[str], Sequence[int]],
        decode: Callable[[Sequence[int]], str],
        stop_id: int,
        folder: Path,
        max_new_tokens: int = 256,
        key: str = "",
        parallel: int = 16,
    ) -> None:
        self._base, self._name, self._version = base, base, 0
        self._encode, self._decode, self._stop_id = encode, decode, stop_id
        self._folder, self._max_new_tokens = folder, max_new_tokens
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
        ids = list(self._encode(ask.prompt.chatml()))
        told = self._post(
            "completions",
            {
                "model": name,
                "prompt": ids,
                "max_tokens": self._max_new_tokens,
                "temperature": 1.0,
                "top_p": 1.0,
                "top_k": -1,
                "seed": ask.seed % 2**31,
                "logprobs": 1,
                "stop_token_ids": [self._stop_id],
                "include_stop_str_in_output": True,
                "skip_special_tokens": False,
                "return_token_ids": True,
            },
        )
        return Answer(self._reply(told, len(ids)), tuple(ids), version)

    def _reply(self, told: dict[str, Any], prompt_tokens: int) -> Reply:
        """Raises ModelError for an answer without ids and log-probabilities: nothing could be learnt from it."""
        choice = (told.get("choices") or [{}])[0]
        ids = tuple(choice.get("token_ids") or ())
        logprobs = tuple((choice.get("logprobs") or {}).get("token_logprobs") or ())
        if not ids or len(ids) != len(logprobs):
            raise ModelError(
                "The server tells no token ids or log-probabilities; use one that takes return_token_ids, such as vLLM."
            )
        ended = ids[-1] == self._stop_id
        reason: StopReason = "stop" if ended else "length"
        return Reply(self._decode(ids[:-1] if ended else ids), ids, logprobs, reason, prompt_tokens=prompt_tokens)

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
