"""The bans are found in code, and only in code."""

from __future__ import annotations

import pytest

from tests import bans


@pytest.mark.parametrize(
    "source",
    [
        "x = eval('1')",
        "def f():\n    exec(text)",
        "import os\nos.system('ls')",
        "import subprocess\nsubprocess.run('ls', shell=True)",
        "subprocess.run('ls', shell=flag)",
        "pickle.loads(blob)",
    ],
)
def test_banned_everywhere(source: str) -> None:
    assert list(bans.in_source(source, bans.CALLS))


@pytest.mark.parametrize(
    "source", ["# eval(x)", "'exec(x)'", "model.eval()", "subprocess.run(['ls'], shell=False)", "re.compile('eval(')"]
)
def test_allowed(source: str) -> None:
    assert not list(bans.in_source(source, bans.CALLS))


@pytest.mark.parametrize(
    "source", ["from unittest.mock import Mock", "import unittest.mock", "from unittest import mock"]
)
def test_mocks_are_banned_in_tests_only(source: str) -> None:
    assert list(bans.in_source(source, bans.CALLS, bans.TEST_IMPORTS))
    assert not list(bans.in_source(source, bans.CALLS))


def test_patching_is_banned_in_tests() -> None:
    source = "def test_x(monkeypatch):\n    monkeypatch.setattr(loop, 'run', None)"
    assert list(bans.in_source(source, bans.CALLS | bans.TEST_CALLS)) == ["2: monkeypatch.setattr (use the real part)"]
