"""The order of the setup: system packages, environment, Python packages. Says nothing when all is there already.

llama.cpp takes longest where it has to be compiled, so it is begun as early as its compiler is there and goes on
beside everything else.
"""

from __future__ import annotations

import shutil
import sys
import time

from installer import python_packages, system_packages
from installer.python_packages import Place
from installer.system_packages import Need
from installer.work import SetupError, Work, say

# Measured: 1.0 GB and 2.2 GB in the environment, with the smallest torch; the rest is room to unpack.
FREE_BYTES = {"run": 2_000_000_000, "test": 4_000_000_000}


def set_up(place: Place, stage: str, display: bool) -> None:
    """Makes all that `stage` ("run" or "test") needs. Raises SetupError with one sentence that says what to do."""
    began = time.monotonic()
    ready = place.is_ready(stage)
    needs = system_packages.missing(purposes(stage, display, ready)) if sys.platform == "linux" else []
    if ready and not needs:
        return
    say(f"Setting up Deskhand in {place.root}.")
    if not ready:
        _check_room(place, stage)
    if needs or not ready:
        _install(place, stage, ready, needs)
    say(f"Everything is set up, after {time.monotonic() - began:.0f} s.")


def purposes(stage: str, display: bool, ready: bool) -> set[str]:
    """Which lines of system_packages.txt count: see there."""
    wanted = {"window"}
    if not ready:
        wanted.add("venv")
    if stage == "test" or not display:
        wanted.add("virtual")
    if stage == "test":
        wanted.add("check")
    return wanted


def _install(place: Place, stage: str, ready: bool, needs: list[Need]) -> None:
    compiler: list[Need] = []
    prebuilt = False
    if not ready and not python_packages.has_llama(place):
        prebuilt = python_packages.prebuilt_offered(place)
        if not prebuilt and sys.platform == "linux":
            compiler = system_packages.missing({"build"})
    system_packages.check_installable([*compiler, *needs])
    first = [*compiler, *(need for need in needs if need.purpose == "venv")]
    system_packages.install(first, "compiler and Python environment", place.log("system"))

    llama: Work | None = None
    try:
        if not ready:
            python_packages.make_environment(place)
            if not python_packages.has_llama(place):
                llama = python_packages.begin_llama(place, prebuilt)
        rest = [need for need in needs if need not in first]
        system_packages.install(rest, "system packages", place.log("system"), beside=llama)
        if not ready:
            python_packages.install(place, stage, llama, prebuilt)
    finally:
        if llama:
            llama.stop()


def _check_room(place: Place, stage: str) -> None:
    free = shutil.disk_usage(place.root).free
    if free < FREE_BYTES[stage]:
        raise SetupError(
            f"There is too little room on the disk: {free / 1e9:.1f} GB are free in {place.root} and the setup needs "
            f"{FREE_BYTES[stage] / 1e9:.0f} GB; make room and start again."
        )
