"""Makes the file that is served: base plus adapter, merged in float32 and quantised again, without torch.

The file is written beside its final name and renamed, so it is whole or not there. Its name carries a hash of
everything it is made from: a changed adapter makes a new file, and an unchanged one is found at once.
`python -m agent_core.models.assemble [NAME]` does it ahead of time and prints where the file lies.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from agent_core import paths
from agent_core.errors import ModelError
from agent_core.models import lora, manifest
from agent_core.models.manifest import SAFE, Manifest, Quantisation

Progress = Callable[[float, str], None]
"""Told how far the work is, 0..1, and a few words for the person."""

FORMAT = 1  # part of the file's name: raise it when the same inputs must give other bytes
UNFINISHED = ".assembling-"  # how the name of a file in the making begins
SPARE = 64 * 2**20  # bytes left free on the disk after writing


@dataclass(frozen=True, slots=True)
class Assembled:
    """The file to serve, and the hashes a run is recorded with (the adapter's is empty without one)."""

    path: Path
    model_hash: str
    adapter_hash: str


def assemble(model: Manifest, adapter: Path | None = None, on_progress: Progress | None = None) -> Assembled:
    """The model's served file, made now if it is not there yet. `adapter` replaces the manifest's own.

    Raises ModelError: missing or damaged parts, an adapter that does not fit, a full or read-only folder.
    """
    base, folder = model.base_path(), adapter or model.adapter_path()
    adapter_hash = _adapter_hash(model, folder, own=adapter is None)
    if model.quantisation == "as_is":
        if folder:
            raise ModelError(
                f"The manifest {model.source} must name a serving.quantisation to be used with an adapter."
            )
        manifest.verify(base, model.sha256)
        return Assembled(base, model.sha256, "")
    config = manifest.sha256_of(folder / lora.CONFIG) if folder else ""
    made_from = f"{FORMAT} {model.sha256} {adapter_hash} {config} {model.quantisation}"
    key = hashlib.sha256(made_from.encode()).hexdigest()[:12]
    target = paths.models_folder() / f"{model.name}-{key}.gguf"
    done = Assembled(target, model.sha256, adapter_hash)
    if _is_whole(target):
        return done
    manifest.verify(base, model.sha256)
    merge(base, lora.read(folder) if folder else None, target, model.quantisation, on_progress)
    return done


def merge(
    base: Path,
    change: lora.Lora | None,
    target: Path,
    quantisation: Quantisation,
    on_progress: Progress | None = None,
) -> None:
    """Writes base + change to `target` as a GGUF and notes its size. Raises ModelError; leaves nothing half-written."""
    temporary: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target.parent)
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=UNFINISHED, delete=False) as file:
            temporary = Path(file.name)
        _write(base, change, temporary, quantisation, on_progress or _silent)
        size = temporary.stat().st_size
        temporary.replace(target)
        _size_note(target).write_text(json.dumps({"bytes": size}), encoding="utf-8")
    except OSError as error:
        raise ModelError(
            f"The model could not be written to {target.parent}: {error.strerror or error}. {SAFE} "
            "Free some space or check the folder's permissions."
        ) from error
    finally:
        if temporary:
            temporary.unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Removes what a killed try left behind; only after an hour, so that no try still at work is hit."""
    for file in folder.glob(f"{UNFINISHED}*"):
        if file.stat().st_mtime < time.time() - 3600:
            file.unlink(missing_ok=True)


def _write(base: Path, change: lora.Lora | None, target: Path, quantisation: Quantisation, tell: Progress) -> None:
    from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, quants

    tell(0.0, "Reading the model")
    try:
        reader = GGUFReader(base)
    except ValueError as error:
        raise ModelError(f"The model file {base} is not a usable GGUF file. {SAFE} Install it again.") from error
    rows = _Rows.of(reader, base)
    unmatched = set(change.pairs if change else ()) - {tensor.name for tensor in reader.tensors}
    if unmatched:
        raise ModelError(f"The adapter was trained for another model: {base.name} has no {min(unmatched)}.")

    writer = GGUFWriter(target, rows.architecture)
    _copy_metadata(reader, writer, quantisation)
    types = [_type_of(tensor, GGMLQuantizationType[quantisation]) for tensor in reader.tensors]
    total = 0
    for tensor, kind in zip(reader.tensors, types, strict=True):
        shape = tuple(int(n) for n in reversed(tensor.shape))
        size = math.prod(quants.quant_shape_to_byte_shape(shape, kind))
        writer.add_tensor_info(tensor.name, shape, np.dtype(np.float32), size, raw_dtype=kind)
        total += size
    _check_room(target.parent, total)
    try:
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for done, (tensor, kind) in enumerate(zip(reader.tensors, types, strict=True)):
            weight = _dequantised(tensor, base)
            delta = change.change(tensor.name) if change else None
            if delta is not None:
                weight = weight + rows.reordered(tensor.name, _fitting(delta, weight, tensor.name))
            writer.write_tensor_data(quants.quantize(weight, kind))
            tell((done + 1) / len(types), "Preparing the model")
    finally:
        writer.close()


@dataclass(frozen=True, slots=True)
class _Rows:
    """The order of rows in a GGUF. llama's query and key rows are interleaved for its way of computing RoPE."""

    architecture: str
    heads: int
    key_heads: int

    @classmethod
    def of(cls, reader: Any, base: Path) -> _Rows:
        architecture = str(reader.fields["general.architecture"].contents())
        if architecture != "llama":
            raise ModelError(f"Only llama models can be put together here; {base.name} is {architecture}.")
        heads = int(reader.fields["llama.attention.head_count"].contents())
        key_heads = reader.fields.get("llama.attention.head_count_kv")
        return cls(architecture, heads, int(key_heads.contents()) if key_heads else heads)

    def reordered(self, tensor: str, delta: lora.Array) -> lora.Array:
        """Hugging Face's row order to GGUF's: within each head, row 2i+h comes from row i of half h."""
        if ".attn_q." in tensor:
            heads = self.heads
        elif ".attn_k." in tensor:
            heads = self.key_heads
        else:
            return delta
        return delta.reshape(heads, 2, -1, delta.shape[1]).swapaxes(1, 2).reshape(delta.shape)


def _dequantised(tensor: Any, base: Path) -> lora.Array:
    from gguf import quants

    try:
        weight: lora.Array = quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32, copy=False)
    except NotImplementedError as error:
        kind = tensor.tensor_type.name
        raise ModelError(f"{base.name} is quantised as {kind}, which cannot be read; use another base.") from error
    return weight


def _fitting(delta: lora.Array, weight: lora.Array, tensor: str) -> lora.Array:
    if delta.shape != weight.shape:
        raise ModelError(f"The adapter was trained for another model: {tensor} is {weight.shape}, not {delta.shape}.")
    return delta


def _type_of(tensor: Any, wanted: Any) -> Any:
    """Norms stay as exact as they are; a matrix whose rows do not divide into blocks becomes F16."""
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    if len(tensor.shape) < 2:
        return GGMLQuantizationType.F32
    block, _ = GGML_QUANT_SIZES[wanted]
    return wanted if int(tensor.shape[0]) % block == 0 else GGMLQuantizationType.F16


def _copy_metadata(reader: Any, writer: Any, quantisation: Quantisation) -> None:
    """Everything but the file's own header: tokenizer, chat template, RoPE, end tokens, licence."""
    from gguf import GGUFValueType, LlamaFileType

    file_types = {
        "Q8_0": LlamaFileType.MOSTLY_Q8_0,
        "Q4_0": LlamaFileType.MOSTLY_Q4_0,
        "F16": LlamaFileType.MOSTLY_F16,
        "F32": LlamaFileType.ALL_F32,
    }
    for entry in reader.fields.values():
        if entry.name.startswith("GGUF.") or entry.name in ("general.architecture", "general.file_type"):
            continue  # the writer makes these itself
        kind = entry.types[0]
        inner = entry.types[-1] if kind == GGUFValueType.ARRAY else None
        writer.add_key_value(entry.name, entry.contents(), kind, sub_type=inner)
    writer.add_file_type(int(file_types[quantisation]))


def _check_room(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < size + SPARE:
        raise ModelError(
            f"The model needs {(size + SPARE) // 2**20} MB in {folder}, but only {free // 2**20} MB are free. {SAFE} "
            "Free some space and try again."
        )


def _adapter_hash(model: Manifest, folder: Path | None, own: bool) -> str:
    """The adapter's hash; the manifest's own adapter must have the one that the manifest says."""
    if folder is None:
        return ""
    found = manifest.sha256_of(folder / lora.WEIGHTS)
    if own and found != model.adapter_sha256:
        raise ModelError(f"The adapter {folder} is damaged (its hash differs). {SAFE} Install Deskhand again.")
    return found


def _size_note(target: Path) -> Path:
    return target.with_suffix(".json")


def _is_whole(target: Path) -> bool:
    """True if the file is there at the size it was written with; otherwise it is made again."""
    try:
        noted = json.loads(_size_note(target).read_text(encoding="utf-8"))["bytes"]
        return bool(target.stat().st_size == noted)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _silent(fraction: float, words: str) -> None:
    """No one is watching."""


def main() -> int:
    """Assembles one model and prints the file's place."""
    parser = argparse.ArgumentParser(prog="python -m agent_core.models.assemble", description=__doc__)
    parser.add_argument("name", nargs="?", default="bundled", help="the model's manifest (default: bundled)")
    parser.add_argument("--adapter", type=Path, help="adapter folder to use instead of the model's own")
    args = parser.parse_args()
    try:
        print(assemble(manifest.find(args.name), args.adapter).path)
    except ModelError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
