"""The size at which a model sees a picture, and the way from its numbers to places and back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.actions import Click, Point
from agent_core.dialects.coordinates import Scale, coordinate_rule, smart_resize
from agent_core.dialects.uitars import UiTars, UiTarsRules
from agent_core.errors import DeskhandError, ScreenError
from agent_core.step import Screenshot, Transform

# (height, width) -> (height, width) with the default caps.
DEFAULT = {
    (1080, 1920): (1092, 1932),
    (720, 1280): (728, 1288),
    (1440, 2560): (1428, 2548),
    (2160, 3840): (2156, 3836),
    (2400, 1080): (2408, 1092),
    (768, 1024): (756, 1036),
    (1024, 1280): (1036, 1288),
    (600, 800): (588, 812),
    (100, 100): (280, 280),
    (224, 224): (280, 280),
    (4320, 7680): (2688, 4760),
    (1918, 1918): (1904, 1904),
}
# Screen -> size under three caps, all as (width, height).
CAPS = (16384 * 784, 2700 * 784, 1350 * 784)
CAPPED = {
    (1920, 1080): ((1932, 1092), (1932, 1092), (1344, 756)),
    (2560, 1440): ((2548, 1428), (1932, 1064), (1344, 756)),
    (3840, 2160): ((3836, 2156), (1932, 1064), (1344, 756)),
    (1366, 768): ((1372, 756), (1372, 756), (1372, 756)),
    (1280, 800): ((1288, 812), (1288, 812), (1288, 812)),
    (3440, 1440): ((3444, 1428), (2240, 924), (1568, 644)),
}


def shot(width: int, height: int) -> Screenshot:
    return Screenshot(b"", width, height, Transform("", 0, 0, width, height))


@pytest.mark.parametrize(("size", "seen"), DEFAULT.items())
def test_size_with_default_caps(size: tuple[int, int], seen: tuple[int, int]) -> None:
    assert smart_resize(*size) == seen


@pytest.mark.parametrize(("size", "seen"), CAPPED.items())
def test_size_under_caps(size: tuple[int, int], seen: tuple[tuple[int, int], ...]) -> None:
    width, height = size
    for cap, (seen_width, seen_height) in zip(CAPS, seen, strict=True):
        assert smart_resize(height, width, max_pixels=cap) == (seen_height, seen_width)


def test_a_sliver_is_refused() -> None:
    with pytest.raises(ScreenError, match="1x201"):
        smart_resize(201, 1)


@given(st.integers(1, 8000), st.integers(1, 8000))
def test_sizes_are_multiples_within_the_caps(height: int, width: int) -> None:
    if max(height, width) > 200 * min(height, width):
        return
    new_height, new_width = smart_resize(height, width)
    assert new_height % 28 == new_width % 28 == 0
    assert 78_400 <= new_height * new_width <= 12_845_056


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
@pytest.mark.parametrize("size", [*CAPPED, (100, 100), (1080, 2400), (5120, 1440)])
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
