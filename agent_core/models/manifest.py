"""A manifest: the TOML file that ties a model to its dialect, coordinate rule, limits and file hashes.

Without one a model is refused: most wrong clicks that people report of such agents are a convention mixed up.
Manifests lie in the shipped assets and in the user's models folder; the file's name is the model's name.
This module reads and checks; it does not download and does not load weights.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from agent_core import paths
from agent_core.errors import ModelError, TaskError
from agent_core.models import languages

Kind = Literal["llama_cpp", "http_chat", "scripted"]
Quantisation = Literal["as_is", "Q8_0", "Q4_0", "F16", "F32"]
KINDS: tuple[Kind, ...] = get_args(Kind)
QUANTISATIONS: tuple[Quantisation, ...] = get_args(Quantisation)
TEMPLATES = ("chatml",)
SAFE = "Your runs are safe."


@dataclass(frozen=True, slots=True)
class Manifest:
    """What must be known of a model before it may be asked. `source` is the manifest's own file.

    Sizes are in tokens and pixels. `file` and `adapter` are paths beside the manifest or absolute; instead of a
    file, `package` names an installed Python package that holds the base, matched by `pattern`. A quantisation other
    than "as_is" makes a new file from the base and the adapter on first use (assemble.py). `languages` are the codes of
    those that tasks may be written in; empty for any.
    """

    name: str
    dialect: str
    kind: Kind
    source: Path
    file: str = ""
    package: str = ""
    pattern: str = "*.gguf"
    sha256: str = ""
    adapter: str = ""
    adapter_sha256: str = ""
    quantisation: Quantisation = "as_is"
    context: int = 4096
    max_new_tokens: int = 256
    template: str = "chatml"
    languages: tuple[str, ...] = ()
    coordinates: str = "0..1000"
    image_limit: int = 0
    min_pixels: int = 0
    max_pixels: int = 0
    url: str = ""
    served_name: str = ""
    replies: tuple[str, ...] = ()
    training: dict[str, Any] = field(default_factory=dict)

    def base_path(self) -> Path:
        """The base model's file. Raises ModelError when it is not on this computer."""
        if self.package:
            return _in_package(self.package, self.pattern, self.name)
        if not self.file:
            raise ModelError(f"The manifest {self.source} names neither a file nor a package; add one under [base].")
        path = self.source.parent / Path(self.file).expanduser()
        if not path.is_file():
            raise ModelError(f"The model file {path} is missing. {SAFE} Put it back or choose another model.")
        return path

    def adapter_path(self) -> Path | None:
        """The adapter's folder, None for a model without one. Raises ModelError when it is missing."""
        if not self.adapter:
            return None
        folder = self.source.parent / Path(self.adapter).expanduser()
        if not (folder / "adapter_model.safetensors").is_file():
            raise ModelError(f"The adapter {folder} is missing. {SAFE} Install Deskhand again or choose another model.")
        return folder


def find(name: str) -> Manifest:
    """The manifest called `name`: the shipped ones first, then the user's. Raises ModelError that lists the names."""
    known = names()
    if name not in known:
        listed = ", ".join(known) or "none"
        raise ModelError(f"There is no manifest for the model {name!r}, so it cannot be used. Known models: {listed}.")
    return read(known[name])


def check_language(manifest: Manifest, task: str) -> None:
    """Raises TaskError for a task in a language that the model does not understand; what is quoted may be in any."""
    found = languages.written_in(task)
    if not found or not manifest.languages or set(found) & set(manifest.languages):
        return
    known = languages.in_words(manifest.languages)
    raise TaskError(
        f"The model {manifest.name!r} understands {known} only, and this task is written in "
        f"{languages.in_words(found[:1])}: write it in {known}, or choose another model."
    )


def names() -> dict[str, Path]:
    """Every model that has a manifest, name -> file. A shipped manifest wins over a user's of the same name."""
    folders = (paths.models_folder(), paths.assets_folder() / "models")
    return {file.stem: file for folder in folders for file in sorted(folder.glob("*.toml"))}


def read(source: Path) -> Manifest:
    """Reads one manifest. Raises ModelError with one sentence for whatever is wrong with it."""
    try:
        data = tomllib.loads(source.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelError(f"The model has no manifest: {source} is missing. Add one or choose another model.") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ModelError(f"The manifest {source} cannot be read ({error}). Mend it or choose another model.") from error
    values = _flat(data, source)
    values.setdefault("name", source.stem)
    missing = [key for key in ("dialect", "kind") if key not in values]
    if missing:
        raise ModelError(f"The manifest {source} does not say its {' and '.join(missing)}; add what is missing.")
    manifest = Manifest(source=source, **values)
    _check(manifest)
    return manifest


# Table -> {key in the file: field of Manifest}; the empty name is the top of the file.
_TABLES: dict[str, dict[str, str]] = {
    "": {"name": "name", "dialect": "dialect", "kind": "kind", "replies": "replies"},
    "base": {"file": "file", "package": "package", "pattern": "pattern", "sha256": "sha256"},
    "adapter": {"folder": "adapter", "sha256": "adapter_sha256"},
    "serving": {key: key for key in ("quantisation", "context", "max_new_tokens", "template", "languages")},
    "screen": {key: key for key in ("coordinates", "image_limit", "min_pixels", "max_pixels")},
    "server": {"url": "url", "name": "served_name"},
}


def _flat(data: dict[str, Any], source: Path) -> dict[str, Any]:
    """The file's tables as fields of Manifest, with types checked; an unknown name is refused, it is a typing error."""
    values: dict[str, Any] = {"training": data.pop("training", {})}
    tables = {"": {key: value for key, value in data.items() if not isinstance(value, dict)}}
    tables |= {key: value for key, value in data.items() if isinstance(value, dict)}
    for table, entries in tables.items():
        for key, value in entries.items():
            shown = f"{table}.{key}".lstrip(".")
            name = _TABLES.get(table, {}).get(key)
            if name is None:
                raise ModelError(f"The manifest {source} has an unknown entry {shown!r}; correct its spelling.")
            values[name] = _typed(name, value, shown, source)
    return values


def _typed(name: str, value: Any, shown: str, source: Path) -> Any:
    texts = name in ("replies", "languages")
    if texts and isinstance(value, list) and all(isinstance(text, str) for text in value):
        return tuple(value)
    wanted = int if name in ("context", "max_new_tokens", "image_limit", "min_pixels", "max_pixels") else str
    if texts or type(value) is not wanted:
        kind = "list of texts" if texts else {int: "whole number", str: "text"}[wanted]
        raise ModelError(f"The manifest {source} has {shown} = {value!r}, which must be a {kind}.")
    return value


def _check(manifest: Manifest) -> None:
    choices: tuple[tuple[str, str, tuple[str, ...]], ...] = (
        ("kind", manifest.kind, KINDS),
        ("serving.quantisation", manifest.quantisation, QUANTISATIONS),
        ("serving.template", manifest.template, TEMPLATES),
    )
    for shown, value, allowed in choices:
        if value not in allowed:
            listed = ", ".join(allowed)
            raise ModelError(f"The manifest {manifest.source} has {shown} = {value!r}, which must be one of {listed}.")
    if not 0 < manifest.max_new_tokens < manifest.context:
        raise ModelError(f"The manifest {manifest.source} must have 0 < max_new_tokens < context.")
    if manifest.kind == "llama_cpp" and not manifest.sha256:
        raise ModelError(f"The manifest {manifest.source} does not say the sha256 of its base; add it under [base].")
    if manifest.adapter and not manifest.adapter_sha256:
        raise ModelError(f"The manifest {manifest.source} does not say the sha256 of its adapter; add it.")
    if manifest.adapter and manifest.quantisation == "as_is":
        raise ModelError(f"The manifest {manifest.source} has an adapter, so it must name a serving.quantisation.")


def _in_package(package: str, pattern: str, model: str) -> Path:
    """A file inside an installed package, found without importing the package."""
    spec = importlib.util.find_spec(package)
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
    found = sorted(file for folder in folders for file in folder.glob(pattern))
    if len(found) != 1:
        wheel = package.replace("_", "-")
        what = "is not installed" if not folders else f"holds {len(found)} files {pattern} instead of one"
        raise ModelError(
            f"The model {model!r} needs the package {wheel}, which {what}. {SAFE} "
            f"Run `pip install {wheel}` and try again."
        )
    return found[0]


def sha256_of(path: Path) -> str:
    """The file's SHA-256 in hex. Raises ModelError when it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"The model file {path} cannot be read ({error.strerror}). {SAFE} Check the disk.") from error


def adapter_hash(manifest: Manifest, chosen: str) -> str:
    """The hash of the adapter that acts: of the folder in the settings, or the manifest's own if that is empty.

    Raises ModelError when there is no such adapter.
    """
    if not chosen or manifest.kind != "llama_cpp":
        return manifest.adapter_sha256
    return sha256_of(Path(chosen).expanduser() / "adapter_model.safetensors")


def verify(path: Path, sha256: str) -> None:
    """Raises ModelError when the file is not the one the manifest means.

    A hash takes seconds for a large file, so a good one is remembered with the file's size and time of change.
    """
    memory = paths.models_folder() / "verified.json"
    stamp = _stamp(path)
    known = _remembered(memory)
    if known.get(str(path)) == [sha256, *stamp]:
        return
    if sha256_of(path) != sha256:
        raise ModelError(
            f"The model file is damaged (its hash differs). {SAFE} Install the model again; the file is {path}."
        )
    try:
        memory.parent.mkdir(parents=True, exist_ok=True)
        memory.write_text(json.dumps(known | {str(path): [sha256, *stamp]}), encoding="utf-8")
    except OSError:
        return  # A read-only folder costs a second hash next time, nothing else.


def _stamp(path: Path) -> list[int]:
    try:
        stat = path.stat()
    except OSError as error:
        raise ModelError(f"The model file {path} is missing. {SAFE} Put it back or choose another model.") from error
    return [stat.st_size, stat.st_mtime_ns]


def _remembered(memory: Path) -> dict[str, Any]:
    try:
        known = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
