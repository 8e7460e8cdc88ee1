"""The size at which a model sees a picture, and the way from its numbers to places and back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.actions import Click, Point
from agent_core.dialects.coordinates import Scale, coordinate_rule
from agent_core.dialects.uitars import UiTars, UiTarsRules
from agent_core.errors import DeskhandError
from agent_core.step import Screenshot, Transform


def shot(width: int, height: int) -> Screenshot:
    return Screenshot(b"", width, height, Transform("", 0, 0, width, height))


def test_the_same_numbers_under_two_rules() -> None:
    screen, reply = shot(1920, 1080), "Action: click(start_box='(100,200)')"
    (pixels,) = UiTars(UiTarsRules(coordinates="pixels")).parse(reply, screen).actions
    (thousand,) = UiTars(UiTarsRules(coordinates="thousand")).parse(reply, screen).actions
    assert isinstance(pixels, Click)
    assert isinstance(thousand, Click)
    assert (pixels.at.x * 1920, pixels.at.y * 1080) == pytest.approx((99.379, 197.802), abs=1e-3)
    assert (thousand.at.x * 1920, thousand.at.y * 1080) == pytest.approx((192, 216))


def test_the_range_is_that_of_the_picture_seen() -> None:
    dialect, screen = UiTars(UiTarsRules(coordinates="pixels")), shot(1920, 1080)
    assert dialect.parse("Action: click(start_box='(1932,1092)')", screen).actions == (Click(Point(1, 1)),)
    assert dialect.parse("Action: click(start_box='(1933,1092)')", screen).actions == ()


@pytest.mark.parametrize("coordinates", ["thousand", "pixels"])
@pytest.mark.parametrize(
    "size", [(1920, 1080), (1366, 768), (3840, 2160), (3440, 1440), (100, 100), (1080, 2400), (5120, 1440)]
)
@settings(max_examples=30, deadline=None)
@given(x=st.floats(0, 1), y=st.floats(0, 1))
def test_a_place_comes_back_within_half_a_step(coordinates: str, size: tuple[int, int], x: float, y: float) -> None:
    dialect, screen = UiTars(UiTarsRules(coordinates=coordinate_rule(coordinates))), shot(*size)
    scale = dialect.scale(screen)
    (back,) = dialect.parse(dialect.write("", [Click(Point(x, y))], screen), screen).actions
    assert isinstance(back, Click)
    assert abs(back.at.x - x) * scale.width <= 0.5 + 1e-9
    assert abs(back.at.y - y) * scale.height <= 0.5 + 1e-9


def test_zero_and_the_far_corner_are_places() -> None:
    assert Scale(1000, 1000).to_point(0, 0) == Point(0, 0)
    assert Scale(1000, 1000).to_point(1000, 1000) == Point(1, 1)
    assert Scale(1000, 1000).to_point(1000.5, 0) is None


def test_rules_by_name() -> None:
    assert coordinate_rule("0..1000") == coordinate_rule("thousand") == "thousand"
    assert coordinate_rule("pixels") == "pixels"
    with pytest.raises(DeskhandError, match=r"thousand, 0\.\.1000, pixels"):
        coordinate_rule("inches")
