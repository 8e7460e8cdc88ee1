"""From kept runs to data sets: where every turn goes, the same bytes for the same input, nothing without leave."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_core.actions import Finished, Type
from agent_core.step import CHATML_STOP, Outcome, Status
from agent_core.traces.reads import Traces
from tests.training.kept_runs import ALLOWED, NO, STILL, YES, Act, keep, press, prompt_of, reply_of, say
from training import ct, rollouts
from training.curate import Manifest, curate, held_rows, read_rows, sources
from training.curate_rules import RULES, broken
from training.kto import read_votes
from training.pairs import read_pairs

TASK = "Open the list and press the button"
END = Act(Finished("Done."), 90, outcome=Outcome(True))


def curated(folder: Path, out: Path, **more: Any) -> tuple[Manifest, dict[str, list[dict[str, Any]]]]:
    """The manifest, and the rows of every file by its name without the ending."""
    made = curate([folder], out, **{"held": 0.0, **more})
    lines = {file.stem: file.read_text(encoding="utf-8").splitlines() for file in out.glob("*.jsonl")}
    return made, {name: [json.loads(line) for line in each] for name, each in lines.items()}


def replies(rows: list[dict[str, Any]]) -> list[str]:
    return [row["reply"] for row in rows]


@pytest.mark.parametrize(
    ("rule", "act"),
    [
        ("unreadable", press(0.5, 2, problems=("No action was found.",), said="Hm.")),
        ("refused", press(0.5, 2, verdict=NO)),
        ("failed", press(0.5, 2, outcome=Outcome(False, "It is gone."))),
        ("failed", press(0.5, 2, outcome=None)),
        ("left_over", press(0.5, 2, said="Action: click(point='<point>500 500</point>')\n\nwait()")),
        ("no_op", press(0.5, 2, outcome=STILL)),
        ("loop", press(0.1, 1, thought="Again.")),
        ("redacted", press(0.5, 2, said="Thought: «email»\nAction: click(point='<point>500 500</point>')")),
        ("", press(0.5, 2)),
        ("", Act(Finished("Done."), 2, outcome=STILL)),
    ],
)
def test_each_rule_names_its_turn_and_the_rest_is_imitated(tmp_path: Path, rule: str, act: Act) -> None:
    run = keep(tmp_path, "r", TASK, [press(0.1, 1), act, END], score=1.0, tags=("suite:s", "task:t", "seed:1"))
    turns = Traces(tmp_path / "traces.db", tmp_path / "images").turns(run.id)
    assert broken(turns[1], turns[:1]) == rule
    assert rule == "" or rule in RULES
    made, rows = curated(tmp_path, tmp_path / "set")
    assert made.turns == {"imitated": 2 + (not rule), **({rule: 1} if rule else {})}
    assert (reply_of(act) in replies(rows["sft"])) == (not rule)
    read = rule in ("failed", "left_over", "no_op", "loop")
    assert len(rows["ct"]) == read


def test_the_value_of_a_run_decides_between_imitating_and_reading(tmp_path: Path) -> None:
    for n, (score, who, status) in enumerate(
        [(1.0, "verifier", Status.FINISHED), (0.5, "verifier", Status.FINISHED), (0.8, "judge:x", Status.FINISHED),
         (0.2, "judge:x", Status.FINISHED), (None, "", Status.LIMIT), (None, "", Status.FINISHED)]
    ):  # fmt: skip
        keep(tmp_path, f"r{n}", f"{TASK} {n}", [press(0.1, n)], score=score, who=who, status=status)
    keep(tmp_path, "cut", "Never ended", [press(0.9, 50)], status=None)
    made, rows = curated(tmp_path, tmp_path / "set", threshold=0.6)
    assert {row["run"] for row in rows["sft"]} == {"r0", "r2"}
    assert {row["run"] for row in rows["ct"]} == {"r1", "r3", "r4", "r5"}
    assert made.values == {"verifier": 2, "judge": 2, "status": 1, "nobody": 1}
    assert (made.runs["solved"], made.runs["unsolved"], made.runs["unknown"]) == (2, 3, 1)
    assert made.share_solved == 2 / 5
    assert made.runs["cut_off"] == 1
    assert rows["ct"][0]["text"].endswith(CHATML_STOP)
    say(tmp_path, "r3", None, "thumb", 1.0)  # a person knows better than a judge, and not better than a verifier
    say(tmp_path, "r1", None, "thumb", 1.0)
    _, rows = curated(tmp_path, tmp_path / "again", threshold=0.6)
    assert {row["run"] for row in rows["sft"]} == {"r0", "r2", "r3"}


def test_a_review_cuts_at_the_first_wrong_step(tmp_path: Path) -> None:
    acts = [press(0.1, 1), press(0.2, 2), press(0.3, 3), press(0.4, 4)]
    keep(tmp_path, "r", TASK, acts, score=0.0)
    say(tmp_path, "r", 4, "wrong_step")
    say(tmp_path, "r", 3, "wrong_step")
    made, rows = curated(tmp_path, tmp_path / "set")
    assert replies(rows["sft"]) == [reply_of(act) for act in acts[:2]]
    assert len(rows["ct"]) == made.turns["cut"] == 2
    assert {row["reply"]: row["good"] for row in rows["kto"]} == {reply_of(act): False for act in acts[2:]}


def test_what_a_person_said_becomes_pairs_and_votes(tmp_path: Path) -> None:
    instead = replace(NO, instead="the other one")
    acts = [
        press(0.1, 1, verdict=instead), press(0.2, 1, verdict=YES), press(0.3, 2, verdict=NO), press(0.4, 2),
        press(0.5, 3), Act(Type("x"), 4), END,
    ]  # fmt: skip
    keep(tmp_path, "r", TASK, acts)
    said = [reply_of(act) for act in acts]
    better = reply_of(press(0.9, 3))
    say(tmp_path, "r", 5, "correction", None, better)
    say(tmp_path, "r", 6, "take_over")
    made, rows = curated(tmp_path, tmp_path / "set")
    told = {(pair["kind"], pair["chosen"], pair["rejected"]) for pair in rows["pairs"]}
    assert told == {("instead", said[1], said[0]), ("correction", better, said[4])}  # of a plain no nothing is known
    assert replies(rows["sft"]) == [better]
    votes = {row["reply"]: row["good"] for row in rows["kto"]}
    assert votes == {said[0]: False, said[1]: True, said[2]: False, said[4]: False, better: True}
    say(tmp_path, "r", None, "thumb", 1.0)
    made, rows = curated(tmp_path, tmp_path / "again")
    told = {(pair["kind"], pair["chosen"], pair["rejected"]) for pair in rows["pairs"]}
    assert ("denial", said[3], said[2]) in told
    assert len(told) == 3
    assert set(replies(rows["sft"])) == {said[1], said[3], better, said[6]}
    assert made.turns["taken_over"] == made.turns["correction"] == 1
    pairs, corrected = read_pairs(str(tmp_path / "again")), prompt_of(TASK, acts[4]).chatml()
    assert {(pair.kind, pair.prompt) for pair in pairs if pair.kind == "correction"} == {("correction", corrected)}
    assert len(read_votes(str(tmp_path / "again"))) == len(rows["kto"]) == 7


def test_votes_that_contradict_each_other_are_none(tmp_path: Path) -> None:
    keep(tmp_path, "a", TASK, [press(0.1, 1, verdict=YES)])
    keep(tmp_path, "b", TASK, [press(0.1, 1, verdict=NO)])
    _, rows = curated(tmp_path, tmp_path / "set")
    assert rows["kto"] == []


def test_siblings_and_groups(tmp_path: Path) -> None:
    def tags(seed: int) -> tuple[str, ...]:
        return ("suite:s", "task:t", f"seed:{seed}")

    keep(tmp_path, "a", TASK, [press(0.1, 1), END], consent="sandbox", score=1.0, tags=tags(1))
    keep(tmp_path, "b", TASK, [press(0.2, 1), END], consent="sandbox", score=0.0, tags=tags(1))
    keep(tmp_path, "c", TASK, [press(0.1, 1), END], consent="sandbox", score=1.0, tags=tags(2))
    made, rows = curated(tmp_path, tmp_path / "set")
    (pair,) = rows["pairs"]
    assert (pair["kind"], pair["chosen"], pair["rejected"], pair["run"]) == (
        "outcome", reply_of(press(0.1, 1)), reply_of(press(0.2, 1)), "s/t/1",
    )  # fmt: skip
    groups = json.loads((tmp_path / "set" / "groups.json").read_text())
    assert groups == {"s/t": {"tried": 3, "solved": 2, "spread": True, "seeds": [1]}}
    assert len(rows["sft"]) == 2  # each once, though two runs did it
    assert {row["group"] for row in rows["sft"]} == {"s/t"}
    assert made.rows["tasks.jsonl"] == 0  # a suite's tasks are known already


def test_the_same_input_gives_the_same_bytes_and_every_hash_holds(tmp_path: Path) -> None:
    rollouts.record(rollouts.Args(suite="pretend", db=str(tmp_path), tasks="click,fill", episodes=6))
    one, two = curate([tmp_path], tmp_path / "one", held=0.3), curate([tmp_path], tmp_path / "two", held=0.3)
    assert one == two
    names = {file.name for file in (tmp_path / "one").iterdir()}
    assert names == {*one.files, "manifest.json"}
    for name, sha256 in one.files.items():
        assert hashlib.sha256((tmp_path / "two" / name).read_bytes()).hexdigest() == sha256
    assert (tmp_path / "one" / "manifest.json").read_bytes() == (tmp_path / "two" / "manifest.json").read_bytes()
    shutil.copytree(tmp_path, tmp_path / "copy", ignore=shutil.ignore_patterns("one", "two"))
    both = curate([tmp_path, tmp_path / "copy"], tmp_path / "both", held=0.3)
    assert both.files == one.files  # the same runs in another folder add nothing
    assert both.runs["repeated"] == one.runs["kept"] == 12


def test_a_task_is_on_one_side_of_the_split_and_stays_there(tmp_path: Path) -> None:
    for n in range(60):
        keep(tmp_path / "a", f"a{n}", f"Press button {n % 20}", [press(n / 100, n)], score=float(n % 3 > 0))
    for n in range(40):
        keep(tmp_path / "b", f"b{n}", f"press  BUTTON {n}", [press(n / 100, n + 100)], score=1.0)
    first, _ = curated(tmp_path / "a", tmp_path / "one", held=0.3)
    both = curate([tmp_path / "b", tmp_path / "a"], tmp_path / "two", held=0.3)
    assert 0 < first.runs["held"] < 60
    sides: dict[str, set[object]] = {}
    for run, told in both.consent.items():
        sides.setdefault(str(int(run[1:]) % 20 if run[0] == "a" else int(run[1:])), set()).add(told["split"])
        assert first.consent.get(run, told)["split"] == told["split"]
    assert all(len(side) == 1 for side in sides.values())
    held = {row.run for row in held_rows(sources(str(tmp_path / "two")))}
    assert held
    assert held.isdisjoint(row.run for row in read_rows(sources(str(tmp_path / "two"))))
    assert {run for run in held if both.consent[run]["split"] == "held"} == held


def test_a_run_without_consent_is_nowhere(tmp_path: Path) -> None:
    secret, shown = "Xanthippe", "Bucephalus"
    tags = ("suite:s", "task:t", "seed:7")
    for consent, word, run in (("no", secret, f"run-{secret}"), ("settings", shown, "kept")):
        acts = [press(0.1, 1, thought=word), Act(Type(word), 2, verdict=NO), Act(Type(word), 2, verdict=YES), END]
        keep(tmp_path, run, f"Write {word} into the list and save it", acts, consent=consent, score=1.0, tags=tags)
        say(tmp_path, run, 1, "correction", None, f"Thought: {word}\nAction: type(content='{word}!')")
    keep(
        tmp_path,
        "s",
        f"Write {shown} into the list and save it",
        [press(0.2, 1, thought=secret)],
        consent="no",
        score=0.0,
    )
    lesson = {"prompt": secret, "reply": secret, "group": "s/u", "run": "s/u/1"}  # of a run that is not there
    (tmp_path / "lessons.jsonl").write_text(json.dumps(lesson) + "\n")
    made, _ = curated(tmp_path, tmp_path / "set")
    whole = b"".join(file.read_bytes() for file in (tmp_path / "set").iterdir())
    assert secret.encode() not in whole
    assert shown.encode() in whole
    assert made.runs["without_consent"] == 2
    assert made.consent == {
        "kept": {"consent": "settings", "when": 1000.0, "row": "s/t/7", "value": "solved", "by": "verifier",
                 "split": "train"}
    }  # fmt: skip
    assert made.turns["lesson_without_run"] == 1


def test_what_is_personal_is_in_no_file(tmp_path: Path) -> None:
    mail = "ann.smith@example.com"
    acts = [press(0.1, 1, thought=f"Mail {mail}."), Act(Type(f"to {mail}"), 2), END]
    keep(tmp_path, "r", f"Send the report to {mail} and Ann Smith by 5 pm", acts, score=1.0)
    made, rows = curated(tmp_path, tmp_path / "set")
    whole = b"".join(file.read_bytes() for file in (tmp_path / "set").iterdir()).decode()
    assert mail not in whole
    assert made.turns == {"imitated": 1, "redacted": 2}
    (task,) = rows["tasks"]
    assert task["template"] == "send the report to {email} and {name} by {time}"
    assert (task["slots"], task["checked_by"]) == (["email", "name", "time"], "judge")
    assert task["sources"] == [hashlib.sha256(b"r").hexdigest()]


def test_trainers_read_a_curated_folder(tmp_path: Path) -> None:
    keep(tmp_path, "a", TASK, [press(0.1, 1), press(0.2, 2)], score=1.0)
    keep(tmp_path, "b", TASK, [press(0.3, 1, verdict=ALLOWED)], score=0.0)
    _, rows = curated(tmp_path, tmp_path / "set")
    assert [row.reply for row in read_rows(sources(str(tmp_path / "set")))] == replies(rows["sft"])
    assert len(read_rows(sources(f"{tmp_path / 'set'}:1"))) == 1
    assert ct.read_texts(str(tmp_path / "set")) == ct.read_texts(str(tmp_path / "set" / "ct.jsonl"))
    assert len(ct.read_texts(str(tmp_path / "set"))) == 1
    assert [pair.kind for pair in read_pairs(str(tmp_path / "set"))] == ["outcome"]
