"""The benchmarks: `.venv/bin/python tests/bench.py [NAME...] [--json]`.

Each prints how many times as fast we are as a named peer or a stated floor, measured in the same run. With --json one
object a line: {name, ratio, goal, peer, detail}. A missed goal is told, not failed: exit code 1 means that a benchmark
could not be run here (no virtual screen, a part not installed), 2 that there is none of that name.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
# Before any library with OpenMP is loaded: its waiting threads would take the time that is measured.
os.environ["OMP_WAIT_POLICY"] = "passive"

from agent_core.errors import DeskhandError  # noqa: E402  (found only from the root)
from tests.benches.measure import Result  # noqa: E402

BENCHES = {
    "reader_incremental": "tests.benches.reading:incremental",
    "reader_against_stock": "tests.benches.reading:against_stock",
    "prefix_reuse": "tests.benches.replying:prefix_reuse",
    "quantised_against_base": "tests.benches.replying:quantised_against_base",
    "typing": "tests.benches.typing_text:typing",
    "trace_write": "tests.benches.keeping:trace_write",
    "streaming": "tests.benches.streaming:streaming",
    "rows": "tests.benches.training_rows:rows",
    "packed": "tests.benches.training_rows:packing",
    "sandbox_pages": "tests.benches.sandboxes:pages",
    "sandbox_desktops": "tests.benches.sandboxes:desktops",
    "app_start": "tests.benches.app:start",
    "app_memory": "tests.benches.app:memory",
    "app_cpu": "tests.benches.app:cpu",
    "app_progress": "tests.benches.app:progress",
}


def main(arguments: list[str] | None = None) -> int:
    """Runs the named benchmarks, or all of them, and prints a line each."""
    parser = argparse.ArgumentParser(prog="tests/bench.py", description="Measures Deskhand beside named peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which to run: {', '.join(BENCHES)}; all if none")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    args = parser.parse_args(arguments)
    unknown = [name for name in args.names if name not in BENCHES]
    if unknown:
        print(f"There is no benchmark {unknown[0]!r}; choose from {', '.join(BENCHES)}.", file=sys.stderr)
        return 2
    code = 0
    for name in args.names or BENCHES:
        try:
            result = run(name)
        except DeskhandError as error:
            print(f"{name} could not be run: {error}", file=sys.stderr, flush=True)
            code = 1
        else:
            print(as_json(result) if args.json else in_words(result), flush=True)
    return code


def run(name: str) -> Result:
    """One benchmark, with a data folder of its own so that nothing of the user's is touched."""
    module, function = BENCHES[name].split(":")
    with tempfile.TemporaryDirectory(prefix="deskhand-bench-") as home:
        os.environ["DESKHAND_HOME"] = home
        result: Result = getattr(importlib.import_module(module), function)()
    return result


def as_json(result: Result) -> str:
    """The line for other programs."""
    return json.dumps(
        {
            "name": result.name,
            "ratio": round(result.ratio, 3),
            "goal": result.goal,
            "peer": result.peer,
            "detail": result.detail,
        }
    )


def in_words(result: Result) -> str:
    """The line for people."""
    met = "met" if result.met else "MISSED"
    return (
        f"{result.name:<24}{result.ratio:8.2f} x   goal {result.goal:g} {met:<8}against {result.peer}: {result.detail}"
    )


if __name__ == "__main__":
    sys.exit(main())
