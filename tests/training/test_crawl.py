"""The crawl of real programs: what they tell of themselves is what rows and boxes say."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from PIL import Image

from agent_core.actions import Click
from agent_core.dialects.uitars import UiTars
from agent_core.step import Screenshot, Transform
from training import crawl
from training.crawl_browser import PageScene
from training.crawl_changes import differences
from training.crawl_programs import ProgramScene, Started
from training.crawl_screen import ROLES, Change
from training.sandboxes.browser import BrowserSandbox

SOURCES = ("pages", "miniwob", "qt", "programs")


def test_an_unknown_source_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert crawl.main(["--sources", "pages,television", "--out", str(tmp_path / "out")]) == 1
    assert "'television'; choose from pages, miniwob, qt, programs" in capsys.readouterr().err


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small crawl of everything."""
    out = tmp_path_factory.mktemp("crawl") / "out"
    assert crawl.main(["--out", str(out), "--screens", "7", "--seed", "3"]) == 0
    return out


@pytest.mark.browser
@pytest.mark.desktop
def test_every_source_gives_pictures_and_every_kind_of_row(crawled: Path) -> None:
    rows, screens = lines(crawled / "rows.jsonl"), lines(crawled / "screens.jsonl")
    manifest = json.loads((crawled / "manifest.json").read_text(encoding="utf-8"))
    assert {screen["source"] for screen in screens} == set(SOURCES)
    kinds = {row["kind"] for row in rows}
    assert kinds == {"caption", "description", "transition", "question", "marks", "grounding", "point"}
    assert len({row["id"] for row in rows}) == len(rows) == manifest["rows"]
    assert manifest["failures"] == []
    for name in ("rows.jsonl", "screens.jsonl"):
        assert manifest["sha256"][name] == hashlib.sha256((crawled / name).read_bytes()).hexdigest()


@pytest.mark.browser
@pytest.mark.desktop
def test_rows_stand_on_their_pictures(crawled: Path) -> None:
    dialect = UiTars()
    for row in lines(crawled / "rows.jsonl"):
        question, answer = (message["content"] for message in row["messages"])
        assert [message["loss_mask"] for message in row["messages"]] == [0, 1]
        assert question.count("<image>") == len(row["images"])
        assert answer.strip()
        for name in row["images"]:
            with Image.open(crawled / name) as image:
                image.load()
                assert list(image.size) == row["image_size"]
                content = b"%dx%d " % image.size + image.tobytes()
            assert name == f"images/{hashlib.sha256(content).hexdigest()}.png"
        if row["kind"] == "grounding":
            width, height = row["image_size"]
            shot = Screenshot(b"", width, height, Transform("", 0, 0, width, height))
            (click,) = dialect.parse(answer, shot).actions
            left, top, right, bottom = row["about"]["mark"] or row["about"]["box"]
            assert isinstance(click, Click)
            assert left <= click.at.x * width <= right
            assert top <= click.at.y * height <= bottom


@pytest.mark.browser
@pytest.mark.desktop
def test_a_detector_is_told_class_place_and_state(crawled: Path) -> None:
    found = set()
    for screen in lines(crawled / "screens.jsonl"):
        assert screen["widgets"]
        for widget in screen["widgets"]:
            assert widget["class"] in ROLES
            left, top, right, bottom = widget["box"]
            assert 0 <= left < right <= screen["width"]
            assert 0 <= top < bottom <= screen["height"]
            if widget["class"] in ("check", "radio", "switch", "tab"):
                assert widget["on"] in (True, False)
            if widget["class"] == "password":
                assert set(widget["value"]) <= {"•"}
            found.add(widget["class"])
    assert {"button", "field", "text"} <= found


@pytest.mark.browser
@pytest.mark.desktop
def test_the_same_seed_gives_the_same_bytes(crawled: Path, tmp_path: Path) -> None:
    assert crawl.main(["--out", str(tmp_path / "again"), "--screens", "7", "--seed", "3"]) == 0
    for name in ("rows.jsonl", "screens.jsonl", "manifest.json"):
        assert (tmp_path / "again" / name).read_bytes() == (crawled / name).read_bytes()
    pictures = [sorted(file.name for file in (out / "images").iterdir()) for out in (crawled, tmp_path / "again")]
    assert pictures[0] == pictures[1]


PAGE = """<!doctype html><title>Order</title><style>*{caret-color:transparent}</style><h1>Order</h1>
<label for="n">Name</label> <input id="n" value="Anna"><br><label><input type="checkbox" checked>Wifi</label>
<input type="password" aria-label="Secret" value="hidden text">
<select aria-label="Size"><option>Small<option selected>Big</select>
<button disabled>Buy</button><div style="display:none">Never seen</div>
<div style="position:relative;height:40px"><button>Under</button><div style="position:absolute;inset:0;background:#eee">
Over</div></div><div style="height:3000px"></div><button>Far below</button>"""


@pytest.fixture
def page(tmp_path: Path) -> Iterator[PageScene]:
    file = tmp_path / "page.html"
    file.write_text(PAGE, encoding="utf-8")
    sandbox = BrowserSandbox(640, 480, 1.0)
    clip = (0, 0, 640, 480)
    yield PageScene(opened := sandbox.open(file), sandbox.operator(opened, clip, 0.5), clip, True)
    sandbox.close()


@pytest.mark.browser
def test_a_page_tells_what_can_be_seen_in_it_and_how_it_stands(page: PageScene) -> None:
    before = page.look()
    told = {(w.role, w.name): w for w in before.widgets}
    assert set(told) == {
        ("text", "Order"), ("text", "Name"), ("field", "Name"), ("check", "Wifi"), ("password", "Secret"),
        ("choice", "Size"), ("button", "Buy"), ("text", "Over"),
    }  # fmt: skip
    assert before.title == "Order"
    assert told["check", "Wifi"].on is True
    assert told["field", "Name"].value == "Anna"
    assert told["choice", "Size"].value == "Big"
    assert told["password", "Secret"].value == "•" * 11
    assert not told["button", "Buy"].enabled
    tick = told["check", "Wifi"]
    page.do(Click(before.point(tick)))
    assert "The check box “Wifi” is now not ticked." in differences(Change(before, (), tick, page.look()))


@pytest.mark.desktop
def test_a_program_tells_what_a_click_did() -> None:
    scene = ProgramScene(lambda home: Started(("galculator",), "galculator"), Random(1))
    bus = str(scene.home)
    try:
        for digit in "47":
            before = scene.look()
            (key,) = (w for w in before.widgets if w.role == "button" and w.name == digit)
            scene.do(Click(before.point(key)))
        after = scene.look()
    finally:
        scene.close()
    assert [w.value for w in after.widgets if w.role == "field"] == ["47"]
    left_over = [file for file in Path("/proc").glob("[0-9]*/cmdline") if bus.encode() in _read(file)]
    assert left_over == []


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # it has ended meanwhile
        return b""
