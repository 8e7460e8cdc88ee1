"""Drawings on real pages: what the page drew must be among the elements, by name and in its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_core.screen.capture import from_png
from agent_core.screen.elements import ElementReader
from agent_core.step import Element
from tests.screen import pages

TOP = 50  # CSS pixels: the bar with the task, which the agent does not see
CLIP = {"x": 0, "y": TOP, "width": pages.WIDTH, "height": pages.HEIGHT - TOP}
DRAWN = """() => [...document.querySelectorAll('#area_svg > *')].map(e => {
  const r = e.getBoundingClientRect();
  return [e.tagName, e.textContent, e.getAttribute('fill'), (r.left + r.right) / 2, (r.top + r.bottom) / 2];
})"""
FIGURES = {"rect": "square", "circle": "circle", "polygon": "triangle"}

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(pages.task_pages() is None, reason="needs the package miniwob"),
    pytest.mark.skipif(not Path("/usr/bin/chromium").exists(), reason="needs Chromium"),
]


@pytest.fixture(scope="module")
def reader() -> ElementReader:
    return ElementReader(threads=1)


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    with pages.browser() as chromium:
        yield pages.page(chromium)


def read(page: Any, reader: ElementReader, task: str, seed: int, click: str = "") -> tuple[Element, ...]:
    pages.labelled(page, task, seed)
    if click:
        page.locator(click).first.click()
        page.wait_for_timeout(300)
    return reader.read(from_png(page.screenshot(clip=CLIP)))


def test_shapes_letters_and_digits_have_their_colours_and_places(page: Any, reader: ElementReader) -> None:
    wrong, total = [], 0
    for seed in (2, 3, 5):
        elements = read(page, reader, "click-shape", seed)
        for tag, text, fill, x, y in page.evaluate(DRAWN):
            total += 1
            at = (x / pages.WIDTH, (y - TOP) / (pages.HEIGHT - TOP))
            colour = "cyan" if fill == "aqua" else fill
            what = f"{colour} {FIGURES[tag]}" if tag in FIGURES else f"{'digit' if text.isdigit() else 'letter'} {text}"
            near = [e.text for e in elements if abs(e.point.x - at[0]) < 0.04 and abs(e.point.y - at[1]) < 0.04]
            if not any(what in said and colour in said for said in near):
                wrong.append((seed, what, near))
    assert total > 15
    assert len(wrong) <= 1, wrong


def test_every_dot_of_a_grid_is_read_also_on_its_axes(page: Any, reader: ElementReader) -> None:
    dots = [e for e in read(page, reader, "grid-coordinate", 1) if e.text == "blue circle framed"]
    assert len(dots) == 25


@pytest.mark.parametrize("seed", [1, 4])
def test_the_sides_of_a_polygon_are_told(page: Any, reader: ElementReader, seed: int) -> None:
    elements = read(page, reader, "count-sides", seed)
    assert [e.text for e in elements if e.kind == "button"] == ["3", "4", "5", "6", "7"]
    names = ("triangle", "square", "pentagon", "hexagon", "heptagon")
    assert len([e for e in elements if e.text.removeprefix("white ") in names]) == 1


def test_every_day_of_an_open_calendar_is_a_button(page: Any, reader: ElementReader) -> None:
    elements = read(page, reader, "choose-date", 1, "#datepicker")
    days = [e.text for e in elements if e.kind == "button" and e.text.isdigit()]
    assert days == [str(n) for n in range(1, 32)]


def test_what_is_selected_has_a_frame(page: Any, reader: ElementReader) -> None:
    before = [e.text for e in read(page, reader, "click-shades", 2)]
    after = [e.text for e in read(page, reader, "click-shades", 2, "#area span")]
    assert after[0] == f"{before[0]} framed"
    assert after[1:] == before[1:]


def test_the_cells_of_a_game_are_read_with_their_marks(page: Any, reader: ElementReader) -> None:
    empty = [e.text for e in read(page, reader, "tic-tac-toe", 1)]
    assert empty == ["white square"] * 9
    played = [e.text for e in read(page, reader, "tic-tac-toe", 1, "#ttt-4")]
    assert played.count("white square") == 7
    assert played[4] == "white square X"
    assert played.count("white square O") == 1


@pytest.mark.parametrize("seed", [3, 4, 7])
def test_noughts_and_numbers_on_a_page_of_few_words_are_no_letters(page: Any, reader: ElementReader, seed: int) -> None:
    elements = read(page, reader, "odd-or-even", seed)
    shown = page.evaluate("() => [...document.querySelectorAll('.display-number')].map(e => e.textContent.trim())")
    assert len(shown) == 3
    assert [e.text for e in elements if e.kind == "text"] == shown
