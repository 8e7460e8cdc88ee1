"""Supervised fine-tuning of the adapter on solved episodes: loss on the reply and its stop token only.

    python -m training.sft --data runs/demos --out runs/sft

A linear script: read rows, tokenise, batches of like length, bf16 autocast over float32 weights, AdamW with a linear
warm-up and a cosine end. Logits are made for learnt positions only. A step learns from `accumulate` batches: its loss
is the mean over all their learnt tokens. Every `save_every` steps a checkpoint is written; starting again with the
same arguments goes on from the newest one, and ends with the weights of a run that was never stopped.
"""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads starve whatever else runs here

import torch

from training import checkpoints
from training.curate import Row, held_rows, read_rows, sources, split_rows
from training.examples import Batch, Example, by_length, collate, example
from training.policy import BUNDLED, bundled_base, load_base, reply_loss, with_adapter
from training.rewording import reworded
from training.runs import RunFolder, knob, parse, write_json


@dataclass(frozen=True, slots=True)
class Args:
    """One run's knobs; saved as args.json."""

    data: str = knob(
        "runs/demos", "folders with traces or curated, comma separated; FOLDER:ROWS takes so many of a task"
    )
    out: str = knob("runs/sft", "run folder")
    base: str = knob("", "GGUF file or Hugging Face folder of the base model; the bundled one if empty")
    start: str = knob("", "adapter folder to go on from; a new adapter if empty")
    epochs: float = knob(2.0, "passes over the rows")
    batch_tokens: int = knob(2400, "most tokens in a batch, padding included")
    accumulate: int = knob(1, "batches whose gradients make one step")
    wordings: int = knob(0, "copies of a row of the desk suite, each under another wording; 0 keeps the recorded one")
    lr: float = knob(8e-4, "highest learning rate")
    warmup: int = knob(20, "steps of linear warm-up")
    rank: int = knob(16, "LoRA rank")
    alpha: int = knob(32, "LoRA alpha")
    dropout: float = knob(0.0, "LoRA dropout")
    weight_decay: float = knob(0.01, "AdamW weight decay")
    precision: str = knob("bf16", "what matrices are multiplied in; weights are float32", ("bf16", "float32"))
    max_tokens: int = knob(1400, "longer rows are left out, and counted")
    held_back: float = knob(0.03, "share of runs kept out of training to watch the loss")
    save_every: int = knob(50, "steps between checkpoints")
    seed: int = knob(0, "seed of order and initial weights")
    threads: int = knob(2, "torch threads")


def main(argv: Sequence[str] | None = None) -> None:
    train(parse(Args, argv, "python -m training.sft", __doc__))


def train(args: Args) -> Path:
    """Trains and returns the folder of the final adapter."""
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    out = Path(args.out)
    base, tokenizer = load_base(Path(args.base) if args.base else bundled_base())
    examples, check = read(tokenizer, args)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    resume = checkpoints.latest(out)
    start = resume or (Path(args.start) if args.start else None)
    model = with_adapter(base, args.rank, args.alpha, args.dropout, start).to(device).train()
    learnt = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(learnt, lr=args.lr, weight_decay=args.weight_decay)
    done, counters = checkpoints.restore(resume, optimiser) if resume else (0, {"tokens": 0})
    folder = RunFolder(out, args, done)
    plan = steps(examples, args)
    pad = tokenizer.pad_token_id or 0
    began, tokens = time.monotonic(), counters["tokens"]
    for step in range(done, len(plan)):
        rate = learning_rate(step, len(plan), args)
        for group in optimiser.param_groups:
            group["lr"] = rate
        batches = [collate(group, pad) for group in plan[step]]
        count = sum(batch.learnt for batch in batches)
        loss = 0.0
        for batch in batches:
            part = batch_loss(model, batch, device, args) / count
            part.backward()  # type: ignore[no-untyped-call]
            loss += part.item()
        norm = torch.nn.utils.clip_grad_norm_(learnt, 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        tokens += sum(int(batch.attention.sum()) for batch in batches)
        folder.log(step=step + 1, of=len(plan), loss=loss, lr=rate, grad_norm=norm.item(), tokens=tokens)
        if (step + 1) % 10 == 0 or step + 1 == len(plan):
            left = (time.monotonic() - began) / (step + 1 - done) * (len(plan) - step - 1)
            print(f"step {step + 1}/{len(plan)} loss {loss:.3f}, {left / 60:.1f} min left", flush=True)
        if (step + 1) % args.save_every == 0 and step + 1 < len(plan):
            checkpoints.save(model, optimiser, out, step + 1, tokens=tokens)
    final = out / "adapter"
    checkpoints.save_adapter(model, final, Path(args.base).stem if args.base else BUNDLED)
    loss_held_back = held_back_loss(model.eval(), check, pad, device, args)
    record = {"rows": len(examples), "steps": len(plan), "held_back_loss": loss_held_back}
    write_json(out / "result.json", {**record, "args": asdict(args)})
    folder.log(**record)
    folder.close()
    print(f"adapter: {final}  {record}")
    return final


def read(tokenizer: Any, args: Args) -> tuple[list[Example], list[Example]]:
    """The examples to learn and those held back. Raises SystemExit where there is nothing to learn."""
    rows, watched = read_rows(sources(args.data), args.seed), held_rows(sources(args.data))
    require_rows(rows, args.data)
    if args.wordings:
        rows = reworded(rows, args.wordings, args.seed)
    kept, more = split_rows(rows, args.held_back, args.seed) if not watched else (rows, [])
    watched += more
    examples, left_out = tokenise(tokenizer, kept, args.max_tokens)
    check, _ = tokenise(tokenizer, watched, args.max_tokens)
    if not examples:
        raise SystemExit(f"All {left_out} rows are longer than {args.max_tokens} tokens: raise --max-tokens.")
    tokens = sum(len(e.ids) for e in examples)
    print(f"{len(examples)} rows ({left_out} too long, {len(check)} held back), {tokens} tokens")
    return examples, check


def require_rows(rows: Sequence[Row], data: str) -> None:
    """Raises SystemExit with a sentence when there is nothing to learn from."""
    if not rows:
        raise SystemExit(f"There is nothing to learn from in {data}: record demonstrations first.")


def tokenise(tokenizer: Any, rows: Sequence[Row], max_tokens: int) -> tuple[list[Example], int]:
    """The rows as examples, and how many were too long."""
    examples = [example(tokenizer, row.prompt, row.reply, row.group) for row in rows]
    kept = [e for e in examples if len(e.ids) <= max_tokens]
    return kept, len(examples) - len(kept)


def steps(examples: list[Example], args: Args) -> list[list[list[Example]]]:
    """The batches of every step of the whole run, the same for the same arguments: what resuming rests on."""
    generator = torch.Generator().manual_seed(args.seed)
    batches: list[list[Example]] = []
    whole = math.floor(args.epochs)
    for _ in range(whole):
        batches += by_length(examples, args.batch_tokens, generator)
    if args.epochs > whole:
        some = random.Random(args.seed).sample(examples, int(len(examples) * (args.epochs - whole)))
        batches += by_length(some, args.batch_tokens, generator)
    return [batches[i : i + args.accumulate] for i in range(0, len(batches), args.accumulate)]


def batch_loss(model: Any, batch: Batch, device: torch.device, args: Args) -> torch.Tensor:
    """Sum of the losses of the batch's learnt tokens."""
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=args.precision == "bf16"):
        return reply_loss(model, batch.ids.to(device), batch.attention.to(device), batch.labels.to(device))


def learning_rate(step: int, total: int, args: Args) -> float:
    """Linear warm-up, then a cosine to a tenth."""
    if step < args.warmup:
        return args.lr * (step + 1) / args.warmup
    part = (step - args.warmup) / max(1, total - args.warmup)
    return args.lr * (0.1 + 0.45 * (1 + math.cos(math.pi * part)))


def held_back_loss(model: Any, check: Sequence[Example], pad: int, device: torch.device, args: Args) -> float:
    """Mean loss per learnt token on runs that were not trained on; nan without any."""
    total, count = 0.0, 0
    with torch.no_grad():
        for group in chunks(sorted(check, key=lambda e: len(e.ids)), 8):
            batch = collate(group, pad)
            total += batch_loss(model, batch, device, args).item()
            count += batch.learnt
    return total / count if count else math.nan


def chunks(items: Sequence[Example], size: int) -> Iterator[Sequence[Example]]:
    for i in range(0, len(items), size):
        yield items[i : i + size]


if __name__ == "__main__":
    main()
