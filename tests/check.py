"""Every check in one command: `.venv/bin/python tests/check.py [--fast] [arguments of pytest]`.

Format, lint, types, import rules and bans, each with its time; all of them are run even when one fails. Then pytest,
unless --fast. Exit code 1 if anything failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests import bans  # noqa: E402  (found only from the root)

SCRIPTS = Path(sys.executable).parent
CHECKS = {
    "format": [sys.executable, "-m", "ruff", "format", "--check", "."],
    "lint": [sys.executable, "-m", "ruff", "check", "."],
    "types": [sys.executable, "-m", "mypy"],
    "import rules": [str(SCRIPTS / "lint-imports")],
}
# Without this OpenMP's waiting threads take the cores away from everything else that is going on.
ONE_CORE = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}


def main(arguments: list[str] | None = None) -> int:
    """Runs the checks and returns the exit code."""
    parser = argparse.ArgumentParser(prog="tests/check.py", description="Runs every check.")
    parser.add_argument("--fast", action="store_true", help="leave the tests out")
    args, for_pytest = parser.parse_known_args(arguments)

    failed = [name for name, command in CHECKS.items() if not passes(name, command)]
    if not passes_bans():
        failed.append("bans")
    if not args.fast and not passes("tests", [sys.executable, "-m", "pytest", *for_pytest], shown=True):
        failed.append("tests")
    print(f"Failed: {', '.join(failed)}" if failed else "All checks passed.", flush=True)
    return 1 if failed else 0


def passes(name: str, command: list[str], shown: bool = False) -> bool:
    """Runs one check and prints how it went; its output only if it failed, or as it comes when `shown`."""
    began = time.monotonic()
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **ONE_CORE},
        stdout=None if shown else subprocess.PIPE,
        stderr=None if shown else subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode and done.stdout:
        print(done.stdout.rstrip())
    return _report(name, done.returncode == 0, began)


def passes_bans() -> bool:
    """Whether no file does what tests/bans.py forbids."""
    began = time.monotonic()
    lines = bans.found(ROOT)
    if lines:
        print("\n".join(lines))
    return _report("bans", not lines, began)


def _report(name: str, passed: bool, began: float) -> bool:
    print(f"{name:<14}{'ok' if passed else 'FAILED':<8}{time.monotonic() - began:6.1f} s", flush=True)
    return passed


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
