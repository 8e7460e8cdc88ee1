"""The figures of the gate's questions, from episodes that are really run."""

from __future__ import annotations

from dataclasses import replace

from agent_core.actions import Terminal
from agent_core.step import Tier
from tests.safety.scenes import MIDDLE, screen
from training import evaluate
from training.questions import COUNTED, Gate
from training.tasks import consequential


def test_the_gate_of_an_episode_asks_in_its_mode_and_keeps_to_the_virtual_screen() -> None:
    assert Gate("sandbox").decide(MIDDLE, screen("Send"), "").decision == "allow"
    assert Gate("ask_risky").decide(MIDDLE, screen("Send"), "").decision == "ask"
    assert Gate("ask_all").decide(MIDDLE, screen("Open"), "").decision == "ask"
    for mode in ("sandbox", "ask_all", "ask_risky"):
        assert Gate(mode).decide(Terminal("cat /etc/passwd"), screen(), "").decision == "deny"


def test_questions_are_counted_over_real_episodes() -> None:
    args = evaluate.Args(suite="pretend", model="teacher", mode="ask_all", tasks="click,fill", episodes=2)
    result = evaluate.evaluate(args, "train")
    acts = sum(n for tier, n in result["acts"].items() if tier != Tier.R0)
    assert result["success"] == 1.0
    assert acts > 0
    assert result["questions"]["mean"] == acts / 4  # everything that acts is asked
    assert set(result["questions"]["tasks"]) == {"click", "fill"}
    assert result["unasked"] == []
    assert "questions per task" in evaluate.table(result)
    fewer = evaluate.evaluate(replace(args, mode="ask_risky"), "train")
    assert fewer["questions"]["mean"] < result["questions"]["mean"]
    assert all(act["who"] != COUNTED for act in fewer["unasked"])


def test_what_is_consequential_by_nature_is_known() -> None:
    assert {"files_delete_file", "files_delete_folder", "terminal_delete"} <= consequential("desk")
    assert consequential("pretend") == frozenset()
