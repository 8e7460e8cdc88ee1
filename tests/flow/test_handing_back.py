"""The machine in the person's hands and back: while they are asked, while the run is paused, when they take the mouse.

What counts is what the program under the pointer got, by its own word.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import IO, Any

import pytest

from agent_core import loop
from agent_core.actions import Action, Click, Finished, Hotkey, Point, Press, Terminal, Type
from agent_core.dialects.uitars import UiTars
from agent_core.limits import Limits
from agent_core.models.scripted import Scripted
from agent_core.operators.desktop import DesktopOperator
from agent_core.operators.geometry import from_input
from agent_core.protocols import Ask
from agent_core.step import Box, Outcome, Run, Screenshot, Status, Tier, Turn, Verdict
from agent_core.traces.reads import Traces
from agent_core.traces.store import NoTrace, TraceStore
from training.sandboxes.pretend import Form, PretendDesktop, Widget, moved

DIALECT = UiTars()
RUN = Run("r1", "Do it.", 1.0, consent="test")


def ask_always(action: Action, shot: Screenshot, task: str) -> Verdict:
    return Verdict("allow" if isinstance(action, Finished) else "ask", Tier.R2, "Everything is asked here.")


def allow_always(action: Action, shot: Screenshot, task: str) -> Verdict:
    return Verdict("allow", Tier.R1, "It is a sandbox.")


def allowed(ask: Ask) -> Future[Verdict]:
    future: Future[Verdict] = Future()
    future.set_result(replace(ask.verdict, decision="allow", who="person"))
    return future


# -- a real window -----------------------------------------------------------------------------------------------------


class MovingWindow:
    """The running program: `tell` makes it change, `said` is what it printed."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("moving_window.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script)], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdin
        assert self.process.stdout
        self._in: IO[str] = self.process.stdin
        self._out: IO[str] = self.process.stdout
        self._lines: queue.Queue[dict[str, Any]] = queue.Queue()
        self.said: list[dict[str, Any]] = []
        threading.Thread(target=self._read, daemon=True).start()
        self.places = self.wait_for("places")

    def _read(self) -> None:
        for line in self._out:
            self._lines.put(json.loads(line))

    def wait_for(self, kind: str, seconds: float = 15.0) -> dict[str, Any]:
        while True:
            event = self._lines.get(timeout=seconds)
            self.said.append(event)
            if event["kind"] == kind:
                return event

    def tell(self, line: str) -> None:
        """Returns when the change is to be seen."""
        self._in.write(line + "\n")
        self._in.flush()
        self.wait_for("done")

    def got(self, seconds: float = 0.4) -> list[tuple[str, str]]:
        """What was clicked and typed so far, by the program's own word."""
        while True:
            try:
                self.said.append(self._lines.get(timeout=seconds))
            except queue.Empty:
                return [(e["what"], e.get("text", "")) for e in self.said if e["kind"] in ("clicked", "text")]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._in.close()
        self._out.close()


@pytest.fixture
def window(screen: str) -> Iterator[MovingWindow]:
    program = MovingWindow()
    yield program
    program.close()


@pytest.fixture
def hands(screen: str) -> Iterator[DesktopOperator]:
    operator = DesktopOperator(settle_seconds=0.4)
    yield operator
    operator.close()


def say(hands: DesktopOperator, *actions: Action) -> str:
    return DIALECT.write("Go on.", actions, hands.look())


def place(hands: DesktopOperator, window: MovingWindow, name: str) -> Point:
    x, y = window.places[name]
    return from_input(x, y, hands.look().transform)


def on_screen(hands: DesktopOperator, replies: list[str], during: Callable[[int], None]) -> list[Turn]:
    """A run in which every action is asked about; `during` is what happens while the question is open."""
    asked = 0

    def approve(ask: Ask) -> Future[Verdict]:
        nonlocal asked
        asked += 1
        future: Future[Verdict] = Future()

        def decide() -> None:
            during(asked)
            future.set_result(replace(ask.verdict, decision="allow", who="person"))

        Thread(target=decide).start()
        return future

    parts = loop.Parts(hands, DIALECT, Scripted(replies), ask_always, NoTrace(), approve=approve)
    return list(loop.run_task(RUN, parts, Event()))


@pytest.mark.desktop
def test_a_button_that_moves_while_the_dialog_is_open_is_not_clicked(
    window: MovingWindow, hands: DesktopOperator
) -> None:
    keep = Click(place(hands, window, "keep"))
    replies = [say(hands, keep), say(hands, Finished())]
    turns = on_screen(hands, replies, lambda n: window.tell("swap"))
    assert window.got() == []
    assert "changed while you waited" in turns[1].prompt.messages[-1].text


@pytest.mark.desktop
def test_a_button_that_stays_is_clicked_once(window: MovingWindow, hands: DesktopOperator) -> None:
    keep = Click(place(hands, window, "keep"))
    on_screen(hands, [say(hands, keep), say(hands, Finished())], lambda n: time.sleep(0.2))
    assert window.got() == [("Keep", "")]


@pytest.mark.desktop
@pytest.mark.parametrize("change", ["focus", "cover"])
def test_text_does_not_go_where_the_focus_went_while_the_dialog_was_open(
    window: MovingWindow, hands: DesktopOperator, change: str
) -> None:
    first = Click(place(hands, window, "first"))
    replies = [say(hands, first), say(hands, Type("secret plan")), say(hands, Finished())]
    turns = on_screen(hands, replies, lambda n: window.tell(change) if n == 2 else None)
    assert window.got() == []
    assert "changed while you waited" in turns[2].prompt.messages[-1].text


@pytest.mark.desktop
def test_text_is_typed_into_a_field_whose_caret_blinks_meanwhile(window: MovingWindow, hands: DesktopOperator) -> None:
    first = Click(place(hands, window, "first"))
    replies = [say(hands, first, Type("plan")), say(hands, Finished())]
    on_screen(hands, replies, lambda n: time.sleep(0.7))
    assert window.got()[-1:] == [("first", "plan")]


# -- pauses ------------------------------------------------------------------------------------------------------------


def form() -> Form:
    return Form(
        "Form", [Widget("field", "Name", Box(0.1, 0.1, 0.5, 0.15)), Widget("button", "Save", Box(0.1, 0.3, 0.3, 0.4))]
    )


NAME, SAVE = Click(Point(0.3, 0.125)), Click(Point(0.2, 0.35))


class Paused(PretendDesktop):
    """A desktop whose person pauses the run in the middle of its first action, does something, and goes on."""

    def __init__(self, person: Callable[[PretendDesktop], None], take: bool = False) -> None:
        super().__init__(form())
        self.pause, self.taken = Event(), Event()
        self._person, self._take = person, take

    def do(self, action: Action, shot: Screenshot, stop: Event) -> Outcome:
        outcome = super().do(action, shot, stop)
        if len(self.done) == 1:
            self.pause.set()
            if self._take:
                self.taken.set()
            Thread(target=self._use).start()
        return outcome

    def _use(self) -> None:
        time.sleep(0.15)
        self._person(self)
        self.pause.clear()


def run_paused(desktop: Paused, replies: list[tuple[Action, ...]], store: TraceStore | None = None) -> list[Turn]:
    texts = [DIALECT.write("Go on.", actions, desktop.look()) for actions in replies]
    parts = loop.Parts(
        desktop,
        DIALECT,
        Scripted(texts),
        allow_always,
        store or NoTrace(),
        pause=desktop.pause,
        taken=desktop.taken,
        limits=Limits(seconds=60),
    )
    return list(loop.run_task(RUN, parts, Event()))


def move_save(desktop: PretendDesktop) -> None:
    desktop.form.widgets[1] = moved(desktop.form.widgets[1], 0.4, 0.4)


def test_a_run_goes_on_with_its_reply_after_a_pause_that_changed_nothing() -> None:
    desktop = Paused(lambda desktop: None)
    run_paused(desktop, [(NAME, SAVE), (Finished(),)])
    assert desktop.done == [NAME, SAVE]


def test_after_a_pause_what_moved_is_not_touched_and_the_model_looks_again() -> None:
    desktop = Paused(move_save)
    turns = run_paused(desktop, [(NAME, SAVE), (Finished(),)])
    assert desktop.done == [NAME]
    assert "Look again" in turns[1].prompt.messages[-1].text


def test_between_two_turns_the_model_is_asked_about_the_screen_after_the_pause() -> None:
    desktop = Paused(move_save)
    turns = run_paused(desktop, [(NAME,), (Finished(),)])
    assert turns[1].screenshot.elements == desktop.look().elements


def test_after_a_take_over_nothing_of_the_reply_is_done_and_a_label_is_kept(tmp_path: Path) -> None:
    desktop = Paused(lambda desktop: None, take=True)
    store = TraceStore(tmp_path / "t.db", tmp_path / "images")
    turns = run_paused(desktop, [(NAME, SAVE), (Terminal("ls"), SAVE), (Finished(),)], store)
    store.close()
    assert desktop.done == [NAME, Terminal("ls")]
    assert len(turns[0].steps) == 1
    assert "The user took over and gave back" in turns[1].prompt.messages[-1].text
    (label,) = Traces(tmp_path / "t.db", tmp_path / "images").labels("r1")
    assert (label.kind, label.step) == ("take_over", 1)


def test_a_take_over_while_the_person_is_asked_is_not_followed_by_the_action() -> None:
    desktop = Paused(lambda desktop: None)

    def approve(ask: Ask) -> Future[Verdict]:
        desktop.pause.set()
        desktop.taken.set()
        threading.Timer(0.2, desktop.pause.clear).start()
        return allowed(ask)

    texts = [DIALECT.write("Go on.", (action,), desktop.look()) for action in (Hotkey(("ctrl", "s")), Finished())]
    parts = loop.Parts(
        desktop,
        DIALECT,
        Scripted(texts),
        ask_always,
        NoTrace(),
        approve=approve,
        pause=desktop.pause,
        taken=desktop.taken,
    )
    turns = list(loop.run_task(RUN, parts, Event()))
    assert desktop.done == []
    assert turns[0].steps[0].outcome is not None
    assert "took over" in turns[0].steps[0].outcome.text
    assert turns[-1].status is Status.FINISHED


def test_a_stop_ends_a_pause_at_once() -> None:
    desktop, stop = PretendDesktop(form()), Event()
    pause = Event()
    pause.set()
    texts = [DIALECT.write("Go on.", (Press("shift"),), desktop.look())]
    parts = loop.Parts(desktop, DIALECT, Scripted(texts), allow_always, NoTrace(), pause=pause)
    threading.Timer(0.2, stop.set).start()
    began = time.monotonic()
    turns = list(loop.run_task(RUN, parts, stop))
    assert time.monotonic() - began < 1
    assert turns[-1].status is Status.STOPPED
    assert desktop.done == []
