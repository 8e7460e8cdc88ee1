"""Exports a trained adapter to GGUF, and refuses to when anything would be lost on the way.

    python -m training.gguf_export --adapter runs/sft/adapter --out agent.gguf
    python -m training.gguf_export --adapter runs/sft/adapter --what adapter --out adapter.gguf
    python -m training.gguf_export --base models/UI-TARS-1.5-7B --quantisation Q4_K_M --out agent.gguf

The adapter is merged in float32 into the original base, which is then quantised; a model that sees gets its projector
beside it, named mmproj-NAME. The file is written as NAME.part, read back, loaded in llama.cpp and compared with the
source in transformers on prompts; only then does it get its name.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # spinning threads starve whatever else runs here

import torch
from peft import PeftModel

from agent_core.errors import DeskhandError, ModelError
from training import deltas, gguf_check, gguf_picture
from training.gguf_check import Said
from training.gguf_names import Placed, placed
from training.gguf_source import FolderSource, Source, source
from training.gguf_vision import write_projector
from training.gguf_write import KINDS, changed, write_adapter, write_merged
from training.policy import bundled_base, load_base
from training.runs import knob, parse

PART = ".part"


@dataclass(frozen=True, slots=True)
class Args:
    """What to export."""

    out: str = knob("agent.gguf", "file to write")
    adapter: str = knob("", "adapter folder; the base alone if empty")
    base: str = knob("bundled", "GGUF file or Hugging Face folder of the base, or `bundled`")
    what: str = knob("merged", "the merged model, or the adapter alone", ("merged", "adapter"))
    quantisation: str = knob("Q8_0", "how the merged model is stored", KINDS)
    allow_quantised_base: int = knob(0, "1: merge although the base is quantised already, which costs about a third")
    check_prompts: str = knob("", "file with a prompt a line to compare on; some built-in ones if empty")
    check_tokens: int = knob(24, "most tokens of a reply that is compared")
    threads: int = knob(2, "threads")


def main(argv: Sequence[str] | None = None) -> int:
    """Exports and prints what was compared; returns the exit code."""
    args = parse(Args, argv, "python -m training.gguf_export", __doc__)
    try:
        print(export(args))
    except DeskhandError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def export(args: Args) -> str:
    """Writes, checks and names the file; returns a sentence with the figures. Raises ModelError, leaving no file."""
    torch.set_num_threads(args.threads)
    out, base = Path(args.out), source(bundled_base() if args.base == "bundled" else Path(args.base))
    changes: Mapping[str, Placed] = {}
    if args.adapter:
        changes = placed(deltas.read(Path(args.adapter)), base.names, base.shapes)
    elif args.what == "adapter":
        raise ModelError("Name the adapter to export with --adapter.")
    if args.what == "merged" and base.quantised and changes and not args.allow_quantised_base:
        raise ModelError(
            f"The base {base.path} is quantised, and quantising it again after a merge costs about a third more error. "
            "Name the original weights, export the adapter alone, or say --allow-quantised-base 1."
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    files = {out: out.with_name(out.name + PART)}
    if args.what == "merged" and base.names.architecture == "qwen2vl" and isinstance(base, FolderSource):
        projector = out.with_name(f"mmproj-{out.name}")
        files[projector] = projector.with_name(projector.name + PART)
    try:
        told = (
            _merged(args, base, changes, *files.values())
            if args.what == "merged"
            else _alone(args, base, changes, *files.values())
        )
        for name, part in files.items():
            os.replace(part, name)
    finally:
        for part in files.values():
            part.unlink(missing_ok=True)
    return f"{', '.join(map(str, files))}: {told}"


def _merged(args: Args, base: Source, changes: Mapping[str, Placed], part: Path, projector: Path | None = None) -> str:
    write_merged(part, base, changes, args.quantisation)
    if projector is not None and isinstance(base, FolderSource):
        write_projector(projector, base, "F32" if args.quantisation == "F32" else "F16")

    gguf_check.read_back(part, base, changed(base, changes))
    said, picture = _by_source(args, base, sees=projector is not None)
    return _alike(args.quantisation, part, None, said, projector, picture)


def _alone(args: Args, base: Source, changes: Mapping[str, Placed], part: Path) -> str:
    write_adapter(part, base.names.architecture, changes, deltas.read(Path(args.adapter)).alpha)
    worst = gguf_check.read_back_adapter(part, changes)
    said, _ = _by_source(args, base, sees=False)
    with tempfile.TemporaryDirectory(dir=part.parent, prefix="base-") as folder:
        whole = Path(folder) / "base.gguf"
        write_merged(whole, base, {}, "F32")
        alike = _alike("F32", whole, part, said)
    return f"largest error of a change {worst:.1e}; {alike}"


def _by_source(args: Args, base: Source, sees: bool) -> tuple[list[Said], Said | None]:
    """The source's greedy replies to the prompts, and to a picture if it sees."""
    model, tokenizer = load_base(base.path)
    if args.adapter:
        model = PeftModel.from_pretrained(model, args.adapter)
    model = model.eval()
    texts = [gguf_check.chat(text) for text in prompts(args.check_prompts)]
    said = gguf_check.by_source(model, tokenizer, texts, args.check_tokens)
    return said, gguf_picture.by_source(model, tokenizer, args.check_tokens) if sees else None


def _alike(
    kind: str, file: Path, adapter: Path | None, said: Sequence[Said], projector: Path | None = None,
    picture: Said | None = None,
) -> str:  # fmt: skip
    """How alike file and source talk, in words. Raises ModelError when it is not enough for the kind."""
    least = gguf_check.least_alike(kind)
    model: Any = gguf_check.opened(file, adapter=adapter)
    try:
        shares = {"prompts": gguf_check.by_file(model, said)}
        if projector is not None and picture is not None:
            shares["a picture"] = gguf_picture.by_file(model, projector, picture)
    finally:
        model.close()
    for where, share in shares.items():
        if share < least:
            raise ModelError(
                f"The exported file says {share:.1%} of the source's greedy tokens on {where}; {kind} must reach "
                f"{least:.0%}. It was not kept."
            )
    return ", ".join(f"{share:.1%} of the source's greedy tokens on {where}" for where, share in shares.items())


def prompts(file: str) -> list[str]:
    """The lines of a file, or the built-in prompts. Raises ModelError for an empty one."""
    if not file:
        return list(gguf_check.PROMPTS)
    try:
        lines = [line.strip() for line in Path(file).read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError as error:
        raise ModelError(f"The prompts in {file} cannot be read: {error.strerror}.") from error
    if not lines:
        raise ModelError(f"There are no prompts in {file}: put one on each line.")
    return lines


if __name__ == "__main__":
    sys.exit(main())
