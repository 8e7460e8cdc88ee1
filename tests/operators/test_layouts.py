"""From a place on a monitor to what a model writes and back to the pointer, for screens as people have them."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator

import pytest
from Xlib.display import Display

from agent_core.actions import Click, Point
from agent_core.dialects.elements import Elements
from agent_core.dialects.uitars import UiTars, UiTarsRules
from agent_core.errors import InputError, ScreenError
from agent_core.operators.geometry import from_device, to_device, to_input
from agent_core.operators.start_check import check_pointer
from agent_core.protocols import Dialect
from agent_core.screen.capture import Screen, transform_of
from agent_core.screen.virtual import VirtualDesktop
from agent_core.step import Screenshot, Transform

SIZES = (
    (1280, 800), (1366, 768), (1440, 900), (1600, 900), (1920, 1080), (1920, 1200),
    (2560, 1080), (2560, 1440), (2880, 1800), (3440, 1440), (3840, 2160), (1080, 1920),
)  # fmt: skip
SCALES = (1.0, 1.25, 1.5, 2.0)
ORIGINS = ((0, 0), (-1920, 0), (1920, -1080), (-3840, -2160))  # in units of the input
DIALECTS: dict[str, Dialect] = {
    "thousandths": UiTars(UiTarsRules("thousand")),
    "pixels": UiTars(UiTarsRules("pixels")),
    "elements": Elements(),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scale", SCALES)
def test_a_place_comes_back_to_its_pixel_through_every_rule(size: tuple[int, int], scale: float) -> None:
    rng = random.Random(f"{size} {scale}")
    for left, top in ORIGINS:
        place = {"left": left, "top": top, "width": round(size[0] / scale), "height": round(size[1] / scale)}
        transform = transform_of("1", place, size)
        inside = [(rng.randrange(size[0]), rng.randrange(size[1])) for _ in range(12)]
        for x, y in [(0, 0), (size[0] - 1, 0), (0, size[1] - 1), (size[0] - 1, size[1] - 1),
                     (size[0] // 2, size[1] // 2), *inside]:  # fmt: skip
            device = (transform.left + x, transform.top + y)
            point = from_device(*device, transform)
            assert to_device(point, transform) == device
            pointer = to_input(point, transform)
            assert abs(pointer[0] - (left + x / scale)) <= 1
            assert abs(pointer[1] - (top + y / scale)) <= 1
            assert place["left"] <= pointer[0] < left + place["width"] + 1
            shot = Screenshot(b"", *size, transform)
            for name, dialect in DIALECTS.items():
                written = through(dialect, point, shot)
                step = (2.0, 2.0) if name == "pixels" else (size[0] / 1000, size[1] / 1000)  # the models' own grid
                assert abs(written[0] - device[0]) <= step[0] / 2 + 1
                assert abs(written[1] - device[1]) <= step[1] / 2 + 1


def through(dialect: Dialect, point: Point, shot: Screenshot) -> tuple[int, int]:
    """The device pixel that is clicked where a model writes this place in its dialect."""
    (action,) = dialect.parse(dialect.write("Here.", [Click(point)], shot), shot).actions
    assert isinstance(action, Click)
    return to_device(action.at, shot.transform)


@pytest.fixture
def two_monitors() -> Iterator[VirtualDesktop]:
    """A screen of 1600x800 that is a monitor of 1000 pixels beside one of 600."""
    with VirtualDesktop(1600, 800) as desktop:
        set_monitor(desktop, "Left", "1000/260x800/210+0+0", "screen")
        set_monitor(desktop, "Right", "600/160x800/210+1000+0", "none")
        yield desktop


def set_monitor(desktop: VirtualDesktop, *words: str) -> None:
    subprocess.run(["xrandr", "--setmonitor", *words], env={**os.environ, "DISPLAY": desktop.display}, check=True)


@pytest.mark.desktop
def test_the_second_monitor_is_captured_and_pointed_at(
    two_monitors: VirtualDesktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", two_monitors.display)
    screen = Screen(monitor=2)
    shot = screen.grab()
    assert (shot.width, shot.height, shot.transform.left, shot.transform.top) == (600, 800, 1000, 0)
    assert to_input(Point(0.5, 0.5), shot.transform) == (1300, 400)
    check_pointer(screen.place(), two_monitors.display)
    screen.close()


@pytest.mark.desktop
def test_a_monitor_that_is_unplugged_or_resized_between_frames_is_noticed(
    two_monitors: VirtualDesktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", two_monitors.display)
    here = {**os.environ, "DISPLAY": two_monitors.display}
    screen = Screen(monitor=2)
    assert screen.grab().width == 600
    subprocess.run(["xrandr", "--delmonitor", "Right"], env=here, check=True)
    set_monitor(two_monitors, "Right", "500/160x800/210+1100+0", "none")
    shot = screen.grab()
    assert (shot.width, shot.transform.left) == (500, 1100)
    subprocess.run(["xrandr", "--delmonitor", "Right"], env=here, check=True)
    with pytest.raises(ScreenError, match="no monitor 2; 1 found"):
        screen.grab()
    screen.close()


@pytest.mark.desktop
def test_the_start_check_puts_the_pointer_back_and_finds_a_monitor_that_is_elsewhere(screen: str) -> None:
    display = Display(screen)
    display.screen().root.warp_pointer(333, 222)
    display.sync()
    check_pointer(Transform("1", 0, 0, 1280, 800), screen)
    seen = display.screen().root.query_pointer()
    assert (seen.root_x, seen.root_y) == (333, 222)
    with pytest.raises(InputError, match="clicks would miss"):
        check_pointer(Transform("1", 0, 0, 2560, 1600), screen)  # twice as large as it is: a scaled session
    display.close()
