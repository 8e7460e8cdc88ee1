"""Secrets by name, with a real keyring behind the keyring library's own plugin interface: a file of our own."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keyring.backends import fail

from agent_core import secrets
from agent_core.errors import SecretError
from agent_core.redaction import Redactor
from tests.file_keyring import FileKeyring

ROOT = Path(__file__).resolve().parents[1]
VALUE = "Zx9-Planted-Value"


@pytest.fixture
def ring(tmp_path: Path) -> Iterator[Path]:
    """A keyring in a file, used for one test; the file."""
    before = keyring.get_keyring()
    file = tmp_path / "ring.json"
    os.environ["TEST_KEYRING_FILE"] = str(file)
    keyring.set_keyring(FileKeyring())
    yield file
    keyring.set_keyring(before)
    del os.environ["TEST_KEYRING_FILE"]


@pytest.mark.usefixtures("ring")
def test_a_placeholder_is_filled_from_the_keyring_and_its_value_is_known_from_then_on() -> None:
    secrets.store("MAIL", VALUE)
    vault = secrets.Vault(secrets.from_keyring)
    redactor = Redactor(sources=[vault.values])
    assert vault.values() == ()
    assert vault.fill("x {{secret:MAIL}}\n") == f"x {VALUE}\n"
    assert vault.values() == (VALUE,)
    assert redactor.redact(f"screen shows {VALUE} here") == "screen shows «secret» here"


@pytest.mark.usefixtures("ring")
def test_a_missing_name_is_one_sentence_without_any_value() -> None:
    secrets.store("OTHER", VALUE)
    with pytest.raises(SecretError, match=r"no secret with the name MAIL\. Store it with: .* set MAIL") as raised:
        secrets.fill("{{secret:OTHER}} {{secret:MAIL}}", secrets.from_keyring)
    assert VALUE not in str(raised.value)


@pytest.mark.usefixtures("ring")
def test_without_a_keyring_that_is_said() -> None:
    keyring.set_keyring(fail.Keyring())  # what the library takes where a system has none
    with pytest.raises(SecretError, match="keyring cannot be used"):
        secrets.from_keyring("MAIL")


@given(st.text())
def test_text_without_a_placeholder_stays(text: str) -> None:
    if not secrets.names_in(text):
        assert secrets.fill(text, lambda name: None) == text


def command(*arguments: str, file: Path, typed: str = "") -> tuple[int, str]:
    """Runs the command on a terminal of its own and types into it; its exit code and all that stood there."""
    env = {**os.environ, "PYTHON_KEYRING_BACKEND": "tests.file_keyring.FileKeyring", "TEST_KEYRING_FILE": str(file)}
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "agent_core.secrets", *arguments],
        cwd=ROOT,
        env=env,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        said = b""
        while b"not shown" not in said if typed else False:
            said += os.read(ours, 1000)
        if typed:
            os.write(ours, typed.encode())
        try:
            while piece := os.read(ours, 1000):
                said += piece
        except OSError:
            pass  # the terminal of a process that has ended
        code = process.wait(timeout=20)
    os.close(ours)
    return code, said.decode()


def test_the_command_asks_on_the_terminal_and_never_shows_a_value(tmp_path: Path) -> None:
    file = tmp_path / "ring.json"
    code, said = command("set", "MAIL", file=file, typed=f"{VALUE}\n")
    assert code == 0, said
    assert VALUE not in said
    assert json.loads(file.read_text())["deskhand/MAIL"] == VALUE
    assert command("list", file=file) == (0, "MAIL\r\n")
    assert command("delete", "MAIL", file=file) == (0, "Deleted.\r\n")
    assert command("list", file=file) == (0, "There are no secrets.\r\n")
    code, said = command("delete", "MAIL", file=file)
    assert (code, said) == (1, "There is no secret with the name MAIL.\r\n")
