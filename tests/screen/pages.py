"""Real pages as labelled pictures: Chromium draws a task page, the DOM says what is on it and where."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_core.screen.capture import from_png
from agent_core.step import Box, Element, Screenshot, Transform

SCALE = 3
WIDTH, HEIGHT = 160, 210
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
BLANK = Transform("blank", 0, 0, 64, 64)
SAME_LINE_GAP = 7.0  # CSS pixels: words closer than this are one text


@dataclass(frozen=True, slots=True)
class Label:
    """One visible text line or widget: `tag` is "text" or the HTML tag, `box` in fractions of the picture."""

    tag: str
    type: str
    text: str
    value: str
    on: bool
    box: Box


@dataclass(frozen=True, slots=True)
class Page:
    name: str
    shot: Screenshot
    labels: tuple[Label, ...]


def task_pages() -> Path | None:
    """The folder of the task pages, None when the package is not installed. (Importing it would need gymnasium.)"""
    spec = importlib.util.find_spec("miniwob")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "html" / "miniwob"


@contextmanager
def browser() -> Iterator[Any]:
    """A running Chromium; `page` opens pages in it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        yield chromium
        chromium.close()


def page(chromium: Any, width: int = WIDTH, height: int = HEIGHT, scale: int = SCALE) -> Any:
    """A page of that size in CSS pixels, with `scale` device pixels for each; by default as large as a task."""
    return chromium.new_page(viewport={"width": width, "height": height}, device_scale_factor=scale)


def labelled(view: Any, name: str, seed: int) -> Page:
    """The named task as it starts with that seed."""
    view.goto((task_pages() or Path()).joinpath(f"{name}.html").as_uri())
    view.evaluate(
        "seed => { Math.seedrandom(String(seed)); core.EPISODE_MAX_TIME = 1e9; core.startEpisodeReal(); }", seed
    )
    view.wait_for_timeout(60)
    view.evaluate("() => scrollTo(0, 0)")
    return Page(f"{name} {seed}", from_png(view.screenshot()), truth(view, WIDTH, HEIGHT))


def truth(view: Any, width: int, height: int) -> tuple[Label, ...]:
    """What the DOM says is visible on a page of that size in CSS pixels."""
    seen = view.evaluate(Path(__file__).with_suffix(".js").read_text(encoding="utf-8"))
    labels = [_line(words, width, height) for words in _lines(seen["words"])]
    for widget in seen["widgets"]:
        text = widget["text"] or (widget["value"] if widget["type"] in ("submit", "button") else widget["label"])
        box = _box(widget["box"], width, height)
        labels.append(Label(widget["tag"], widget["type"], text, widget["value"], widget["on"], box))
    return tuple(labels)


def said(label: Label, elements: tuple[Element, ...]) -> bool:
    """Whether some element in the label's place says exactly its text."""
    return any(label.box.holds(e.point) and label.text in (e.text, e.value) for e in elements)


def found(label: Label, elements: tuple[Element, ...]) -> Element | None:
    """The widget that was read where the label is, of the right kind, clickable inside the DOM's box."""
    kinds = {"checkbox": ("check",), "radio": ("radio",), "submit": ("button", "icon"), "button": ("button", "icon")}
    wanted = kinds.get(label.type, ("field",))
    hits = [e for e in elements if e.kind in wanted and label.box.holds(e.point)]
    return hits[0] if hits else None


def _lines(words: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Words next to each other on one line in one colour."""
    line: list[dict[str, Any]] = []
    for word in sorted(words, key=lambda w: (round((w["box"][1] + w["box"][3]) / 6), w["box"][0])):
        if line:
            last = line[-1]
            same_row = abs((last["box"][1] + last["box"][3]) - (word["box"][1] + word["box"][3])) < 6
            close = -1 <= word["box"][0] - last["box"][2] < SAME_LINE_GAP
            if not (same_row and close and last["colour"] == word["colour"]):
                yield line
                line = []
        line.append(word)
    if line:
        yield line


def _line(words: list[dict[str, Any]], width: int, height: int) -> Label:
    text = words[0]["text"]
    for before, word in itertools.pairwise(words):
        text += (" " if word["box"][0] - before["box"][2] > 1 else "") + word["text"]
    boxes = [w["box"] for w in words]
    around = [min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)]
    return Label("text", "", text, "", False, _box(around, width, height))


def _box(pixels: list[float], width: int, height: int) -> Box:
    left, top, right, bottom = pixels
    return Box(max(0.0, left / width), max(0.0, top / height), min(1.0, right / width), min(1.0, bottom / height))
