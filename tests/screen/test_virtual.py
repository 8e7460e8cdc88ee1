"""The virtual desktop: quick to start, empty after a reset, and gone when its owner is gone, however it went."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core.errors import ScreenError
from agent_core.screen.virtual import VirtualDesktop

pytestmark = pytest.mark.desktop

CRASHING = """
import os
from agent_core.screen.virtual import VirtualDesktop
desktop = VirtualDesktop(320, 240)
desktop.start(["xterm", "-T", "orphan"])
desktop.wait_window("orphan")
print(desktop.display, desktop.home, flush=True)
os._exit(9)
"""


@pytest.fixture(scope="module")
def desktop() -> Iterator[VirtualDesktop]:
    with VirtualDesktop(640, 480) as made:
        yield made


def test_a_program_sees_the_desktops_own_home_and_display(desktop: VirtualDesktop) -> None:
    desktop.reset()
    process = desktop.start(["sh", "-c", "echo $HOME $DISPLAY > seen"])
    assert process.wait(10) == 0
    assert (desktop.home / "seen").read_text() == f"{desktop.home} {desktop.display}\n"
    assert os.environ.get("DISPLAY") != desktop.display


def test_windows_are_waited_for_and_cover_the_screen(desktop: VirtualDesktop) -> None:
    desktop.reset()
    desktop.start(["xterm", "-T", "first window"])
    assert desktop.wait_window("first") == "first window"
    with pytest.raises(ScreenError, match="No window titled"):
        desktop.wait_window("second", 0.1)


def test_reset_ends_programs_and_empties_the_home(desktop: VirtualDesktop) -> None:
    process = desktop.start(["xterm", "-T", "to be ended"])
    desktop.wait_window("to be ended")
    (desktop.home / "file").write_text("x")
    desktop.reset()
    assert process.poll() is not None
    assert desktop.titles() == ()
    assert not (desktop.home / "file").exists()


def test_the_display_is_lent_for_a_moment_only(desktop: VirtualDesktop) -> None:
    before = os.environ.get("DISPLAY")
    with desktop.as_display():
        assert os.environ["DISPLAY"] == desktop.display
    assert os.environ.get("DISPLAY") == before


def test_a_program_that_is_not_installed_is_named(desktop: VirtualDesktop) -> None:
    with pytest.raises(ScreenError, match="no-such-program"):
        desktop.start(["no-such-program"])


def test_closing_twice_leaves_nothing_behind() -> None:
    made = VirtualDesktop(320, 240)
    process = made.start(["xterm"])
    made.close()
    made.close()
    assert process.poll() is not None
    assert not made.home.exists()
    assert not _socket(made.display).exists()


def test_screen_and_home_die_with_their_owner() -> None:
    crashed = subprocess.run([sys.executable, "-c", CRASHING], capture_output=True, text=True, timeout=30, check=False)
    display, home = crashed.stdout.split()
    assert crashed.returncode == 9, crashed.stderr
    end = time.monotonic() + 5
    while (_answers(display) or Path(home).exists()) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _answers(display)
    assert not Path(home).exists()


def _socket(display: str) -> Path:
    return Path("/tmp/.X11-unix") / f"X{display.removeprefix(':')}"


def _answers(display: str) -> bool:
    """Whether somebody still listens on the display's socket."""
    import socket

    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(_socket(display)))
        except OSError:
            return False
    return True
