"""Shows the ring at a place of a 1280x800 screen and prints where it is: python -m tests.app.ring_picture X Y"""

from __future__ import annotations

import sys
import time

import mss
import numpy as np
from PySide6.QtWidgets import QApplication

from agent_core.operators.geometry import from_device
from agent_core.step import Screenshot, Transform
from app import theme
from app.overlay import Overlay
from app.panel import on_screen


def main() -> None:
    x, y = int(sys.argv[1]), int(sys.argv[2])
    app = QApplication(sys.argv[:1])
    theme.apply(app, "light")
    transform = Transform("1", 0, 0, 1280, 800)
    place = on_screen(Screenshot(b"", 1280, 800, transform), from_device(x, y, transform))
    assert place is not None
    ring = Overlay()
    ring.show_at(place)
    for _ in range(10):
        app.processEvents()
        time.sleep(0.03)
    wanted = tuple(int(theme.current().accent[i : i + 2], 16) for i in (1, 3, 5))
    with mss.MSS() as camera:
        seen = np.asarray(camera.grab(camera.monitors[0]))[:, :, 2::-1]
    rows, columns = np.nonzero((seen == wanted).all(axis=-1))
    print((columns.min() + columns.max()) / 2, (rows.min() + rows.max()) / 2)


if __name__ == "__main__":
    main()
