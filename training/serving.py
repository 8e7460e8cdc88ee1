"""Policies that act: the protocol that rollouts are sampled through, and the models of the app behind it.

What is sampled is what is trained, so an answer carries the ids of its prompt and of its reply, one log-probability
per sampled token, the pictures that were shown, and the version of the weights. Three engines: transformers in this
process (here), llama.cpp in its child process (`serving_llama`), and a server such as vLLM (`serving_http`). New
weights come as an adapter folder to all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from agent_core.errors import ModelError
from agent_core.models import manifest as manifests
from agent_core.models import model
from agent_core.protocols import Model
from agent_core.settings import ModelSettings
from agent_core.step import Prompt, Reply
from training import deltas
from training.album import Album
from training.rows import Picture

BARE = "none"  # instead of an adapter: the base as it is


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to a policy, and the seed of the random stream that answers it."""

    prompt: Prompt
    seed: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A sampled reply with its token ids and log-probabilities, the ids and pictures it was an answer to, and whose it
    is."""

    reply: Reply
    prompt_ids: tuple[int, ...]
    version: int
    images: tuple[Picture, ...] = ()


class Actor(Protocol):
    """A policy that acts. `version` counts the updates behind the weights it acts with."""

    @property
    def version(self) -> int: ...

    def act(self, asks: Sequence[Ask]) -> list[Answer]:
        """One answer each, sampled at temperature 1 from the whole distribution. Raises ModelError."""

    def load(self, adapter: Path | None, version: int) -> None:
        """Acts with these weights from the next question on; None for the weights without any adapter."""

    def close(self) -> None:
        """Ends processes and connections."""


def served(name: str, adapter: str = "", threads: int = 0) -> Model:
    """The manifest's model as the app serves it, with another adapter folder if one is given. Raises ModelError."""
    settings = ModelSettings(name, adapter=str(Path(adapter).resolve()) if adapter else "", threads=threads)
    return model(manifests.find(name), settings)


def shipped_adapter(name: str) -> str:
    """The folder of the adapter that a manifest names; empty for a model without one. Raises ModelError."""
    return str(manifests.find(name).adapter_path() or "")


def sampled(name: str, adapter: str = "", threads: int = 0, seed: int | None = None) -> Model:
    """The same model sampled at temperature 1. Raises ModelError, also for one that llama.cpp does not serve."""
    manifest = manifests.find(name)
    if manifest.kind != "llama_cpp":
        raise ModelError(f"The model {name!r} is served by {manifest.kind}: only llama.cpp's models are sampled here.")
    from agent_core.models.llama_cpp import LlamaCpp

    settings = ModelSettings(name, adapter=str(Path(adapter).resolve()) if adapter else "", threads=threads)
    return LlamaCpp.from_manifest(manifest, settings, temperature=1.0, seed=seed)


def questioned(
    name: str,
    adapter: str = "",
    threads: int = 0,
    *,
    temperature: float = 1.0,
    seed: int = 0,
    max_new_tokens: int = 256,
) -> Model:
    """Any configured model to put questions to, sampled at `temperature`: its words count, not their probabilities.

    `name` is a manifest's, or a folder with weights as transformers saves them. `adapter` is a folder, empty for the
    manifest's own, or BARE for the base without any. Raises ModelError.
    """
    chosen = "" if adapter in ("", BARE) else str(Path(adapter).resolve())
    if Path(name).is_dir():
        from agent_core.models.transformers_vlm import TransformersModel

        options = {"max_new_tokens": max_new_tokens, "temperature": temperature, "seed": seed}
        return TransformersModel.from_folder(Path(name), Path(chosen) if chosen else None, name=name, **options)
    manifest = manifests.find(name)
    if adapter == BARE:
        manifest = replace(manifest, adapter="", adapter_sha256="", quantisation="as_is")
    manifest = replace(manifest, max_new_tokens=max_new_tokens)
    settings = ModelSettings(name, adapter=chosen, threads=threads, max_new_tokens=max_new_tokens)
    match manifest.kind:
        case "llama_cpp":
            from agent_core.models.llama_cpp import LlamaCpp

            return LlamaCpp.from_manifest(manifest, settings, temperature=temperature, seed=seed)
        case "http_chat":
            from agent_core.models.http_chat import HttpChat

            return HttpChat.from_manifest(manifest, settings, temperature=temperature)
        case "scripted":
            return model(manifest, settings)


class TransformersActor:
    """Weights in this process: all questions of a call are answered in one padded batch. For one thread at a time.

    An adapter is merged into a copy of the base's weights, always from the untouched base, so that the same adapter
    gives the same weights to the last bit. The copy is float32 whatever the base is held in: bfloat16 would round a
    small change away. `sampler` is an agent_core TransformersModel; with an `album` it is shown pictures through it.
    """

    def __init__(self, sampler: Any, album: Album | None = None) -> None:
        self.version = 0
        self._sampler, self._album = sampler, album
        self._base = {name: weight.detach().clone() for name, weight in sampler.model.named_parameters()}
        sampler.model.float()

    @classmethod
    def of_folder(cls, folder: Path, max_new_tokens: int, temperature: float = 1.0) -> TransformersActor:
        """A text model in a folder as transformers saves it; temperature 0 is for evaluation. Raises ModelError."""
        from agent_core.models.transformers_vlm import TransformersModel

        return cls(TransformersModel.from_folder(folder, max_new_tokens=max_new_tokens, temperature=temperature))

    @classmethod
    def of_model(cls, model: Any, tokenizer: Any, max_new_tokens: int, album: Album | None = None) -> TransformersActor:
        """A model that is in memory already; one that sees with an album."""
        from agent_core.models.transformers_vlm import TransformersModel

        sight = album.sight if album else None
        return cls(TransformersModel(model, tokenizer, sight=sight, max_new_tokens=max_new_tokens), album)

    @property
    def model(self) -> Any:
        """The weights that act."""
        return self._sampler.model

    def act(self, asks: Sequence[Ask]) -> list[Answer]:
        shown = [self._album.shown(ask.prompt) if self._album else () for ask in asks]
        asked = [self._sampler.asked(ask.prompt, ask.seed) for ask in asks]
        replies = self._sampler.sample(asked)
        every = zip(replies, asked, shown, strict=True)
        return [Answer(reply, one.ids, self.version, images) for reply, one, images in every]

    def load(self, adapter: Path | None, version: int) -> None:
        import torch

        read = deltas.read(adapter).changes if adapter else {}
        changes = {f"{module}.weight": change.delta() for module, change in read.items()}
        weights = dict(self._sampler.model.named_parameters())
        if unknown := changes.keys() - weights.keys():
            raise ModelError(f"The adapter {adapter} changes {min(unknown)}, which the model does not have.")
        with torch.no_grad():
            for name, weight in weights.items():
                base = self._base[name].float()
                weight.copy_(base + changes[name].to(base.device) if name in changes else base)
        self.version = version

    def close(self) -> None:
        """The weights go with the process."""
