"""Makes the README's pictures from the real program: the bundled agent at work in an editor on a virtual screen.

python tests/pictures.py [FOLDER]     writes at-work.png; FOLDER is assets/pictures if not given
"""

from __future__ import annotations

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


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "assets" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="deskhand-pictures-"))
    os.environ["DESKHAND_HOME"] = str(home)
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
    main()
