"""Secrets that go into a field bit by bit, and what else a run could tell about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core import paths
from agent_core.actions import Action, CallUser, Finished, Hotkey, Press, Release, Type
from agent_core.redaction import Redactor
from agent_core.screen.redact import review
from agent_core.step import Box, Element, Outcome, Screenshot, Status, Step, Turn
from agent_core.traces.keystrokes import Keystrokes, printed
from agent_core.traces.reads import Traces
from agent_core.traces.replay import replay_of
from agent_core.traces.store import TraceStore
from tests.traces.sample import ALLOWED, RUN
from tests.traces.test_discretion import FORM, NOTE, PASSWORD, SECRET, click, in_files, keep, rules, shot, turn

SHOWN = replace(NOTE, text=f"Hello {SECRET}", box=Box(0.1, 0.6, 0.5, 0.63))


def test_what_keys_print() -> None:
    said = [("v",), ("shift", "v"), ("shift+v",), ("space",), ("numpad7",), ("ctrl", "v"), ("enter",), ("no such key",)]
    assert [printed(keys) for keys in said] == ["v", "V", "V", " ", "7", "", "", ""]


def test_keys_make_up_a_word() -> None:
    keys = Keystrokes()
    actions: list[Action] = [Press("shift"), Press("m"), Release("m"), Release("shift")]
    actions += [Hotkey((key,)) for key in "arix"] + [Hotkey(("backspace",)), Type("gold7")]
    found = [value for action in actions for value in keys.take(action, secret=True)]
    assert found[-1] == "Marigold7"
    assert keys.take(Finished(), secret=True) == ()
    assert keys.take(Type("next"), secret=True) == ("next",)


def test_a_password_typed_key_by_key_is_nowhere(home: Path) -> None:
    keys: list[Action] = [Hotkey(("shift", k)) if k.isupper() else Hotkey((k,)) for k in SECRET]
    said = [f"hotkey(key='{'shift ' + k.lower() if k.isupper() else k}')" for k in SECRET]
    told = turn(2, shot(*FORM, mark="a"), *keys, thought="Press f, then Q.")
    told = replace(told, reply=replace(told.reply, text="\n".join(said)))
    kept = keep(
        [
            turn(1, shot(*FORM), click(PASSWORD)),
            told,
            turn(3, shot(NOTE, SHOWN, window="In", mark="b"), Finished(), asked="Past:\n" + "\n".join(said)),
        ],
        task=f"Use {SECRET}",
    )
    assert in_files(home) == []
    for text in (kept[1].reply.text, kept[2].prompt):
        assert [line for line in said if f"{line[-3:]}" in text] == []
    assert kept[1].thought == "Press f, then Q."  # neither is a key of it
    assert kept[1].reply.token_ids == ()
    assert {step.action for step in kept[1].steps} == {Hotkey(("«typed secret»",))}
    assert rules(kept[2].screenshot) == ["typed secret"]


@pytest.mark.parametrize("pieces", [("Zx9", "-Pl", "ante", "d-", "Value"), (SECRET[:9], SECRET[9:])])
def test_a_password_typed_in_pieces_is_known_as_a_whole(home: Path, pieces: Sequence[str]) -> None:
    keep(
        [
            turn(1, shot(*FORM), click(PASSWORD)),
            *(turn(n + 2, shot(*FORM, mark=str(n)), Type(piece)) for n, piece in enumerate(pieces)),
            turn(9, shot(NOTE, SHOWN, mark="b"), Finished(SECRET), asked=SECRET),
        ],
        task=f"Use {SECRET}",
    )
    assert in_files(home) == []


def test_what_stands_beside_a_placeholder_is_not_told(home: Path) -> None:
    [kept] = keep([turn(1, shot(*FORM), click(PASSWORD), Type(f"{{{{secret:MAIL}}}}{SECRET}\n"))])
    assert kept.steps[1].action == Type("{{secret:MAIL}}«typed secret»\n")
    assert in_files(home) == []


def test_a_misused_hotkey_tells_nothing(home: Path) -> None:
    [kept] = keep([turn(1, shot(*FORM), click(PASSWORD), Type(SECRET), Hotkey((SECRET,)), Press(SECRET))])
    assert kept.steps[2].action == Hotkey(("«typed secret»",))
    assert in_files(home) == []


def test_an_answer_in_a_sentence_and_to_a_thought(home: Path) -> None:
    ask = turn(1, shot(NOTE), CallUser(""), thought="I need the password.")
    keep([ask, turn(2, shot(NOTE, mark="b"), Type(SECRET), asked=SECRET)], said=f"sure, it is {SECRET}")
    assert in_files(home) == []


def test_digits_of_a_pin_leave_the_places_of_elements_alone() -> None:
    box = Box(0.4711, 0.1, 0.5, 0.14)
    early = turn(1, shot(replace(NOTE, text="Ref 4711", box=box)), Type("a"))
    kept = keep([early, turn(2, shot(*FORM, mark="x"), click(PASSWORD), Type("4711"))])
    assert kept[0].elements[0] == Element("text", "Ref «typed secret»", box)


def test_a_key_over_two_elements_leaves_the_prompt_too(home: Path) -> None:
    key = "ghp_16C7e42F292c6912E771", "0c838347Ae178B4a"
    parts = tuple(Element("text", k, Box(0.1, 0.2 + n / 10, 0.5, 0.24 + n / 10)) for n, k in enumerate(key))
    assert ("key", key[1]) in review(parts, Redactor()).secrets
    keep([turn(1, shot(NOTE, *parts), Finished(), asked=f"text {key[0]} 300 220\ntext {key[1]} 300 320")])
    assert in_files(home, key[0]) == in_files(home, key[1]) == []


def test_a_picture_that_only_an_outcome_shows_is_covered_later_as_well(home: Path) -> None:
    first, after = turn(1, shot(NOTE), click(NOTE)), shot(NOTE, SHOWN, window="In", mark="after")
    second = turn(2, shot(*FORM, mark="form"), click(PASSWORD), Type(SECRET))
    with TraceStore() as store:
        store.started(RUN, None)
        perform(store, first, after)
        perform(store, second, None)
        store.ended(RUN, Status.FINISHED, "Done.")
    assert rules(Traces().turns(RUN.id)[0].after[10]) == ["secret"]
    assert len(list(paths.images_folder().glob("??/*.png"))) == Traces().stats().images


def perform(store: TraceStore, one: Turn, after: Screenshot | None) -> None:
    for n, action in enumerate(one.intent.actions):
        step = Step(one.n * 10 + n, one.n, action, ALLOWED)
        store.decided(RUN, one, step)
        store.happened(RUN, step, Outcome(True), after)


def test_code_that_looks_like_a_password_is_not_taken_out_elsewhere() -> None:
    code = "password: settings.SECRET_value()"
    kept = keep([turn(1, shot(NOTE), Finished("Open the settings."), asked=code)])
    assert kept[0].steps[0].action == Finished("Open the settings.")


def test_a_page_of_a_run_in_memory_shows_no_excluded_window(home: Path) -> None:
    bank = turn(1, shot(NOTE, window="My Bank", mark="bank"), Type("marigold"), thought="Move the marigold fund")
    page = replay_of(RUN, [bank], Status.FINISHED, home / "page.html", never_keep=("bank",))
    assert in_files(home, "marigold") == in_files(home, "My Bank") == []
    assert page.exists()
