"""Shrinking, comparing and settling: pure functions on frames, with published numbers and exact boxes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from threading import Event

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from agent_core.actions import Point
from agent_core.errors import ScreenError
from agent_core.screen.compare import changed, changed_boxes, changed_extent, changed_fraction, patch_equal
from agent_core.screen.settle import settled
from agent_core.screen.shrink import resized, smart_resize
from agent_core.step import Screenshot, Transform

PUBLISHED = {
    (1080, 1920): (1092, 1932), (720, 1280): (728, 1288), (1440, 2560): (1428, 2548), (2160, 3840): (2156, 3836),
    (2400, 1080): (2408, 1092), (768, 1024): (756, 1036), (1024, 1280): (1036, 1288), (600, 800): (588, 812),
    (100, 100): (280, 280), (224, 224): (280, 280), (4320, 7680): (2688, 4760), (1918, 1918): (1904, 1904),
}  # fmt: skip
CAPPED = {
    (1920, 1080): ((1932, 1092), (1932, 1092), (1344, 756)), (2560, 1440): ((2548, 1428), (1932, 1064), (1344, 756)),
    (3840, 2160): ((3836, 2156), (1932, 1064), (1344, 756)), (1366, 768): ((1372, 756), (1372, 756), (1372, 756)),
    (1280, 800): ((1288, 812), (1288, 812), (1288, 812)), (3440, 1440): ((3444, 1428), (2240, 924), (1568, 644)),
}  # fmt: skip


def shot(pixels: NDArray[np.uint8]) -> Screenshot:
    height, width = pixels.shape[:2]
    return Screenshot(pixels.tobytes(), width, height, Transform("1", 0, 0, width, height))


def grey(width: int = 200, height: int = 120) -> NDArray[np.uint8]:
    return np.full((height, width, 3), 128, np.uint8)


@pytest.mark.parametrize(("size", "wanted"), PUBLISHED.items())
def test_smart_resize_gives_the_published_sizes(size: tuple[int, int], wanted: tuple[int, int]) -> None:
    assert smart_resize(*size) == wanted


@pytest.mark.parametrize(("screen", "wanted"), CAPPED.items())
def test_smart_resize_keeps_the_caps(screen: tuple[int, int], wanted: tuple[tuple[int, int], ...]) -> None:
    width, height = screen
    for cap, (wide, tall) in zip((16384 * 784, 2700 * 784, 1350 * 784), wanted, strict=True):
        assert smart_resize(height, width, max_pixels=cap) == (tall, wide)


@given(height=st.integers(1, 9000), width=st.integers(1, 9000))
def test_smart_resize_is_a_multiple_within_the_limits(height: int, width: int) -> None:
    if max(height, width) > 200 * min(height, width):
        with pytest.raises(ScreenError, match="cannot be shown"):
            smart_resize(height, width)
        return
    tall, wide = smart_resize(height, width)
    assert tall % 28 == wide % 28 == 0
    assert tall * wide <= 16384 * 784


def test_resized_has_the_asked_size() -> None:
    assert resized(shot(grey()), 84, 56).size == (56, 84)


def test_changes_are_found_where_they_are() -> None:
    before, after = grey(), grey()
    after[70:80, 150:160] = 0
    a, b = shot(before), shot(after)
    assert changed(a, b)
    assert changed_fraction(a, b) == pytest.approx(100 / (200 * 120))
    assert changed_extent(a, b) == (10, 10)
    (box,) = changed_boxes(a, b)
    assert box.holds(Point(155 / 200, 75 / 120))
    assert box.area < 0.1


def test_equal_frames_do_not_differ() -> None:
    a, b = shot(grey()), shot(grey())
    assert not changed(a, b)
    assert changed_boxes(a, b) == ()
    assert changed_extent(a, b) == (0, 0)


def test_frames_of_different_sizes_differ_everywhere() -> None:
    a, b = shot(grey()), shot(grey(width=100))
    assert changed(a, b)
    assert changed_fraction(a, b) == 1.0
    assert not patch_equal(a, b, Point(0.5, 0.5))


def test_patch_is_compared_under_the_target_only() -> None:
    before, after = grey(), grey()
    after[60, 100] = 0
    a, b = shot(before), shot(after)
    assert not patch_equal(a, b, Point(0.5, 0.5), radius_px=5)
    assert patch_equal(a, b, Point(0.2, 0.5), radius_px=5)
    assert patch_equal(a, b, Point(1.0, 1.0), radius_px=5)


def test_settled_waits_for_two_equal_frames() -> None:
    frames = iter([shot(np.full((120, 200, 3), v, np.uint8)) for v in (1, 60, 200, 200, 9)])
    assert settled(lambda: next(frames), 5.0, poll_s=0.0).rgb[0] == 200


def test_a_blinking_caret_is_rest() -> None:
    with_caret = grey()
    with_caret[40:58, 30:32] = 0
    frames = iter([shot(grey()), shot(with_caret)])
    assert settled(lambda: next(frames), 5.0, poll_s=0.0).rgb == with_caret.tobytes()


def test_settled_ends_at_its_limit_and_on_stop() -> None:
    def restless() -> Iterator[Screenshot]:
        value = 0
        while True:
            value = (value + 40) % 256
            yield shot(np.full((120, 200, 3), value, np.uint8))

    frames = restless()
    started = time.monotonic()
    settled(lambda: next(frames), 0.2, poll_s=0.02)
    assert time.monotonic() - started < 1.0
    stop = Event()
    stop.set()
    started = time.monotonic()
    settled(lambda: next(frames), 30.0, stop=stop)
    assert time.monotonic() - started < 1.0
