"""Tasks without what is personal in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.curate_tasks import plain_words, stripped, verifier_of
from training.tasks.desk import TASKS, Desk
from training.tasks.desk_words import CITIES, FIRST_NAMES, LAST_NAMES


@pytest.mark.parametrize(
    ("task", "template"),
    [
        ("Send the report to Ann Smith by 5 pm", "send the report to {name} by {time}"),
        ("open ~/Documents/taxes/ann.pdf and show page 3", "open {path} and show page {number}"),
        ("Put 'Call Mum' in todo.txt", "put {text} in {file}"),
        ("Pay Bill Gates $400 on May 5", "pay {name} {number} on {date}"),
        ("Reply to jürgen, then reply to Jürgen again", "reply to {name}, then reply to {name} again"),
        ("look up flights from berlin to oslo for 12/03/2025", "look up flights from {name} to {name2} for {date}"),
        ("Open https://ann.example.com/me?id=7 and print it", "open {address} and print it"),
        ("Write to ann@example.com about the room", "write to {email} about the room"),
        ("Delete the mail from mark", "delete the mail from {name}"),
        ("Call 5551234 and say hello", None),
        ("Anna Bob Carl", None),
        ("把文件移到文件夹", None),
        ("", None),
    ],
)
def test_what_is_personal_becomes_a_slot(task: str, template: str | None) -> None:
    found = stripped(task)
    if task.startswith("Call"):
        assert found is None or "555" not in found.template
        return
    assert (found.template if found else None) == template


@given(st.sampled_from([*FIRST_NAMES, *LAST_NAMES, *CITIES]), st.sampled_from([str, str.lower, str.upper]))
def test_no_name_gets_through(name: str, written: object) -> None:
    text = f"Open the folder, write to {written(name)} and save the file"  # type: ignore[operator]
    found = stripped(text)
    assert found is None or name.lower() not in found.template.split() or name.lower() in ("young", "brown", "green")


@given(st.text(max_size=200))
def test_any_text_is_stripped_or_left_out(text: str) -> None:
    found = stripped(text)
    if found is not None:
        left = [word for word in found.template.split() if "{" not in word]
        assert not any(sign.isdigit() for word in left for sign in word)
        assert all(word.isascii() or not word.isalpha() for word in left)


def test_a_wording_of_the_desk_is_checked_by_its_verifier() -> None:
    desk = Desk()
    assert verifier_of('Please type "see you" into the blank document and save it.') == "desk/editor_write"
    assert verifier_of("Tell my boss that I quit") == ""
    assert all(f"desk/{name}" for name in TASKS)
    assert len(plain_words()) > 700
    desk.close()
