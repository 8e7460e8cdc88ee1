"""Continual training: next-token prediction over whole texts, prompts too, for what is not good enough to imitate.

    python -m training.ct --data runs/rollouts,notes.jsonl --out runs/ct

In the flywheel of UI-TARS-2 (2509.02544) runs that failed are not thrown away: a screen and what was done there still
teach how screens look and what follows what. From trace folders come the turns of judged, unsolved runs, V(s) = 0;
from curated folders and JSONL files the lines' `text`. All tokens are learnt. TRL's SFTTrainer on rows that we
tokenise; it resumes like training.dpo.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads starve whatever else runs here

from datasets import Dataset
from trl import SFTConfig, SFTTrainer

from agent_core.step import CHATML_STOP
from agent_core.traces.reads import Traces
from training import trl_runs
from training.curate import is_solved
from training.policy import with_adapter
from training.runs import RunFolder, knob, parse

CURATED = "ct.jsonl"


@dataclass(frozen=True, slots=True)
class Args:
    """One run's knobs; saved as args.json."""

    data: str = knob("runs/rollouts", "folders with traces or curated, and *.jsonl files of texts, comma separated")
    out: str = knob("runs/ct", "run folder")
    base: str = knob("", "GGUF file or Hugging Face folder of the base model; the bundled one if empty")
    start: str = knob("", "adapter folder to go on from; a new adapter if empty")
    epochs: float = knob(1.0, "passes over the texts")
    batch: int = knob(4, "rows in a batch")
    accumulate: int = knob(2, "batches whose gradients make one step")
    lr: float = knob(2e-4, "highest learning rate")
    warmup: int = knob(10, "steps of linear warm-up")
    rank: int = knob(16, "LoRA rank")
    alpha: int = knob(32, "LoRA alpha")
    dropout: float = knob(0.0, "LoRA dropout")
    weight_decay: float = knob(0.0, "AdamW weight decay")
    precision: str = knob("bf16", "what matrices are multiplied in; weights are float32", ("bf16", "float32"))
    max_tokens: int = knob(1400, "longer texts are cut into rows of so many tokens")
    save_every: int = knob(50, "steps between checkpoints")
    seed: int = knob(0, "seed of order and initial weights")
    threads: int = knob(2, "torch threads")


class TextTrainer(trl_runs.Cardless, SFTTrainer):  # type: ignore[misc]
    """TRL's, which skips the preparation of rows by an argument."""


def main(argv: Sequence[str] | None = None) -> None:
    train(parse(Args, argv, "python -m training.ct", __doc__))


def train(args: Args) -> Path:
    """Trains and returns the folder of the final adapter."""
    out = Path(args.out)
    common = trl_runs.settings(args, out)
    base, tokenizer, base_name = trl_runs.base_of(args.base)
    rows = tokenise(tokenizer, read_texts(args.data), args.max_tokens)
    if not rows:
        raise SystemExit(f"There is no text to learn from in {args.data}: it needs runs that were judged and failed.")
    print(f"{len(rows)} rows, {sum(len(row['input_ids']) for row in rows)} tokens")
    model = with_adapter(base, args.rank, args.alpha, args.dropout, Path(args.start) if args.start else None)
    checkpoint, done = trl_runs.latest(out)
    folder = RunFolder(out, args, done)
    trainer = TextTrainer(
        model=model,
        args=SFTConfig(dataset_kwargs={"skip_prepare_dataset": True}, **common),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )
    return trl_runs.run(trainer, folder, checkpoint, args, base_name, rows=len(rows))


def read_texts(data: str) -> list[str]:
    """The texts of all sources, without repeats, in a fixed order. Raises ValueError, naming file and line, for a line
    without text."""
    found: dict[str, None] = {}
    for source in data.split(","):
        path = Path(source)
        file = path / CURATED if (path / CURATED).exists() else path
        found.update(dict.fromkeys(of_file(file) if file.suffix == ".jsonl" else of_traces(path)))
    return sorted(found)


def of_file(path: Path) -> list[str]:
    """One JSON object with `text` a line."""
    texts = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            texts.append(str(json.loads(line)["text"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f'{path}, line {number} has no "text": {error}') from error
    return texts


def of_traces(folder: Path) -> list[str]:
    """Turns of runs that were judged and not solved; turns with pictures in their prompt are left out."""
    traces = Traces(folder / "traces.db", folder / "images")
    low = {run for run, label in traces.scores().items() if label.score is not None and not is_solved(label.score)}
    rows = (row for row in traces.training_rows() if row.run in low and row.reply and not row.prompt_images)
    return [row.prompt + row.reply + CHATML_STOP for row in rows]


def tokenise(tokenizer: Any, texts: Sequence[str], max_tokens: int) -> list[dict[str, list[int]]]:
    """Rows of at most `max_tokens` ids, all of them learnt; a rest of one token, which predicts nothing, is dropped."""
    rows = []
    for text in texts:
        ids = tokenizer.encode(text, add_special_tokens=False)
        cut = (ids[i : i + max_tokens] for i in range(0, len(ids), max_tokens))
        rows += [{"input_ids": part, "labels": list(part)} for part in cut if len(part) > 1]
    return rows


if __name__ == "__main__":
    main()
