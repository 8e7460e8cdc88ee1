"""Starting with the desktop session: an entry in the autostart folder that XDG desktops read at login.

Covered: Linux desktops that follow the XDG autostart specification. Not covered: Windows and macOS.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from agent_core import paths
from agent_core.errors import SettingsError

NAME = "deskhand.desktop"


def entry_file() -> Path:
    """Where the entry lies, whether it is there or not."""
    set_to = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(set_to) if set_to.startswith("/") else Path.home() / ".config"
    return folder / "autostart" / NAME


def switch(on: bool) -> None:
    """Writes the entry or takes it away. Raises SettingsError where the folder cannot be written."""
    file = entry_file()
    try:
        if on:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(entry(), encoding="utf-8")
        else:
            file.unlink(missing_ok=True)
    except OSError as error:
        raise SettingsError(
            f"Starting at login could not be changed in {file.parent}: {error.strerror}. "
            "Check that you may write in that folder, and save the settings again."
        ) from error


def entry() -> str:
    """The entry: this Python, or the bundle where the program is one, started without its window."""
    moved = os.environ.get("DESKHAND_HOME", "")
    kept_in = ["env", f"DESKHAND_HOME={moved}"] if moved else []
    here = [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-m", "app"]
    return (
        "[Desktop Entry]\nType=Application\nName=Deskhand\nComment=A desktop assistant in the tray\n"
        f"Exec={' '.join(map(_quoted, [*kept_in, *here, '--in-tray']))}\nPath={paths.assets_folder().parent}\n"
        "Terminal=false\nX-GNOME-Autostart-enabled=true\n"
    )


def _quoted(word: str) -> str:
    """A word as the Exec line wants it: in quotes, with what means something in there escaped."""
    for sign in ("\\", '"', "`", "$"):
        word = word.replace(sign, f"\\{sign}")
    return f'"{word}"'.replace("\\", "\\\\").replace("%", "%%")
