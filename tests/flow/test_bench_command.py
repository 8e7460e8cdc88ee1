"""The benchmark command: one JSON object a line, for programs that watch the figures."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.flow.headless import ROOT, SECONDS


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "tests/bench.py", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)


def test_a_benchmark_prints_its_ratio_beside_goal_and_peer() -> None:
    ran = bench("trace_write", "--json")
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert set(told) == {"name", "ratio", "goal", "peer", "detail"}
    assert told["name"] == "trace_write"
    assert told["ratio"] > 0
    assert "INSERT" in told["peer"]


def test_an_unknown_benchmark_is_answered_with_the_known_ones() -> None:
    ran = bench("nothing")
    assert ran.returncode == 2
    assert "reader_incremental" in ran.stderr
