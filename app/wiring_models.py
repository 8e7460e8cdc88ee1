"""The wiring's word on models: which there are, what they need, getting one, and how it does on this machine."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event

from agent_core import paths
from agent_core.dialects import fitted
from agent_core.errors import ModelError
from agent_core.models import manifest as manifests
from agent_core.models import model
from agent_core.models.manifest import Manifest
from agent_core.settings import ModelSettings
from agent_core.step import Box, Element, Screenshot, Transform

TASK = "Click the OK button"
BUTTON = Element("button", "OK", Box(0.4, 0.45, 0.6, 0.55))
SIZE = (640, 400)


@dataclass(frozen=True, slots=True)
class ModelTold:
    """A manifest for the list. `state` is ready, partly, absent, server or broken; `problem` is a sentence about it.

    Sizes are in gigabytes: `gigabytes` of the whole model, `here` of what has come. `origin` says where it can be
    downloaded, empty for one that cannot.
    """

    name: str
    dialect: str
    state: str
    gigabytes: float = 0.0
    here: float = 0.0
    origin: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Tried:
    """A self-test: one question with a known answer. `tokens` were written in `seconds`, reading the question included.

    `right`: the reply could be read and acts.
    """

    seconds: float
    tokens: int
    right: bool
    at: float

    @property
    def speed(self) -> float:
        """Tokens a second."""
        return self.tokens / self.seconds if self.seconds else 0.0


def models() -> tuple[ModelTold, ...]:
    """Every manifest there is, by name; one that cannot be read is told with its fault."""
    return tuple(_told(name, source) for name, source in sorted(manifests.names().items()))


def get(name: str, stop: Event, tell: Callable[[int, int], None], server: str = "") -> None:
    """Downloads a model, from the usual place if no server is named. Raises ModelError, Stopped.

    `tell` hears the bytes that are here and all of them.
    """
    from agent_core.models.download import HUB, download  # brings httpx, which takes a tenth of a second of the start

    download(manifests.find(name), stop, tell, server=server or HUB)


def try_out(name: str, adapter: str) -> Tried:
    """Loads the model, asks it one thing, and remembers how it did. Takes seconds to minutes. Raises ModelError."""
    manifest = manifests.find(name)
    spoken = fitted(manifest.dialect, **manifest.screen())
    width, height = SIZE
    grey = bytes([236]) * (width * height * 3)
    shot = Screenshot(grey, width, height, Transform("1", 0, 0, width, height), "Test", (BUTTON,))
    asked = model(manifest, ModelSettings(name=name, adapter=adapter))
    try:
        began = time.monotonic()
        reply = asked.reply(spoken.render(TASK, (), shot), Event())
        took = time.monotonic() - began
    finally:
        asked.close()
    tried = Tried(took, len(reply.token_ids), bool(spoken.parse(reply.text, shot).actions), time.time())
    _remember(name, tried)
    return tried


def tried() -> dict[str, Tried]:
    """The newest self-test of each model on this machine."""
    try:
        told = json.loads(_file().read_text(encoding="utf-8"))
        return {name: Tried(**one) for name, one in told.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}  # none yet, or not ours: it is measured again


def _told(name: str, source: Path) -> ModelTold:
    try:
        manifest = manifests.read(source)
        return _state_of(name, manifest)
    except ModelError as error:
        return ModelTold(name, "", "broken", problem=str(error))


def _state_of(name: str, manifest: Manifest) -> ModelTold:
    from agent_core.models.download import here as found_here

    if manifest.kind != "llama_cpp":
        return ModelTold(name, manifest.dialect, "server")
    if manifest.repository:
        found = found_here(manifest)
        here = found.size / 1e9
        return ModelTold(name, manifest.dialect, found.state, manifest.gigabytes, here, manifest.repository)
    size = manifest.base_path().stat().st_size / 1e9
    return ModelTold(name, manifest.dialect, "ready", size, size)


def _remember(name: str, one: Tried) -> None:
    told = {known: asdict(each) for known, each in {**tried(), name: one}.items()}
    try:
        _file().parent.mkdir(parents=True, exist_ok=True)
        part = _file().with_suffix(".part")
        part.write_text(json.dumps(told, indent=2), encoding="utf-8")
        part.replace(_file())
    except OSError as error:
        raise ModelError(f"The result could not be kept in {_file()} ({error.strerror}). Make room there.") from error


def _file() -> Path:
    return paths.home() / "speeds.json"
