"""What the scripts on TRL's trainers share: settings, metrics in our names, and going on after a kill.

TRL's own checkpoints are used (adapter, optimiser, schedule, random states, place in the data). They are written file
by file, `trainer_state.json` last: a checkpoint in which that one does not read was cut off by a kill and is removed.
"""

from __future__ import annotations

import json
import shutil
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import PrinterCallback, TrainerCallback, set_seed
from transformers.utils import logging

from training.checkpoints import save_adapter
from training.policy import BUNDLED, bundled_base, load_base, lora, with_adapter
from training.runs import RunFolder, knob, read_metrics, write_json

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


@dataclass(frozen=True, slots=True)
class PreferenceArgs:
    """Knobs of the scripts that hold a policy to a reference; each says what its own data is."""

    data: str = knob("", "folders and files, comma separated")
    out: str = knob("", "run folder")
    base: str = knob("", "GGUF file or Hugging Face folder of the base model; the bundled one if empty")
    start: str = knob("", "adapter folder to go on from, which is the reference too; a new adapter if empty")
    epochs: float = knob(1.0, "passes over the rows")
    batch: int = knob(4, "rows in a batch")
    accumulate: int = knob(2, "batches whose gradients make one step")
    beta: float = knob(0.1, "how strongly the policy is held to the reference")
    lr: float = knob(5e-5, "highest learning rate")
    warmup: int = knob(10, "steps of linear warm-up")
    rank: int = knob(16, "LoRA rank")
    alpha: int = knob(32, "LoRA alpha")
    weight_decay: float = knob(0.0, "AdamW weight decay")
    precision: str = knob("bf16", "what matrices are multiplied in; weights are float32", ("bf16", "float32"))
    max_tokens: int = knob(1400, "longer rows are left out, and counted")
    save_every: int = knob(25, "steps between checkpoints")
    seed: int = knob(0, "seed of order and initial weights")
    threads: int = knob(2, "torch threads")


class Cardless:
    """Put before a trainer of TRL's: no model card is written, for our run folders describe themselves."""

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """Nothing."""


class Tokenised(Cardless):
    """Put before a trainer of TRL's: rows come tokenised."""

    def _prepare_dataset(self, dataset: Any, *_: Any) -> Any:
        return dataset


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


def beside_reference(base: Any, args: PreferenceArgs) -> tuple[Any, Any]:
    """(model, configuration of its new adapter). The reference is the base without the adapter, or a frozen copy of
    the adapter that is gone on from; TRL makes either from what it is given."""
    if args.start:
        return with_adapter(base, args.rank, args.alpha, 0.0, Path(args.start)), None
    return base, lora(base, args.rank, args.alpha)


def run(
    trainer: Any, folder: RunFolder, checkpoint: Path | None, args: Any, base_name: str, **record: int | float
) -> Path:
    """Trains to the end, from the checkpoint if there is one; returns the folder of the final adapter. `record` and
    the arguments stand in the run's result."""
    before = read_metrics(folder.path / "metrics.jsonl") if checkpoint else []
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(Metrics(folder, before[-1].get("tokens", 0) if before else 0))
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    final = folder.path / "adapter"
    save_adapter(trainer.model, final, base_name)
    record["steps"] = trainer.state.global_step
    write_json(folder.path / "result.json", {**record, "args": asdict(args)})
    folder.log(**record)
    folder.close()
    print(f"adapter: {final}  {record}")
    return final
