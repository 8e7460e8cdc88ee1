"""The table of dialects and the command that shows what a reply is read as."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_core.dialects import DIALECTS, dialect
from agent_core.dialects.uitars import UiTarsRules
from agent_core.errors import DeskhandError

ROOT = Path(__file__).parents[2]


def run(*arguments: str, reply: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "agent_core.dialects", *arguments]
    return subprocess.run(command, input=reply, capture_output=True, cwd=ROOT, timeout=60, check=False)


def read(*arguments: str, reply: bytes) -> Any:
    done = run(*arguments, reply=reply)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_dialect_in_the_table_is_there() -> None:
    for name in DIALECTS:
        assert dialect(name).name == name


def test_unknown_dialect_lists_the_names() -> None:
    with pytest.raises(DeskhandError, match="uitars, uitars2, qwen_vl, elements"):
        dialect("klingon")


def test_a_dialect_without_pictures_has_no_pixels() -> None:
    with pytest.raises(DeskhandError, match="thousandths"):
        dialect("elements", UiTarsRules(coordinates="pixels"))


def test_reply_as_json() -> None:
    shown = read("uitars", reply=b"Thought: t\nAction: click(point='<point>500 250</point>')\n\ntype(content='a\\n')")
    assert shown == {
        "thought": "t",
        "actions": [{"kind": "click", "at": [0.5, 0.25]}, {"kind": "type", "text": "a\n"}],
        "problems": [],
    }


def test_pixels_of_the_resized_image() -> None:
    asked = ("uitars", "--image-size", "1920x1080", "--coordinates", "pixels")
    shown = read(*asked, reply=b"Action: click(start_box='(966,546)')")
    assert shown["actions"] == [{"kind": "click", "at": [0.5, 0.5]}]


def test_any_bytes_are_read() -> None:
    assert read("elements", reply=b"\xff\xfe\x00 Action:")["actions"] == []


@pytest.mark.parametrize(
    "arguments", [("klingon",), ("uitars", "--coordinates", "inches"), ("uitars", "--coordinates", "pixels")]
)
def test_wrong_arguments(arguments: tuple[str, ...]) -> None:
    done = run(*arguments, reply=b"")
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
