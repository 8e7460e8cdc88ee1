"""MiniWoB tasks in a real Chromium, read by the real reader: teachers, scores, seeds, and a browser that dies."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from threading import Event

import pytest
from playwright.sync_api import Error as PlaywrightError

from agent_core import actions as act
from agent_core.dialects.elements import Elements
from agent_core.errors import ScreenError
from agent_core.screen.elements import ElementReader
from agent_core.step import Prompt
from training.tasks import suite
from training.tasks.miniwob import EVALUATED, PLANS, TRAINED, UNSAID, MiniWob, miniwob_pages
from training.tasks.miniwob_check import check
from training.tasks.task import HELD_OUT_SEEDS, TRAIN_SEEDS, Suite, check_seed, seed_of
from training.tasks.teacher import alike

pytestmark = pytest.mark.browser
STOP = Event()


@pytest.fixture(scope="module")
def miniwob() -> Iterator[MiniWob]:
    if find_spec("miniwob") is None:
        pytest.skip("needs the package miniwob")
    opened = MiniWob(ElementReader(threads=1))
    yield opened
    opened.close()


def test_training_and_held_out_seeds_cannot_meet() -> None:
    assert not set(TRAIN_SEEDS) & set(HELD_OUT_SEEDS)
    assert (seed_of(0, "train"), seed_of(0, "held_out")) == (0, 1_000_000)
    with pytest.raises(ValueError, match="not one of the train seeds"):
        check_seed(1_000_000, "train")
    with pytest.raises(ValueError, match="no number"):
        seed_of(10_000, "train")


def test_every_page_is_measured_or_told_why_not() -> None:
    pages = {each.stem for each in miniwob_pages().glob("*.html")}
    assert len(EVALUATED) == len(set(EVALUATED))
    assert set(EVALUATED) | set(UNSAID) == pages
    assert not set(EVALUATED) & set(UNSAID)
    assert set(TRAINED) <= set(PLANS) <= set(EVALUATED)


def test_the_suite_is_found_by_its_name() -> None:
    found = suite("miniwob")
    assert isinstance(found, Suite)
    assert found.tasks() == TRAINED
    found.close()


def test_an_unknown_task_and_a_seed_of_the_other_split_are_refused(miniwob: MiniWob) -> None:
    with pytest.raises(ValueError, match="there is no task 'fly'"):
        miniwob.open("fly", 0, "train")
    with pytest.raises(ValueError, match="held_out seeds"):
        miniwob.open("click-test", 0, "held_out")


def test_a_seed_always_gives_the_same_task(miniwob: MiniWob) -> None:
    def text(seed: int) -> str:
        episode = miniwob.open("enter-text", seed, "held_out")
        episode.close()
        return episode.task

    texts = [text(1_000_000 + n) for n in range(4)]
    assert texts == [text(1_000_000 + n) for n in range(4)]
    assert len(set(texts)) > 1


@pytest.mark.parametrize(
    "task", ["click-button", "click-checkboxes", "login-user", "click-collapsible", "choose-list", "read-table"]
)
def test_the_teacher_solves_the_task_through_the_loop(miniwob: MiniWob, task: str) -> None:
    tally = check(task, miniwob, range(3))
    assert tally.solved == 3, tally.failures


def test_the_teacher_goes_on_from_what_somebody_else_did_wrong(miniwob: MiniWob) -> None:
    episode = miniwob.open("enter-text", 5, "train")
    page = miniwob._sandbox._living_page()
    shot = episode.operator.look()
    assert episode.reader is not None
    field = next(e for e in episode.reader.read(shot) if e.kind == "field")
    episode.operator.do(act.Click(field.point), shot, STOP)
    episode.operator.do(act.Type("rubbish"), shot, STOP)
    assert page.evaluate("document.getElementById('tt').value") == "rubbish"

    episode.reader.read(shot := episode.operator.look())
    reply = Elements().parse(episode.teacher.reply(Prompt(()), STOP).text, shot)
    assert [type(a) for a in reply.actions] == [act.Click, act.Hotkey, act.Type]
    for action in reply.actions:
        assert episode.operator.do(action, shot, STOP).ok
    assert page.evaluate("document.getElementById('tt').value") == episode.task.split('"')[1]
    episode.close()


def test_a_wrong_click_ends_the_episode_without_reward(miniwob: MiniWob) -> None:
    episode = miniwob.open("click-test-2", 0, "train")
    shot = episode.operator.look()
    assert episode.reader is not None
    wrong = next(e for e in episode.reader.read(shot) if e.text == "TWO")
    assert not episode.done()
    episode.operator.do(act.Click(wrong.point), shot, STOP)
    assert episode.done()
    assert episode.score() < 0
    episode.close()


def test_the_agent_does_not_see_the_yellow_bar(miniwob: MiniWob) -> None:
    episode = miniwob.open("click-test", 1, "train")
    shot = episode.operator.look()
    assert (shot.width, shot.height) == (480, 480)
    assert b"\xff\xff\x00" not in {shot.rgb[n : n + 3] for n in range(0, len(shot.rgb), 3)}
    episode.close()


def test_a_dead_browser_is_replaced(miniwob: MiniWob) -> None:
    episode = miniwob.open("click-test", 2, "train")
    browser = miniwob._sandbox._browser
    assert browser is not None
    with pytest.raises(PlaywrightError):
        miniwob._sandbox._living_page().goto("chrome://crash", timeout=3000)
    browser.close()
    with pytest.raises(ScreenError, match="page is gone"):
        episode.score()
    assert check("click-test", miniwob, [2]).solved == 1


def test_labels_are_compared_with_leniency() -> None:
    assert alike("Subrnit", "Submit") > 0.7
    assert alike("sub mit", "Submit") == 1.0
    assert alike("Cancel", "OK") == 0.0
