"""Keeps frames in the store: each as it may be kept, once, with a row that says what was covered."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from agent_core.screen.redact import WHOLE
from agent_core.step import Element, Screenshot
from agent_core.traces import images
from agent_core.traces.discretion import Keeping
from agent_core.traces.texts import json_text


class Pictures:
    """Remembers by their pixels which frames of a run are kept already, and as what."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: dict[int, str] = {}
        self.read: dict[str, tuple[Element, ...]] = {}  # by name, what stands in the pictures that show something

    def keep(self, db: sqlite3.Connection, shot: Screenshot, keeping: Keeping) -> str | None:
        """The picture's hash, once its file and row are there; None when it may not be kept at all.

        The write lock keeps a deletion away meanwhile.
        """
        frame = hash(shot.rgb)  # the frame after a step is mostly the frame before the next one
        sha256 = self._kept.get(frame)
        if sha256 is not None and db.execute("SELECT 1 FROM images WHERE sha256 = ?", (sha256,)).fetchone():
            return sha256
        picture = keeping.picture(shot)
        if picture is None:
            return None
        sha256 = self._kept[frame] = images.hash_of(picture.shot)
        if not any(cover.box == WHOLE for cover in picture.covers):
            self.read[sha256] = keeping.elements(shot)
        size = images.save(self._folder, picture.shot, sha256)
        covers = [{"rule": c.rule, "box": [round(x, 5) for x in (c.box.left, c.box.top, c.box.right, c.box.bottom)]}
                  for c in picture.covers]  # fmt: skip
        row = (sha256, shot.width, shot.height, size, json_text(covers), keeping.judges)
        db.execute(
            "INSERT INTO images (sha256, width, height, bytes, redactions, judged) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT DO NOTHING",
            row,
        )
        return sha256
