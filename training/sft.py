"""Supervised fine-tuning of the adapter on solved episodes: loss on the reply and its stop token only.

    python -m training.sft --data runs/demos --out runs/sft

A linear script: read rows, tokenise, batches of like length, bf16 autocast over float32 weights, AdamW with a linear
warm-up and a cosine end. Logits are made for learnt positions only. Every `save_every` steps the adapter and the
optimiser are written; starting again with the same arguments goes on from there.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads starve whatever else runs here

import torch

from training.curate import Row, read_rows, sources, split_rows
from training.examples import Example, by_length, collate, example
from training.policy import bundled_base, load_base, reply_loss, with_adapter
from training.rewording import reworded
from training.runs import RunFolder, write_json


def knob(default: Any, help: str) -> Any:
    """An argument with its help text."""
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True, slots=True)
class Args:
    """One run's knobs; saved as args.json."""

    data: str = knob("runs/demos", "trace store folders, comma separated; FOLDER:ROWS takes so many rows of a task")
    out: str = knob("runs/sft", "run folder")
    start: str = knob("", "adapter folder to go on from; a new adapter if empty")
    epochs: float = knob(2.0, "passes over the rows")
    batch_tokens: int = knob(2400, "most tokens in a batch, padding included")
    wordings: int = knob(0, "copies of a row of the desk suite, each under another wording; 0 keeps the recorded one")
    lr: float = knob(8e-4, "highest learning rate")
    warmup: int = knob(20, "steps of linear warm-up")
    rank: int = knob(16, "LoRA rank")
    alpha: int = knob(32, "LoRA alpha")
    dropout: float = knob(0.0, "LoRA dropout")
    weight_decay: float = knob(0.01, "AdamW weight decay")
    max_tokens: int = knob(1400, "longer rows are left out, and counted")
    held_back: float = knob(0.03, "share of runs kept out of training to watch the loss")
    save_every: int = knob(50, "steps between checkpoints")
    seed: int = knob(0, "seed of order and initial weights")
    threads: int = knob(2, "torch threads")


def main(argv: Sequence[str] | None = None) -> None:
    train(parse(argv))


def parse(argv: Sequence[str] | None) -> Args:
    parser = argparse.ArgumentParser(prog="python -m training.sft", description=__doc__)
    for name, f in Args.__dataclass_fields__.items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=type(f.default), default=f.default, help=f.metadata["help"])
    return Args(**vars(parser.parse_args(argv)))


def train(args: Args) -> Path:
    """Trains and returns the folder of the final adapter."""
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    out = Path(args.out)
    folder = RunFolder(out, args)
    rows = read_rows(sources(args.data), args.seed)
    require_rows(rows, args.data)
    if args.wordings:
        rows = reworded(rows, args.wordings, args.seed)
    base, tokenizer = load_base(bundled_base())
    kept, watched = split_rows(rows, args.held_back, args.seed)
    examples, left_out = tokenise(tokenizer, kept, args.max_tokens)
    check, _ = tokenise(tokenizer, watched, args.max_tokens)
    if not examples:
        raise SystemExit(f"All {left_out} rows are longer than {args.max_tokens} tokens: raise --max-tokens.")
    tokens_in_all = sum(len(e.ids) for e in examples)
    print(f"{len(examples)} rows ({left_out} too long, {len(check)} held back), {tokens_in_all} tokens")

    resume = latest(out)
    start = resume or (Path(args.start) if args.start else None)
    model = with_adapter(base, args.rank, args.alpha, args.dropout, start)
    learnt = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(learnt, lr=args.lr, weight_decay=args.weight_decay)
    done = load_state(resume, optimiser) if resume else 0
    batches = plan(examples, args)
    total = len(batches)
    pad = tokenizer.pad_token_id or 0
    began, tokens = time.monotonic(), 0
    for step in range(done, total):
        rate = learning_rate(step, total, args)
        for group in optimiser.param_groups:
            group["lr"] = rate
        batch = collate(batches[step], pad)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = reply_loss(model, batch.ids, batch.attention, batch.labels) / batch.learnt
        loss.backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(learnt, 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        tokens += int(batch.attention.sum())
        folder.log(step=step + 1, of=total, loss=loss.item(), lr=rate, grad_norm=norm.item(), tokens=tokens)
        if (step + 1) % 10 == 0 or step + 1 == total:
            left = (time.monotonic() - began) / (step + 1 - done) * (total - step - 1)
            print(f"step {step + 1}/{total} loss {loss.item():.3f}, {left / 60:.1f} min left", flush=True)
        if (step + 1) % args.save_every == 0 and step + 1 < total:
            save(model, optimiser, out, step + 1)
    final = out / "adapter"
    save_adapter(model, final)
    record = {"rows": len(examples), "steps": total, "held_back_loss": held_back_loss(model, check, pad, args)}
    write_json(out / "result.json", {**record, "args": asdict(args)})
    folder.log(**record)
    folder.close()
    print(f"adapter: {final}  {record}")
    return final


def require_rows(rows: Sequence[Row], data: str) -> None:
    """Raises SystemExit with a sentence when there is nothing to learn from."""
    if not rows:
        raise SystemExit(f"There is nothing to learn from in {data}: record demonstrations first.")


def tokenise(tokenizer: Any, rows: Sequence[Row], max_tokens: int) -> tuple[list[Example], int]:
    """The rows as examples, and how many were too long."""
    examples = [example(tokenizer, row.prompt, row.reply, row.group) for row in rows]
    kept = [e for e in examples if len(e.ids) <= max_tokens]
    return kept, len(examples) - len(kept)


def plan(examples: list[Example], args: Args) -> list[list[Example]]:
    """All batches of the whole run, the same for the same arguments: what resuming rests on."""
    generator = torch.Generator().manual_seed(args.seed)
    batches: list[list[Example]] = []
    whole = math.floor(args.epochs)
    for _ in range(whole):
        batches += by_length(examples, args.batch_tokens, generator)
    if args.epochs > whole:
        some = random.Random(args.seed).sample(examples, int(len(examples) * (args.epochs - whole)))
        batches += by_length(some, args.batch_tokens, generator)
    return batches


def learning_rate(step: int, total: int, args: Args) -> float:
    """Linear warm-up, then a cosine to a tenth."""
    if step < args.warmup:
        return args.lr * (step + 1) / args.warmup
    part = (step - args.warmup) / max(1, total - args.warmup)
    return args.lr * (0.1 + 0.45 * (1 + math.cos(math.pi * part)))


def held_back_loss(model: Any, check: Sequence[Example], pad: int, args: Args) -> float:
    """Mean loss per learnt token on runs that were not trained on; nan without any."""
    total, count = 0.0, 0
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        for group in chunks(sorted(check, key=lambda e: len(e.ids)), 8):
            batch = collate(group, pad)
            total += reply_loss(model, batch.ids, batch.attention, batch.labels).item()
            count += batch.learnt
    return total / count if count else math.nan


def chunks(items: Sequence[Example], size: int) -> Iterator[Sequence[Example]]:
    for i in range(0, len(items), size):
        yield items[i : i + size]


def save_adapter(model: Any, to: Path) -> None:
    """PEFT's own format in float16: half the size, far finer than what quantising the merged weights leaves."""
    from safetensors.torch import load_file, save_file

    model.save_pretrained(str(to), save_embedding_layers=False)
    weights = to / "adapter_model.safetensors"
    halved = {name: t.to(torch.float16).contiguous() for name, t in load_file(str(weights)).items()}
    save_file(halved, str(weights), metadata={"format": "pt"})
    config = json.loads((to / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = "SmolLM2-135M-Instruct"  # not the folder it happened to lie in
    write_json(to / "adapter_config.json", config)
    (to / "README.md").unlink(missing_ok=True)


def save(model: Any, optimiser: torch.optim.Optimizer, out: Path, step: int) -> None:
    """A checkpoint in full precision; older ones are removed once it stands."""
    to = out / f"checkpoint-{step:06d}"
    model.save_pretrained(str(to), save_embedding_layers=False)
    torch.save({"optimiser": optimiser.state_dict(), "step": step}, to / "state.part")
    os.replace(to / "state.part", to / "state.pt")
    for old in out.glob("checkpoint-*"):
        if old != to:
            for file in old.iterdir():
                file.unlink()
            old.rmdir()


def latest(out: Path) -> Path | None:
    """The newest whole checkpoint."""
    whole = sorted(p.parent for p in out.glob("checkpoint-*/state.pt"))
    return whole[-1] if whole else None


def load_state(checkpoint: Path, optimiser: torch.optim.Optimizer) -> int:
    """Puts the optimiser where it was and returns the number of steps done."""
    state = torch.load(checkpoint / "state.pt", weights_only=True)
    optimiser.load_state_dict(state["optimiser"])
    return int(state["step"])


if __name__ == "__main__":
    main()
