"""What the user wants: frozen dataclasses with help in the field metadata, one TOML file, the form is made from them.

A damaged file is set aside beside the new one and the defaults are used: `load` returns a sentence that says so.
Secrets are never in here; they live in the OS keyring.
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
import time
import tomllib
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import tomli_w

from agent_core import paths
from agent_core.errors import SettingsError


def setting(
    default: Any, help: str, choices: tuple[Any, ...] = (), low: float | None = None, high: float | None = None
) -> Any:
    """A dataclass field with its help text, allowed values and bounds, used by the form, the file and the checks."""
    return field(default=default, metadata={"help": help, "choices": choices, "low": low, "high": high})


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which model answers."""

    name: str = setting("bundled", "Which model answers: bundled, or the name of a manifest in the models folder.")
    adapter: str = setting("", "Adapter folder to use instead of the one that ships; empty for the shipped one.")
    url: str = setting(
        "", "Address of an OpenAI-compatible server, e.g. http://localhost:8080/v1; used by http models."
    )
    threads: int = setting(0, "Threads for inference; 0 takes all cores.", low=0, high=256)
    max_new_tokens: int = setting(256, "Most tokens in one reply.", low=16, high=4096)


@dataclass(frozen=True, slots=True)
class SafetySettings:
    """When Deskhand asks."""

    mode: str = setting(
        "ask_risky",
        "When Deskhand asks: about everything, when it matters, or watch only (it never acts).",
        choices=("ask_all", "ask_risky", "watch"),
    )
    approval_seconds: int = setting(120, "An approval not answered in this time is denied.", low=5, high=3600)
    grant_minutes: int = setting(
        10,
        "How long an allowance for a kind of action lasts at most, in minutes; it ends with the run.",
        low=1,
        high=240,
    )
    jail: bool = setting(
        True,
        "Run terminal commands in a jail where bubblewrap is installed: no network, the system read-only, "
        "only the task's folder can be changed.",
    )
    pause_on_mouse: bool = setting(True, "Pause the run when you move the mouse yourself.")
    only_real_input: bool = setting(
        True,
        "Take answers to approvals from real devices only, where the computer has any. "
        "Switch it off when you work through a remote desktop.",
    )


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Limits of one run."""

    max_steps: int = setting(40, "Most actions in one run.", low=1, high=1000)
    max_minutes: float = setting(
        30.0, "Longest time of one run in minutes, waiting for you not counted.", low=0.1, high=1440
    )
    best_of: int = setting(
        1,
        "How many replies the model is asked for at each step, of which the majority counts; 1 is the fastest.",
        low=1,
        high=16,
    )
    settle_seconds: float = setting(
        1.5, "How long to wait for the screen to come to rest after an action.", low=0, high=30
    )
    actions_per_minute: int = setting(90, "Most actions in one minute; more are held back.", low=1, high=600)
    folder: str = setting("", "The task's folder, where terminal commands start; empty for your home folder.")
    terminal_seconds: float = setting(60.0, "Longest time of one terminal command; then it is ended.", low=1, high=3600)
    monitor: int = setting(1, "Which monitor is used, from 1.", low=1, high=16)

    @property
    def task_folder(self) -> Path:
        """Where terminal commands start."""
        return Path(self.folder).expanduser() if self.folder else Path.home()


@dataclass(frozen=True, slots=True)
class PrivacySettings:
    """What is kept."""

    consent: str = setting(
        "unasked",
        "Keep runs on this computer for replay and training: not asked yet, yes, or no.",
        choices=("unasked", "yes", "no"),
    )
    keep_days: int = setting(90, "Kept runs older than so many days are deleted; 0 keeps them.", low=0, high=3650)
    keep_megabytes: int = setting(
        2000, "When kept runs take more than so many megabytes, the oldest are deleted; 0 sets no limit.", low=0
    )
    never_keep: str = setting(
        "keepass, bitwarden, 1password, keyring, bank",
        "Windows of which nothing is kept: words of their titles, separated by commas.",
    )

    @property
    def never_kept(self) -> tuple[str, ...]:
        """The words in `never_keep`, without empty ones: those would stand in every title."""
        return tuple(word.strip() for word in self.never_keep.split(",") if word.strip())


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """When this computer is wanted for other things."""

    quiet_from: int = setting(
        0, "Quiet hours: from this hour of the day on training begins no new stage; one under way ends.", low=0, high=23
    )
    quiet_until: int = setting(0, "Quiet hours end at this hour; the same hour as above for none.", low=0, high=23)

    def is_quiet(self, hour: int) -> bool:
        """Whether an hour of the day, 0 to 23, lies in the quiet hours, which may go past midnight."""
        if self.quiet_from <= self.quiet_until:
            return self.quiet_from <= hour < self.quiet_until
        return hour >= self.quiet_from or hour < self.quiet_until


@dataclass(frozen=True, slots=True)
class UiSettings:
    """The windows."""

    theme: str = setting("system", "Colours of the windows.", choices=("system", "light", "dark"))
    language: str = setting("system", "Language of the windows.", choices=("system", "en", "zh"))
    send_with_enter: bool = setting(True, "Enter sends the task; Shift+Enter makes a new line.")
    autostart: bool = setting(False, "Start Deskhand when you log in; it waits in the tray.")
    open_key: str = setting("Ctrl+Shift+Space", "Keys that open the window from anywhere; empty for none.")
    pause_key: str = setting("", "Keys that pause and resume a run from anywhere; empty for none.")
    stop_key: str = setting("", "Keys that stop a run from anywhere; Esc pressed twice always does as well.")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything the user can choose."""

    model: ModelSettings = field(default_factory=ModelSettings)
    safety: SafetySettings = field(default_factory=SafetySettings)
    run: RunSettings = field(default_factory=RunSettings)
    privacy: PrivacySettings = field(default_factory=PrivacySettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    ui: UiSettings = field(default_factory=UiSettings)


def load(path: Path | None = None) -> tuple[Settings, str]:
    """The settings and a sentence for the user, empty when all is well. Never raises for a damaged file."""
    path = path or paths.settings_file()
    try:
        return _read(path), ""
    except (FileNotFoundError, NotADirectoryError):
        return Settings(), ""
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, SettingsError) as error:
        aside = path.with_name(f"{path.name}.damaged-{int(time.time())}")
        try:
            path.replace(aside)
        except OSError:
            return Settings(), f"The settings file {path} cannot be read ({error}); the defaults are used."
        return (
            Settings(),
            f"The settings file was damaged ({error}). It is kept as {aside.name}; the defaults are used.",
        )
    except OSError as error:
        return Settings(), f"The settings file {path} cannot be opened ({error.strerror}); the defaults are used."


def read(path: Path) -> Settings:
    """The settings in a file that was exported. The file stays as it is. Raises SettingsError if it cannot be used."""
    try:
        return _read(path)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, SettingsError) as error:
        raise SettingsError(f"{path.name} holds no settings of Deskhand ({error}). Choose another file.") from error
    except OSError as error:
        raise SettingsError(f"{path.name} cannot be read: {error.strerror}. Choose another file.") from error


def with_adapter_of_file(settings: Settings, before: Settings | None = None, path: Path | None = None) -> Settings:
    """The settings with the adapter that the file names now: training may have promoted another since they were read.

    They stay as they are where there is no file or it cannot be read, and where they name another adapter than
    `before`: then the person has just chosen it.
    """
    path = path or paths.settings_file()
    if not path.is_file() or (before is not None and settings.model.adapter != before.model.adapter):
        return settings
    found, problem = load(path)
    if problem:
        return settings
    return dataclasses.replace(settings, model=dataclasses.replace(settings.model, adapter=found.model.adapter))


def save(settings: Settings, path: Path | None = None) -> None:
    """Writes the file whole or not at all. Raises SettingsError when the folder cannot be written."""
    path = path or paths.settings_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(handle, "wb") as file:
            tomli_w.dump(dataclasses.asdict(settings), file)
        Path(temporary).replace(path)
    except OSError as error:
        raise SettingsError(
            f"The settings could not be saved in {path.parent}: {error.strerror}. "
            "Free some space or check the folder's permissions."
        ) from error


def _read(path: Path) -> Settings:
    settings: Settings = _from_dict(Settings, tomllib.loads(path.read_text(encoding="utf-8")), "")
    return settings


def _from_dict(cls: type[Any], data: dict[str, Any], where: str) -> Any:
    """Builds a settings dataclass; unknown names are left out (an older program reading a newer file)."""
    if not isinstance(data, dict):
        raise SettingsError(f"[{where}] must be a table")
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    for f in fields(cls):
        if f.name not in data:
            continue
        name = f"{where}.{f.name}".lstrip(".")
        kind = hints[f.name]
        nested = isinstance(kind, type) and is_dataclass(kind)
        values[f.name] = _from_dict(kind, data[f.name], name) if nested else _checked(f, kind, data[f.name], name)
    return cls(**values)


def _checked(f: dataclasses.Field[Any], kind: type[Any], value: Any, name: str) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not kind:
        raise SettingsError(f"{name} must be of type {kind.__name__}, not {value!r}")
    choices, low, high = f.metadata["choices"], f.metadata["low"], f.metadata["high"]
    if choices and value not in choices:
        raise SettingsError(f"{name} must be one of {', '.join(map(str, choices))}, not {value!r}")
    if (low is not None and value < low) or (high is not None and value > high):
        raise SettingsError(f"{name} must lie between {low} and {high}, not {value!r}")
    return value
