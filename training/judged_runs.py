"""The labelled set that judges are measured on: runs of real episodes, with the outcome that a verifier knows.

A file of JSON lines, one run each: what a judge is given of it (task, ending, thoughts, actions and what came of them,
screens as elements), what is true (`solved`), what is tricky about it (`kind`), and the known answers if the task asks
for one. Beside it a ZIP with the last pictures of the runs, small, for judges that see.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from agent_core.actions import from_json, to_json
from agent_core.errors import StoreError
from agent_core.step import Element, Outcome, Reply, Run, Status, Step, Tier, Verdict
from agent_core.traces.images import Pixels
from agent_core.traces.rows import KeptRun, KeptTurn, element_of


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """One labelled run. `read` are the elements of pictures that no turn holds, by their hash."""

    run: KeptRun
    turns: tuple[KeptTurn, ...]
    solved: bool
    kind: str
    answers: tuple[str, ...]
    read: dict[str, tuple[Element, ...]]


def read_set(file: Path) -> list[JudgedRun]:
    """Every run of the set. Raises StoreError, naming file and line, for one that cannot be read."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise StoreError(f"The labelled set {file} cannot be read ({error.strerror}): name another file.") from error
    found = []
    for number, line in enumerate(lines, start=1):
        try:
            found.append(_judged_of(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{file}, line {number} is no labelled run ({error!r}): mend it.") from error
    return found


def line_of_set(one: JudgedRun) -> str:
    """The run as a line of the file."""
    run = one.run
    told: dict[str, Any] = {
        "id": run.run.id,
        "kind": one.kind,
        "solved": one.solved,
        "task": run.run.task,
        "tags": run.run.tags,
        "operator": run.run.operator,
        "model": run.run.model,
        "status": run.status.value,
        "text": run.text,
    }
    if one.answers:
        told["answers"] = one.answers
    told["turns"] = [_turn_json(turn) for turn in one.turns]
    if one.read:
        told["read"] = {sha256: [_element_json(e) for e in elements] for sha256, elements in one.read.items()}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


class Pictures:
    """The pictures beside a set: `NAME.zip` for `NAME.jsonl`."""

    def __init__(self, file: Path) -> None:
        self._file = file.with_suffix(".zip")

    def __call__(self, sha256: str) -> Pixels:
        """The picture with this hash, smaller than it was. Raises StoreError when it is not among them."""
        try:
            with zipfile.ZipFile(self._file) as held, Image.open(BytesIO(held.read(f"{sha256}.webp"))) as image:
                return Pixels(image.convert("RGB").tobytes(), image.width, image.height)
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise StoreError(f"The picture {sha256} is not in {self._file}.") from error


def write_pictures(file: Path, pictures: dict[str, Pixels], scale: float, quality: int) -> None:
    """The pictures beside a set, each side `scale` times as long. The same pictures give the same file."""
    with zipfile.ZipFile(file.with_suffix(".zip"), "w") as held:
        for sha256, pixels in sorted(pictures.items()):
            image = Image.frombytes("RGB", (pixels.width, pixels.height), pixels.rgb)
            small = image.resize((round(pixels.width * scale), round(pixels.height * scale)), Image.Resampling.LANCZOS)
            out = BytesIO()
            small.save(out, "WEBP", quality=quality, method=6)
            held.writestr(zipfile.ZipInfo(f"{sha256}.webp"), out.getvalue())


def _judged_of(told: dict[str, Any]) -> JudgedRun:
    run = Run(
        id=told["id"],
        task=told["task"],
        started=0.0,
        consent="sandbox",
        operator=told["operator"],
        model=told["model"],
        tags=tuple(told["tags"]),
    )
    turns = tuple(_turn_of(n, turn) for n, turn in enumerate(told["turns"], start=1))
    steps = sum(len(turn.steps) for turn in turns)
    kept = KeptRun(run, Status(told["status"]), 0.0, told["text"], len(turns), steps)
    read = {sha256: tuple(map(_element_of, elements)) for sha256, elements in told.get("read", {}).items()}
    return JudgedRun(kept, turns, bool(told["solved"]), told["kind"], tuple(told.get("answers", ())), read)


def _turn_json(turn: KeptTurn) -> dict[str, Any]:
    return {
        "screenshot": turn.screenshot,
        "window": turn.window,
        "elements": [_element_json(e) for e in turn.elements],
        "thought": turn.thought,
        "problems": turn.problems,
        "steps": [_step_json(step) for step in turn.steps],
        "after": {str(n): sha256 for n, sha256 in turn.after.items()},
    }


def _turn_of(n: int, told: dict[str, Any]) -> KeptTurn:
    steps = tuple(_step_of(n, step) for step in told["steps"])
    elements = tuple(map(_element_of, told["elements"]))
    return KeptTurn(
        n=n,
        at=0.0,
        screenshot=told["screenshot"],
        window=told["window"],
        elements=elements,
        prompt="",
        prompt_images=(),
        reply=Reply(""),
        thought=told["thought"],
        reflection="",
        problems=tuple(told["problems"]),
        capture_ms=0.0,
        read_ms=0.0,
        steps=steps,
        after={int(number): sha256 for number, sha256 in told["after"].items()},
    )


def _step_json(step: Step) -> dict[str, Any]:
    told: dict[str, Any] = {"n": step.n, "action": to_json(step.action)}
    if step.element is not None:
        told["element"] = _element_json(step.element)
    if step.verdict.decision != "allow":
        told["refused"] = step.verdict.reason
        told["instead"] = step.verdict.instead
    if step.outcome is not None:
        told["outcome"] = [step.outcome.ok, step.outcome.text, step.outcome.changed]
    return told


def _step_of(turn: int, told: dict[str, Any]) -> Step:
    verdict = Verdict("allow", Tier.R1, "")
    if "refused" in told:
        verdict = Verdict("deny", Tier.R1, told["refused"], "person", told["instead"])
    element = _element_of(told["element"]) if "element" in told else None
    outcome = Outcome(*told["outcome"]) if "outcome" in told else None
    return Step(told["n"], turn, from_json(told["action"]), verdict, element, outcome)


def _element_json(element: Element) -> list[Any]:
    """Short, for there are thousands: kind, text, box, value, state."""
    box = element.box
    return [element.kind, element.text, [round(v, 4) for v in (box.left, box.top, box.right, box.bottom)]] + (
        [element.value, element.on] if element.value or element.on is not None else []
    )


def _element_of(told: Sequence[Any]) -> Element:
    kind, text, box, value, on = (*told, "", None)[:5]
    return element_of({"kind": kind, "text": text, "box": box, "value": value, "on": on})
