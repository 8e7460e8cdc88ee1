"""Policies that act: the protocol that rollouts are sampled through, and the models of the app behind it.

What is sampled is what is trained, so an answer carries the ids of its prompt and of its reply, one log-probability
per sampled token, and the version of the weights. Three engines: transformers in this process (here), llama.cpp in its
child process (here), and a server such as vLLM (`serving_http`). New weights come as an adapter folder to all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Protocol

from agent_core.errors import ModelError
from agent_core.models import manifest as manifests
from agent_core.models import model
from agent_core.protocols import Model
from agent_core.settings import ModelSettings
from agent_core.step import Prompt, Reply
from training import deltas


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to a policy, and the seed of the random stream that answers it."""

    prompt: Prompt
    seed: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A sampled reply with its token ids and log-probabilities, the ids it was an answer to, and whose it is."""

    reply: Reply
    prompt_ids: tuple[int, ...]
    version: int


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


class TransformersActor:
    """Weights in this process: all questions of a call are answered in one padded batch. For one thread at a time.

    An adapter is merged into a copy of the base's weights, always from the untouched base, so that the same adapter
    gives the same weights to the last bit. `sampler` is an agent_core TransformersModel.
    """

    def __init__(self, sampler: Any) -> None:
        self.version = 0
        self._sampler = sampler
        self._base = {name: weight.detach().clone() for name, weight in sampler.model.named_parameters()}

    @classmethod
    def of_folder(cls, folder: Path, max_new_tokens: int, temperature: float = 1.0) -> TransformersActor:
        """A text model in a folder as transformers saves it; temperature 0 is for evaluation. Raises ModelError."""
        from agent_core.models.transformers_vlm import TransformersModel

        return cls(TransformersModel.from_folder(folder, max_new_tokens=max_new_tokens, temperature=temperature))

    @classmethod
    def of_model(cls, model: Any, tokenizer: Any, max_new_tokens: int) -> TransformersActor:
        """A text model that is in memory already."""
        from agent_core.models.transformers_vlm import TransformersModel

        return cls(TransformersModel(model, tokenizer, max_new_tokens=max_new_tokens))

    @property
    def model(self) -> Any:
        """The weights that act."""
        return self._sampler.model

    def act(self, asks: Sequence[Ask]) -> list[Answer]:
        asked = [self._sampler.asked(ask.prompt, ask.seed) for ask in asks]
        replies = self._sampler.sample(asked)
        return [Answer(reply, one.ids, self.version) for reply, one in zip(replies, asked, strict=True)]

    def load(self, adapter: Path | None, version: int) -> None:
        import torch

        read = deltas.read(adapter).changes if adapter else {}
        changes = {f"{module}.weight": change.delta() for module, change in read.items()}
        weights = dict(self._sampler.model.named_parameters())
        if unknown := changes.keys() - weights.keys():
            raise ModelError(f"The adapter {adapter} changes {min(unknown)}, which the model does not have.")
        with torch.no_grad():
            for name, weight in weights.items():
                weight.copy_(self._base[name] + changes[name] if name in changes else self._base[name])
        self.version = version

    def close(self) -> None:
        """The weights go with the process."""


class ModelActor:
    """One of the app's own models, such as llama.cpp in its child process, one question after the other.

    `open_model` gives the model for an adapter folder; it is opened anew for each version. `encode` gives the ids of a
    prompt: the same tokenizer that the model has. The model must sample at temperature 1 and tell ids and
    log-probabilities; one that does not is refused, for nothing could be learnt from its replies.
    """

    def __init__(self, open_model: Callable[[Path | None], Model], encode: Callable[[str], Sequence[int]]) -> None:
        self.version = 0
        self._open, self._encode = open_model, encode
        self._model = open_model(None)

    def act(self, asks: Sequence[Ask]) -> list[Answer]:
        return [self._answer(ask) for ask in asks]

    def load(self, adapter: Path | None, version: int) -> None:
        self._model.close()
        self._model = self._open(adapter)
        self.version = version

    def close(self) -> None:
        self._model.close()

    def _answer(self, ask: Ask) -> Answer:
        reply = self._model.reply(ask.prompt, Event())
        if not reply.token_ids or len(reply.logprobs) != len(reply.token_ids):
            raise ModelError(
                f"The model {self._model.name!r} does not tell token ids and log-probabilities; use another."
            )
        ids = tuple(self._encode(ask.prompt.chatml()))
        if reply.prompt_tokens not in (0, len(ids)):
            raise ModelError(
                f"The model {self._model.name!r} read {reply.prompt_tokens} tokens where its tokenizer makes "
                f"{len(ids)}; give the actor the tokenizer of the model."
            )
        return Answer(reply, ids, self.version)
