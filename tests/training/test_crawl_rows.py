"""What rows say about a picture, by small pictures made by hand: words, changes, questions, marks and places."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from agent_core.actions import Click, Hotkey, Type
from agent_core.dialects.uitars import UiTars, UiTarsRules
from training import crawl_marks, crawl_moves, crawl_questions
from training.crawl_changes import caption, differences
from training.crawl_folder import CrawlFolder, split_of
from training.crawl_rows import Writer, told_apart
from training.crawl_screen import Change, Seen, Widget, tidy
from training.crawl_words import description, neighbour, region

NAME = Widget("text", "Name", (10, 10, 50, 30), key="1")
FIELD = Widget("field", "Name", (60, 10, 200, 30), value="Anna", focused=True, key="2")
TICK = Widget("check", "Wifi", (10, 40, 80, 60), on=False, mark=(10, 42, 26, 58), key="3")
SAVE = Widget("button", "Save", (10, 150, 70, 180), key="4")
MORE = Widget("button", "More", (230, 150, 290, 180), enabled=False, key="5")


def seen(*widgets: Widget, title: str = "") -> Seen:
    """A white picture of 300 x 200 with the widgets filled in blue."""
    rgb = np.full((200, 300, 3), 255, np.uint8)
    for widget in widgets:
        left, top, right, bottom = widget.box
        rgb[top:bottom, left:right] = (20, 60, 200)
    return Seen(rgb.tobytes(), 300, 200, title, tidy(widgets, 300, 200))


ALL = seen(NAME, FIELD, TICK, SAVE, MORE)


def test_widgets_come_in_reading_order_without_slivers_doubles_and_what_is_cut_off() -> None:
    cut = Widget("button", "Cut", (10, 185, 70, 235))
    sliver = Widget("image", "", (0, 0, 300, 2))
    blank = Widget("text", "  ", (100, 100, 150, 120))
    assert tidy([MORE, SAVE, cut, TICK, sliver, FIELD, blank, NAME, SAVE], 300, 200) == (NAME, FIELD, TICK, SAVE, MORE)


def test_a_description_tells_type_look_position_function_and_state() -> None:
    assert region(ALL, TICK) == "top left"
    assert neighbour(ALL, TICK) == "below the text “Name”"
    told = description(ALL, TICK, Random(1))
    assert told.startswith("This is a check box named “Wifi”: ")
    assert "in blue" in told or "blue" in told
    assert told.endswith("State: not ticked.")
    assert "greyed out" in description(ALL, MORE, Random(1))


def test_changes_are_told_and_nothing_else() -> None:
    ticked = replace(TICK, on=True)
    typed = replace(FIELD, value="", focused=False)
    note = Widget("text", "Saved", (100, 100, 160, 120), key="9")
    after = seen(NAME, typed, ticked, SAVE, note)
    change = Change(ALL, (Click(ALL.point(TICK)),), TICK, after)
    assert differences(change) == [
        "The text field “Name” is now empty.",
        "The check box “Wifi” is now ticked.",
        "The text “Saved” appears.",
        "The button “More” is no longer to be seen.",
    ]
    assert caption(change).startswith("The check box “Wifi” is clicked. The text field “Name” is now empty.")
    assert caption(Change(ALL, (), None, ALL)) == "Nothing was done in between. Nothing changes that can be seen."


def test_only_what_one_name_tells_apart_is_asked_for() -> None:
    twin = replace(SAVE, box=(100, 150, 160, 180), key="7")
    under = Widget("text", "Under", (0, 0, 300, 200), key="8")
    names = [(w.role, w.name) for w in told_apart(seen(NAME, TICK, SAVE, twin, under))]
    assert names == [("text", "Name"), ("check", "Wifi"), ("text", "Under")]


def test_questions_have_the_answers_that_the_program_knows() -> None:
    asked: dict[str, str] = {}
    for seed in range(12):
        asked |= dict(crawl_questions.questions(ALL, told_apart(ALL), Random(seed), 20))
    assert asked["Is the check box “Wifi” on?"] == "No."
    assert asked["What does the text field “Name” hold?"] == "Anna"
    assert asked["How many buttons can be seen?"] == "2."
    assert asked["What has the keyboard focus?"] == "The text field “Name”."
    assert asked["Is there a button “Save”?"] == "Yes."
    assert asked["Which check boxes are ticked?"] == "None of them."
    assert not any("title" in question for question in asked)


def test_marks_do_not_overlap_and_cover_no_element() -> None:
    marked = crawl_marks.chosen(ALL.widgets, Random(3))
    image = np.asarray(crawl_marks.drawn(ALL, marked))
    assert [w.name for w in marked] == ["Name", "Name", "Wifi", "Save", "More"]
    for widget in marked:
        left, top, right, bottom = widget.box
        inside = image[top + 2 : bottom - 2, left + 2 : right - 2]
        assert (inside == (20, 60, 200)).all()


def test_moves_are_harmless_and_within_the_widget() -> None:
    kinds = set()
    for seed in range(60):
        actions, target = crawl_moves.next_move(ALL, Random(seed))
        assert target is not None
        assert target.enabled
        assert target.role != "menu item"
        click = actions[0]
        assert isinstance(click, Click)
        assert ALL.fractions(target.target).holds(click.at)
        kinds.add((target.role, tuple(type(action) for action in actions)))
    assert ("field", (Click, Hotkey, Type)) in kinds
    assert ("check", (Click,)) in kinds


@pytest.mark.parametrize("rules", [UiTarsRules(), UiTarsRules(coordinates="pixels", places="box")])
def test_grounding_is_read_by_the_dialect_that_serves_the_model(rules: UiTarsRules) -> None:
    dialect = UiTars(rules)
    drafts = [d for d in Writer(dialect).of_picture(ALL, Random(5)) if d.kind == "grounding"]
    assert drafts
    for draft in drafts:
        intent = dialect.parse(draft.answer, ALL.shot())
        assert not intent.problems
        left, top, right, bottom = draft.about["mark"] or draft.about["box"]
        (click,) = intent.actions
        assert isinstance(click, Click)
        assert left <= click.at.x * 300 <= right
        assert top <= click.at.y * 200 <= bottom


def test_a_folder_keeps_each_picture_and_each_row_once(tmp_path: Path) -> None:
    folder = CrawlFolder(tmp_path)
    assert folder.add_screen(ALL, "pages", "train")
    assert not folder.add_screen(seen(NAME, FIELD, TICK, SAVE, MORE), "pages", "train")
    drafts = list(Writer(UiTars()).of_picture(ALL, Random(5)))
    for draft in [*drafts, *drafts]:
        folder.add_row(draft, "pages", "train")
    manifest = folder.close({})
    assert manifest["screens"] == 1
    assert manifest["rows"] == len(drafts)
    with pytest.raises(SystemExit, match="holds a crawl already"):
        CrawlFolder(tmp_path)


def test_scenes_are_held_out_whole_and_by_their_names_alone() -> None:
    splits = [split_of(f"0/pages/{n}") for n in range(300)]
    assert 15 <= splits.count("held_out") <= 45
    assert splits == [split_of(f"0/pages/{n}") for n in range(300)]
