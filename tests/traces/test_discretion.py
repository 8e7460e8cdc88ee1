"""What of a run is kept: typed secrets, frames with a password field in focus, excluded windows, unread frames."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core import paths
from agent_core.actions import Action, CallUser, Click, Finished, Hotkey, Terminal, Type
from agent_core.redaction import Redactor
from agent_core.screen.elements import ElementReader
from agent_core.screen.redact import GREY
from agent_core.step import Box, Element, Intent, Message, Outcome, Prompt, Reply, Screenshot, Status, Step, Turn
from agent_core.traces.reads import Traces
from agent_core.traces.rows import KeptTurn
from agent_core.traces.store import TraceStore
from tests.traces.sample import ALLOWED, RUN, desktop

SECRET = "Zx9-Planted-Value"
USER = Element("field", "User name", Box(0.4, 0.3, 0.6, 0.34))
PASSWORD = Element("field", "Password", Box(0.4, 0.4, 0.6, 0.44))
LOGIN = Element("button", "Log in", Box(0.4, 0.5, 0.5, 0.54))
NOTE = Element("text", "Welcome", Box(0.1, 0.1, 0.3, 0.13))
UNFRAMED = Element("text", "Password", PASSWORD.box)  # a field whose frame was not recognised
FORM = (NOTE, USER, PASSWORD, LOGIN)
SMALL = (320, 200)


def shot(*elements: Element, window: str = "Sign in", mark: str = "") -> Screenshot:
    return replace(desktop(mark, SMALL), window=window, elements=elements)


def click(element: Element) -> Click:
    return Click(element.point)


def turn(n: int, frame: Screenshot, *actions: Action, thought: str = "Go on.", asked: str = "") -> Turn:
    reply = Reply(f"Thought: {thought}\n" + "\n".join(f"Action: {a}" for a in actions), (1, 2), (-0.1, -0.2))
    prompt = Prompt((Message("user", f"Task: x\n{asked}", (frame,)),))
    return Turn(n, frame, prompt, reply, Intent(thought, actions))


def keep(
    turns: Sequence[Turn],
    task: str = "Log in",
    never_keep: Sequence[str] = (),
    last: Screenshot | None = None,
    said: str = "",
) -> tuple[KeptTurn, ...]:
    """Records the turns as the loop would, every step done, and reads them back."""
    run, n = replace(RUN, task=task), 0
    with TraceStore(redactor=Redactor, never_keep=never_keep) as store:
        store.started(run, turns[0].screenshot)
        for one, following in zip(turns, [*[t.screenshot for t in turns[1:]], last], strict=True):
            for action in one.intent.actions:
                n += 1
                step = Step(n, one.n, action, ALLOWED, None)
                store.decided(run, one, step)
                is_last = action is one.intent.actions[-1]
                store.happened(run, step, Outcome(True, said), following if is_last else None)
            if not one.intent.actions:
                store.replied(run, one)
        store.ended(run, Status.FINISHED, "Done.")
    assert Traces().faults() == ()
    return Traces().turns(RUN.id)


def in_files(home: Path, secret: str = SECRET) -> list[str]:
    return [f.name for f in home.rglob("*") if f.is_file() and secret.encode() in f.read_bytes()]


def rules(sha256: str) -> list[str]:
    return [rule for rule, _ in Traces().redactions(sha256)]


def test_what_is_typed_into_a_password_field_is_nowhere(home: Path) -> None:
    form = shot(*FORM)
    filled = shot(NOTE, USER, replace(PASSWORD, value="•••••••••"), LOGIN, mark="dots")
    done = shot(NOTE, window="Welcome", mark="in")
    kept = keep(
        [
            turn(1, form, click(PASSWORD), Type(f"{SECRET}\n"), thought=f"The password is {SECRET}."),
            turn(2, filled, click(LOGIN), thought="Go.", asked=f"Past:\n1 The password is {SECRET}."),
            turn(3, done, Finished(f"Logged in with {SECRET}"), asked=f"Past:\n1 {SECRET[:12]}..."),
        ],
        task=f"Log in as ann with {SECRET}",
    )
    assert in_files(home) == in_files(home, SECRET[:12]) == []
    assert kept[0].steps[1].action == Type("«typed secret»\n")
    assert kept[0].reply.token_ids == ()
    assert "«typed secret»" in kept[1].prompt
    assert Traces().run(RUN.id).run.task == "Log in as ann with «typed secret»"


def test_the_run_says_that_it_was_gone_over_and_nothing_else_can_change_it(home: Path) -> None:
    early = turn(1, shot(NOTE, replace(NOTE, text=SECRET, box=Box(0.1, 0.5, 0.4, 0.53)), window="notes"), Type("a"))
    kept = keep([early, turn(2, shot(*FORM, mark="x"), click(PASSWORD), Type(SECRET))], task=f"Use {SECRET}")
    assert in_files(home) == []
    assert kept[0].elements[1].text == "«typed secret»"
    assert rules(kept[0].screenshot) == ["secret"]  # found in the picture of the turn before, and covered there
    assert len(list(paths.images_folder().glob("??/*.png"))) == Traces().stats().images
    db = sqlite3.connect(paths.traces_file())
    assert db.execute("SELECT run, open FROM rewritings").fetchall() == [(RUN.id, 0)]
    for statement in ("UPDATE runs SET task = 'x'", "UPDATE turns SET reply = 'x'", "UPDATE rewritings SET open = 1"):
        with pytest.raises(sqlite3.IntegrityError, match="never updated"):
            db.execute(statement)
    db.close()


def test_no_frame_is_kept_while_a_password_field_has_the_focus() -> None:
    form, focused = shot(*FORM), shot(*FORM, mark="caret")
    typed, inside = shot(*FORM, mark="dots"), shot(NOTE, window="Welcome", mark="in")
    kept = keep(
        [
            turn(1, form, click(PASSWORD)),
            turn(2, focused, Type(SECRET)),
            turn(3, typed, click(LOGIN)),
            turn(4, inside, Finished()),
        ],
    )
    assert [rules(one.screenshot) for one in kept] == [["password"], ["secure"], ["secure"], []]
    assert rules(kept[0].after[1]) == ["secure"]
    grey = Traces().picture(kept[1].screenshot)
    assert (grey.width, grey.height, set(grey.rgb)) == (*SMALL, {GREY["secure"]})


@pytest.mark.parametrize(
    ("before", "elements", "window", "secret"),
    [
        ((click(USER),), FORM, "Sign in", False),
        ((click(USER), Hotkey(("tab",))), FORM, "Sign in", True),
        ((click(PASSWORD), click(USER)), FORM, "Sign in", False),
        ((), FORM, "Sign in", True),  # nobody knows where the focus is, and a password field is in sight
        ((click(LOGIN),), FORM, "Sign in", True),
        ((Hotkey(("ctrl", "l")),), FORM, "Sign in", False),
        ((), (NOTE,), "Unlock Keyring", True),
        ((), (NOTE,), "Notes", False),
        ((), (Element("text", "[sudo] password for ann:", Box(0.1, 0.2, 0.4, 0.23)),), "xterm", True),
        (
            (click(Element("text", "Password", PASSWORD.box)),),
            (Element("text", "Password", PASSWORD.box),),
            "Dark",
            True,
        ),
        ((), (NOTE, Element("field", "", USER.box, "••••")), "Sign in", True),
    ],
)
def test_where_the_keys_go(
    before: tuple[Action, ...], elements: tuple[Element, ...], window: str, secret: bool
) -> None:
    [kept] = keep([turn(1, shot(*elements, window=window), *before, Type("marigold"))])
    assert kept.steps[-1].action == Type("«typed secret»" if secret else "marigold")


def test_a_user_name_and_a_password_in_one_go(home: Path) -> None:
    [kept] = keep([turn(1, shot(*FORM), Type(f"ann\t{SECRET}\n"))])
    assert kept.steps[0].action == Type("«typed secret»\t«typed secret»\n")
    assert in_files(home) == []


def test_single_keys_into_a_password_field_are_not_told() -> None:
    [kept] = keep([turn(1, shot(*FORM), click(PASSWORD), Hotkey(("7",)), Hotkey(("ctrl", "a")))])
    assert [s.action for s in kept.steps[1:]] == [Hotkey(("«typed secret»",)), Hotkey(("ctrl", "a"))]


def test_a_short_secret_is_taken_out_where_it_is_quoted() -> None:
    kept = keep(
        [
            turn(1, shot(*FORM), click(PASSWORD), Type("471"), thought="Type 471 into the field."),
            turn(2, shot(NOTE, mark="b"), Finished(), asked="Past:\n1 Type 471 into the field.\ntext Total 471 200"),
        ]
    )
    assert kept[0].thought == "Type «typed secret» into the field."
    assert "'471'" not in kept[0].reply.text
    assert "Type «typed secret» into" in kept[1].prompt


def test_a_placeholder_is_kept_because_it_tells_nothing() -> None:
    [kept] = keep([turn(1, shot(*FORM), click(PASSWORD), Type("{{secret:MAIL}}\n"))])
    assert kept.steps[1].action == Type("{{secret:MAIL}}\n")
    assert kept.reply.token_ids == (1, 2)


def test_an_answer_to_a_question_for_a_password_is_a_secret(home: Path) -> None:
    ask = CallUser("What is the password?")
    keep([turn(1, shot(NOTE), ask), turn(2, shot(NOTE, mark="b"), Finished(), asked=f"Note: {SECRET}")], said=SECRET)
    assert in_files(home) == []


def test_nothing_is_kept_of_an_excluded_window(home: Path) -> None:
    bank = shot(Element("text", f"Balance {SECRET}", NOTE.box), window="My Bank - Browser", mark="bank")
    kept = keep(
        [
            turn(1, shot(NOTE, window="Desk"), click(NOTE)),
            turn(2, bank, click(NOTE), Type(f"{SECRET}ab"), thought="Move the marigold fund", asked=SECRET),
            turn(3, shot(NOTE, window="Desk", mark="c"), Finished(), asked="Past:\n2 Move the marigold fund\n3 Click."),
        ],
        never_keep=("bank",),
    )
    assert in_files(home) == in_files(home, "marigold") == in_files(home, "Bank") == []
    assert [one.withheld for one in kept] == ["", "window", ""]
    hidden = kept[1]
    assert (hidden.screenshot, hidden.elements, hidden.prompt, hidden.reply.text) == ("", (), "", "")
    assert [s.n for one in kept for s in one.steps] == [1, 2, 3, 4]
    assert hidden.steps[0].action == Click(replace(click(NOTE).at, x=0.0, y=0.0))
    assert hidden.steps[1].action == Type("«withheld»")
    assert kept[0].after == {}  # what came after the first step was the bank's window
    assert "«withheld»" in kept[2].prompt
    assert "Click." in kept[2].prompt
    assert [row.n for row in Traces().training_rows()] == [1, 3]


def test_a_frame_that_nobody_read_is_withheld() -> None:
    [kept] = keep([turn(1, replace(shot(), read_ms=0.0), Finished())])
    assert rules(kept.screenshot) == ["unread"]


def test_a_frame_that_nobody_read_is_read_where_there_is_a_reader() -> None:
    unread = replace(desktop("mail ann@example.com"), elements=(), read_ms=0.0)
    with TraceStore(reader=ElementReader(threads=1)) as store:
        store.started(RUN, unread)
        store.replied(RUN, turn(1, unread))
    [kept] = Traces().turns(RUN.id)
    assert set(rules(kept.screenshot)) == {"email"}
    assert "mail «email»" in [e.text for e in kept.elements]


def test_what_is_on_the_screen_or_in_the_terminal_is_redacted(home: Path) -> None:
    mail = Element("text", "to ann.planted@example.com", Box(0.1, 0.2, 0.5, 0.24))
    run = turn(1, shot(NOTE, mail), Terminal(f"curl -H 'Authorization: Bearer {SECRET}' x"))
    [kept] = keep([run], said=f"GITHUB_TOKEN={SECRET}")
    assert rules(kept.screenshot) == ["email"]
    assert in_files(home) == in_files(home, "ann.planted") == []


def test_a_sandbox_may_be_kept_as_it_is_and_a_person_may_not() -> None:
    one = turn(1, shot(*FORM), click(PASSWORD), Type("ann@example.com"))
    for consent, text in (("sandbox", "ann@example.com"), ("settings", "«typed secret»")):
        run = replace(RUN, id=consent, consent=consent)
        with TraceStore(sandbox_as_is=True) as store:
            store.started(run, None)
            for n, action in enumerate(one.intent.actions, start=1):
                store.decided(run, one, Step(n, 1, action, ALLOWED))
                store.happened(run, Step(n, 1, action, ALLOWED), Outcome(True), None)
        assert Traces().turns(consent)[0].steps[1].action == Type(text)


def test_a_take_over_is_a_label() -> None:
    with TraceStore() as store:
        store.started(RUN, None)
        store.labelled(RUN, None, "take_over", "mail ann@example.com")
    [label] = Traces().labels(RUN.id)
    assert (label.kind, label.value, label.who) == ("take_over", "mail «email»", "program")
