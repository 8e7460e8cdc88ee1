"""From the model's numbers to the pointer and back: sizes of screens, rules of counting, scale factors, layouts."""

from __future__ import annotations

import random

import pytest

from agent_core.actions import Click, Point
from agent_core.dialects.qwen_vl import QwenVl
from agent_core.dialects.uitars import UiTars, UiTarsRules
from agent_core.operators.geometry import from_device, from_input, to_device, to_input
from agent_core.screen.shrink import smart_resize
from agent_core.step import Screenshot, Transform

SIZES = [
    *((800, 600), (1024, 768), (1280, 800), (1366, 768), (1440, 900), (1920, 1080), (1920, 1200), (2560, 1440)),
    *((3440, 1440), (3840, 2160), (768, 1366), (1080, 2400)),
]
CAP = 2700 * 784
MODES: dict[str, UiTars] = {
    "thousandths": UiTars(),
    "pixels of the resized picture": UiTars(UiTarsRules(coordinates="pixels", places="box")),
    "pixels under a cap": QwenVl(UiTarsRules(coordinates="pixels", max_pixels=CAP)),
}
ORIGINS = [(0, 0), (-1920, 0), (2560, -300), (-300, -2160)]
SCALES = [1.0, 1.25, 1.5, 2.0]


def numbers_seen(mode: str, width: int, height: int) -> tuple[int, int]:
    """The far corner in the model's numbers, worked out here from the published rule."""
    if mode == "thousandths":
        return 1000, 1000
    tall, wide = smart_resize(height, width, max_pixels=CAP if "cap" in mode else 16384 * 784)
    return wide, tall


def places(width: int, height: int) -> list[tuple[int, int]]:
    """Corners, centre and some places between them, as pixels of the picture."""
    chance = random.Random(width * 10_000 + height)
    corners = [(0, 0), (width - 1, 0), (0, height - 1), (width - 1, height - 1), (width // 2, height // 2)]
    return corners + [(chance.randrange(width), chance.randrange(height)) for _ in range(20)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_place_on_the_screen_comes_back(mode: str, size: tuple[int, int]) -> None:
    """Within one pixel, or half a step of the model's own whole numbers where those are coarser than the screen."""
    width, height = size
    dialect, (wide, tall) = MODES[mode], numbers_seen(mode, width, height)
    for left, top in ORIGINS:
        shot = Screenshot(b"", width, height, Transform("m", left, top, width, height))
        for x, y in places(width, height):
            wanted = from_device(left + x, top + y, shot.transform)
            (read,) = dialect.parse(dialect.write("", [Click(wanted)], shot), shot).actions
            assert isinstance(read, Click)
            at = to_device(read.at, shot.transform)
            assert abs(at[0] - left - x) <= max(1, width / wide / 2 + 0.5)
            assert abs(at[1] - top - y) <= max(1, height / tall / 2 + 0.5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_models_number_lands_on_its_pixel(mode: str, size: tuple[int, int]) -> None:
    """Every number is where the published rule puts it, within one pixel, under every scale factor and layout."""
    width, height = size
    dialect, (wide, tall) = MODES[mode], numbers_seen(mode, width, height)
    chance = random.Random(7)
    asked = [(0, 0), (wide, 0), (0, tall), (wide, tall), (wide // 2, tall // 2)]
    asked += [(chance.randint(0, wide), chance.randint(0, tall)) for _ in range(20)]
    for left, top in ORIGINS:
        for scale in SCALES:
            transform = Transform("m", left, top, width, height, scale)
            shot = Screenshot(b"", width, height, transform)
            for x, y in asked:
                point = _read(dialect, x, y, shot)
                at = to_device(point, transform)
                assert abs(at[0] - left - x / wide * width) <= 1
                assert abs(at[1] - top - y / tall * height) <= 1
                back = to_device(from_input(*to_input(point, transform), transform), transform)
                assert max(abs(back[0] - at[0]), abs(back[1] - at[1])) <= max(1.0, scale)


def _read(dialect: UiTars, x: int, y: int, shot: Screenshot) -> Point:
    text = f"Action: click(start_box='({x},{y})')"
    if isinstance(dialect, QwenVl):
        text = f'{{"name": "computer_use", "arguments": {{"action": "left_click", "coordinate": [{x}, {y}]}}}}'
    (action,) = dialect.parse(text, shot).actions
    assert isinstance(action, Click)
    return action.at
