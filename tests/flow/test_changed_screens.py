"""Each action is judged by the screen as it is when its turn comes, not as it was when the model was asked."""

from __future__ import annotations

import time
from threading import Event

from agent_core import loop
from agent_core.acting import same_place, same_words
from agent_core.actions import Action, Click, Drag, Finished, Hotkey, Point, Terminal
from agent_core.dialects.elements import Elements
from agent_core.models.scripted import Scripted
from agent_core.safety.policy import Policy
from agent_core.step import Box, Outcome, Run, Screenshot, Tier, Turn
from agent_core.traces.store import NoTrace
from training.sandboxes.pretend import Form, PretendDesktop, Widget

DIALECT = Elements()
RUN = Run("r1", "Look at the list.", 0.0)
OPEN, TOP = Click(Point(0.2, 0.35)), Click(Point(0.3, 0.125))
DIALOG = [
    Widget("text", "Delete 3 files?", Box(0.3, 0.6, 0.7, 0.64)),
    Widget("button", "Cancel", Box(0.3, 0.66, 0.45, 0.7)),
    Widget("button", "Yes", Box(0.5, 0.66, 0.65, 0.7)),
]


class Opening(PretendDesktop):
    """A window in which the first thing done opens a dialog, under the same title."""

    def __init__(self) -> None:
        super().__init__(Form("List", [Widget("button", "Open", Box(0.1, 0.3, 0.3, 0.4))]))

    def do(self, action: Action, shot: Screenshot, stop: Event) -> Outcome:
        outcome = super().do(action, shot, stop)
        if len(self.done) == 1:
            self.form.widgets.extend(DIALOG)
        return outcome


def run(desktop: PretendDesktop, *replies: tuple[Action, ...], delay: float = 0.0) -> list[Turn]:
    texts = [DIALECT.write("Go on.", actions, desktop.look()) for actions in replies]
    parts = loop.Parts(desktop, DIALECT, Scripted(texts, delay), Policy().decide, NoTrace())
    return list(loop.run_task(RUN, parts, Event()))


def test_enter_behind_a_click_is_judged_by_the_dialog_that_the_click_opened() -> None:
    desktop = Opening()
    (first, *_) = run(desktop, (OPEN, Hotkey(("enter",))), (Finished(),))
    assert desktop.done == [OPEN]
    assert first.steps[1].verdict.tier is Tier.R3
    assert first.steps[1].verdict.decision == "deny"


def test_a_screen_that_changed_while_the_model_thought_is_judged_anew() -> None:
    class Late(PretendDesktop):
        def look(self) -> Screenshot:
            if time.monotonic() - began > 0.9:
                self.form.widgets[0] = Widget("button", "Delete", self.form.widgets[0].box)
            return super().look()

    began = time.monotonic()
    desktop = Late(Form("List", [Widget("button", "Open", Box(0.1, 0.3, 0.3, 0.4))]))
    run(desktop, (OPEN,), (Finished(),), delay=1.3)
    assert desktop.done == []


def test_both_ends_of_a_drag_have_to_stay() -> None:
    desktop = PretendDesktop(
        Form(
            "List",
            [Widget("text", "a.txt", Box(0.1, 0.1, 0.3, 0.15)), Widget("text", "Trash", Box(0.7, 0.8, 0.9, 0.85))],
        )
    )
    before = desktop.look()
    desktop.form.widgets[0] = Widget("text", "b.txt", Box(0.1, 0.1, 0.3, 0.15))
    assert not same_place(Drag(Point(0.11, 0.125), Point(0.8, 0.825)), before, desktop.look())


def test_a_question_that_changes_its_words_is_another_question() -> None:
    desktop = PretendDesktop(Form("List", [*DIALOG]))
    before = desktop.look()
    assert same_words(before, desktop.look())
    desktop.form.widgets[0] = Widget("text", "Delete everything?", DIALOG[0].box)
    assert not same_words(before, desktop.look())


def test_what_a_command_printed_is_told() -> None:
    class Printing(PretendDesktop):
        def do(self, action: Action, shot: Screenshot, stop: Event) -> Outcome:
            return Outcome(ok=True, text="printed")

    heard: list[str] = []
    desktop = Printing(Form("List", []))
    texts = [DIALECT.write("Go on.", (action,), desktop.look()) for action in (Terminal("ls"), Finished())]
    parts = loop.Parts(desktop, DIALECT, Scripted(texts), Policy().decide, NoTrace(), heard=heard.append)
    list(loop.run_task(RUN, parts, Event()))
    assert heard == ["printed"]
