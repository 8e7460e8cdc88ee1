"""Where a crawl is kept: pictures under their hash, rows and screens as JSON lines, and a manifest that tells it all.

    images/SHA256.png   the pictures, each once
    rows.jsonl          chats for training: see `crawl_rows`
    screens.jsonl       one picture a line with the class, place and state of every widget: what a detector learns from
    manifest.json       schema, arguments, counts, failures, and the hashes of both files

The same arguments give the same bytes where programs and fonts are the same. A folder is written once; what a broken
crawl left behind has names that end in .part.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any, TextIO

from PIL import Image

from training.crawl_rows import SCHEMA, Draft
from training.crawl_screen import ROLES, Seen
from training.runs import write_json

HELD_OUT = 10  # one scene in so many is for evaluation


class CrawlFolder:
    """Takes screens and rows; `close` gives the files their names. Raises SystemExit when the folder has a crawl."""

    def __init__(self, path: Path) -> None:
        if (path / "manifest.json").exists():
            raise SystemExit(f"The folder {path} holds a crawl already: name another --out.")
        self._path = path
        (path / "images").mkdir(parents=True, exist_ok=True)
        self._files: dict[str, TextIO] = {
            name: (path / f"{name}.jsonl.part").open("w", encoding="utf-8") for name in ("rows", "screens")
        }
        self._screens: set[str] = set()
        self._rows: set[str] = set()
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []

    @property
    def screens(self) -> int:
        return len(self._screens)

    def add_screen(self, seen: Seen, source: str, split: str) -> bool:
        """Stores a picture with its widgets; whether it is new."""
        if seen.sha256 in self._screens:
            self.counts["pictures that were there already"] += 1
            return False
        self._screens.add(seen.sha256)
        self.counts[f"screens from {source}"] += 1
        self._write(
            "screens",
            {
                "schema": SCHEMA,
                "image": self._picture(seen),
                "width": seen.width,
                "height": seen.height,
                "source": source,
                "split": split,
                "title": seen.title,
                "widgets": [widget.to_json() for widget in seen.widgets],
            },
        )
        return True

    def add_row(self, draft: Draft, source: str, split: str) -> None:
        """Stores a row, unless there is one that asks and answers the same of the same pictures."""
        row: dict[str, Any] = {
            "schema": SCHEMA,
            "kind": draft.kind,
            "source": source,
            "split": split,
            "images": [self._picture(picture) for picture in draft.pictures],
            "messages": [
                {"role": "user", "content": draft.question, "loss_mask": 0},
                {"role": "assistant", "content": draft.answer, "loss_mask": 1},
            ],
            "image_size": list(draft.size),
        }
        if draft.coordinate_size is not None:
            row["coordinate_size"] = list(draft.coordinate_size)
        if draft.about:
            row["about"] = draft.about
        name = hashlib.sha256(json.dumps([row["images"], row["messages"]]).encode()).hexdigest()
        if name in self._rows:
            self.counts["rows that were there already"] += 1
            return
        self._rows.add(name)
        self.counts[f"{draft.kind} rows"] += 1
        self._write("rows", {"id": name[:16], **row})

    def close(self, args: dict[str, Any]) -> dict[str, Any]:
        """Names the files, writes the manifest last and gives it."""
        for file in self._files.values():
            file.close()
        hashes = {}
        for name in self._files:
            part = self._path / f"{name}.jsonl.part"
            hashes[f"{name}.jsonl"] = hashlib.sha256(part.read_bytes()).hexdigest()
            part.replace(self._path / f"{name}.jsonl")
        manifest = {
            "schema": SCHEMA,
            "classes": list(ROLES),
            "args": args,
            "screens": self.screens,
            "rows": len(self._rows),
            "counts": dict(sorted(self.counts.items())),
            "failures": self.failures,
            "sha256": hashes,
        }
        write_json(self._path / "manifest.json", manifest)
        return manifest

    def _picture(self, picture: Seen | Image.Image) -> str:
        """The name of the picture's file, written if it is new."""
        image = picture
        if isinstance(picture, Seen):
            image = Image.frombytes("RGB", (picture.width, picture.height), picture.rgb)
        assert isinstance(image, Image.Image)
        size = b"%dx%d " % image.size
        name = f"images/{hashlib.sha256(size + image.tobytes()).hexdigest()}.png"
        path = self._path / name
        if not path.exists():
            packed = io.BytesIO()
            image.save(packed, "PNG", compress_level=4)
            path.write_bytes(packed.getvalue())
        return name

    def _write(self, name: str, value: dict[str, Any]) -> None:
        self._files[name].write(json.dumps(value, ensure_ascii=False) + "\n")


def split_of(scene: str) -> str:
    """Train or held out, by the name of the scene, so that a picture and the one after a click go the same way."""
    return "held_out" if int(hashlib.sha256(scene.encode()).hexdigest(), 16) % HELD_OUT == 0 else "train"
