"""What leaves the store is redacted again: stores of the first format hold texts and pictures as they were."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

from agent_core import paths
from agent_core.actions import Wait
from agent_core.screen.redact import COVER
from agent_core.step import Box, Element, Outcome, Step
from agent_core.traces.export import json_lines
from agent_core.traces.outside import Outside
from agent_core.traces.reads import Traces
from agent_core.traces.replay import write_replay
from agent_core.traces.store import TraceStore
from tests.traces.sample import ALLOWED, BUTTON, RUN, desktop, turn_of

MAIL = "ann.planted@example.com"
PLACE = Box(0.18, 0.43, 0.4, 0.46)


def old_store() -> None:
    """A person's run as it would have been kept before there was a redaction: nothing taken out, nothing judged."""
    shot = replace(desktop(MAIL), elements=(Element("button", "New folder", BUTTON), Element("text", MAIL, PLACE)))
    turn = turn_of(1, shot, f"Write to {MAIL}", asked=f"Write to {MAIL}")
    run = replace(RUN, consent="sandbox", task=f"Write to {MAIL}")
    with TraceStore(sandbox_as_is=True) as store:
        store.started(run, shot)
        step = Step(1, 1, Wait(), ALLOWED)
        store.decided(run, turn, step)
        store.happened(run, step, Outcome(True, f"sent to {MAIL}"), desktop("after", (320, 200)))
        store.label(run.id, None, "correction", None, f"to {MAIL}", "person")
    db = sqlite3.connect(paths.traces_file())
    db.execute("DROP TRIGGER runs_are_never_updated")
    db.execute("UPDATE runs SET consent = 'settings'")
    db.commit()
    db.close()


def test_an_old_run_goes_out_redacted(tmp_path: Path) -> None:
    old_store()
    assert MAIL in Traces().turns(RUN.id)[0].prompt
    lines = list(json_lines(RUN.id, Traces()))
    page = write_replay(RUN.id, tmp_path / "page.html").read_text(encoding="utf-8")
    assert MAIL not in "".join(lines) + page
    run, turn, label = (json.loads(line) for line in lines)
    assert (run["task"], label["value"]) == ("Write to «email»", "to «email»")
    assert turn["reply"]["token_ids"] == []
    assert turn["screenshot_file"] == ""  # the stored picture may not go out as it is


def test_its_pictures_are_covered_or_left_out() -> None:
    old_store()
    outside = Outside(Traces(), RUN.id)
    [turn] = outside.turns
    picture = outside.picture(turn.screenshot)
    assert picture is not None
    x, y = round(PLACE.centre.x * picture.width), round(PLACE.centre.y * picture.height)
    assert set(picture.rgb[3 * (y * picture.width + x) : 3 * (y * picture.width + x) + 30]) == {COVER}
    assert outside.picture(turn.after[1]) is None  # nobody knows what is in it
