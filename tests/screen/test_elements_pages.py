"""The element reader against real pages: what the DOM says is there must be read exactly and be clickable."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_core.screen.capture import from_png
from agent_core.screen.elements import ElementReader
from tests.screen import pages

TASKS = (
    "click-button", "enter-text", "click-checkboxes", "click-option", "login-user", "click-link", "click-tab-2",
    "click-dialog", "enter-password", "choose-list", "click-widget", "read-table",
)  # fmt: skip
SEEDS = (1, 3)
LEAST_EXACT = 0.97
PAGE_BUTTONS = ("submit", "button")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(pages.task_pages() is None, reason="needs the package miniwob"),
    pytest.mark.skipif(not Path("/usr/bin/chromium").exists(), reason="needs Chromium"),
]


@pytest.fixture(scope="module")
def reader() -> ElementReader:
    return ElementReader(threads=2)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with pages.browser() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def page(chromium: Any) -> Any:
    return pages.page(chromium)


def test_task_pages_are_read_exactly(page: Any, reader: ElementReader) -> None:
    wrong, total, missing, false = [], 0, [], []
    for task in TASKS:
        for seed in SEEDS:
            sample = pages.labelled(page, task, seed)
            elements = reader.read(sample.shot)
            for label in sample.labels:
                if label.text and (label.tag == "text" or label.type in PAGE_BUTTONS):
                    total += 1
                    if not pages.said(label, elements):
                        wrong.append((sample.name, label.text, [e.text for e in elements if label.box.holds(e.point)]))
                if label.tag != "text":
                    hit = pages.found(label, elements)
                    if hit is None or (label.type in ("checkbox", "radio") and hit.on != label.on):
                        missing.append((sample.name, label))
            widgets = [label for label in sample.labels if label.tag != "text"]
            false += [
                (sample.name, e)
                for e in elements
                if e.kind not in ("text", "button") and not any(label.box.holds(e.point) for label in widgets)
            ]
    assert total > 120
    assert len(wrong) <= (1 - LEAST_EXACT) * total, wrong
    assert not missing
    assert len(false) <= 2, false


def test_what_is_typed_and_ticked_is_seen(page: Any, reader: ElementReader) -> None:
    page.set_content(
        "<body style='margin:8px;font:10px sans-serif'>"
        "<div>Name</div><input id=n style='width:120px' value='Jane Smith'>"
        "<div>Code</div><input id=p type=password style='width:120px' value='abcdef'>"
        "<div><label><input type=checkbox checked>Keep me</label></div>"
        "<div><label><input type=checkbox>Send news</label></div>"
        "<div><label><input type=radio name=r>Red</label></div>"
        "<div><label><input type=radio name=r checked>Blue</label></div>"
        "<select style='width:80px'><option>Germany</option><option>France</option></select></body>"
    )
    shot = from_png(page.screenshot())
    elements = reader.read(shot)
    fields = {e.text: e.value for e in elements if e.kind == "field"}
    states = {e.text: e.on for e in elements if e.kind in ("check", "radio")}
    assert fields["Name"] == "Jane Smith"
    assert "abcdef" not in fields["Code"]
    assert states == {"Keep me": True, "Send news": False, "Red": False, "Blue": True}
    assert [e.kind for e in elements if e.text in ("Red", "Blue") and e.on is not None] == ["radio", "radio"]
    assert any("Germany" in (e.text, e.value) for e in elements)


def test_links_in_flowing_text_are_elements_of_their_own(page: Any, reader: ElementReader) -> None:
    page.set_content(
        "<body style='margin:8px;font:10px sans-serif'>"
        "Read the <a href=#>terms</a> and <a href=#>privacy notes</a> first.</body>"
    )
    texts = [e.text for e in reader.read(from_png(page.screenshot()))]
    assert "terms" in texts
    assert "privacy" in " ".join(texts)
    assert all("terms and" not in text for text in texts)


def test_reading_again_is_reading_afresh(page: Any, reader: ElementReader) -> None:
    """After any sequence of edits the reader with a memory says exactly what a new one says."""
    page.set_content(
        "<body style='margin:8px;font:10px sans-serif'><input id=i style='width:120px'><p id=t>First line</p>"
        "<label><input id=c type=checkbox>Agree</label><p><button id=b>Send</button></p></body>"
    )
    edits = (
        "i.value = 'a'", "i.value = 'anna'", "c.checked = true", "t.textContent = 'Another line'",
        "b.textContent = 'Done'", "b.style.marginLeft = '30px'", "t.remove()", "c.checked = false", "i.value = ''",
    )  # fmt: skip
    afresh_every = 2
    for n, edit in enumerate(edits):
        page.evaluate(
            f"() => {{ const [i, t, c, b] = ['i', 't', 'c', 'b'].map(x => document.getElementById(x)); {edit} }}"
        )
        shot = from_png(page.screenshot())
        kept = reader.read(shot)
        if n % afresh_every == 0:
            assert kept == ElementReader(threads=2).read(shot), edit


def test_small_widgets_of_an_ordinary_page_are_found(chromium: Any, reader: ElementReader) -> None:
    """One device pixel per CSS pixel: 13 px boxes and words that nearly touch their frames."""
    page = pages.page(chromium, 640, 480, scale=1)
    page.set_content(
        "<body style='font:14px sans-serif'><p>Please <a href=#>sign in</a> or <a href=#>register</a> to go on.</p>"
        "<p>Full name <input value='Bob Hill'></p>"
        "<p><label><input type=checkbox checked>I agree</label> <label><input type=radio name=r>Yes</label> "
        "<label><input type=radio name=r checked>No</label></p>"
        "<p><button>Send message</button> <input type=submit value=Cancel></p></body>"
    )
    elements = reader.read(from_png(page.screenshot()))
    labels = pages.truth(page, 640, 480)
    by_text = {e.text: e for e in elements if e.kind != "text"}
    assert by_text["Full name"].value == "Bob Hill"
    assert (by_text["I agree"].kind, by_text["I agree"].on) == ("check", True)
    assert [(by_text[t].kind, by_text[t].on) for t in ("Yes", "No")] == [("radio", False), ("radio", True)]
    assert {by_text[t].kind for t in ("Send message", "Cancel")} == {"button"}
    assert {"sign in", "register"} <= {e.text for e in elements}
    assert all(pages.found(label, elements) for label in labels if label.tag != "text")
