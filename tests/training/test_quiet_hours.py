"""Quiet hours: no stage of training begins in them, and they may be lifted while a stage waits."""

from __future__ import annotations

import threading
import time

import pytest

from agent_core import settings
from agent_core.settings import Settings, TrainingSettings
from training.stages import wait_for_quiet_end


@pytest.mark.parametrize(
    ("start", "end", "quiet"),
    [(0, 0, []), (7, 7, []), (9, 17, [9, 12, 16]), (22, 6, [22, 23, 0, 5]), (23, 0, [23])],
)
def test_the_hours_may_go_past_midnight(start: int, end: int, quiet: list[int]) -> None:
    hours = TrainingSettings(start, end)
    asked = {9, 12, 16, 17, 22, 23, 0, 5, 6, 7}
    assert {hour for hour in asked if hours.is_quiet(hour)} == set(quiet)


def test_a_stage_waits_until_the_quiet_hours_are_lifted(capsys: pytest.CaptureFixture[str]) -> None:
    now = time.localtime().tm_hour
    settings.save(Settings(training=TrainingSettings(now, (now + 2) % 24)))
    waiting = threading.Thread(target=wait_for_quiet_end, args=("sft",))
    waiting.start()
    waiting.join(timeout=1.0)
    assert waiting.is_alive()
    settings.save(Settings())
    waiting.join(timeout=20.0)
    assert not waiting.is_alive()
    assert f"quiet until {(now + 2) % 24}:00: sft begins then" in capsys.readouterr().out
