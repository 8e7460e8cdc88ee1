"""The browser operator against a real Chromium: what the page itself says happened."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from agent_core import actions as act
from agent_core.errors import ScreenError
from agent_core.operators.browser import BrowserOperator
from agent_core.step import Screenshot

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><title>Practice</title>
<style>
  body { margin: 0; height: 3000px } * { position: absolute }
  #pad { left: 0; top: 0; width: 200px; height: 200px; background: #eee }
  #text { left: 300px; top: 20px; width: 200px } #area { left: 300px; top: 100px }
</style>
<div id=pad></div><input id=text><textarea id=area></textarea>
<a href="other.html" style="left: 20px; top: 300px">next</a>
<a href="other.html" target=_blank style="left: 120px; top: 300px">fresh</a>
<script>
  const log = [], pad = document.getElementById('pad');
  const note = e => { log.push(`${e.type} ${e.button} ${e.clientX} ${e.clientY} ${e.isTrusted}`); e.preventDefault(); };
  for (const kind of ['mousedown', 'mouseup', 'click', 'dblclick', 'contextmenu', 'mousemove'])
    pad.addEventListener(kind, note);
  for (const kind of ['keydown', 'keyup']) addEventListener(kind, e => log.push(`${kind} ${e.key}`));
</script>"""
OTHER = "<!doctype html><title>Other</title><body style='background: #0a0'>here"
STOP = Event()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    (folder / "page.html").write_text(PAGE)
    (folder / "other.html").write_text(OTHER)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[BrowserOperator]:
    operator = BrowserOperator.launch()
    yield operator
    operator.close()


@pytest.fixture
def operator(browser: BrowserOperator, pages: Path) -> BrowserOperator:
    browser._page.goto((pages / "page.html").as_uri())
    return browser


def at(x: float, y: float, shot: Screenshot) -> act.Point:
    return act.Point((x + 0.5) / shot.width, (y + 0.5) / shot.height)


def log(operator: BrowserOperator) -> list[str]:
    return [str(line) for line in operator._page.evaluate("log.splice(0)")]


def test_a_frame_is_the_window_with_its_title(operator: BrowserOperator) -> None:
    shot = operator.look()
    assert (shot.width, shot.height, shot.window) == (1024, 768, "Practice")
    assert shot.rgb[: 3 * 100] == bytes([0xEE]) * 300
    assert len(shot.rgb) == 3 * shot.width * shot.height


def test_nothing_is_done_while_the_person_is_asked_or_after_a_stop(operator: BrowserOperator) -> None:
    shot, stopped = operator.look(), Event()
    stopped.set()
    click = act.Click(at(50, 60, shot))
    log(operator)
    with operator.hands_off():
        outcome = operator.do(click, shot, STOP)
    assert not outcome.ok
    assert "being asked" in outcome.text
    assert not operator.do(click, shot, stopped).ok
    assert log(operator) == []
    assert operator.do(click, shot, STOP).ok
    assert log(operator) != []


def test_clicks_land_on_the_pixel_as_trusted_events(operator: BrowserOperator) -> None:
    shot = operator.look()
    assert operator.do(act.Click(at(33, 44, shot)), shot, STOP).ok
    assert log(operator)[-3:] == [f"{kind} 0 33 44 true" for kind in ("mousedown", "mouseup", "click")]
    operator.do(act.DoubleClick(at(10, 10, shot)), shot, STOP)
    assert log(operator)[-1] == "dblclick 0 10 10 true"
    operator.do(act.RightClick(at(10, 10, shot)), shot, STOP)
    assert "contextmenu 2 10 10 true" in log(operator)


def test_a_drag_holds_the_button_over_the_whole_way(operator: BrowserOperator) -> None:
    shot = operator.look()
    assert operator.do(act.Drag(at(10, 10, shot), at(150, 100, shot)), shot, STOP).ok
    lines = log(operator)
    down, up = lines.index("mousedown 0 10 10 true"), lines.index("mouseup 0 150 100 true")
    assert sum(line.startswith("mousemove") for line in lines[down:up]) >= 5


@pytest.mark.parametrize("text", ["Hello, World!", "a" * 50, "naïve – 日本語 🙂", "two\nlines"])
def test_typing_puts_the_text_in_the_field(operator: BrowserOperator, text: str) -> None:
    shot = operator.look()
    operator.do(act.Click(at(320, 110, shot)), shot, STOP)
    assert operator.do(act.Type(text), shot, STOP).ok
    assert operator._page.evaluate("document.getElementById('area').value") == text


def test_a_chord_selects_all_and_typing_replaces_it(operator: BrowserOperator) -> None:
    shot = operator.look()
    operator.do(act.Click(at(320, 30, shot)), shot, STOP)
    operator.do(act.Type("before"), shot, STOP)
    assert operator.do(act.Hotkey(("ctrl", "a")), shot, STOP).ok
    operator.do(act.Type("after"), shot, STOP)
    assert operator._page.evaluate("document.getElementById('text').value") == "after"


def test_an_unknown_key_is_refused_with_a_sentence_and_nothing_is_pressed(operator: BrowserOperator) -> None:
    shot = operator.look()
    log(operator)
    outcome = operator.do(act.Hotkey(("ctrl", "flubber")), shot, STOP)
    assert not outcome.ok
    assert "flubber" in outcome.text
    assert log(operator) == []


def test_what_is_held_is_let_go(operator: BrowserOperator) -> None:
    shot = operator.look()
    log(operator)
    operator.do(act.Press("shift"), shot, STOP)
    operator.let_go()
    operator.let_go()
    assert log(operator) == ["keydown Shift", "keyup Shift"]


def test_the_wheel_scrolls(operator: BrowserOperator) -> None:
    shot = operator.look()
    assert operator.do(act.Scroll("down", notches=3), shot, STOP).ok
    operator.look()
    assert operator._page.evaluate("scrollY") == 300


def test_stop_ends_typing(operator: BrowserOperator) -> None:
    shot = operator.look()
    operator.do(act.Click(at(320, 30, shot)), shot, STOP)
    stopped = Event()
    stopped.set()
    operator.do(act.Type("never"), shot, stopped)
    assert operator._page.evaluate("document.getElementById('text').value") == ""


def test_what_is_no_mouse_or_keyboard_is_refused(operator: BrowserOperator) -> None:
    outcome = operator.do(act.Terminal("ls"), operator.look(), STOP)
    assert not outcome.ok
    assert "ls" in outcome.text


def test_a_blinking_caret_is_at_rest(operator: BrowserOperator) -> None:
    shot = operator.look()
    operator.do(act.Click(at(320, 30, shot)), shot, STOP)
    begin = time.monotonic()
    for _ in range(5):
        operator.look()
    assert time.monotonic() - begin < 5 * 1.0


def test_a_page_on_its_way_is_waited_for(operator: BrowserOperator) -> None:
    shot = operator.look()
    operator.do(act.Click(at(30, 308, shot)), shot, STOP)
    assert operator.look().window == "Other"


def test_a_new_window_is_followed_and_its_end_is_told(operator: BrowserOperator) -> None:
    shot = operator.look()
    operator.do(act.Click(at(130, 308, shot)), shot, STOP)
    titles = [operator.look().window for _ in range(3)]
    assert titles[-1] == "Other"
    operator._page.close()
    with pytest.raises(ScreenError, match="cannot be seen"):
        operator.look()
    assert not operator.do(act.Type("x"), shot, STOP).ok
    operator.let_go()
