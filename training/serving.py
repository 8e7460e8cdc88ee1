"""A model as the app serves it, for rollouts and evaluation: what is measured is what people get."""

from __future__ import annotations

from pathlib import Path

from agent_core.models import manifest as manifests
from agent_core.models import model
from agent_core.protocols import Model
from agent_core.settings import ModelSettings


def served(name: str, adapter: str = "", threads: int = 0) -> Model:
    """The manifest's model, with another adapter folder if one is given. Raises ModelError."""
    settings = ModelSettings(name, adapter=str(Path(adapter).resolve()) if adapter else "", threads=threads)
    return model(manifests.find(name), settings)
