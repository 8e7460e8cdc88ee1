"""What the trainers' scripts are run on in tests: a small model with a tokenizer in a folder, and data for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from tests.training.small import text_model

STOP = "<|im_end|>"


def model_folder(to: Path) -> Path:
    """Two layers, 32 wide, and a tokenizer with a token per byte, as transformers reads them."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = ["<|pad|>", "<|im_start|>", STOP]
    bytewise = Tokenizer(models.BPE({token: i for i, token in enumerate([*names, *letters])}, []))
    bytewise.add_special_tokens([AddedToken(name, normalized=False) for name in names])
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bytewise, pad_token=names[0], eos_token=STOP)
    model = text_model(vocab_size=len(tokenizer), pad_token_id=0, eos_token_id=tokenizer.eos_token_id)
    model.save_pretrained(str(to))
    tokenizer.save_pretrained(str(to))
    return to


def prompt(n: int) -> str:
    return f"<|im_start|>user\nTask: press {n}\nbutton {n} {37 * n % 1000} 500{STOP}\n<|im_start|>assistant\n"


def reply(n: int) -> str:
    return f"Thought: Press {n}.\nAction: click(point='<point>{37 * n % 1000} 500</point>')"


def pair_file(to: Path, count: int = 24) -> Path:
    """Pairs of different lengths: the right button against another one."""
    rows = [{"prompt": prompt(n), "chosen": reply(n), "rejected": reply(n + 1) + " " * (n % 3)} for n in range(count)]
    to.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return to


def text_file(to: Path, count: int = 24) -> Path:
    rows = [{"text": prompt(n) + reply(n) * (n % 3 + 1) + STOP} for n in range(count)]
    to.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return to


def lesson_folder(to: Path, count: int = 24) -> Path:
    """A data folder for SFT: lessons, and no trace store."""
    to.mkdir()
    rows = [{"prompt": prompt(n), "reply": reply(n), "group": "press", "run": str(n)} for n in range(count)]
    (to / "lessons.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return to


def start(script: str, *options: str | Path) -> subprocess.Popen[str]:
    """The script as a person starts it, on one thread and without the network."""
    command = [sys.executable, "-m", f"training.{script}", *map(str, options), "--threads", "1"]
    quiet = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=quiet)
