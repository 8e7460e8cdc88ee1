"""The loop with real parts but a pretend screen: what is done, what is not, and what the model is told."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from threading import Event, Timer

import pytest

from agent_core import loop
from agent_core.actions import Action, Click, Finished, Hotkey, Point, Press, Type
from agent_core.dialects.elements import Elements
from agent_core.errors import ModelError, StoreError, TaskError
from agent_core.models.scripted import Scripted
from agent_core.protocols import Ask, Recorder
from agent_core.safety import approvers
from agent_core.safety.policy import Policy
from agent_core.step import Box, Outcome, Run, Screenshot, Status, Turn, Verdict
from agent_core.traces.reads import Traces
from agent_core.traces.store import NoTrace, TraceStore
from training.sandboxes.pretend import Form, PretendDesktop, Widget, moved

DIALECT = Elements()


def form() -> Form:
    """Two buttons, one of them dangerous, and a field."""
    return Form(
        "Account",
        [
            Widget("field", "Name", Box(0.1, 0.1, 0.5, 0.15)),
            Widget("button", "Save", Box(0.1, 0.3, 0.3, 0.4)),
            Widget("button", "Delete account", Box(0.5, 0.3, 0.7, 0.4)),
        ],
        closes=("Save", "Delete account"),
    )


def say(*actions: Action, thought: str = "Go on.") -> str:
    shot = PretendDesktop(form()).look()
    return DIALECT.write(thought, actions, shot)


def centre(label: str) -> Point:
    return form().named(label).box.centre


def parts(desktop: PretendDesktop, replies: list[str], **more: object) -> loop.Parts:
    base = loop.Parts(desktop, DIALECT, Scripted(replies), Policy().decide, NoTrace())
    return replace(base, **more)  # type: ignore[arg-type]


def go(desktop: PretendDesktop, replies: list[str], stop: Event | None = None, **more: object) -> list[Turn]:
    run = Run("r1", "Do it.", 1.0, consent="test")
    return list(loop.run_task(run, parts(desktop, replies, **more), stop or Event()))


def settled(verdict: Verdict) -> Future[Verdict]:
    future: Future[Verdict] = Future()
    future.set_result(verdict)
    return future


def allow(ask: Ask) -> Future[Verdict]:
    return settled(replace(ask.verdict, decision="allow", who="person"))


def test_a_task_is_done_and_ends_with_its_answer() -> None:
    desktop = PretendDesktop(form())
    turns = go(desktop, [say(Click(centre("Name")), Type("Ann")), say(Click(centre("Save"))), say(Finished("Saved."))])
    assert desktop.form.named("Name").value == "Ann"
    assert desktop.form.submitted == "Save"
    assert turns[-1].status is Status.FINISHED
    assert loop.ending(turns[-1]) == "Saved."
    assert desktop.let_go_calls == 1


def test_without_an_approver_what_is_asked_is_denied() -> None:
    desktop = PretendDesktop(form())
    turns = go(desktop, [say(Click(centre("Delete account"))), say(Finished())])
    assert desktop.done == []
    assert turns[0].steps[0].verdict.decision == "deny"
    assert turns[0].steps[0].verdict.who == "nobody"
    assert "Refused" in turns[1].prompt.messages[-1].text
    assert turns[-1].status is Status.REFUSED  # it says that it is done, but its last action was refused
    assert "was refused" in loop.ending(turns[-1])


@pytest.mark.parametrize("way", ["crash", "cancel", "still asking"])
def test_an_approver_that_fails_means_denied(way: str) -> None:
    def broken(ask: Ask) -> Future[Verdict]:
        future: Future[Verdict] = Future()
        if way == "crash":
            future.set_exception(RuntimeError("the dialog crashed"))
        elif way == "cancel":
            future.cancel()
        else:
            future.set_result(ask.verdict)
        return future

    desktop = PretendDesktop(form())
    turns = go(desktop, [say(Click(centre("Delete account"))), say(Finished())], approve=broken)
    assert desktop.done == []
    assert turns[0].steps[0].verdict.decision == "deny"


def test_the_first_refusal_drops_the_rest_of_the_reply() -> None:
    desktop = PretendDesktop(form())
    go(
        desktop,
        [say(Click(centre("Delete account")), Click(centre("Save"))), say(Finished())],
        approve=approvers.deny_all,
    )
    assert desktop.done == []


def test_the_first_failure_drops_the_rest_of_the_reply() -> None:
    desktop = PretendDesktop(form())
    turns = go(desktop, [say(Type("nowhere"), Click(centre("Save"))), say(Finished())])
    assert desktop.form.submitted == ""
    assert "It failed" in turns[1].prompt.messages[-1].text


class Opening(PretendDesktop):
    """A desktop on which a click opens another window, or moves what comes next."""

    def do(self, action: Action, shot: Screenshot, stop: Event) -> Outcome:
        outcome = super().do(action, shot, stop)
        if isinstance(action, Click):
            self.form.title = "Terminal"
        return outcome


def test_the_rest_of_a_reply_is_dropped_when_its_first_action_opened_another_window() -> None:
    desktop = Opening(form())
    turns = go(desktop, [say(Click(centre("Name")), Type("rm -rf ~\n")), say(Finished())])
    assert [type(action) for action in desktop.done] == [Click]
    assert "the rest was not done" in turns[1].prompt.messages[-1].text


def test_keys_that_a_person_allowed_do_not_go_to_another_window() -> None:
    desktop = PretendDesktop(form())

    def slow(ask: Ask) -> Future[Verdict]:
        desktop.form.title = "Another window"
        return allow(ask)

    go(desktop, [say(Hotkey(("alt", "f4"))), say(Finished())], approve=slow)
    assert desktop.done == []


def test_do_this_instead_reaches_the_model() -> None:
    def instead(ask: Ask) -> Future[Verdict]:
        return settled(replace(ask.verdict, decision="deny", who="person", instead="Press Save."))

    desktop = PretendDesktop(form())
    turns = go(
        desktop, [say(Click(centre("Delete account"))), say(Click(centre("Save"))), say(Finished())], approve=instead
    )
    assert "The user refused and says: Press Save." in turns[1].prompt.messages[-1].text
    assert desktop.form.submitted == "Save"


def test_three_refusals_in_a_row_end_the_run() -> None:
    desktop = PretendDesktop(form())
    turns = go(desktop, [say(Click(centre("Delete account")))] * 5)
    assert len(turns) == 3
    assert turns[-1].status is Status.REFUSED


def test_a_place_that_changed_while_the_person_thought_is_not_clicked() -> None:
    desktop = PretendDesktop(form())

    def slow(ask: Ask) -> Future[Verdict]:
        widgets = desktop.form.widgets
        widgets[2] = moved(widgets[2], 0.0, 0.3)
        return allow(ask)

    turns = go(desktop, [say(Click(centre("Delete account"))), say(Finished())], approve=slow)
    assert desktop.done == []
    assert "changed while you waited" in turns[1].prompt.messages[-1].text


def test_an_answer_goes_on_in_the_same_run() -> None:
    def answer(question: str, shot: Screenshot) -> Future[str | None]:
        future: Future[str | None] = Future()
        future.set_result(f"Bob ({question})")
        return future

    desktop = PretendDesktop(form())
    ask = "Thought: I need the name.\nAction: call_user(content='Which name?')"
    turns = go(desktop, [ask, say(Finished())], answer=answer)
    assert "The user answered: Bob (Which name?)" in turns[1].prompt.messages[-1].text
    assert turns[-1].status is Status.FINISHED


def test_call_user_without_anybody_ends_the_run() -> None:
    turns = go(PretendDesktop(form()), ["Thought: Stuck.\nAction: call_user()"])
    assert turns[-1].status is Status.FAILED
    assert "needs a person" in loop.ending(turns[-1])


def test_one_problem_goes_back_to_the_model_and_the_second_ends_the_run() -> None:
    turns = go(PretendDesktop(form()), ["!!!!!!!!!!", "Action: click(start_box='')"])
    assert [t.status for t in turns] == [Status.RUNNING, Status.FAILED]
    assert turns[0].intent.problems[0] in turns[1].prompt.messages[-1].text


def test_stop_drops_what_was_not_done_and_lets_go() -> None:
    desktop = PretendDesktop(form())
    stop = Event()

    def ask(asked: Ask) -> Future[Verdict]:
        Timer(0.1, stop.set).start()
        return Future()

    turns = go(desktop, [say(Press("shift"), Click(centre("Delete account")))], stop=stop, approve=ask)
    assert turns[-1].status is Status.STOPPED
    assert [type(a) for a in desktop.done] == [Press]
    assert desktop.held == set()


def test_keys_are_let_go_when_the_model_breaks() -> None:
    desktop = PretendDesktop(form())
    with pytest.raises(ModelError):
        go(desktop, [say(Press("shift"))])
    assert desktop.held == set()


def test_the_step_limit_ends_the_run() -> None:
    turns = go(PretendDesktop(form()), [say(Click(centre("Name")))] * 9, limits=loop.Limits(steps=3))
    assert turns[-1].status is Status.LIMIT


@pytest.mark.parametrize(("task", "word"), [("", "empty"), ("  \n ", "empty"), ("x" * 10_000, "10,000 characters")])
def test_a_task_that_cannot_be_run_is_refused_in_a_sentence(task: str, word: str) -> None:
    with pytest.raises(TaskError, match=word):
        loop.run_task(Run("r", task, 1.0), parts(PretendDesktop(form()), []), Event())


class Broken(NoTrace):
    """A recorder whose disk is full."""

    def decided(self, run: Run, turn: Turn, step: object) -> None:
        raise StoreError("The disk is full.")


def test_nothing_is_done_whose_row_cannot_be_written() -> None:
    desktop = PretendDesktop(form())
    with pytest.raises(StoreError):
        go(desktop, [say(Click(centre("Save")))], recorder=Broken())
    assert desktop.done == []


def test_every_step_and_outcome_is_in_the_store(tmp_path: Path) -> None:
    store = TraceStore(tmp_path / "t.db", tmp_path / "images")
    desktop = PretendDesktop(form())
    recorder: Recorder = store
    go(
        desktop,
        [
            say(Click(centre("Name")), Type("Ann")),
            "no action here",
            say(Click(centre("Delete account"))),
            say(Finished("ok")),
        ],
        recorder=recorder,
        approve=approvers.deny_all,
    )
    store.close()
    traces = Traces(tmp_path / "t.db", tmp_path / "images")
    kept = traces.turns("r1")
    assert [len(t.steps) for t in kept] == [2, 0, 1, 1]
    assert kept[2].steps[0].outcome is None
    assert kept[0].steps[0].outcome is not None
    assert traces.run("r1").status is Status.REFUSED
    assert traces.faults() == ()
