"""The desk suite in its real programs: teachers solve, doing nothing or the wrong thing does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core.actions import Finished, Hotkey, Type
from agent_core.dialects.elements import Elements
from agent_core.models.scripted import Scripted
from agent_core.protocols import Model
from agent_core.step import Screenshot, Transform
from agent_core.traces.store import NoTrace
from training.rollouts import Rollout, run_episode
from training.tasks.desk import TASKS, Desk
from training.tasks.task import Episode, seed_of

pytestmark = pytest.mark.desktop

BLANK = Screenshot(b"", 1, 1, Transform("test", 0, 0, 1, 1))


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    suite = Desk()
    yield suite
    suite.close()


def run(desk: Desk, task: str, model: Model | None = None) -> Rollout:
    """One training episode through the loop, by the teacher unless a model is given."""
    episode: Episode = desk.open(task, seed_of(7, "train"), "train")
    try:
        assert episode.reader is not None
        player = model or episode.teacher
        return run_episode(desk.name, task, 7, episode, player, episode.reader, NoTrace(), Elements(), 12)
    finally:
        episode.close()


@pytest.mark.parametrize(
    "task", ["editor_append", "files_rename_file", "calculator_multiply", "form_name", "terminal_move"]
)
def test_the_teacher_solves_the_task_through_the_loop(desk: Desk, task: str) -> None:
    result = run(desk, task)
    assert result.reward == 1.0, result.text
    assert isinstance(result.turns[-1].intent.actions[-1], Finished)


@pytest.mark.browser
def test_the_browser_is_kept_and_its_page_replaced(desk: Desk) -> None:
    assert [run(desk, task).reward for task in ("web_link", "web_search")] == [1.0, 1.0]


@pytest.mark.parametrize(
    "task", ["editor_clear", "files_new_folder", "calculator_add", "form_cancel", "terminal_write"]
)
def test_saying_that_it_is_done_scores_nothing(desk: Desk, task: str) -> None:
    liar = Scripted([Elements().write("The task is done.", [Finished("Done.")], BLANK)])
    assert run(desk, task, liar).reward == 0.0


def test_saving_another_text_scores_nothing(desk: Desk) -> None:
    wrong = Elements().write("Type.", [Type("something else"), Hotkey(("ctrl", "s"))], BLANK)
    done = Elements().write("The task is done.", [Finished("Done.")], BLANK)
    assert run(desk, "editor_write", Scripted([wrong, done])).reward == 0.0


def test_every_episode_starts_from_an_empty_home(desk: Desk) -> None:
    desk.open("terminal_list", seed_of(1, "train"), "train").close()
    first = _visible(desk)
    desk.open("editor_write", seed_of(1, "train"), "train").close()
    assert len(first) == 3
    assert len(_visible(desk)) == 1


def _visible(desk: Desk) -> list[Path]:
    """What the home on the desktop shows to a person."""
    assert desk.home is not None
    return [path for path in desk.home.iterdir() if not path.name.startswith(".")]


def test_an_unknown_task_or_a_seed_of_the_other_split_is_refused(desk: Desk) -> None:
    with pytest.raises(ValueError, match="there is no task"):
        desk.open("dance", 0, "train")
    with pytest.raises(ValueError, match="not one of the held_out seeds"):
        desk.open(next(iter(TASKS)), 0, "held_out")
