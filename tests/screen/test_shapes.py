"""Colours, shapes, blocks and lone letters, drawn here with known answers; and what a detector may add."""

from __future__ import annotations

import colorsys

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from agent_core.screen.blocks import blocks
from agent_core.screen.colours import GREY_CHROMA, PURE, Colour, colour_name
from agent_core.screen.detected import Detected, merged
from agent_core.screen.letters import letter_in, letters, marks
from agent_core.screen.ocr import WordReader
from agent_core.screen.roles import Found
from agent_core.screen.shapes import shapes

Picture = NDArray[np.uint8]
SIDE = 480
POLYGONS = {3: "triangle", 4: "square", 5: "pentagon", 6: "hexagon", 7: "heptagon"}
HUES = [(0, "red"), (120, "green"), (240, "blue")]


def paper(colour: Colour = (255, 255, 255)) -> Picture:
    return np.full((SIDE, SIDE, 3), colour, np.uint8)


def polygon(sides: int, turn: float, radius: int = 100) -> NDArray[np.int32]:
    angles = turn + np.arange(sides) * 2 * np.pi / sides
    return np.stack([240 + radius * np.cos(angles), 240 + radius * np.sin(angles)], axis=1).round().astype(np.int32)


@pytest.mark.parametrize(("name", "colour"), PURE.items())
def test_pure_colours_have_their_names(name: str, colour: Colour) -> None:
    assert colour_name(colour) == name


@given(hue=st.sampled_from(HUES), saturation=st.integers(30, 89), light=st.integers(30, 89))
def test_all_shades_of_a_hue_share_its_word(hue: tuple[int, str], saturation: int, light: int) -> None:
    shade = colorsys.hls_to_rgb(hue[0] / 360, light / 100, saturation / 100)
    colour = (round(shade[0] * 255), round(shade[1] * 255), round(shade[2] * 255))
    assert max(colour) - min(colour) >= GREY_CHROMA
    assert colour_name(colour).split()[-1] in (hue[1], "brown" if hue[1] == "red" else hue[1])


@given(level=st.integers(0, 255))
def test_greys_have_no_hue(level: int) -> None:
    assert colour_name((level, level, level)).split()[-1] in ("black", "grey", "white", "silver")


@pytest.mark.parametrize("turn", [0.0, 0.3, 0.9, 1.7])
@pytest.mark.parametrize(("sides", "name"), POLYGONS.items())
def test_outlined_polygons_are_told_by_their_sides(sides: int, name: str, turn: float) -> None:
    picture = paper()
    cv2.polylines(picture, [polygon(sides, turn)], True, (0, 0, 0), 9, cv2.LINE_AA)
    assert [s.words for s in shapes(picture)] == [f"white {name}"]


def test_filled_shapes_say_colour_figure_and_frame() -> None:
    picture = paper()
    cv2.rectangle(picture, (20, 20), (80, 80), (255, 0, 0), -1)
    cv2.rectangle(picture, (120, 20), (180, 80), (0, 0, 0), -1)
    cv2.rectangle(picture, (123, 23), (177, 77), (0, 0, 255), -1)
    cv2.circle(picture, (60, 200), 30, (255, 255, 0), -1, cv2.LINE_AA)
    cv2.circle(picture, (200, 200), 10, (0, 0, 0), -1, cv2.LINE_AA)
    cv2.fillPoly(picture, [np.array([[300, 260], [330, 200], [360, 260]])], (0, 128, 0), cv2.LINE_AA)
    found = shapes(picture)
    assert [s.words for s in found] == [
        "red square", "blue square framed", "yellow circle", "black circle", "green triangle",
    ]  # fmt: skip
    assert found[0].left <= 20 <= found[0].left + 2
    assert (found[2].left + found[2].right) / 2 == pytest.approx(60, abs=2)


def test_a_dot_at_the_end_of_a_line_is_still_a_circle() -> None:
    picture = paper()
    cv2.circle(picture, (100, 100), 11, (0, 0, 255), -1, cv2.LINE_AA)
    cv2.line(picture, (100, 100), (350, 260), (0, 0, 0), 2)
    assert [s.words for s in shapes(picture)] == ["blue circle"]


def test_shading_words_and_slices_are_no_shapes() -> None:
    picture = paper()
    cv2.fillPoly(picture, [np.array([[20, 40], [40, 20], [40, 40]])], (225, 225, 225))
    cv2.putText(picture, "BOB og 808", (20, 200), cv2.FONT_HERSHEY_SIMPLEX, 2, (0, 0, 0), 7, cv2.LINE_AA)
    cv2.ellipse(picture, (300, 350), (90, 90), 0, 0, 60, (240, 100, 40), -1)
    assert shapes(picture) == []


def test_a_cell_with_a_sign_and_a_card_are_blocks() -> None:
    picture = paper()
    cv2.rectangle(picture, (40, 40), (160, 160), (0, 0, 0), 3)
    cv2.line(picture, (60, 60), (140, 140), (0, 0, 0), 9)
    cv2.line(picture, (60, 140), (140, 60), (0, 0, 0), 9)
    for x in range(240, 340, 20):
        cv2.rectangle(picture, (x, 60), (x + 12, 220), (230, 30, 50), -1)
    cv2.rectangle(picture, (236, 56), (336, 224), (0, 0, 0), 4)
    cell, card = blocks(picture)
    assert (cell.words, cell.signed) == ("white square", True)
    assert (card.words, card.signed) == ("red picture", False)
    read = letter_in(picture, (48, 48, 152, 152), WordReader(1))
    assert read is not None
    assert read.sign.upper() == "X"
    assert blocks(paper()) == []


def test_marks_are_separate_and_a_line_ends_the_drawing() -> None:
    picture = paper()
    cv2.putText(picture, "7", (60, 100), cv2.FONT_HERSHEY_SIMPLEX, 2, (255, 0, 255), 5, cv2.LINE_AA)
    cv2.putText(picture, "A", (200, 100), cv2.FONT_HERSHEY_SIMPLEX, 2, (0, 0, 0), 5, cv2.LINE_AA)
    lone = marks(picture, [])
    assert [m.coloured for m in sorted(lone, key=lambda m: m.left)] == [True, False]
    assert sorted(x.sign for x in letters(WordReader(1), lone, (), SIDE)) == ["7", "A"]
    cv2.line(picture, (0, 300), (479, 300), (0, 0, 0), 3)
    assert marks(picture, []) == []


def test_a_detector_adds_only_what_was_not_found() -> None:
    button = Found("button", "OK", 100, 100, 200, 140)
    seen = [
        Detected("button", 102, 101, 198, 139, 0.99),
        Detected("icon", 130, 110, 150, 130, 0.9),
        Detected("check", 300, 100, 330, 130, 0.8, on=True),
        Detected("check", 302, 101, 331, 131, 0.7, on=False),
        Detected("radio", 400, 100, 430, 130, 0.3),
    ]
    assert merged([button], seen) == [button, Found("check", "", 300, 100, 330, 130, on=True)]
