"""A person's session from end to end: they agree, steer and refuse; what they said makes a better adapter, which the
program takes up at its next run; rolling back gives it the old one again.

The windows, the loop, the stores, the trainers and the model are the real ones. The first run's replies are scripted,
for a person has to have something to correct; the agent that learns is a small one, made here and served by llama.cpp.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from agent_core import paths, settings
from agent_core.traces.reads import Traces
from agent_core.traces.rows import Label
from app.consent import ConsentWindow
from app.desk import Desk
from app.rating import RatingCard
from tests.app.conftest import (  # noqa: F401 - fixtures
    Editor,
    Person,
    Start,
    application,
    dressed,
    editor,
    person,
    send,
    start,
    wait_for_end,
)
from tests.flow import small_agent
from training import evaluate, promote, rollouts, sft
from training.curate import curate
from training.deltas import hash_of
from training.pairs import read_pairs

pytestmark = [pytest.mark.desktop, pytest.mark.timeout(400)]

TASK = "Write hello into the note"
GOODBYE = "Thought: Write it.\nAction: type(content='goodbye ')"
HELLO = "Thought: The user wants hello.\nAction: type(content='hello ')"
LEAVE = "Thought: Close the editor.\nAction: hotkey(key='alt f4')"
SAVE = "Thought: Save.\nAction: hotkey(key='ctrl s')"
DONE = "Thought: It is written.\nAction: finished(content='The note says hello.')"


def test_a_session_makes_a_better_adapter_that_the_next_run_uses(
    start: Start,  # noqa: F811
    person: Person,  # noqa: F811
    editor: Editor,  # noqa: F811
    qtbot: QtBot,
    tmp_path: Path,
) -> None:
    base = small_agent.make(tmp_path, episodes=50, steps=180, careless=30)
    session(start, person, editor, qtbot, tmp_path)
    rollouts.record(rollouts.Args(suite="pretend_small", tasks="press", episodes=40, db=str(tmp_path / "demos")))
    made = curate([paths.home(), tmp_path / "demos"], tmp_path / "set", held=0)
    assert_learnt_from(tmp_path / "set", made.consent)

    old = evaluated(tmp_path / "old.json")
    adapter = sft.train(
        sft.Args(
            data=str(tmp_path / "set"), base=str(base), out=str(tmp_path / "sft"),
            epochs=12, lr=5e-3, warmup=3, max_tokens=4000, precision="float32", threads=1,
        )
    )  # fmt: skip
    new = evaluated(tmp_path / "new.json", adapter)

    kept, _ = settings.load()
    settings.save(replace(kept, model=replace(kept.model, name=small_agent.NAME)))
    desk = start([], model=small_agent.NAME)
    assert next_run(desk, qtbot) == ""
    verdict, promoted = promote.promote(adapter, [new], [old])
    assert verdict.won
    assert next_run(desk, qtbot) == hash_of(promoted) == hash_of(adapter)
    assert promote.main(["--roll-back"]) == 0
    assert next_run(desk, qtbot) == ""


def session(start: Start, person: Person, editor: Editor, qtbot: QtBot, folder: Path) -> None:  # noqa: F811
    """Agreed to, corrected once, refused once, found good at the end: as a person does it, with mouse and keyboard."""
    script = folder / "session.json"
    script.write_text(json.dumps([GOODBYE, HELLO, LEAVE, SAVE, DONE]))
    desk = start([], mode="ask_all", consent="unasked", model=f"scripted:{script}")
    panel = desk.asked.approval
    send(desk, person, TASK)
    qtbot.waitUntil(lambda: "consent" in desk.others, timeout=10_000)
    consent = desk.others["consent"]
    assert isinstance(consent, ConsentWindow)
    person.click(consent.yes_button)

    qtbot.waitUntil(panel.isVisible, timeout=60_000)
    person.click(panel.instead)
    person.type("write hello")
    qtbot.waitUntil(lambda: panel.instead.text() == "write hello", timeout=10_000)
    person.key("Return")
    for said, button in (
        ("hello ", panel.allow_button),
        ("alt + f4", panel.deny_button),
        ("ctrl + s", panel.allow_button),
    ):
        qtbot.waitUntil(lambda said=said: panel.isVisible() and said in asked(desk), timeout=60_000)  # type: ignore[misc]
        qtbot.wait(500)
        person.click(button)
    wait_for_end(desk, qtbot)
    assert editor.text == "hello first line\n"
    (card,) = desk.window.findChildren(RatingCard)
    person.click(card.yes_button)
    qtbot.waitUntil(lambda: any(label.kind == "thumb" for label in labels()), timeout=10_000)
    desk.close()


def asked(desk: Desk) -> str:
    """What the open approval is about."""
    panel = desk.asked.approval
    return f"{panel.heading.text()} {panel.exact.toPlainText()}".lower()


def labels() -> list[Label]:
    return [label for kept in Traces().runs() for label in Traces().labels(kept.run.id)]


def assert_learnt_from(folder: Path, consent: dict[str, dict[str, object]]) -> None:
    """What was written and found good is imitated; what was refused is not, and stands against what came of it."""
    (run,) = (kept.run.id for kept in Traces().runs())
    assert consent[run]["consent"] == "settings"
    assert consent[run]["by"] == "person"
    rows = [json.loads(line) for line in (folder / "sft.jsonl").read_text().splitlines()]
    assert {row["reply"] for row in rows if row["run"] == run} == {HELLO, SAVE, DONE}
    pairs = {pair.kind: (pair.chosen, pair.rejected) for pair in read_pairs(str(folder)) if pair.run == run}
    assert pairs == {"instead": (HELLO, GOODBYE), "denial": (SAVE, LEAVE)}
    votes = {row["reply"]: row["good"] for row in map(json.loads, (folder / "kto.jsonl").read_text().splitlines())}
    assert votes == {GOODBYE: False, HELLO: True, LEAVE: False, SAVE: True, DONE: True}


def evaluated(file: Path, adapter: Path | None = None) -> Path:
    """On held-out forms, as the command writes it."""
    chosen = ["--adapter", str(adapter)] if adapter else []
    evaluate.main(
        ["--suite", "pretend_small", "--tasks", "press", "--episodes", "30", "--max-steps", "6", "--threads", "1",
         "--model", small_agent.NAME, "--json", str(file), *chosen]
    )  # fmt: skip
    return file


def next_run(desk: Desk, qtbot: QtBot) -> str:
    """One run in the window that is open, stopped when its model has replied; gives the hash of the adapter that the
    kept run names."""
    before = len(Traces().runs())
    desk.window.sent.emit("Press Save.")
    qtbot.waitUntil(lambda: len(Traces().runs()) > before and Traces().runs()[0].turns > 0, timeout=60_000)
    desk.stop()
    qtbot.waitUntil(lambda: not desk.state.busy, timeout=60_000)
    runs = Traces().runs()
    assert len(runs) == before + 1
    assert runs[0].run.model == small_agent.NAME
    return runs[0].run.adapter_hash
