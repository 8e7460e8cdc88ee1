"""Real programs and pages on screens of their own to training data: what is on a screen, what it means, what changes.

    python -m training.crawl --out runs/crawl --screens 200 --seed 0

Every picture comes with the boxes, roles, names and states that the program itself tells (document, widgets,
accessibility tree). From them come chats for continual training of a model that sees, and boxes that a widget detector
can learn from (see `crawl_folder` for the files). All texts are made up, so nobody's data can be in them. The same
arguments give the same rows where programs and fonts are the same.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from agent_core.dialects.coordinates import PlaceForm, coordinate_rule
from agent_core.dialects.uitars import UiTars, UiTarsRules
from agent_core.errors import DeskhandError, ScreenError
from training.crawl_folder import CrawlFolder, split_of
from training.crawl_moves import next_move
from training.crawl_rows import Writer
from training.crawl_screen import Change, Ended, Scene, Seen, Source
from training.runs import knob, parse

# Of each hundred screens so many; the first ones are opened first, as one source at a time holds its programs.
SOURCES: dict[str, tuple[str, int]] = {
    "pages": ("training.crawl_browser:Pages", 40),
    "miniwob": ("training.crawl_browser:MiniWobPages", 15),
    "qt": ("training.crawl_qt:QtWindows", 30),
    "programs": ("training.crawl_programs:Programs", 15),
}
NOTHING_DONE = 0.15  # the share of changes that come by themselves, where a scene can
TRIES = 5  # scenes in a row that may fail before a source is given up
STALE = 40  # scenes in a row without a new picture: the source has no more to show


@dataclass(frozen=True, slots=True)
class Args:
    """One crawl's knobs; they stand in its manifest."""

    out: str = knob("runs/crawl", "folder for pictures, rows and manifest")
    screens: int = knob(200, "how many different pictures")
    seed: int = knob(0, "decides every scene and every row")
    sources: str = knob("pages,miniwob,qt,programs", "where pictures come from, comma separated")
    moves: int = knob(2, "actions in a scene, each followed by another picture")
    coordinates: str = knob("thousand", "how places are counted", ("thousand", "pixels"))
    places: str = knob("point", "how places are written", ("point", "box"))


def main(argv: Sequence[str] | None = None) -> int:
    """Crawls and prints what came of it; 1 if a source gave nothing."""
    args = parse(Args, argv, "python -m training.crawl", __doc__)
    started = time.monotonic()
    try:
        manifest = crawl(args)
    except DeskhandError as error:
        print(error, file=sys.stderr)
        return 1
    seconds = time.monotonic() - started
    print(f"{manifest['screens']} screens, {manifest['rows']} rows in {seconds:.0f} s: {args.out}")
    print("\n".join(f"{count:6} {what}" for what, count in manifest["counts"].items()))
    for failure in manifest["failures"]:
        print(failure, file=sys.stderr)
    names = args.sources.split(",")
    return 0 if all(manifest["counts"].get(f"screens from {name}") for name in names) else 1


def crawl(args: Args) -> dict[str, Any]:
    """Fills the folder and gives its manifest. Raises DeskhandError for a source that does not exist."""
    names = args.sources.split(",")
    unknown = [name for name in names if name not in SOURCES]
    if unknown:
        raise DeskhandError(f"There is no source {', '.join(unknown)!r}; choose from {', '.join(SOURCES)}.")
    places: PlaceForm = "point" if args.places == "point" else "box"
    writer = Writer(UiTars(UiTarsRules(coordinates=coordinate_rule(args.coordinates), places=places)))
    folder = CrawlFolder(Path(args.out))
    for name, target in _shares(names, args.screens).items():
        try:
            _crawl_source(name, target, args, folder, writer)
        except ScreenError as error:
            folder.failures.append(f"{name}: {error}")
    return folder.close({key: value for key, value in asdict(args).items() if key != "out"})


def _shares(names: Sequence[str], screens: int) -> dict[str, int]:
    """How many pictures each source gives; what rounding leaves goes to the first."""
    whole = sum(SOURCES[name][1] for name in names)
    shares = {name: screens * SOURCES[name][1] // whole for name in names}
    shares[names[0]] += screens - sum(shares.values())
    return shares


def _crawl_source(name: str, target: int, args: Args, folder: CrawlFolder, writer: Writer) -> None:
    """Scene after scene until the source has given its share. Raises ScreenError when it gives no more."""
    module, _, kind = SOURCES[name][0].partition(":")
    source: Source = getattr(importlib.import_module(module), kind)()
    goal, number, failed, stale = folder.screens + target, 0, 0, 0
    try:
        while folder.screens < goal:
            scene_name = f"{args.seed}/{name}/{number}"
            number, before = number + 1, folder.screens
            try:
                _crawl_scene(source, scene_name, name, goal, args.moves, folder, writer)
                failed = 0
            except ScreenError as error:
                folder.failures.append(f"{scene_name}: {error}")
                failed += 1
                if failed >= TRIES:
                    raise
            stale = stale + 1 if folder.screens == before else 0
            if stale >= STALE:
                raise ScreenError(f"The source {name} shows nothing new; fewer screens, or another seed, will do.")
    finally:
        source.close()


def _crawl_scene(
    source: Source, scene_name: str, name: str, goal: int, moves: int, folder: CrawlFolder, writer: Writer
) -> None:
    """One scene: its picture, then a move and a picture in turns; rows of each new picture and of each change."""
    rng, split = Random(scene_name), split_of(scene_name)
    scene = source.open(rng)
    try:
        seen = scene.look()
        _add(seen, name, split, folder, writer, rng)
        for _ in range(moves):
            if folder.screens >= goal:
                return
            change = _changed(scene, seen, rng)
            seen = change.after
            if _add(seen, name, split, folder, writer, rng) and change.before.widgets:
                folder.add_row(writer.of_change(change, rng), name, split)
    except Ended:
        folder.counts["windows that a click closed"] += 1
    finally:
        scene.close()


def _changed(scene: Scene, before: Seen, rng: Random) -> Change:
    """Does the next move, or lets something happen, and looks again."""
    if rng.random() < NOTHING_DONE and scene.happen():
        return Change(before, (), None, scene.look())
    actions, target = next_move(before, rng)
    for action in actions:
        scene.do(action)
    return Change(before, actions, target, scene.look())


def _add(seen: Seen, name: str, split: str, folder: CrawlFolder, writer: Writer, rng: Random) -> bool:
    """The picture and its rows; whether it is new. One of which nothing is told teaches nothing, and is left out."""
    if not seen.widgets:
        folder.counts["pictures that nothing is told of"] += 1
        return False
    if not folder.add_screen(seen, name, split):
        return False
    for draft in writer.of_picture(seen, rng):
        folder.add_row(draft, name, split)
    return True


if __name__ == "__main__":
    sys.exit(main())
