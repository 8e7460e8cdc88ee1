"""Weights in this process through transformers: for rollouts and evaluation. The one core file that knows torch.

Many prompts are answered in one padded batch, each with a random stream of its own, so that a reply depends on its
prompt, its seed and its batch alone. Replies carry the exact sampled ids and their log-probabilities at temperature 1
over the whole vocabulary: nothing is cut from the distribution, or what is learnt from them would be biased.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import torch
from torch import Tensor

from agent_core.errors import ModelError
from agent_core.step import CHATML_STOP, Prompt, Reply, Screenshot

IMAGE_PLACE = "<image>"
Grid = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Sight:
    """How a model of the Qwen2.5-VL kind is shown pictures: `patches` cuts a screenshot up as in training, into
    (patches, values) float32 and their grid (time, height, width). `merge` patches a side become one token."""

    patches: Callable[[Screenshot], tuple[Tensor, Grid]]
    place: str = "<|vision_start|><|image_pad|><|vision_end|>"
    token: str = "<|image_pad|>"
    merge: int = 2


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One prompt of a batch: its token ids, the seed of its random stream, and the patches of its pictures in order."""

    ids: tuple[int, ...]
    seed: int = 0
    pictures: tuple[tuple[Tensor, Grid], ...] = ()


@dataclass(slots=True)
class _Said:
    """One reply in the making."""

    rng: random.Random
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    ended: bool = False


class TransformersModel:
    """The Model protocol over a causal language model, or one that sees pictures if a `sight` is given.

    `temperature` 0 is greedy; 1 samples from the model's own distribution. `max_new_tokens` is per reply, the stop
    token included. Not for two threads at once.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        name: str = "transformers",
        sight: Sight | None = None,
        max_new_tokens: int = 256,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> None:
        if temperature not in (0.0, 1.0):
            raise ModelError("Sample at temperature 1, or greedily at 0: in between, log-probabilities would be wrong.")
        self.name = name
        self.model, self.tokenizer, self.sight = model, tokenizer, sight
        self.max_new_tokens, self.temperature = max_new_tokens, temperature
        self._seeds = random.Random(seed)
        self._stop = tokenizer.convert_tokens_to_ids(CHATML_STOP)
        self._pad = tokenizer.pad_token_id or 0

    @classmethod
    def from_folder(cls, folder: Path, adapter: Path | None = None, **options: Any) -> TransformersModel:
        """A text model in a folder as transformers saves it, with a PEFT adapter if one is given. Raises ModelError."""
        from transformers import AutoModelForCausalLM, AutoTokenizer

        try:
            model = AutoModelForCausalLM.from_pretrained(str(folder), dtype=torch.float32, local_files_only=True)
            tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
            if adapter is not None:
                from peft import PeftModel

                model = PeftModel.from_pretrained(model, str(adapter))
        except (OSError, ValueError) as error:
            raise ModelError(
                f"The model in {folder} cannot be loaded: name a folder with weights and tokenizer."
            ) from error
        return cls(model.eval(), tokenizer, **options)

    def prompt_ids(self, prompt: Prompt) -> tuple[int, ...]:
        """The ids of a text prompt in ChatML."""
        return tuple(self.tokenizer.encode(prompt.chatml(), add_special_tokens=False))

    def asked(self, prompt: Prompt, seed: int) -> Asked:
        """The prompt as it is sampled from, its pictures cut up. Raises ModelError for pictures that it cannot see."""
        images = [image for message in prompt.messages for image in message.images]
        if not images:
            return Asked(self.prompt_ids(prompt), seed)
        sight = self.sight
        if sight is None:
            raise ModelError(f"The model {self.name!r} reads text only; choose a model that sees pictures.")
        text = prompt.chatml().replace(IMAGE_PLACE, sight.place)
        pictures = tuple(sight.patches(image) for image in images)
        token = self.tokenizer.convert_tokens_to_ids(sight.token)
        counts = iter(math.prod(grid) // sight.merge**2 for _, grid in pictures)
        ids: list[int] = []
        for one in self.tokenizer.encode(text, add_special_tokens=False):
            ids += [one] * next(counts, 0) if one == token else [one]
        if next(counts, None) is not None or ids.count(token) == 0:
            raise ModelError("The prompt has more pictures than places for them; the dialect does not fit the model.")
        return Asked(tuple(ids), seed, pictures)

    def reply(self, prompt: Prompt, stop: Event, on_text: Callable[[str], None] | None = None) -> Reply:
        """Answers one prompt. Stops between two tokens."""
        [reply] = self.sample([self.asked(prompt, self._seeds.getrandbits(32))], stop)
        if on_text and reply.text:
            on_text(reply.text)
        return reply

    def close(self) -> None:
        """The weights belong to the caller."""

    @torch.inference_mode()
    def sample(self, asked: Sequence[Asked], stop: Event | None = None) -> list[Reply]:
        """A reply to each prompt, all in one batch padded on the left. `think_ms` is the time of the whole batch."""
        began = time.perf_counter()
        said = [_Said(random.Random(one.seed)) for one in asked]
        batch = _Batch(self, asked)
        live = list(said)
        for _ in range(self.max_new_tokens):
            if stop is not None and stop.is_set():
                break
            tokens = self._choose(batch.logits, live)
            left = [i for i, one in enumerate(live) if not one.ended]
            if not left:
                break
            if len(left) <= len(live) // 2:
                live, tokens = [live[i] for i in left], tokens[left]
                batch.keep(left)
            batch.read(tokens)
        spent = (time.perf_counter() - began) * 1000
        stopped = stop is not None and stop.is_set()
        return [self._reply(one, len(ask.ids), spent, stopped) for one, ask in zip(said, asked, strict=True)]

    def _choose(self, logits: Tensor, live: Sequence[_Said]) -> Tensor:
        """The next token of each row, noted with its log-probability in the rows that have not ended: (rows,) int64."""
        logprobs = torch.log_softmax(logits.double(), dim=-1)
        if self.temperature:
            dice = torch.tensor([[one.rng.random()] for one in live], dtype=torch.float64)
            tokens = torch.searchsorted(logprobs.exp().cumsum(-1), dice.to(logprobs.device)).clamp(
                max=logits.shape[-1] - 1
            )
        else:
            tokens = logprobs.argmax(-1, keepdim=True)
        chosen = logprobs.gather(1, tokens)[:, 0].tolist()
        for one, token, logprob in zip(live, tokens[:, 0].tolist(), chosen, strict=True):
            if not one.ended:
                one.ids.append(token)
                one.logprobs.append(logprob)
                one.ended = token == self._stop
        return tokens[:, 0]

    def _reply(self, one: _Said, prompt_tokens: int, spent: float, stopped: bool) -> Reply:
        words = one.ids[:-1] if one.ended else one.ids
        text = self.tokenizer.decode(words, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        reason = "stop" if one.ended else "stopped" if stopped else "length"
        return Reply(text, tuple(one.ids), tuple(one.logprobs), reason, spent, prompt_tokens)  # type: ignore[arg-type]


class _Batch:
    """Prompts of different lengths read together, padded on the left; `logits` (rows, words) are of the next token."""

    def __init__(self, owner: TransformersModel, asked: Sequence[Asked]) -> None:
        self._model = owner.model
        device = next(owner.model.parameters()).device
        width = max(len(one.ids) for one in asked)
        ids = torch.full((len(asked), width), owner._pad)
        self._attention = torch.zeros_like(ids)
        for row, one in enumerate(asked):
            ids[row, width - len(one.ids) :] = torch.tensor(one.ids)
            self._attention[row, width - len(one.ids) :] = 1
        self._attention = self._attention.to(device)
        self._cache: Any = None
        self._more: dict[str, Any] = {}
        self._shift: Tensor | None = None  # (rows, 1): by how much pictures bring later places forward
        shown = [picture for one in asked for picture in one.pictures]
        if shown and owner.sight is not None:
            token = owner.tokenizer.convert_tokens_to_ids(owner.sight.token)
            self._more = {
                "pixel_values": torch.cat([patches for patches, _ in shown]).to(device),
                "image_grid_thw": torch.tensor([grid for _, grid in shown], device=device),
                "mm_token_type_ids": (ids == token).int().to(device),
            }
        self._step(ids.to(device))

    def read(self, tokens: Tensor) -> None:
        """Adds one token to every row."""
        self._more = {}
        self._attention = torch.cat((self._attention, torch.ones_like(tokens[:, None])), dim=1)
        self._step(tokens[:, None])

    def keep(self, rows: Sequence[int]) -> None:
        """Forgets all but these rows."""
        kept = torch.tensor(rows, device=self._attention.device)
        self._attention = self._attention[kept]
        self._shift = self._shift[kept] if self._shift is not None else None
        self._cache.batch_select_indices(kept)

    def _step(self, ids: Tensor) -> None:
        places: Tensor | None = (self._attention.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        if self._more:
            places = None  # the model counts them itself, from the grids of the pictures
        elif self._shift is not None and places is not None:
            places = (places + self._shift).expand(3, -1, -1)
        out = self._model(
            input_ids=ids,
            attention_mask=self._attention,
            position_ids=places,
            cache=self._cache,
            use_cache=True,
            logits_to_keep=1,
            **self._more,
        )
        if self._more:
            self._shift = self._model.model.rope_deltas.view(-1, 1)
        self._cache = out.cache
        self.logits: Tensor = out.logits[:, -1].float()
