"""Makes pictures of the real program on a virtual screen, for the README and for people to look at.

python tests/pictures.py [FOLDER]            writes at-work.png: the bundled agent at work in an editor
python tests/pictures.py [FOLDER] --windows  writes every window in both languages, both themes, at 100 % and 200 %,
                                             as WINDOW-LANGUAGE-THEME-SCALE.png; exit code 1 if any text is cut off

FOLDER is assets/pictures if not given.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from agent_core import settings  # noqa: E402
from agent_core.screen.capture import Screen, png  # noqa: E402
from agent_core.screen.virtual import VirtualDesktop  # noqa: E402

TASK = 'Type "Meet Anna at noon" into the empty file and save it.'
SECONDS = 120.0
SCALES = (1, 2)


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/pictures.py", description="Makes pictures of the real program.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "assets" / "pictures")
    parser.add_argument("--windows", action="store_true", help="every window, instead of the agent at work")
    args = parser.parse_args()
    folder: Path = args.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="deskhand-pictures-") as home:
        os.environ["DESKHAND_HOME"] = home
        if args.windows:
            return max([windows(folder, scale) for scale in SCALES])
        at_work(folder)
    return 0


def windows(folder: Path, scale: int) -> int:
    """Every window at one scale, by a process of its own: Qt reads the scale once. Its exit code."""
    with VirtualDesktop(1280 * scale, 900 * scale, maximized=False) as desktop:
        on_it = {**os.environ, "DISPLAY": desktop.display, "QT_SCALE_FACTOR": str(scale)}
        command = [sys.executable, "-m", "tests.app.window_pictures", str(folder), f"{scale}00"]
        return subprocess.run(command, cwd=ROOT, env=on_it, check=False).returncode


def at_work(folder: Path) -> None:
    chosen = settings.Settings()
    ui = replace(chosen.ui, theme="light", language="en")
    settings.save(replace(chosen, ui=ui, privacy=settings.PrivacySettings("yes")))
    with VirtualDesktop(1280, 800, maximized=False) as desktop:
        file = desktop.home / "meeting.txt"
        file.write_text("", encoding="utf-8")
        desktop.start(["mousepad", str(file)])
        title = desktop.wait_window("meeting.txt")
        on_it = {**os.environ, "DISPLAY": desktop.display}
        move = ["xdotool", "search", "--name", title, "windowsize", "740", "560", "windowmove", "30", "60"]
        subprocess.run(move, env=on_it, check=True)
        with subprocess.Popen([sys.executable, "-m", "app", TASK], cwd=ROOT, env=on_it) as app:
            end = time.monotonic() + SECONDS
            while file.read_text(encoding="utf-8").strip() != "Meet Anna at noon" and time.monotonic() < end:
                time.sleep(0.3)
            time.sleep(6.0)  # until the agent has looked once more and said that it is done
            os.environ["DISPLAY"] = desktop.display
            screen = Screen()
            (folder / "at-work.png").write_bytes(png(screen.grab()))
            screen.close()
            app.terminate()
    print(f"{folder / 'at-work.png'}: the file holds {TASK.split(chr(34))[1]!r}")


if __name__ == "__main__":
    sys.exit(main())
