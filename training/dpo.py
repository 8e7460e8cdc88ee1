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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads starve whatever else runs here

from datasets import Dataset
from trl import DPOConfig, DPOTrainer

from agent_core.step import CHATML_STOP
from training import trl_runs
from training.pairs import Pair, read_pairs
from training.runs import RunFolder, knob, parse


@dataclass(frozen=True, slots=True)
class Args(trl_runs.PreferenceArgs):
    """One run's knobs; saved as args.json."""

    data: str = knob("runs/rollouts", "folders with traces or curated, and *.jsonl files of pairs, comma separated")
    out: str = knob("runs/dpo", "run folder")
    epochs: float = knob(1.0, "passes over the pairs")
    batch: int = knob(4, "pairs in a batch")
    max_tokens: int = knob(1400, "pairs with a longer row are left out, and counted")


class PairTrainer(trl_runs.Tokenised, DPOTrainer):  # type: ignore[misc]
    """TRL's, on rows that come tokenised."""


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
    model, new = trl_runs.beside_reference(base, args)
    checkpoint, done = trl_runs.latest(out)
    folder = RunFolder(out, args, done)
    trainer = PairTrainer(
        model=model,
        args=DPOConfig(beta=args.beta, **common),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=new,
    )
    return trl_runs.run(trainer, folder, checkpoint, args, base_name, pairs=len(rows))


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
