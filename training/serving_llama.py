"""A policy in llama.cpp's child process: the base is loaded once, and each update is put on it as a LoRA.

Prompts go to the child as token ids, so it reads exactly what is trained on, whatever its own tokenizer would make of
the text. An adapter becomes a GGUF of its own (`policy-000007.gguf`), of which the newest two are kept. llama.cpp adds
up in another order than torch and holds keys and values in 16 bits, so log-probabilities differ in the third digit or
later; the truncated importance weights answer for that.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from agent_core.errors import ModelError
from agent_core.models.llama_cpp import LlamaCpp
from training import deltas
from training.examples import prompt_ids
from training.gguf_names import placed
from training.gguf_source import FolderSource, GgufSource
from training.gguf_write import write_adapter, write_merged
from training.policy import load_tokenizer
from training.serving import Answer, Ask

KEPT = 2  # adapters on disk: the newest, and the one that a child which is started again may still be asked for
PART = ".part"


class LlamaActor:
    """An Actor over a GGUF, or over a Llama-like folder that is written as one of `kind` first. For one thread.

    `context` is in tokens, prompt and reply together. Replies are sampled at temperature 1, each with its own seed.
    `model` is the child's handle, `folder` where the files lie.
    """

    def __init__(
        self, base: Path, folder: Path, *, kind: str = "F16", context: int = 4096, max_new_tokens: int = 256,
        threads: int = 0,
    ) -> None:  # fmt: skip
        self.version = 0
        self._base = FolderSource(base, asked_by_ids=True) if base.is_dir() else GgufSource(base)
        self.folder = folder
        self._adapter: Path | None = None
        self._tokenizer = load_tokenizer(base)
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("policy-*"):  # of a run that was ended
            old.unlink()
        file = base if isinstance(self._base, GgufSource) else self._written(kind)
        self.model = LlamaCpp(
            file, name=file.name, context=context, max_new_tokens=max_new_tokens, threads=threads, temperature=1.0
        )

    def act(self, asks: Sequence[Ask]) -> list[Answer]:
        return [self._answer(ask) for ask in asks]

    def load(self, adapter: Path | None, version: int) -> None:
        self._adapter = self._exported(adapter, version) if adapter else None
        self.version = version

    def close(self) -> None:
        self.model.close()

    def _answer(self, ask: Ask) -> Answer:
        if any(message.images for message in ask.prompt.messages):
            raise ModelError("llama.cpp's child reads text only; let transformers or a server act for pictures.")
        ids = prompt_ids(self._tokenizer, ask.prompt.chatml())
        return Answer(self.model.sample(ids, ask.seed, self._adapter), ids, self.version)

    def _exported(self, adapter: Path, version: int) -> Path:
        """The adapter as a GGUF; all but the newest are removed."""
        read = deltas.read(adapter)
        changes = placed(read, self._base.names, self._base.shapes)
        file = self.folder / f"policy-{version:06d}.gguf"
        part = file.with_name(file.name + PART)
        write_adapter(part, self._base.names.architecture, changes, read.alpha)
        os.replace(part, file)
        for old in sorted(self.folder.glob("policy-*.gguf"))[:-KEPT]:
            old.unlink()
        return file

    def _written(self, kind: str) -> Path:
        """The base as a GGUF, made once for a folder of a run."""
        file = self.folder / f"base-{kind}.gguf"
        if not file.exists():
            part = file.with_name(file.name + PART)
            write_merged(part, self._base, {}, kind)
            os.replace(part, file)
        return file
