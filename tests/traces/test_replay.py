"""The replay page: everything inside, every text inert and readable, steps in order; in a real Chromium too."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from agent_core.actions import Action, Click, Terminal
from agent_core.errors import StoreError
from agent_core.step import Intent, Status, Turn
from agent_core.traces.reads import Traces
from agent_core.traces.replay import replay_of, write_replay
from agent_core.traces.store import TraceStore
from tests.traces.sample import BUTTON, RUN, desktop, record, turn_of, turns

ATTACK = "</title></pre></script><script>document.title='taken over'</script><img src=x onerror=alert(1)>\"'&"
HIDDEN = "rm \u202efdp.ecioVni\u2066 \x1b[31m"
HEBREW = "הכנס את החשבוניות לתיקייה"


class Tags(HTMLParser):
    """Collects tags, and every address the page could ask for."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "action")]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


def hostile() -> list[Turn]:
    """A turn whose every text attacks the page."""
    shot = replace(desktop(size=(64, 40)), window=ATTACK)
    element = replace(shot.elements[0], text=ATTACK)
    base = turns()[0].steps[0]
    verdict = replace(base.verdict, reason=ATTACK, instead=ATTACK)
    assert base.outcome is not None
    outcome = replace(base.outcome, text=ATTACK)
    actions: tuple[Action, ...] = (Click(BUTTON.centre), Terminal(ATTACK), Terminal(HIDDEN))
    steps = tuple(
        replace(base, n=n, action=action, element=element, verdict=verdict, outcome=outcome)
        for n, action in enumerate(actions, start=1)
    )
    turn = replace(turn_of(1, shot, ATTACK, *actions, reply=ATTACK), steps=steps)
    unreadable = replace(turn_of(2, shot, ATTACK, reply=ATTACK), intent=Intent(ATTACK, (), (ATTACK,)))
    return [turn, unreadable]


def hostile_page(out: Path) -> str:
    run = replace(RUN, task=f"{HEBREW} {ATTACK}", model=ATTACK, mode=ATTACK, consent="")
    return replay_of(run, hostile(), Status.FAILED, out, ATTACK).read_text(encoding="utf-8")


def test_a_kept_run_becomes_one_page_with_everything_inside(tmp_path: Path) -> None:
    with TraceStore() as store:
        made = record(store)
    page = write_replay(RUN.id, tmp_path / "deep" / "replay.html").read_text(encoding="utf-8")
    tags = Tags(page)
    assert tags.tags.count("section") == sum(len(turn.steps) or 1 for turn in made) == 8
    assert tags.tags.count("image") == 3  # each frame once, however many steps show it
    assert all(address.startswith(("data:image/", "#")) for address in tags.addresses)
    assert "http" not in re.sub(r"http-equiv", "", page)
    for text in ("Click on <bdi>&#8220;New folder&#8221;", "You refused it", "Leave the others alone.", "think 1.4 s"):
        assert text in page
    assert list(tmp_path.glob("deep/*")) == [tmp_path / "deep" / "replay.html"]


def test_the_mark_lies_where_the_click_went(tmp_path: Path) -> None:
    page = replay_of(RUN, turns(), Status.FINISHED, tmp_path / "replay.html").read_text(encoding="utf-8")
    centre = BUTTON.centre
    assert f'<circle class="mark ink" cx="{centre.x * 1280:.1f}" cy="{centre.y * 800:.1f}"' in page


def test_kept_and_unkept_runs_give_the_same_steps(tmp_path: Path) -> None:
    with TraceStore() as store:
        made = record(store)
    kept = write_replay(RUN.id, tmp_path / "a.html").read_text(encoding="utf-8")
    unkept = replay_of(RUN, made, Status.FINISHED, tmp_path / "b.html", "They are in Invoices.")
    assert unkept.read_text(encoding="utf-8") == kept


def test_every_text_is_inert(tmp_path: Path) -> None:
    page = hostile_page(tmp_path / "replay.html")
    tags = Tags(page)
    assert tags.tags.count("script") == tags.tags.count("title") == 1
    assert "img" not in tags.tags
    assert tags.handlers == []
    assert all(address.startswith(("data:image/", "#")) for address in tags.addresses)
    assert page.count("&lt;script&gt;document.title=&#x27;taken over&#x27;") > 10


def test_what_turns_the_reading_direction_is_made_visible(tmp_path: Path) -> None:
    page = hostile_page(tmp_path / "replay.html")
    assert "rm &lt;U+202E&gt;fdp.ecioVni&lt;U+2066&gt; &lt;U+001B&gt;[31m" in page
    assert not re.search("[\x1b\u202a-\u202e\u2066-\u2069]", page)
    assert f'<h1 dir="auto">{HEBREW}' in page


def test_a_run_without_a_step_and_one_with_a_missing_picture(tmp_path: Path) -> None:
    empty = replay_of(RUN, [], Status.STOPPED, tmp_path / "empty.html").read_text(encoding="utf-8")
    assert "ended before its first step" in empty
    with TraceStore() as store:
        record(store)
    for picture in Traces().folder.glob("??/*.png"):
        picture.unlink()
    page = write_replay(RUN.id, tmp_path / "missing.html").read_text(encoding="utf-8")
    assert page.count("The picture is missing.") == 8


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="could not be written"):
        replay_of(RUN, turns(), Status.FINISHED, tmp_path / "file" / "replay.html")
    with pytest.raises(StoreError, match="No kept run has the id nope"):
        write_replay("nope", tmp_path / "replay.html")


@pytest.mark.browser
def test_in_a_browser_the_steps_turn_and_nothing_planted_runs(tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("needs Chromium (apt install chromium)")
    hostile_page(tmp_path / "replay.html")
    dom = subprocess.run(
        [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--dump-dom",
            f"file://{tmp_path / 'replay.html'}#step-2",
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    assert '<body class="one">' in dom  # our own script ran, allowed by its hash
    assert re.findall(r'class="slide now" id="step-(\d)"', dom) == ["2"]
    assert "<title>taken over" not in dom
    assert Tags(dom).tags.count("script") == 1
