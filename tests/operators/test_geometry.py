"""Fractions to pixels and back, on monitors of any size and origin."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.actions import Point
from agent_core.operators.geometry import from_device, from_input, to_device, to_input
from agent_core.step import Transform

FRACTIONS = st.floats(0, 1, allow_nan=False)
TRANSFORMS = st.builds(
    Transform,
    monitor=st.just("1"),
    left=st.integers(-8000, 8000),
    top=st.integers(-8000, 8000),
    width=st.integers(1, 8000),
    height=st.integers(1, 8000),
)


@given(FRACTIONS, FRACTIONS, TRANSFORMS)
def test_always_on_the_monitor_and_back_within_a_pixel(x: float, y: float, transform: Transform) -> None:
    point = Point(x, y)
    column, row = to_device(point, transform)
    assert transform.left <= column < transform.left + transform.width
    assert transform.top <= row < transform.top + transform.height
    back = from_device(column, row, transform)
    assert abs(back.x - x) * transform.width <= 1
    assert abs(back.y - y) * transform.height <= 1


@given(TRANSFORMS, st.data())
def test_every_pixel_comes_back_as_itself(transform: Transform, data: st.DataObject) -> None:
    column = transform.left + data.draw(st.integers(0, transform.width - 1))
    row = transform.top + data.draw(st.integers(0, transform.height - 1))
    assert to_device(from_device(column, row, transform), transform) == (column, row)
    assert to_input(from_input(column, row, transform), transform) == (column, row)


@pytest.mark.parametrize("size", [(1280, 800), (1366, 768), (2560, 1440), (3840, 2160), (1440, 3040), (606, 1280)])
def test_corners(size: tuple[int, int]) -> None:
    transform = Transform("1", 0, 0, *size)
    assert to_device(Point(0, 0), transform) == (0, 0)
    assert to_device(Point(1, 1), transform) == (size[0] - 1, size[1] - 1)
    assert to_device(Point(0.5, 0.5), transform) == (size[0] // 2, size[1] // 2)


def test_monitors_left_of_and_above_the_primary() -> None:
    left = Transform("2", -1920, 0, 1920, 1080)
    above = Transform("3", 0, -1080, 1920, 1080)
    assert to_device(Point(10 / 1920, 10 / 1080), left) == (-1910, 10)
    assert to_device(Point(10 / 1920, 10 / 1080), above) == (10, -1070)


def test_a_pixel_beside_the_monitor_counts_as_its_edge() -> None:
    transform = Transform("1", 0, 0, 100, 100)
    assert to_device(from_device(-5, 500, transform), transform) == (0, 99)


def test_scale_leads_to_the_units_of_the_input() -> None:
    transform = Transform("1", 0, 0, 2880, 1800, scale=2.0)
    assert to_device(Point(0.5, 0.5), transform) == (1440, 900)
    assert to_input(Point(0.5, 0.5), transform) == (720, 450)
