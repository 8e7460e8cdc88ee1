"""What every test stands on: a data folder of its own, and a real virtual screen with a window manager.

OpenMP is told to sleep instead of spin before any library that uses it is imported: on few cores the spinning
makes everything else crawl.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OMP_WAIT_POLICY"] = "passive"

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SCREEN_SIZE = "1280x800x24"
START_SECONDS = 20.0


@pytest.fixture(autouse=True)
def home(tmp_path: Path) -> Iterator[Path]:
    """DESKHAND_HOME in the test's own folder; the folder itself is not made, as on a fresh machine."""
    before = os.environ.get("DESKHAND_HOME")
    folder = tmp_path / "home"
    os.environ["DESKHAND_HOME"] = str(folder)
    yield folder
    if before is None:
        del os.environ["DESKHAND_HOME"]
    else:
        os.environ["DESKHAND_HOME"] = before


@pytest.fixture(scope="session")
def screen() -> Iterator[str]:
    """A 1280x800 Xvfb with openbox on it; DISPLAY points at it for the whole session. Yields the display's name."""
    if shutil.which("Xvfb") is None or shutil.which("openbox") is None:
        pytest.skip("needs Xvfb and openbox (apt install xvfb openbox)")
    server, display = _start_xvfb()
    before = {name: os.environ.pop(name, None) for name in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_SESSION_TYPE")}
    os.environ["DISPLAY"] = display
    manager = subprocess.Popen(
        ["openbox"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_for_window_manager(display)
        yield display
    finally:
        for process in (manager, server):
            process.terminate()
            process.wait(timeout=10)
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _start_xvfb() -> tuple[subprocess.Popen[bytes], str]:
    """Starts Xvfb on a free display number of its own choice."""
    read_end, write_end = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write_end), "-screen", "0", SCREEN_SIZE, "-nolisten", "tcp"],
        pass_fds=(write_end,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(write_end)
    with os.fdopen(read_end) as chosen:
        number = chosen.readline().strip()
    if not number:
        raise RuntimeError("Xvfb did not start")
    return server, f":{number}"


def _wait_for_window_manager(display: str) -> None:
    """Returns when openbox manages the root window; before that new windows get no place and no focus."""
    from Xlib import X
    from Xlib.display import Display

    connection = Display(display)
    try:
        check = connection.intern_atom("_NET_SUPPORTING_WM_CHECK")
        limit = time.monotonic() + START_SECONDS
        while connection.screen().root.get_full_property(check, X.AnyPropertyType) is None:
            if time.monotonic() > limit:
                raise RuntimeError("openbox did not start")
            time.sleep(0.02)
        # A black desktop is what a sleeping screen looks like, and is refused as such.
        connection.screen().root.change_attributes(background_pixel=0x3A6EA5)
        connection.screen().root.clear_area()
        connection.sync()
    finally:
        connection.close()
