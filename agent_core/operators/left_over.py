"""Temporary folders that do not outlive their program for long: what a killed one left is removed by the next.

A terminal's folder holds the shell's variables while it lives, so a kill must not leave it lying about.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

PREFIX = "deskhand-terminal-"
_OWNER = re.compile(re.escape(PREFIX) + r"(\d+)-")


def own_folder() -> tempfile.TemporaryDirectory[str]:
    """A new folder that only this user can read, named after this process. Removes those of processes that ended."""
    sweep(Path(tempfile.gettempdir()))
    return tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-")


def sweep(place: Path) -> None:
    """Removes the folders of this user in `place` whose process is no more."""
    for folder in place.glob(f"{PREFIX}*"):
        owner = _OWNER.match(folder.name)
        if owner is None or folder.is_symlink() or Path(f"/proc/{owner[1]}").exists():
            continue
        try:
            if folder.stat().st_uid == os.getuid():
                shutil.rmtree(folder)
        except OSError:
            pass  # another program was quicker
