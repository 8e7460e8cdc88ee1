"""PPO's environment over real pages: the loop here, the browser in a sandbox of its own."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from agent_core.step import Reply
from training.ppo_args import Args
from training.ppo_parts import made_environment
from training.tasks.task import seed_of


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_an_environment_of_pages_is_played_from_another_thread_and_leaves_nothing_behind() -> None:
    environment = made_environment(Args(suite="miniwob", tasks="click-test", max_steps=3))
    try:
        for n in range(2):
            prompt = environment.reset("click-test", seed_of(n, "train"))
            assert prompt is not None
            place = re.search(r"^(?:button|text) \S.* (\d+) (\d+)$", prompt.messages[-1].text, re.MULTILINE)
            assert place is not None, prompt.messages[-1].text
            said = f"Thought: Click it.\nAction: click(point='<point>{place[1]} {place[2]}</point>')"
            assert environment.step(Reply(said)) is None
            assert environment.score().reward == 1.0
    finally:
        environment.close()
    mine = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    started = [pid for file in mine for pid in file.read_text().split()]
    assert not [pid for pid in started if b"sandboxes" in Path(f"/proc/{pid}/cmdline").read_bytes()]
