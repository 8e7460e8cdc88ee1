"""Thoughts for known actions: what is asked, what is thrown away, what is kept, by small, bundled and served models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_core.actions import Finished
from agent_core.models.scripted import Scripted
from agent_core.step import Box, Element, Message, Prompt
from tests.training import played_runs, tiny_runs
from tests.training.played_runs import DONE, OK_PLACE, ChatServer, click, fill
from training import thoughts
from training.curate import read_rows, sources
from training.replies import parts_of, prompt_of, same_act, thought_of, with_past, with_thought
from training.thought_checks import fault
from training.thought_patterns import PATTERNS, distribution, patterns_in, wanted
from training.thoughts import Report, act_re, bootstrap, known_turns

NAME, PRESS = fill("bob", 'Type "bob" into the field "Name".'), click(OK_PLACE, 'Click "OK".')
SOLVED = [NAME, PRESS, DONE]


@pytest.fixture
def demos(tmp_path: Path) -> Path:
    folder = tmp_path / "demos"
    with played_runs.opened(folder) as store:
        played_runs.play(store, SOLVED, score=1.0)
        played_runs.play(store, [PRESS, DONE], score=0.0)
        played_runs.play(store, SOLVED, score=1.0, consent="replay_only")
    return folder


def test_a_prompt_is_taken_apart_and_put_together(demos: Path) -> None:
    first, second, _ = known_turns(demos)
    assert prompt_of(second.prompt).chatml() == second.prompt
    with pytest.raises(ValueError, match="no prompt"):
        prompt_of("Task: x")
    parts = parts_of(second.prompt)
    assert parts.task == "Enter the name bob and press OK."
    assert parts.past == ('1 Type "bob" into the field "Name".',)
    assert [line.words for line in parts.screen] == ["field Name = bob", "button OK", "button No"]
    assert (parts.screen[1].x, parts.screen[1].y) == (200, 550)
    assert parts.window == "Form"
    changed = with_past(second.prompt, {'Type "bob" into the field "Name".': "First the\nname."})
    assert parts_of(changed).past == ("1 First the name.",)
    assert with_past(first.prompt, {"x": "y"}) == first.prompt


def test_only_the_thought_of_a_reply_is_changed() -> None:
    made = with_thought(NAME, "The field\nis empty.")
    assert made == NAME.replace('Type "bob" into the field "Name".', "The field is empty.")
    assert with_thought('{"name": "click"}', "No.") is None
    assert with_thought(NAME, "Action: finished()") is None  # it would be read as another action


def test_the_same_act_hits_the_same_element() -> None:
    elements = [Element("button", "OK", Box(0.1, 0.5, 0.3, 0.6)), Element("text", "pane", Box(0, 0, 1, 1))]
    assert same_act(PRESS, click("120 590", "Now."), elements)
    assert not same_act(PRESS, click("500 550", "Now."), elements)
    assert not same_act(PRESS, click("120 590", "Now."), [])
    assert not same_act(PRESS, click("200 550", "x").replace("click", "right_single"), elements)
    assert same_act(DONE, "Thought: so\nAction: finished()", elements)
    assert not same_act(DONE, "Thought: so\nAction: finished(content='Lyon')", elements)
    assert not same_act("nothing", "nothing", elements)
    assert not same_act(NAME, PRESS, elements)
    down = "Thought: a\nAction: scroll(direction='down')"
    assert same_act(down, down.replace("Thought: a", "Thought: b"), elements)
    assert not same_act(down, down.replace("down", "up"), elements)


@pytest.mark.parametrize(
    ("thought", "why"),
    [
        ('The name has to be "bob", so I fill the field in.', ""),
        ("I enter the name and then press OK.", ""),
        ("Press Enter or OK.", ""),
        ("", "empty"),
        ("x" * 300, "too long"),
        ("One.\nTwo.", "too long"),
        ("Click at (200, 550).", "names a place"),
        ("Click on coordinates near OK.", "names a place"),
        ("The button is at 200.", "names a number that is not there"),
        ("The ground truth is to press OK.", "knows the action"),
        ("The given action is to press OK.", "knows the action"),
        ("I was told to press OK.", "knows the action"),
        ('I click "Cancel".', "names what is not there"),
        ("I open Firefox.", "names what is not there"),
        ("Action: click(point='<point>200 550</point>')", "holds an action"),
    ],
)
def test_thoughts_that_could_not_come_before_the_action_are_thrown_away(demos: Path, thought: str, why: str) -> None:
    first = next(known_turns(demos))
    assert fault(thought, parts_of(first.prompt)) == why


def test_five_patterns_and_where_they_fit() -> None:
    examples = {
        "decomposition": "First I enter the name, then I press the button.",
        "consistency": "The task asks for a name too, which is still missing from the form: it still has to be typed.",
        "milestone": "Both fields are filled now.",
        "trial_and_error": "I am not sure where it is; I try the menu.",
        "reflection": "That was the wrong button, I should have pressed the other one.",
    }
    assert tuple(examples) == PATTERNS
    for name, thought in examples.items():
        assert patterns_in(thought) == {name}
    shares = distribution([*examples.values(), 'Click "OK".'])
    assert all(share == pytest.approx(1 / 6) for share in shares.values())
    assert shares.keys() == {*PATTERNS, "none"}
    assert distribution([]) == {}
    assert wanted(1, [], []) == "decomposition"
    assert wanted(2, ["1 Click it."], []) == "consistency"
    assert wanted(3, ["2 Nothing changed."], []) == "trial_and_error"
    assert wanted(3, ["2 It failed: no such window"], []) == "reflection"
    assert wanted(4, ["3 Click it."], [Finished()]) == "milestone"


def test_a_thought_is_written_for_each_known_action_and_later_prompts_hold_it(demos: Path) -> None:
    asked: list[Prompt] = []
    replies = iter(["The given action is OK.", '"The name bob goes in first, then OK."', "Now OK.", "", "All is done."])

    def says(prompt: Prompt) -> str:
        asked.append(prompt)
        return next(replies)

    report = Report()
    rows = list(act_re(Scripted(says), list(known_turns(demos)), 2, report))
    assert [thought_of(row.reply) for row in rows] == [
        "The name bob goes in first, then OK.",
        "Now OK.",
        "All is done.",
    ]
    assert parts_of(rows[2].prompt).past == ("1 The name bob goes in first, then OK.", "2 Now OK.")
    question = asked[0].messages[1].text
    assert "click on field Name empty, then type 'bob'" in question
    assert "500 150" not in question  # no place is given away
    assert "The name bob goes in first" in asked[2].messages[1].text
    assert report.lost == {"knows the action": 1, "empty": 1}
    assert (report.turns, report.kept, report.samples) == (3, 3, 5)
    assert report.as_json()["patterns"]["after"]["decomposition"] == pytest.approx(1 / 3)


def test_own_thoughts_are_kept_where_they_lead_to_the_known_action(demos: Path) -> None:
    turns = list(known_turns(demos))
    other = click("150 520", "I press OK now.")
    replies = iter([NAME, DONE, NAME, PRESS, other, "rubbish", DONE, DONE, DONE])
    report = Report()
    rows = list(bootstrap(Scripted(replies), turns, 3, report))
    assert [row.reply for row in rows] == [NAME, *sorted([PRESS, other]), DONE]
    assert report.lost == {"acts otherwise": 2, "said before": 3}
    assert (report.turns, report.kept) == (3, 3)
    assert [row.prompt for row in rows] == [turns[0].prompt, turns[1].prompt, turns[1].prompt, turns[2].prompt]


def test_a_served_model_writes_thoughts_that_sft_reads(demos: Path, tmp_path: Path) -> None:
    def says(messages: list[dict[str, Any]]) -> str:
        assert messages[0]["role"] == "system"
        return "Thought: First the name, then OK."

    out = tmp_path / "out"
    with ChatServer(says) as server:
        thoughts.main(["--data", str(demos), "--out", str(out), "--model", server.as_model()])
    rows = read_rows(sources(str(out)))
    assert {thought_of(row.reply) for row in rows} == {"First the name, then OK."}
    assert len(rows) == 3
    report = json.loads((out / "report.json").read_text())
    assert report["share"] == 1.0
    assert report["patterns"]["before"]["none"] > 0
    assert report["patterns"]["after"]["decomposition"] == 1.0


def test_a_small_model_in_this_process_goes_the_whole_way(demos: Path, tmp_path: Path) -> None:
    model, out = tiny_runs.model_folder(tmp_path / "model"), tmp_path / "out"
    options = ["--data", str(demos), "--out", str(out), "--model", str(model), "--tries", "2", "--max-new-tokens", "12"]
    for way in ("actre", "bootstrap"):
        thoughts.main([*options, "--way", way])
        report = json.loads((out / "report.json").read_text())
        assert report["turns"] == 3
        assert report["samples"] >= 3
        assert report["kept"] + sum(report["lost"].values()) >= report["samples"]


def test_the_bundled_model_thinks_for_itself_and_for_others(demos: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["--data", str(demos), "--out", str(out), "--limit", "2", "--tries", "1", "--max-new-tokens", "60"]
    thoughts.main([*options, "--way", "bootstrap", "--temperature", "0"])  # the agent that ships
    report = json.loads((out / "report.json").read_text())
    assert report["kept"] >= 1  # it knows such a form
    assert len(read_rows(sources(str(out)))) == report["kept"]
    thoughts.main([*options, "--way", "actre", "--adapter", "none"])
    assert json.loads((out / "report.json").read_text())["samples"] == 2


def test_a_question_shows_words_and_no_places() -> None:
    text = "Task: Go\nPast:\n1 Look.\nWindow: W\nScreen:\nbutton Go on 7 100 200"
    parts = parts_of(Prompt((Message("user", text),)).chatml())
    assert parts.screen[0].words == "button Go on 7"
    asked = thoughts.question(parts, [], "reflection").messages[1].text
    assert "100 200" not in asked
    assert "what went wrong" in asked
