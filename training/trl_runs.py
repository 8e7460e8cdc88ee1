"""What the scripts on TRL's trainers share: settings, metrics in our names, and going on after a kill.

TRL's own checkpoints are used (adapter, optimiser, schedule, random states, place in the data). They are written file
by file, `trainer_state.json` last: a checkpoint in which that one does not read was cut off by a kill and is removed.
"""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import torch
from transformers import PrinterCallback, TrainerCallback, set_seed
from transformers.utils import logging

from training.policy import BUNDLED, bundled_base, load_base
from training.runs import RunFolder, read_metrics

STATE = "trainer_state.json"
NAMES = {
    "loss": "loss",
    "learning_rate": "lr",
    "grad_norm": "grad_norm",
    "num_tokens": "tokens",
    "entropy": "entropy",
    "mean_token_accuracy": "accuracy",
    "rewards/chosen": "reward_chosen",
    "rewards/rejected": "reward_rejected",
    "rewards/accuracies": "preferred",
    "rewards/margins": "margin",
}


def base_of(path: str) -> tuple[Any, Any, str]:
    """(model, tokenizer, name for the adapter's configuration) of a GGUF file, a Hugging Face folder or the bundled
    base."""
    logging.disable_progress_bar()
    model, tokenizer = load_base(Path(path) if path else bundled_base())
    if getattr(model, "is_quantized", False):  # so transformers calls what it read from a GGUF, though it is float32
        model.is_quantized = False
        model.hf_quantizer = None
        del model.config.quantization_config
    return model, tokenizer, Path(path).stem if path else BUNDLED


def settings(args: Any, out: Path) -> dict[str, Any]:
    """Settings of TRL's trainers from a run's knobs, which are named as in training.dpo. Seeds torch, so that a new
    adapter begins with the same weights every time."""
    warnings.filterwarnings("ignore", ".*is_gradient_checkpointing. is deprecated", FutureWarning)  # TRL's own use
    torch.set_num_threads(args.threads)
    set_seed(args.seed)
    return {
        "output_dir": str(out),
        "num_train_epochs": args.epochs,
        "per_device_train_batch_size": args.batch,
        "gradient_accumulation_steps": args.accumulate,
        "learning_rate": args.lr,
        "lr_scheduler_type": "cosine",
        "warmup_steps": args.warmup,
        "weight_decay": args.weight_decay,
        "max_grad_norm": 1.0,
        "bf16": args.precision == "bf16",
        "use_cpu": not torch.cuda.is_available(),
        "activation_checkpointing": False,
        "logging_steps": 1,
        "save_strategy": "steps",
        "save_steps": args.save_every,
        "save_total_limit": 2,
        "seed": args.seed,
        "data_seed": args.seed,
        "report_to": "none",
        "disable_tqdm": True,
        "dataloader_pin_memory": torch.cuda.is_available(),
        "max_length": None,  # what is too long was left out, and counted; nothing is cut
    }


class Metrics(TrainerCallback):  # type: ignore[misc]
    """Writes every step's figures to the run folder. `tokens` were read before this process began."""

    def __init__(self, folder: RunFolder, tokens: float) -> None:
        self.folder, self.tokens = folder, tokens

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        figures = {NAMES[name]: value for name, value in (logs or {}).items() if name in NAMES}
        if "loss" not in figures:
            return  # the summary at the end of training
        if "tokens" in figures:
            figures["tokens"] += self.tokens  # TRL counts from 0 again when a run goes on
        self.folder.log(step=state.global_step, of=state.max_steps, **figures)
        if state.global_step % 10 == 0 or state.global_step == state.max_steps:
            print(f"step {state.global_step}/{state.max_steps} loss {figures['loss']:.3f}", flush=True)


def latest(out: Path) -> tuple[Path | None, int]:
    """The newest whole checkpoint and its step; those that a kill cut off are removed."""
    whole: list[tuple[int, Path]] = []
    for folder in out.glob("checkpoint-*"):
        try:
            state = json.loads((folder / STATE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            shutil.rmtree(folder)
        else:
            whole.append((int(state["global_step"]), folder))
    if not whole:
        return None, 0
    step, newest = max(whole)
    return newest, step


def run(trainer: Any, folder: RunFolder, checkpoint: Path | None) -> None:
    """Trains to the end, from the checkpoint if there is one."""
    before = read_metrics(folder.path / "metrics.jsonl") if checkpoint else []
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(Metrics(folder, before[-1].get("tokens", 0) if before else 0))
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
