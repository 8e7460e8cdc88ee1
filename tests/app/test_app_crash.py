"""A crash report says where it happened and not what was typed, seen or set."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from agent_core import paths
from app.crash import write_report

SECRETS = ("ann.planted@example.com", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "Env5valuePeony7Qx", "hunter2x9")


@pytest.fixture
def environment() -> Iterator[None]:
    os.environ["PLANTED_TOKEN"] = SECRETS[2]
    yield
    del os.environ["PLANTED_TOKEN"]


def fail(typed: str, mail: str) -> None:
    raise ValueError(f"could not send {SECRETS[1]} to {mail}: password={typed}, build {SECRETS[2]}")


@pytest.mark.usefixtures("environment")
def test_a_report_holds_no_secret_and_no_variable() -> None:
    typed = SECRETS[3]
    try:
        try:
            fail(typed, SECRETS[0])
        except ValueError as error:
            raise RuntimeError(f"while typing, {SECRETS[0]}") from error
    except RuntimeError as error:
        file = write_report(error, "agent")
    said = file.read_text(encoding="utf-8")
    assert file.parent == paths.logs_folder()
    assert [secret for secret in SECRETS if secret in said] == []
    assert "in fail" in said
    assert "ValueError: could not send «key» to «email»: password=«password», build «secret»" in said
