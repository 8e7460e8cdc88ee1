"""Checkpoints of a run with one adapter, and the adapter that leaves it. A killed run goes on from the newest one.

A checkpoint is a folder with the adapter in full precision and `state.pt`: optimiser, step, random state, counters. The
state is written last and put in place whole, so a folder without it is one that a kill cut off; it does not count.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from training.runs import write_json

STATE = "state.pt"


def save(model: Any, optimiser: torch.optim.Optimizer, out: Path, step: int, **counters: int) -> None:
    """Writes `checkpoint-STEP`; older ones are removed once it stands."""
    to = out / f"checkpoint-{step:06d}"
    model.save_pretrained(str(to), save_embedding_layers=False)
    state = {"optimiser": optimiser.state_dict(), "step": step, "random": torch.get_rng_state(), "counters": counters}
    if torch.cuda.is_available():
        state["random_cuda"] = torch.cuda.get_rng_state_all()
    torch.save(state, to / "state.part")
    os.replace(to / "state.part", to / STATE)
    keep_only(to)


def keep_only(newest: Path) -> None:
    """Removes the other checkpoints beside this one, once it stands."""
    for old in newest.parent.glob("checkpoint-*"):
        if old != newest:
            shutil.rmtree(old)


def latest(out: Path, whole: str = STATE) -> Path | None:
    """The newest whole checkpoint: `whole` is the file in it that is written last."""
    found = sorted(p.parent for p in out.glob(f"checkpoint-*/{whole}"))
    return found[-1] if found else None


def restore(checkpoint: Path, optimiser: torch.optim.Optimizer) -> tuple[int, dict[str, int]]:
    """Puts optimiser and random numbers where they were; returns the number of steps done and the counters.

    The adapter is not restored here: build the model from it, then the optimiser, then call this.
    """
    state = torch.load(checkpoint / STATE, weights_only=True)
    optimiser.load_state_dict(state["optimiser"])
    torch.set_rng_state(state["random"])
    if "random_cuda" in state:
        torch.cuda.set_rng_state_all(state["random_cuda"])
    return int(state["step"]), state["counters"]


def save_adapter(model: Any, to: Path, base: str) -> None:
    """The adapter to ship: PEFT's own format in float16, half the size and far finer than what quantising the merged
    weights leaves. `base` is the name of the base model that it says it belongs to."""
    model.save_pretrained(str(to), selected_adapters=["default"], save_embedding_layers=False)
    weights = to / "adapter_model.safetensors"
    halved = {name: t.to(torch.float16).contiguous() for name, t in load_file(str(weights)).items()}
    save_file(halved, str(weights), metadata={"format": "pt"})
    config = json.loads((to / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = base  # not the folder it happened to lie in
    write_json(to / "adapter_config.json", config)
    (to / "README.md").unlink(missing_ok=True)
