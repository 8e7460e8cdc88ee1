"""Preference learning: of two replies to one prompt the better one becomes likelier than the worse (DPO 2305.18290).

    python -m training.dpo --data runs/rollouts,corrections.jsonl --out runs/dpo --start runs/sft/adapter

TRL's trainer and loss on pairs that we tokenise ourselves as for SFT: loss on the replies and their stop tokens only.
The reference is the model with the adapter off; with `--start` it is a frozen copy of that adapter, so that the loss
begins with ln 2 either way (UI-TARS: the reference is the SFT model). Checkpoints every `save_every` steps; starting
again with the same arguments goes on from the newest one, and ends with the weights of a run that was never stopped.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads starve whatever else runs here

from datasets import Dataset
from trl import DPOConfig, DPOTrainer

from agent_core.step import CHATML_STOP
from training import trl_runs
from training.checkpoints import save_adapter
from training.pairs import Pair, read_pairs
from training.policy import lora, with_adapter
from training.runs import RunFolder, knob, parse, write_json


@dataclass(frozen=True, slots=True)
class Args:
    """One run's knobs; saved as args.json."""

    data: str = knob("runs/rollouts", "folders with traces or curated, and *.jsonl files of pairs, comma separated")
    out: str = knob("runs/dpo", "run folder")
    base: str = knob("", "GGUF file or Hugging Face folder of the base model; the bundled one if empty")
    start: str = knob("", "adapter folder to go on from, which is the reference too; a new adapter if empty")
    epochs: float = knob(1.0, "passes over the pairs")
    batch: int = knob(4, "pairs in a batch")
    accumulate: int = knob(2, "batches whose gradients make one step")
    beta: float = knob(0.1, "how strongly the policy is held to the reference")
    lr: float = knob(5e-5, "highest learning rate")
    warmup: int = knob(10, "steps of linear warm-up")
    rank: int = knob(16, "LoRA rank")
    alpha: int = knob(32, "LoRA alpha")
    weight_decay: float = knob(0.0, "AdamW weight decay")
    precision: str = knob("bf16", "what matrices are multiplied in; weights are float32", ("bf16", "float32"))
    max_tokens: int = knob(1400, "pairs with a longer row are left out, and counted")
    save_every: int = knob(25, "steps between checkpoints")
    seed: int = knob(0, "seed of order and initial weights")
    threads: int = knob(2, "torch threads")


class PairTrainer(DPOTrainer):  # type: ignore[misc]
    """TRL's, but for two things: pairs come tokenised, and no model card is written."""

    def _prepare_dataset(self, dataset: Dataset, *_: Any) -> Dataset:
        return dataset

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """Our run folders describe themselves."""


def main(argv: Sequence[str] | None = None) -> None:
    train(parse(Args, argv, "python -m training.dpo", __doc__))


def train(args: Args) -> Path:
    """Trains and returns the folder of the final adapter."""
    out = Path(args.out)
    common = trl_runs.settings(args, out)
    base, tokenizer, base_name = trl_runs.base_of(args.base)
    rows, left_out = tokenise(tokenizer, read_pairs(args.data), args.max_tokens)
    if not rows:
        raise SystemExit(f"There is no pair to learn from in {args.data} ({left_out} are too long): record rollouts.")
    print(f"{len(rows)} pairs ({left_out} too long)")
    start = Path(args.start) if args.start else None
    model = with_adapter(base, args.rank, args.alpha, 0.0, start) if start else base
    checkpoint, done = trl_runs.latest(out)
    folder = RunFolder(out, args, done)
    trainer = PairTrainer(
        model=model,
        args=DPOConfig(beta=args.beta, **common),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=None if start else lora(base, args.rank, args.alpha),
    )
    trl_runs.run(trainer, folder, checkpoint)
    final = out / "adapter"
    save_adapter(trainer.model, final, base_name)
    record = {"pairs": len(rows), "steps": trainer.state.global_step}
    write_json(out / "result.json", {**record, "args": asdict(args)})
    folder.log(**record)
    folder.close()
    print(f"adapter: {final}  {record}")
    return final


def tokenise(tokenizer: Any, pairs: Sequence[Pair], max_tokens: int) -> tuple[list[dict[str, list[int]]], int]:
    """Rows as TRL's collator reads them, and how many pairs were too long. A reply is encoded by itself, with its stop
    token: exactly the ids that a served model would have had to sample."""
    rows = []
    for pair in pairs:
        prompt = tokenizer.encode(pair.prompt, add_special_tokens=False)
        replies = [tokenizer.encode(r + CHATML_STOP, add_special_tokens=False) for r in (pair.chosen, pair.rejected)]
        if len(prompt) + max(map(len, replies)) <= max_tokens:
            rows.append({"prompt_ids": prompt, "chosen_ids": replies[0], "rejected_ids": replies[1]})
    return rows, len(pairs) - len(rows)


if __name__ == "__main__":
    main()
