"""What is covered in a frame: whole elements, password fields always, and for good."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from agent_core.redaction import Redactor
from agent_core.screen.elements import ElementReader
from agent_core.screen.redact import (
    COVER,
    Cover,
    covered,
    is_secret_field,
    prompts_for_secret,
    review,
    withheld,
)
from agent_core.step import Box, Element, Screenshot, Transform

SIZE = (1280, 800)
KEY = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


def text(words: str, left: float = 0.1, top: float = 0.1, right: float = 0.3) -> Element:
    return Element("text", words, Box(left, top, right, top + 0.03))


def field(label: str, value: str = "", top: float = 0.2) -> Element:
    return Element("field", label, Box(0.4, top, 0.6, top + 0.04), value)


def frame(*lines: tuple[int, int, str]) -> Screenshot:
    image = Image.new("RGB", SIZE, "white")
    draw = ImageDraw.Draw(image)
    for x, y, words in lines:
        draw.text((x, y), words, "black", font_size=20)
    return Screenshot(image.tobytes(), *SIZE, Transform("1", 0, 0, *SIZE))


def rules(*elements: Element, known: tuple[str, ...] = ()) -> list[str]:
    return [cover.rule for cover in review(elements, Redactor(known)).covers]


def test_an_element_with_anything_secret_is_covered_whole() -> None:
    found = review([text("mail to ann@example.com please"), text("Files"), text(KEY)], Redactor())
    assert [cover.rule for cover in found.covers] == ["email", "key"]
    assert [e.text for e in found.elements] == ["mail to «email» please", "Files", "«key»"]


@pytest.mark.parametrize(
    ("element", "secret"),
    [
        (field("Password"), True),
        (field("Password", "hunter2"), True),
        (field("", "••••••"), True),
        (field("", "Password"), True),
        (field("PIN code", "1"), True),
        (field("密码"), True),
        (field("User name", "ann"), False),
        (field("Search", "password manager"), False),
        (text("Password"), False),
    ],
)
def test_password_fields_are_known_and_always_covered(element: Element, secret: bool) -> None:
    assert is_secret_field(element, [element]) is secret
    assert bool(rules(element)) is secret


def test_the_value_of_a_password_field_is_met_and_not_kept() -> None:
    found = review([field("Password", "correct horse")], Redactor())
    assert found.secrets == (("password", "correct horse"),)
    assert found.elements[0].value == "«password»"


def test_a_label_tells_what_stands_beside_it() -> None:
    label, value, other = text("API key:"), text("sesame99", left=0.32, right=0.4), text("Name", top=0.3)
    found = review([label, value, other], Redactor())
    assert [e.text for e in found.elements] == ["API key:", "«password»", "Name"]
    assert [cover.box for cover in found.covers] == [value.box]
    assert rules(text("Password:"), text("Forgot your password?", left=0.32, right=0.5)) == []


def test_a_label_far_to_the_left_belongs_to_a_field_without_one() -> None:
    label, box = text("PIN", left=0.18, top=0.205, right=0.2), field("")
    assert is_secret_field(box, [label, box])
    assert not is_secret_field(box, [label, text("Amount", left=0.22, top=0.205), box])


def test_an_address_whose_at_sign_was_read_as_a_button_is_found() -> None:
    before, after = text("Write to zinnia", right=0.2), text("rowan-garden.test for help", left=0.215, right=0.4)
    ring = Element("radio", after.text, Box(0.202, 0.1, 0.213, 0.13), on=True)
    found = review([before, after, ring], Redactor())
    assert [e.text for e in found.elements][:2] == ["Write to «email»", "«email» for help"]
    assert found.secrets == (("email", "zinnia"), ("email", "rowan-garden.test"))
    assert rules(before, after) == []


def test_a_key_over_many_lines_is_covered_to_its_end() -> None:
    lines = ["-----BEGIN PRIVATE KEY-----", "MIIEvQIBADANBg", "kqhkiG9w0BAQEF", "-----END PRIVATE KEY-----", "ready"]
    elements = [text(line, top=0.1 + 0.04 * n) for n, line in enumerate(lines)]
    found = review(elements, Redactor())
    assert len(found.covers) == 4
    assert [e.text for e in found.elements] == ["«key»"] * 4 + ["ready"]


def test_a_terminal_that_asks_is_a_prompt_until_something_follows() -> None:
    asks = text("[sudo] password for ann:")
    assert prompts_for_secret([text("$ sudo ls", top=0.06), asks])
    assert not prompts_for_secret([asks, text("Sorry, try again.", top=0.14)])
    assert not prompts_for_secret([text("Password:"), field("Password", top=0.1)])


def test_the_pixels_below_a_box_are_gone() -> None:
    shot = frame((100, 100, "keep this"), (100, 300, "hunter2hunter2"))
    box = Box(95 / 1280, 295 / 800, 300 / 1280, 330 / 800)
    out = np.frombuffer(covered(shot, [Cover("password", box)]).rgb, np.uint8).reshape(800, 1280, 3)
    before = np.frombuffer(shot.rgb, np.uint8).reshape(800, 1280, 3)
    assert (out[295:330, 95:300] == COVER).all()
    assert (out[:280] == before[:280]).all()
    changed = np.flatnonzero((out != before).any(axis=(1, 2)))
    assert 280 < changed[0] <= 295
    assert 330 <= changed[-1] + 1 < 345
    assert covered(shot, []) is shot


def test_boxes_at_the_edge_and_a_whole_grey_frame() -> None:
    shot = frame((0, 0, "x"))
    assert len(covered(shot, [Cover("x", Box(0, 0, 0.01, 0.01)), Cover("x", Box(0.99, 0.99, 1, 1))]).rgb) == len(
        shot.rgb
    )
    grey = withheld(shot, "secure")
    assert len(set(grey.rgb)) == 1
    assert (grey.width, grey.height, grey.elements) == (1280, 800, ())


def test_what_is_read_again_after_covering_holds_nothing(tmp_path: Path) -> None:
    shot = frame((100, 100, "Open the file"), (100, 300, f"token {KEY}"), (100, 500, "mail ann.lee@example.com today"))
    reader = ElementReader(threads=1)
    found = review(reader.read(shot), Redactor())
    words = " ".join(e.text for e in reader.read(covered(shot, found.covers)))
    assert "Open the file" in words
    for piece in ("ghp", "16C7", "Ae178", "ann", "example"):
        assert piece not in words


def test_the_cost_of_a_frame() -> None:
    elements = [text(f"Entry number {n} of the list", top=0.01 * n) for n in range(88)]
    elements += [text("mail ann@example.com", top=0.9), field("Password", "••••")]
    shot = frame((100, 100, "x"))
    redactor = Redactor(["S3cretValue99xyz"])
    times = []
    for _ in range(10):
        began = time.process_time()
        covered(shot, review(elements, redactor).covers)
        times.append(time.process_time() - began)
    print(f"{min(times) * 1000:.1f} ms of processor time for a frame with {len(elements)} elements")
    assert min(times) < 0.02
