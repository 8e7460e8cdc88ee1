"""A manifest: the TOML file that ties a model to its dialect, coordinate rule, limits and file hashes.

Without one a model is refused: most wrong clicks that people report of such agents are a convention mixed up.
Manifests lie in the shipped assets and in the user's models folder; the file's name is the model's name.
This module reads and checks; it does not download and does not load weights.
"""

from __future__ import annotations

import importlib.util
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from agent_core import paths
from agent_core.errors import ModelError, TaskError
from agent_core.models import languages
from agent_core.models.hashes import SAFE as SAFE
from agent_core.models.hashes import noted_hashes
from agent_core.models.hashes import sha256_of as sha256_of
from agent_core.models.hashes import verify as verify

Kind = Literal["llama_cpp", "http_chat", "scripted"]
Quantisation = Literal["as_is", "Q8_0", "Q4_0", "F16", "F32"]
KINDS: tuple[Kind, ...] = get_args(Kind)
QUANTISATIONS: tuple[Quantisation, ...] = get_args(Quantisation)
TEMPLATES = ("chatml",)
SEEING = ("uitars", "uitars2", "qwen_vl")  # dialects whose models are shown pictures


@dataclass(frozen=True, slots=True)
class Manifest:
    """What must be known of a model before it may be asked. `source` is the manifest's own file.

    Sizes are in tokens and pixels. `file` and `adapter` are paths beside the manifest or absolute; instead of a
    file, `package` names an installed Python package that holds the base, matched by `pattern`. A model with a
    `repository` is downloaded (download.py): its files lie in a folder of its name in the models folder, beside the
    hashes that were noted there. `mmproj` is the file with the eyes of a model that sees. A quantisation other than
    "as_is" makes a new file from the base and the adapter on first use (assemble.py). `languages` are the codes of
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
    architecture: str = ""
    mmproj: str = ""
    mmproj_sha256: str = ""
    repository: str = ""
    revision: str = "main"
    gigabytes: float = 0.0
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
    factor: int = 0
    places: str = ""
    browser: bool = False
    url: str = ""
    served_name: str = ""
    replies: tuple[str, ...] = ()
    training: dict[str, Any] = field(default_factory=dict)

    def screen(self) -> dict[str, Any]:
        """What its dialect has to know of it: the arguments of `dialects.fitted` besides the name."""
        names = ("coordinates", "min_pixels", "max_pixels", "factor", "places", "browser")
        return {name: getattr(self, name) for name in names} | {"images": self.image_limit}

    def base_path(self) -> Path:
        """The base model's file. Raises ModelError when it is not on this computer."""
        if self.package:
            return _in_package(self.package, self.pattern, self.name)
        if not self.file:
            raise ModelError(f"The manifest {self.source} names neither a file nor a package; add one under [base].")
        return self._file(self.file, self.sha256)

    def mmproj_path(self) -> Path | None:
        """The file with the eyes, None for a model that reads. Raises ModelError when it is not on this computer."""
        return self._file(self.mmproj, self.mmproj_sha256) if self.mmproj else None

    def folder(self) -> Path:
        """Where the model's files lie, unless they are named with their whole path."""
        return paths.models_folder() / self.name if self.repository else self.source.parent

    def _file(self, name: str, sha256: str) -> Path:
        path = self.folder() / Path(name).expanduser()
        if self.repository and not (sha256 and path.is_file()):
            raise ModelError(
                f"The model {self.name!r} is not on this computer yet. Get it in the Models window or with "
                f"`python -m agent_core.models download {self.name}` ({self.gigabytes:g} GB)."
            )
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


def check_sees(manifest: Manifest) -> None:
    """Raises ModelError for a model that only reads in a dialect that shows it pictures."""
    if manifest.kind == "llama_cpp" and manifest.dialect in SEEING and not manifest.mmproj:
        raise ModelError(
            f"The model {manifest.name!r} only reads, but its dialect {manifest.dialect} needs one that sees: add its "
            f"mmproj file to {manifest.source} under [mmproj], or choose another model."
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
    if values.get("repository"):
        values |= {key: value for key, value in noted_hashes(values["name"]).items() if not values.get(key)}
    missing = [key for key in ("dialect", "kind") if key not in values]
    if missing:
        raise ModelError(f"The manifest {source} does not say its {' and '.join(missing)}; add what is missing.")
    manifest = Manifest(source=source, **values)
    _check(manifest)
    return manifest


# Table -> {key in the file: field of Manifest}; the empty name is the top of the file.
_TABLES: dict[str, dict[str, str]] = {
    "": {"name": "name", "dialect": "dialect", "kind": "kind", "replies": "replies"},
    "base": {key: key for key in ("file", "package", "pattern", "sha256", "architecture")},
    "mmproj": {"file": "mmproj", "sha256": "mmproj_sha256"},
    "download": {key: key for key in ("repository", "revision", "gigabytes")},
    "adapter": {"folder": "adapter", "sha256": "adapter_sha256"},
    "serving": {key: key for key in ("quantisation", "context", "max_new_tokens", "template", "languages")},
    "screen": {
        key: key for key in ("coordinates", "image_limit", "min_pixels", "max_pixels", "factor", "places", "browser")
    },
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


_TYPES: dict[str, type] = {
    **dict.fromkeys(("context", "max_new_tokens", "image_limit", "min_pixels", "max_pixels", "factor"), int),
    "gigabytes": float,
    "browser": bool,
}
_TYPE_NAMES: dict[type, str] = {int: "whole number", float: "number", bool: "true or false", str: "text"}


def _typed(name: str, value: Any, shown: str, source: Path) -> Any:
    texts = name in ("replies", "languages")
    if texts and isinstance(value, list) and all(isinstance(text, str) for text in value):
        return tuple(value)
    wanted = _TYPES.get(name, str)
    if wanted is float and type(value) is int:
        value = float(value)
    if texts or type(value) is not wanted:
        kind = "list of texts" if texts else _TYPE_NAMES[wanted]
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
    if manifest.kind == "llama_cpp" and not manifest.sha256 and not manifest.repository:
        raise ModelError(f"The manifest {manifest.source} does not say the sha256 of its base; add it under [base].")
    if manifest.mmproj and not manifest.mmproj_sha256 and not manifest.repository:
        raise ModelError(f"The manifest {manifest.source} does not say the sha256 of its mmproj; add it.")
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


def adapter_hash(manifest: Manifest, chosen: str) -> str:
    """The hash of the adapter that acts: of the folder in the settings, or the manifest's own if that is empty.

    Raises ModelError when there is no such adapter.
    """
    if not chosen or manifest.kind != "llama_cpp":
        return manifest.adapter_sha256
    return sha256_of(Path(chosen).expanduser() / "adapter_model.safetensors")
