"""Starts the tray program: `python -m app [TASK] [--no-tray] [--in-tray] [--model NAME]`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Parses the arguments and runs until the person quits. Exit code 2: it could not be started here."""
    parser = argparse.ArgumentParser(prog="python -m app", description="A desktop assistant in the tray.")
    parser.add_argument("task", nargs="?", default="", help="a task to start with")
    parser.add_argument("--no-tray", action="store_true", help="do not put an icon in the tray")
    parser.add_argument("--in-tray", action="store_true", help="start without a window where there is a tray")
    parser.add_argument("--model", default="", help="a manifest's name, or scripted:FILE with replies in JSON")
    args = parser.parse_args(argv)
    problem = no_display()
    if problem:
        print(problem, file=sys.stderr)
        return 2
    from app.program import run  # here, because Qt and X11 are needed from now on only

    return run(args)


def no_display() -> str:
    """Why no window can be shown here, in one sentence; empty when it can."""
    if sys.platform != "linux":
        return "Deskhand's windows need Linux with X11 so far. Run one task without windows: python -m agent_core TASK"
    if os.environ.get("XDG_SESSION_TYPE") == "wayland" or os.environ.get("WAYLAND_DISPLAY"):
        return (
            "This is a Wayland session, which lets no program see or use another one's windows. "
            "Log in to an X11 session and start Deskhand there."
        )
    if os.environ.get("DISPLAY"):
        return ""
    return (
        "There is no display (DISPLAY is not set). "
        "Start Deskhand inside a desktop session, or run one task without windows: python -m agent_core TASK"
    )


if __name__ == "__main__":
    sys.exit(main())
