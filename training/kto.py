"""Learning from single words of a person: a reply they found good becomes likelier, one they did not less (2402.01306).

    python -m training.kto --data runs/set --out runs/kto --start runs/sft/adapter

A denial, or a thumb down, says that something was wrong and not what would have been right; for DPO that is too little.
TRL's trainer and loss on rows that we tokenise as for SFT. The KL term compares each prompt with its neighbour's reply,
so rows are shuffled once, by the seed, and keep that order. The rarer word weighs more, so that both weigh the same
(equation 8). Reference, checkpoints and going on as in training.dpo.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads starve whatever else runs here

from datasets import Dataset
from trl import KTOConfig, KTOTrainer

from agent_core.step import CHATML_STOP
from training import trl_runs
from training.curate_rows import Vote
from training.runs import RunFolder, knob, parse

CURATED = "kto.jsonl"
Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Args(trl_runs.PreferenceArgs):
    """One run's knobs; saved as args.json."""

    data: str = knob("runs/set", "curated folders and *.jsonl files of replies found good or not, comma separated")
    out: str = knob("runs/kto", "run folder")
    epochs: float = knob(1.0, "passes over the rows")
    batch: int = knob(4, "rows in a batch, at least 2")


class VoteTrainer(trl_runs.Tokenised, KTOTrainer):  # type: ignore[misc]
    """TRL's, on rows that come tokenised."""


def main(argv: Sequence[str] | None = None) -> None:
    train(parse(Args, argv, "python -m training.kto", __doc__))


def train(args: Args) -> Path:
    """Trains and returns the folder of the final adapter."""
    out = Path(args.out)
    common = trl_runs.settings(args, out)
    base, tokenizer, base_name = trl_runs.base_of(args.base)
    rows, left_out = tokenise(tokenizer, read_votes(args.data), args.max_tokens)
    random.Random(args.seed).shuffle(rows)
    good = sum(row["label"] for row in rows)
    if len(rows) < 2:
        raise SystemExit(f"There are no two replies to learn from in {args.data} ({left_out} are too long).")
    print(f"{len(rows)} replies, {good} of them good ({left_out} too long)")
    model, new = trl_runs.beside_reference(base, args)
    checkpoint, done = trl_runs.latest(out)
    folder = RunFolder(out, args, done)
    up, down = weights(good, len(rows) - good)
    trainer = VoteTrainer(
        model=model,
        args=KTOConfig(beta=args.beta, desirable_weight=up, undesirable_weight=down, **common),
        train_dataset=Dataset.from_list(beside(rows, args.batch)),
        processing_class=tokenizer,
        peft_config=new,
    )
    return trl_runs.run(trainer, folder, checkpoint, args, base_name, replies=len(rows), good=good)


def read_votes(data: str) -> list[Vote]:
    """The rows of all sources, without repeats, in a fixed order. Raises ValueError, naming file and line, for a line
    that is none."""
    found: dict[tuple[str, str, bool], Vote] = {}
    for source in data.split(","):
        path = Path(source)
        for vote in of_file(path / CURATED if path.is_dir() else path):
            found.setdefault((vote.prompt, vote.reply, vote.good), vote)
    return sorted(found.values(), key=lambda v: (v.run, v.prompt, v.reply, v.good))


def of_file(path: Path) -> Iterator[Vote]:
    """One JSON object with prompt, reply and good a line; `run` if it is known."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            given = json.loads(line)
            if not isinstance(given["good"], bool) or not given["reply"]:
                raise ValueError("good must be true or false, and reply must not be empty")
            yield Vote(given["prompt"], given["reply"], given["good"], given.get("run", str(number)))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}, line {number} is no reply that was found good or not: {error}") from error


def tokenise(tokenizer: Any, votes: Sequence[Vote], max_tokens: int) -> tuple[Rows, int]:
    """Rows as TRL's collator reads them, and how many were too long. A reply is encoded by itself, as for DPO."""
    rows: Rows = []
    for vote in votes:
        prompt = tokenizer.encode(vote.prompt, add_special_tokens=False)
        reply = tokenizer.encode(vote.reply + CHATML_STOP, add_special_tokens=False)
        if len(prompt) + len(reply) <= max_tokens:
            rows.append({"prompt_ids": prompt, "completion_ids": reply, "label": vote.good})
    return rows, len(votes) - len(rows)


def beside(rows: Rows, batch: int) -> Rows:
    """Each row with the reply of its neighbour in the batch, for the KL term."""
    out: Rows = []
    for i in range(0, len(rows), batch):
        group = rows[i : i + batch]
        out += [{**row, "KL_completion_ids": group[n - 1]["completion_ids"]} for n, row in enumerate(group)]
    return out


def weights(good: int, bad: int) -> tuple[float, float]:
    """What a good and a bad reply weigh: 1 for the commoner, as much more for the other as it is rarer."""
    if not good or not bad:
        return 1.0, 1.0
    return max(1.0, bad / good), max(1.0, good / bad)


if __name__ == "__main__":
    main()
