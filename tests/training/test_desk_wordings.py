"""The desk tasks as data: wordings, drawn values, what the teachers write, and how they find what they aim at."""

from __future__ import annotations

from difflib import SequenceMatcher
from random import Random

import pytest

from agent_core.dialects.elements import Elements
from agent_core.step import Box, Element, ElementKind, Screenshot, Transform
from training.curate import Row
from training.rewording import HEAD, reworded
from training.tasks.desk import EVALUATED, TASKS, rewordings, worded
from training.tasks.desk_task import Aim, DeskTask, alike, find, switch_on
from training.tasks.task import seed_of

BLANK = Screenshot(b"", 1, 1, Transform("test", 0, 0, 1, 1))
EVERY_TASK = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)


def element(kind: ElementKind, text: str, top: float = 0.0, on: bool | None = None) -> Element:
    return Element(kind, text, Box(0.1, top, 0.2, top + 0.05), on=on)


def test_there_are_enough_tasks() -> None:
    assert len(TASKS) >= 24
    assert len(EVALUATED) >= 20


@EVERY_TASK
def test_the_last_wording_is_held_out(task: DeskTask) -> None:
    assert len(set(task.wordings)) == len(task.wordings) >= 3
    for n in range(30):
        text, values = worded(task, seed_of(n, "train"), "train")
        held, other = worded(task, seed_of(n, "held_out"), "held_out")
        assert text in {wording.format_map(values) for wording in task.wordings[:-1]}
        assert text != task.wordings[-1].format_map(values)
        assert held == task.wordings[-1].format_map(other)


@EVERY_TASK
def test_a_seed_gives_the_same_episode_again(task: DeskTask) -> None:
    assert worded(task, 5, "train") == worded(task, 5, "train")
    assert len({worded(task, n, "train")[0] for n in range(20)}) > 3


@EVERY_TASK
def test_what_the_teacher_writes_is_read_back_as_it_was_meant(task: DeskTask) -> None:
    for n in range(10):
        values = task.draw(Random(n))
        for move in (*task.teach(values), task.last(values)):
            actions = tuple(
                part.how(element("button", part.label).point) if isinstance(part, Aim) else part for part in move.parts
            )
            read = Elements().parse(Elements().write(move.thought, actions, BLANK), BLANK)
            assert not read.problems
            assert read.thought == move.thought
            assert len(read.actions) == len(actions)
            assert [a for a in read.actions if not hasattr(a, "at")] == [a for a in actions if not hasattr(a, "at")]


def test_a_label_is_found_when_a_letter_was_misread_but_not_when_it_is_another() -> None:
    screen = [element("button", "Submlt"), element("button", "Cancel"), element("text", "Holiday")]
    assert find(screen, "Submit") is screen[0]
    assert find(screen, "Save") is None
    assert find(screen, "Holiday", ("button",)) is None


def test_a_widget_comes_before_bare_text_with_the_same_words() -> None:
    screen = [element("text", "Music"), element("check", "Music")]
    assert find(screen, "Music") is screen[1]


def test_two_equal_labels_are_not_guessed_between() -> None:
    assert find([element("button", "OK"), element("button", "OK", 0.5)], "OK") is None


def test_a_box_that_is_on_is_left_alone() -> None:
    move = switch_on("Music", "check")
    shots = [
        Screenshot(b"", 1, 1, BLANK.transform, elements=(element("check", "Music", on=on),)) for on in (True, False)
    ]
    assert [move.done(shot) for shot in shots] == [True, False]


@pytest.mark.parametrize(("a", "b", "same"), [("Email", "E-mail", 1.0), ("a b", "AB", 1.0), ("", "x", 0.0)])
def test_likeness_is_about_letters_only(a: str, b: str, same: float) -> None:
    assert alike(a, b) == same


@EVERY_TASK
def test_other_wordings_are_for_training_and_not_like_the_held_out_one(task: DeskTask) -> None:
    texts = rewordings(task.name, seed_of(3, "train"))
    _, values = worded(task, seed_of(3, "train"), "train")
    held = task.wordings[-1].format_map(values).lower().split()
    assert len(set(texts)) == len(texts) >= 15
    assert all(SequenceMatcher(None, text.lower().split(), held).ratio() < 0.85 for text in texts)
    with pytest.raises(ValueError, match="train seeds"):
        rewordings(task.name, seed_of(3, "held_out"))


def test_a_row_is_put_under_other_words_and_nothing_else_of_it_changes() -> None:
    seed = seed_of(2, "train")
    text, _ = worded(TASKS["terminal_list"], seed, "train")
    row = Row(f"{HEAD}{text}\nScreen:\ntext x 1 2", "Thought: t", "desk/terminal_list", f"desk/terminal_list/{seed}")
    other = Row("as it is", "Thought: t", "miniwob/click-test", "miniwob/click-test/0")
    *copies, last = reworded([row, other], 3, seed=0)
    assert last == other
    assert len({copy.prompt for copy in copies}) == 3
    assert all(copy.prompt.endswith("\nScreen:\ntext x 1 2") and copy.reply == row.reply for copy in copies)
    assert {copy.prompt.removeprefix(HEAD).partition("\n")[0] for copy in copies} <= set(
        rewordings("terminal_list", seed)
    )
