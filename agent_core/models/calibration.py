"""Nine targets on a page drawn here, off the screen: does the model hit them, and if not, which rule would?

Most wrong clicks come from a mixed-up way of counting places. The same answers are read again under the other rules,
so that the sentence can name the one that fits. Nothing is clicked.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any, Protocol, runtime_checkable

from agent_core import paths
from agent_core.actions import Click, DoubleClick, Point, RightClick
from agent_core.errors import ModelError, Stopped
from agent_core.models.manifest import SEEING, Manifest
from agent_core.protocols import Model
from agent_core.step import Box, Intent, Prompt, Screenshot, Transform, Turn

CHECKS = "checks.json"  # in the models folder
TOLERANCE = 0.015  # of the width of the page
ENOUGH = 8  # targets of nine that have to be hit

TARGETS: tuple[tuple[str, tuple[int, int, int]], ...] = (
    ("Save", (200, 30, 30)),
    ("Open", (30, 140, 50)),
    ("Print", (40, 70, 200)),
    ("Search", (230, 130, 20)),
    ("Close", (130, 40, 160)),
    ("Help", (20, 130, 140)),
    ("Send", (150, 90, 40)),
    ("Copy", (90, 90, 90)),
    ("Undo", (210, 60, 140)),
)
"""The words on the buttons and their colours."""


@runtime_checkable
class Speaks(Protocol):
    """What is needed of a dialect here: the question, the reading, and the same under another rule."""

    def render(self, task: str, history: Sequence[Turn], shot: Screenshot, notes: Sequence[str] = ()) -> Prompt: ...

    def parse(self, text: str, shot: Screenshot) -> Intent: ...

    def other_rules(self) -> Mapping[str, Speaks]:
        """Rule in words -> the dialect that reads replies by it."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """How it went: the error of each target as a part of the width (None: no click), and a sentence for the person."""

    errors: tuple[float | None, ...]
    sentence: str
    fits: str = ""

    @property
    def hits(self) -> int:
        """Targets hit within the tolerance."""
        return sum(error is not None and error <= TOLERANCE for error in self.errors)

    @property
    def passed(self) -> bool:
        return self.hits >= ENOUGH


def calibrate(
    name: str,
    model: Model,
    dialect: Speaks,
    stop: Event,
    on_progress: Callable[[float, str], None] | None = None,
    size: tuple[int, int] = (1280, 800),
) -> Calibration:
    """Asks the model for each of the nine targets on a page of that size in pixels.

    Raises ModelError when the model fails, Stopped when `stop` is set.
    """
    shot, boxes = page(*size)
    replies: list[str] = []
    for n, (word, _) in enumerate(TARGETS):
        if on_progress:
            on_progress(n / len(TARGETS), "Trying where the model clicks")
        prompt = dialect.render(f'Click the button "{word}".', (), shot)
        replies.append(model.reply(prompt, stop).text)
        if stop.is_set():
            raise Stopped("The check of the model was stopped.")
    errors = _errors(dialect, replies, shot, boxes)
    result = Calibration(errors, "")
    if result.passed:
        return dataclasses.replace(result, sentence=f"The model {name!r} hits {result.hits} of {len(boxes)} targets.")
    for rule, other in dialect.other_rules().items():
        if Calibration(_errors(other, replies, shot, boxes), "").passed:
            return Calibration(errors, _misread(name, result.hits, rule), rule)
    return Calibration(errors, _lost(name, errors, result.hits))


def page(width: int, height: int) -> tuple[Screenshot, tuple[Box, ...]]:
    """The page as a screenshot, and where its buttons are; their places lie on no regular grid."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (width, height), (244, 244, 246))
    draw = ImageDraw.Draw(image)
    wide, tall = width // 10, height // 14
    font = ImageFont.load_default(size=max(10, tall // 2))
    boxes = []
    for n, (word, colour) in enumerate(TARGETS):
        row, column = divmod(n, 3)
        # A third of the page each, shifted within it so that a place cannot be guessed from the number.
        left = round(width * (0.04 + column / 3 + 0.035 * ((n * 5) % 4)))
        top = round(height * (0.08 + row / 3 + 0.045 * ((n * 7) % 4)))
        draw.rounded_rectangle((left, top, left + wide, top + tall), radius=tall // 5, fill=colour)
        draw.text((left + wide / 2, top + tall / 2), word, fill=(255, 255, 255), font=font, anchor="mm")
        boxes.append(Box(left / width, top / height, (left + wide) / width, (top + tall) / height))
    return Screenshot(image.tobytes(), width, height, Transform("page", 0, 0, width, height)), tuple(boxes)


def keep(manifest: Manifest, url: str, result: Calibration) -> None:
    """Keeps how the check went for the model as it is now. Raises ModelError when the folder cannot be written."""
    file = paths.models_folder() / CHECKS
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        kept = _kept() | {_identity(manifest, url): "" if result.passed else result.sentence}
        file.write_text(json.dumps(kept, indent=2, ensure_ascii=False), encoding="utf-8")
    except OSError as error:
        raise ModelError(f"{file} cannot be written ({error.strerror}); check the folder's permissions.") from error


def warning(manifest: Manifest, url: str = "") -> str:
    """What a person should know before a seeing model acts: its check failed or was never made. "" if all is well."""
    if manifest.dialect not in SEEING or manifest.kind == "scripted":
        return ""
    said = _kept().get(_identity(manifest, url))
    if isinstance(said, str):
        return said
    return (
        f"Whether {manifest.name!r} clicks in the right place was not checked on this computer yet: "
        f"run `python -m agent_core.check_model {manifest.name}`."
    )


def _identity(manifest: Manifest, url: str) -> str:
    """A model as far as its clicks depend on it: its files or server, and how it is read."""
    parts = (manifest.sha256, manifest.mmproj_sha256, url or manifest.url, manifest.served_name, manifest.dialect)
    told = json.dumps([*parts, sorted(manifest.screen().items())])
    return f"{manifest.name} {hashlib.sha256(told.encode()).hexdigest()[:16]}"


def _kept() -> dict[str, Any]:
    try:
        kept = json.loads((paths.models_folder() / CHECKS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _errors(
    dialect: Speaks, replies: Sequence[str], shot: Screenshot, boxes: Sequence[Box]
) -> tuple[float | None, ...]:
    """How far each click lies, as a part of the width, from the button's middle."""
    errors: list[float | None] = []
    for text, box in zip(replies, boxes, strict=True):
        at = next((point for action in dialect.parse(text, shot).actions if (point := _clicked(action))), None)
        errors.append(None if at is None else _beside(at, box, shot.height / shot.width))
    return tuple(errors)


def _clicked(action: object) -> Point | None:
    return action.at if isinstance(action, Click | DoubleClick | RightClick) else None


def _beside(at: Point, box: Box, aspect: float) -> float:
    return math.hypot(at.x - box.centre.x, (at.y - box.centre.y) * aspect)


def _misread(name: str, hits: int, rule: str) -> str:
    return (
        f"The model {name!r} hits {hits} of {len(TARGETS)} targets only, but its answers fit when they are read as "
        f"{rule}: correct the [screen] part of its manifest, or import the file as another model."
    )


def _lost(name: str, errors: Sequence[float | None], hits: int) -> str:
    if all(error is None for error in errors):
        return (
            f"The model {name!r} answers without a click that can be read: its dialect seems to be another. Choose "
            "another model, or import the file as a version of the right one."
        )
    return (
        f"The model {name!r} hits {hits} of {len(TARGETS)} targets only, under no way of counting that is known: the "
        "file may be damaged, too coarse or without its eyes. Choose another version of it."
    )
