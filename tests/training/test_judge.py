"""Judges: what they are shown, how they are counted, how often they are wrong, and what they write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_core.actions import Action, Click
from agent_core.errors import StoreError
from agent_core.models.scripted import Scripted
from agent_core.step import Prompt, Screenshot, Tier, Verdict
from agent_core.traces.images import Pixels
from agent_core.traces.rows import Label
from tests.training import played_runs
from tests.training.played_runs import DONE, OK_PLACE, ChatServer, click, fill
from training import judge
from training.judge import LABELLED_SET, Claimed, Generative, Reference, Verified, View, measure
from training.judge_model import majority, may_be_read, word_of
from training.judge_reference import normalised, same_answer
from training.judged_runs import JudgedRun, Pictures, line_of_set, read_set

SOLVED = [fill("bob", 'Type "bob" into the field.'), click(OK_PLACE, 'Click "OK".'), DONE]
CLAIMED = [fill("bob", 'Type "bob" into the field.'), DONE]


@pytest.fixture(scope="module")
def labelled() -> list[JudgedRun]:
    return read_set(LABELLED_SET)


def test_the_labelled_set_is_small_real_and_tricky(labelled: list[JudgedRun]) -> None:
    assert 60 <= len(labelled) <= 120
    kinds = {one.kind for one in labelled}
    assert kinds == {"claimed", "detour", "partial", "refused", "failed", "plain", "answer"}
    solved = sum(one.solved for one in labelled)
    assert 0.4 <= solved / len(labelled) <= 0.6
    assert {one.solved for one in labelled if one.kind == "refused"} == {True, False}
    assert all(one.turns and one.run.run.task for one in labelled)
    pictures = Pictures(LABELLED_SET)
    assert pictures(labelled[0].turns[-1].screenshot).width > 100
    size = LABELLED_SET.stat().st_size + LABELLED_SET.with_suffix(".zip").stat().st_size
    assert size < 1_500_000


def test_the_labelled_set_reads_back_as_it_was_written(tmp_path: Path, labelled: list[JudgedRun]) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text("".join(line_of_set(one) + "\n" for one in labelled))
    assert read_set(file) == labelled
    assert file.read_text() == LABELLED_SET.read_text()
    file.write_text(file.read_text() + '{"id": 1}\n')
    assert judge.main(["--measure", str(file), "--judge", "claimed"]) == 1


def test_error_rates_of_the_judges_that_need_no_model(labelled: list[JudgedRun]) -> None:
    true = {o.run.run.id: Label(None, "score", float(o.solved), "", "verifier", 0.0) for o in labelled}
    verifier = measure(Verified(true), labelled)
    assert (verifier.false_positive[:2], verifier.false_negative[:2]) == ((0.0, 0), (0.0, 0))
    claimed = measure(Claimed(), labelled)
    assert claimed.false_positive[0] > 0.4  # to believe the agent is no judgement
    asked = [one for one in labelled if one.answers]
    reference = measure(Reference({one.run.run.id: one.answers for one in asked}), asked)
    assert reference.false_positive[1] == 0
    assert reference.undecided[1] == 2  # "Tuesday or Thursday", "Not 7 but 8"
    low, high = reference.false_negative[3]
    assert low < reference.false_negative[0] < high
    assert "false positives" in reference.in_words()


@pytest.mark.parametrize(
    ("said", "known", "same"),
    [
        ("1,240", "1240", True),
        ("There are 1 240 pieces.", "1,240", True),
        ("07", "7.0", True),
        ("-5", "5", False),
        ("15", "5", False),
        ("twelve", "12", True),
        ("The answer is Lyon.", "lyon", True),
        ("Lyons", "lyon", False),
        ("it isn't Lyon", "Lyon", None),
        ("Lyon or Paris", "Lyon", None),
        ("5 of 7", "5", None),
        ("No", "no", True),
        ("", "no", False),
        ("FRANÇAIS", "Français", True),
        ("３", "3", True),
    ],
)
def test_answers_are_compared_in_one_form(said: str, known: str, same: bool | None) -> None:
    assert same_answer(said, known) is same


def test_what_one_form_is() -> None:
    assert normalised("The price: 1,234.50 EUR!") == ("price", "1234.5", "eur")
    assert normalised("1,23") == ("1", "23")  # no group of three: two numbers


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Verdict: success", "success"),
        ("Asked: the name | done\nAsked: pressed OK | done\nVerdict: success.", "success"),
        ("Asked: the name | not done\nVerdict: failure", "failure"),
        ("Asked: the name | not shown\nVerdict: success", None),
        ("I think so.\nVerdict: success", None),
        ("Verdict: success\nVerdict: failure", None),
        ("Verdict: success, I guess", None),
        ("success", None),
        ("", None),
    ],
)
def test_only_the_form_asked_for_is_read(text: str, word: str | None) -> None:
    assert word_of(text) == word


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("", True),
        ("Ver", True),
        ("Verdict: succ", True),
        ("Asked: the na", True),
        ("Asked: it | done\nV", True),
        ("Asked: it | done\n\nVerdict: failure", True),
        ("I think", False),
        ("Verdict: no", False),
        ("Asked: it\nV", False),
        ("Asked: it | done\nWell", False),
    ],
)
def test_a_model_that_leaves_the_form_is_stopped(text: str, may: bool) -> None:
    assert may_be_read(text) is may


def test_ties_and_unreadable_answers_give_no_reward() -> None:
    assert majority(["success", "success", "failure"]) == 1.0
    assert majority(["failure", None, "failure"]) == 0.0
    assert majority(["success", "failure"]) is None
    assert majority(["success", None, "failure"]) is None
    assert majority(["success", None]) is None
    assert majority([None, None, None]) is None


def test_a_model_is_asked_several_times_and_shown_the_history(tmp_path: Path) -> None:
    def person(action: Action, shot: Screenshot, task: str) -> Verdict:
        if isinstance(action, Click):
            return Verdict("deny", Tier.R3, "no", "person", "Leave it.")
        return played_runs.allow(action, shot, task)

    with played_runs.opened(tmp_path) as store:
        solved, refused = played_runs.play(store, SOLVED), played_runs.play(store, [SOLVED[1], DONE], decide=person)
    traces = played_runs.read(tmp_path)
    replies = iter(["Verdict: success", "Verdict: failure", "Verdict: success", "rubbish", "Verdict: failure"])
    asked: list[Prompt] = []

    def says(prompt: Prompt) -> str:
        asked.append(prompt)
        return next(replies)

    one = Generative(Scripted(says), 3, View(read=judge.end_reader(traces.picture, 1)))
    verdict = one.judge(traces.run(solved), traces.turns(solved))
    assert (verdict.score, verdict.who) == (1.0, "scripted")
    text = asked[0].messages[1].text
    assert "click on field Name: done" in text
    assert "field Name = bob" in text
    assert "The agent says that it is done" in text
    assert text.index("Screen before act 1") < text.index("Screen before act 3")
    assert "Saved." in text  # what the window said at the end
    verdict = Generative(Scripted(says), 2).judge(traces.run(refused), traces.turns(refused))
    assert verdict.score is None
    assert "1 cannot be read" in verdict.reason
    assert "refused, not done; the person wanted instead: Leave it." in asked[-1].messages[1].text


def test_no_more_than_five_screens_and_the_newest_get_the_room(labelled: list[JudgedRun]) -> None:
    longest = max(labelled, key=lambda one: len(one.turns))
    assert len(longest.turns) > 5
    text = View().prompt(longest.run, longest.turns).messages[1].text
    assert text.count("Screen before act") <= 5
    little = View(room=200).prompt(longest.run, longest.turns).messages[1].text
    assert len(little) < len(text)
    assert "Screen at the end" in little or f"Screen before act {longest.turns[-1].n}" in little


def test_a_chat_server_sees_the_last_pictures(tmp_path: Path) -> None:
    wrong = [fill(f"bob{n}", f"Type {n}.") for n in range(6)]
    with played_runs.opened(tmp_path) as store:
        run = played_runs.play(store, [*wrong, *SOLVED])

    def says(messages: list[dict[str, Any]]) -> str:
        assert messages[0]["role"] == "system"
        return "Asked: the name bob | not done\nVerdict: failure"

    with ChatServer(says) as server:
        name = server.as_model()
        options = ["--judge", "model", "--model", name, "--pictures", "1"]
        assert judge.main(["--data", str(tmp_path), *options]) == 0
        assert judge.main(["--data", str(tmp_path), *options]) == 0  # the second time there is nothing to do
    assert len(server.bodies) == 3
    assert server.bodies[0]["temperature"] == 1.0
    shown = [part for part in server.bodies[0]["messages"][1]["content"] if part["type"] == "image_url"]
    assert len(shown) == 5
    label = played_runs.read(tmp_path).scores()[run]
    assert (label.score, label.who) == (0.0, "judge:team")
    assert label.value == "0 of 3 answers say success, 3 failure."


def test_labels_of_every_judge_and_a_verifiers_word_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with played_runs.opened(tmp_path) as store:
        verified = played_runs.play(store, CLAIMED, score=0.0)
        answered = played_runs.play(
            store, ["Thought: Read.\nAction: finished(content='It is 1,240.')"], task="How many?"
        )
        unknown = played_runs.play(store, CLAIMED, task="Something else")
    answers = tmp_path / "answers.jsonl"
    answers.write_text(json.dumps({"task": "How many?", "answers": ["1240"]}) + "\n")
    assert judge.main(["--data", str(tmp_path), "--judge", "reference", "--answers", str(answers)]) == 0
    assert "1 done, 1 left as they were, 1 undecided" in capsys.readouterr().out
    traces = played_runs.read(tmp_path)
    scores = {run: (label.score, label.who) for run, label in traces.scores().items()}
    reference = "judge:reference"
    assert scores == {verified: (0.0, "verifier"), answered: (1.0, reference), unknown: (None, reference)}
    known = judge.verified(traces)
    assert Verified(known).judge(traces.run(verified), ()).score == 0.0
    assert Verified(known).judge(traces.run(answered), ()).score is None
    assert judge.main(["--data", str(tmp_path), "--judge", "reference"]) == 1  # without the answers
    answers.write_text("{}\n")
    assert judge.main(["--data", str(tmp_path), "--judge", "reference", "--answers", str(answers)]) == 1


def test_rows_to_learn_judging_from(tmp_path: Path) -> None:
    with played_runs.opened(tmp_path) as store:
        played_runs.play(store, SOLVED, score=1.0)
        played_runs.play(store, CLAIMED, score=0.0)
        played_runs.play(store, CLAIMED)
    assert judge.main(["--data", str(tmp_path), "--rows", str(tmp_path / "rows")]) == 0
    rows = [json.loads(line) for line in (tmp_path / "rows" / "lessons.jsonl").read_text().splitlines()]
    assert [row["reply"] for row in rows] == ["Verdict: success", "Verdict: failure"]
    assert rows[0]["prompt"].endswith("<|im_start|>assistant\n")


def test_the_bundled_base_judges_for_real(tmp_path: Path, labelled: list[JudgedRun]) -> None:
    """Slow and bad, but it is asked, and its word is counted like any other's."""
    file = tmp_path / "two.jsonl"
    few = sorted(labelled, key=lambda one: len(View().prompt(one.run, one.turns).chatml()))[:2]
    file.write_text("".join(line_of_set(one) + "\n" for one in few))
    out = tmp_path / "rates.json"
    options = ["--model", "bundled", "--adapter", "none", "--samples", "1", "--json", str(out)]
    assert judge.main(["--measure", str(file), *options]) == 0
    rates = json.loads(out.read_text())
    assert rates["judge"] == "bundled"
    decided = rates["false_positive"][2] + rates["false_negative"][2]
    assert decided + rates["undecided"][1] == 2


def test_a_picture_that_is_gone_is_read_as_nothing() -> None:
    def gone(sha256: str) -> Pixels:
        raise StoreError("gone")

    assert judge.end_reader(gone, 1)("ab") == ()
