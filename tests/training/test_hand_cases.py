"""The cases derived by hand, read as a person reads any file of cases."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests import cases

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "data" / "gae_cases_by_hand.json"


def test_every_case_derived_by_hand_passes_as_a_person_runs_it() -> None:
    kinds = set(json.loads(CASES.read_text(encoding="utf-8"))) - set(cases.PROSE)
    command = [sys.executable, str(ROOT / "tests" / "cases.py"), str(CASES)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    *lines, last = ran.stdout.splitlines()
    assert last == "over 1e-06: none"
    counts = {kind: int(count) for kind, count, *_ in map(str.split, lines)}
    assert set(counts) == kinds
    assert sum(counts.values()) == 129  # a misspelt name is not compared: it would be missing here
