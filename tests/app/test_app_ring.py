"""The ring's middle is the pixel that will be clicked, at every scale of the windows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.desktop, pytest.mark.timeout(120)]
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("scale", ["1", "1.25", "1.5", "2"])
@pytest.mark.parametrize("place", [(200, 150), (641, 403), (1101, 701)])
def test_the_rings_middle_is_the_place(screen: str, scale: str, place: tuple[int, int]) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "tests.app.ring_picture", *map(str, place)],
        cwd=ROOT,
        env={**os.environ, "DISPLAY": screen, "QT_SCALE_FACTOR": scale},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    x, y = map(float, shown.stdout.split())
    assert abs(x - place[0]) <= 1.5
    assert abs(y - place[1]) <= 1.5
