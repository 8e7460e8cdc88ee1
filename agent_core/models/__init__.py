"""Models: how bytes get to weights and back. One table, name -> class, resolved when a model is chosen.

Nothing heavy is imported here; a backend is loaded only when a manifest of its kind is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from agent_core.errors import ModelError
from agent_core.models import manifest as manifests
from agent_core.models.manifest import Manifest
from agent_core.protocols import Model
from agent_core.settings import ModelSettings

if TYPE_CHECKING:
    from agent_core.models.assemble import Progress

MODELS = {
    "llama_cpp": "agent_core.models.llama_cpp:LlamaCpp",
    "http_chat": "agent_core.models.http_chat:HttpChat",
    "scripted": "agent_core.models.scripted:Scripted",
}


def model(which: Manifest | str, settings: ModelSettings | None = None, on_progress: Progress | None = None) -> Model:
    """A model ready to be asked, by its manifest or by the manifest's name.

    On first use of a model with an adapter this assembles its file, which takes seconds; `on_progress` is told.
    Raises ModelError: no manifest, a damaged or missing file, no room, a text model where one has to see.
    """
    manifest = manifests.find(which) if isinstance(which, str) else which
    settings = settings or ModelSettings()
    match manifest.kind:
        case "llama_cpp":
            manifests.check_sees(manifest)
            made: Model = resolve("llama_cpp").from_manifest(manifest, settings, on_progress)
            if manifest.mmproj and not getattr(made, "sees_pictures", False):
                made.close()
                raise ModelError(
                    f"The model {manifest.name!r} acts on pictures, which this version shows only to model servers: "
                    "serve its files with llama-server and choose ui-tars-1.5-7b-server or a manifest like it."
                )
        case "http_chat":
            made = resolve("http_chat").from_manifest(manifest, settings)
        case "scripted":
            made = resolve("scripted").from_manifest(manifest)
    return made


def resolve(kind: str) -> Any:
    """The class that serves a kind of model, imported now. Raises ModelError that lists the kinds."""
    if kind not in MODELS:
        raise ModelError(f"Unknown kind of model {kind!r}; known: {', '.join(MODELS)}.")
    module, name = MODELS[kind].split(":")
    return getattr(importlib.import_module(module), name)
