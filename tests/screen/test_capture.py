"""Capturing a real virtual screen, from any thread, and the sentences for when it cannot be done."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest
from Xlib import X
from Xlib.display import Display

from agent_core.errors import ScreenError
from agent_core.screen.capture import Screen, from_png, png
from agent_core.step import Screenshot

pytestmark = pytest.mark.desktop
TITLE = "Letters to Zoë"
COLOUR = (200, 30, 90)


@pytest.fixture
def window(screen: str) -> Iterator[None]:
    """A plain window with a title, filled with one colour, that the window manager has made active."""
    display = Display(screen)
    pixel = COLOUR[0] << 16 | COLOUR[1] << 8 | COLOUR[2]
    root = display.screen().root
    own = root.create_window(100, 100, 600, 400, 0, X.CopyFromParent, background_pixel=pixel)
    utf8 = display.intern_atom("UTF8_STRING")
    own.change_property(display.intern_atom("_NET_WM_NAME"), utf8, 8, TITLE.encode())
    own.map()
    display.sync()
    limit = time.monotonic() + 10
    active = display.intern_atom("_NET_ACTIVE_WINDOW")
    while time.monotonic() < limit:
        found = root.get_full_property(active, X.AnyPropertyType)
        if found is not None and found.value[0] == own.id:
            break
        time.sleep(0.02)
    time.sleep(0.1)
    yield
    own.destroy()
    display.sync()
    display.close()


def colour_at(shot: Screenshot, x: int, y: int) -> tuple[int, ...]:
    start = (y * shot.width + x) * 3
    return tuple(shot.rgb[start : start + 3])


@pytest.mark.usefixtures("window")
def test_grab_has_native_pixels_transform_and_title() -> None:
    grabber = Screen()
    shot = grabber.grab()
    grabber.close()
    assert (shot.width, shot.height) == (1280, 800)
    assert len(shot.rgb) == 1280 * 800 * 3
    place = shot.transform
    assert (place.left, place.top, place.width, place.height, place.scale) == (0, 0, 1280, 800, 1.0)
    assert shot.window == TITLE
    assert shot.capture_ms > 0
    assert COLOUR in {colour_at(shot, x, y) for x in range(0, 1280, 40) for y in range(0, 800, 40)}


@pytest.mark.usefixtures("window")
def test_any_thread_may_grab() -> None:
    grabber = Screen()
    here = grabber.grab()
    shots: list[Screenshot] = []

    def grab() -> None:
        shots.append(grabber.grab())
        grabber.close()

    threads = [threading.Thread(target=grab) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    grabber.close()
    assert [shot.rgb == here.rgb for shot in shots] == [True] * 3


@pytest.mark.usefixtures("window")
def test_own_windows_are_hidden_around_the_grab() -> None:
    order: list[str] = []

    @contextlib.contextmanager
    def hide() -> Iterator[None]:
        order.append("hide")
        yield
        order.append("show")

    grabber = Screen(hide=hide)
    grabber.grab()
    grabber.close()
    assert order == ["hide", "show"]


@pytest.mark.usefixtures("window")
def test_png_keeps_every_pixel() -> None:
    grabber = Screen()
    shot = grabber.grab()
    grabber.close()
    again = from_png(png(shot), shot.transform, shot.window)
    assert again.rgb == shot.rgb
    assert again.transform == shot.transform


@pytest.mark.usefixtures("window")
def test_a_monitor_that_does_not_exist_is_named() -> None:
    grabber = Screen(monitor=7)
    with pytest.raises(ScreenError, match="no monitor 7; 1 found"):
        grabber.grab()
    grabber.close()


def test_a_black_screen_is_refused(screen: str) -> None:
    subprocess.run(["xsetroot", "-solid", "black"], check=False, env={**os.environ, "DISPLAY": screen})
    grabber = Screen()
    with pytest.raises(ScreenError, match="black"):
        grabber.grab()
    grabber.close()


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({}, "DISPLAY is not set"),
        ({"DISPLAY": ":98765"}, "cannot be opened"),
        ({"XDG_SESSION_TYPE": "wayland", "DISPLAY": ":0"}, "Wayland"),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "Wayland"),
    ],
)
def test_unusable_sessions_say_what_to_do(
    environment: dict[str, str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_SESSION_TYPE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ScreenError, match=sentence):
        Screen().grab()


def test_a_damaged_picture_is_refused() -> None:
    with pytest.raises(ScreenError, match="cannot be read"):
        from_png(b"no picture")
