"""Takes GGUF files that are on this computer already into use: reads their headers, writes a manifest for them.

What a header does not say is how the model counts places and what form its answers have, and that cannot be guessed:
the person names a known model that the file is a version of, and the manifest takes over what is known of that one.
The files stay where they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from agent_core import paths
from agent_core.errors import ModelError
from agent_core.models import manifest as manifests
from agent_core.models.manifest import SEEING, Manifest, sha256_of

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,60}")
EYES = "clip"  # the architecture that llama.cpp writes into a file with eyes


@dataclass(frozen=True, slots=True)
class Header:
    """What a GGUF says of itself; `context` is in tokens, 0 where it does not say."""

    architecture: str
    name: str
    quantisation: str
    context: int
    sees: bool = False


def header(file: Path) -> Header:
    """Reads the header alone. Raises ModelError for a file that is missing or no GGUF."""
    from gguf import GGUFReader, LlamaFileType

    try:
        fields: dict[str, Any] = GGUFReader(file).fields
    except (ValueError, OSError, IndexError) as error:
        raise ModelError(f"{file} is not a usable GGUF file; choose the .gguf file of a model.") from error

    def value(name: str) -> Any:
        return fields[name].contents() if name in fields else None

    architecture = str(value("general.architecture") or "")
    kinds = {int(kind): kind.name for kind in LlamaFileType}
    quantisation = kinds.get(int(value("general.file_type") or 0), "").removeprefix("MOSTLY_").removeprefix("ALL_")
    context = int(value(f"{architecture}.context_length") or 0)
    sees = architecture == EYES and value("clip.has_vision_encoder") is not False
    return Header(architecture, str(value("general.name") or ""), quantisation, context, sees)


def import_model(file: Path, like: str, mmproj: Path | None = None, name: str = "") -> Manifest:
    """Writes the manifest of a file that is a version of the known model `like`, and returns it.

    A model that sees needs its mmproj file; one that lies alone beside the file is found. Raises ModelError.
    """
    known = manifests.find(like)
    file = file.expanduser().resolve()
    told = header(file)
    name = name or re.sub(r"[^a-z0-9._-]+", "-", file.stem.lower()).strip("-.")
    _check(told, file, known, name)
    entries: dict[str, Any] = {
        "name": name,
        "dialect": known.dialect,
        "kind": "llama_cpp",
        "base": {"file": str(file), "sha256": sha256_of(file), "architecture": told.architecture},
        "serving": {
            "context": min(told.context or known.context, known.context),
            "max_new_tokens": known.max_new_tokens,
            "template": known.template,
            "languages": list(known.languages),
        },
        "screen": {("image_limit" if key == "images" else key): value for key, value in known.screen().items()},
    }
    if known.dialect in SEEING:
        eyes = _eyes(file, mmproj)
        entries["mmproj"] = {"file": str(eyes), "sha256": sha256_of(eyes)}
    target = paths.models_folder() / f"{name}.toml"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_suffix(".new")
        unfinished.write_text(tomli_w.dumps(entries), encoding="utf-8")
        unfinished.replace(target)
    except OSError as error:
        raise ModelError(f"The manifest {target} cannot be written ({error.strerror}); check the folder.") from error
    return manifests.read(target)


def _check(told: Header, file: Path, known: Manifest, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ModelError(f"{name!r} cannot be a model's name; use small letters, digits, dots and dashes.")
    if name in manifests.names():
        raise ModelError(f"There is a model {name!r} already; give the imported one another name.")
    if told.architecture == EYES:
        raise ModelError(f"{file.name} holds only a model's eyes; import the model itself and give this as its mmproj.")
    if known.architecture and told.architecture != known.architecture:
        raise ModelError(
            f"{file.name} is of the kind {told.architecture or 'unknown'}, but {known.name} is {known.architecture}: "
            "its answers would be misread. Name the model that the file is a version of."
        )


def _eyes(file: Path, mmproj: Path | None) -> Path:
    """The mmproj file of a model that sees: the one given, or the only one beside it."""
    if mmproj is None:
        beside = [other for other in sorted(file.parent.glob("*mmproj*")) if other != file and other.is_file()]
        if len(beside) != 1:
            found = "there is none" if not beside else f"there are {len(beside)}"
            raise ModelError(
                f"{file.name} only reads: a model that acts on screenshots needs its mmproj file, and {found} beside "
                "it. Name it, or import the file as a model that reads (like bundled)."
            )
        mmproj = beside[0]
    mmproj = mmproj.expanduser().resolve()
    if not header(mmproj).sees:
        raise ModelError(f"{mmproj.name} is not a file with a model's eyes; choose the mmproj file of {file.name}.")
    return mmproj
