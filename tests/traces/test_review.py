"""A person's review of a kept run, as they give it on the command line."""

from __future__ import annotations

import pytest

from agent_core.traces.__main__ import main
from agent_core.traces.reads import Traces
from agent_core.traces.store import TraceStore
from tests.traces import sample


def test_a_thumb_a_wrong_step_and_a_correction_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    with TraceStore() as store:
        sample.record(store)
    better = "Thought: Look first.\nAction: terminal(command='ls')"
    assert main(["label", "run1", "thumb", "down"]) == 0
    assert main(["label", "run1", "wrong_step", "--step", "4"]) == 0
    assert main(["label", "run1", "correction", better, "--step", "4"]) == 0
    said = [(one.step, one.kind, one.score, one.value, one.who) for one in Traces().labels("run1")[-3:]]
    assert said == [
        (None, "thumb", -1.0, "", "person"),
        (4, "wrong_step", None, "", "person"),
        (4, "correction", None, better, "person"),
    ]
    before = len(Traces().labels("run1"))
    for wrong, why in (
        (["other", "thumb", "up"], "No kept run"),
        (["run1", "thumb", "sideways"], "up or down"),
        (["run1", "wrong_step"], "--step"),
        (["run1", "wrong_step", "--step", "99"], "no step 99"),
        (["run1", "correction", "do it better", "--step", "4"], "whole reply"),
    ):
        capsys.readouterr()
        assert main(["label", *wrong]) == 1
        assert why in capsys.readouterr().err
    assert len(Traces().labels("run1")) == before
