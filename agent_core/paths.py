"""Where Deskhand keeps its files. `DESKHAND_HOME` moves everything at once; nothing is created on import."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def home() -> Path:
    """The data folder (not created here)."""
    moved = os.environ.get("DESKHAND_HOME")
    return Path(moved).expanduser() if moved else Path(platformdirs.user_data_dir("deskhand", appauthor=False))


def settings_file() -> Path:
    return home() / "settings.toml"


def traces_file() -> Path:
    return home() / "traces.db"


def images_folder() -> Path:
    return home() / "images"


def replays_folder() -> Path:
    return home() / "replays"


def audit_file() -> Path:
    return home() / "audit.db"


def models_folder() -> Path:
    return home() / "models"


def logs_folder() -> Path:
    return home() / "logs"


def assets_folder() -> Path:
    """The assets shipped with the program: beside the packages in a checkout and in the bundle alike."""
    return Path(__file__).resolve().parent.parent / "assets"
