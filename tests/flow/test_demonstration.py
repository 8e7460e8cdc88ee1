"""The demonstration as a person without a display gets it: the bundled agent, a real editor, a page to look at."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


def demonstrate(out: Path, *task: str) -> subprocess.CompletedProcess[str]:
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "XDG_SESSION_TYPE")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    command = [sys.executable, "-m", "agent_core.demonstration", *task, "--out", str(out)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=280)


@pytest.mark.desktop
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_bundled_agent_does_a_task_in_a_real_program(tmp_path: Path) -> None:
    page = tmp_path / "replay.html"
    ran = demonstrate(page)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "notes.txt now holds: 'Deskhand was here'" in ran.stdout
    assert f"Replay page: {page}" in ran.stdout
    html = page.read_text(encoding="utf-8")
    assert len(re.findall(r"data:image/\w+;base64,", html)) >= 3
    assert not re.search(r"""(?:src|href)=["']https?:""", html)


def test_an_empty_task_is_refused_in_a_sentence(tmp_path: Path) -> None:
    ran = demonstrate(tmp_path / "replay.html", "   ")
    assert ran.returncode == 2
    assert "The task is empty" in ran.stderr
    assert "Traceback" not in ran.stderr
