"""Typing into real programs: any text, any layout, nothing left behind."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from PIL import Image

from agent_core.actions import Click, Hotkey, Point, Type
from agent_core.operators.desktop import DesktopOperator
from agent_core.step import Outcome

from .conftest import EventWindow

pytestmark = pytest.mark.desktop
Do = Callable[..., Outcome]
At = Callable[[tuple[int, int]], Point]

SHELL_LINE = 'echo "a-b/c@d#1" | q'
ASCII = "The quick brown fox JUMPS over 0123456789 {}[]()<>\\|~^`'\"$%&*_+=;:,.?!@#/-"
TEXTS = ["你好，世界", "żółw", "é—😀", "one\ntwo", "a\tb", SHELL_LINE, ASCII, "aabb ll 👩‍👩‍👧 ñandú Привет"]


@pytest.fixture
def field(window: EventWindow, do: Do, at: At) -> EventWindow:
    """The event window with an empty text field that has the focus."""
    do(Click(at(window.pixel("edit"))))
    do(Hotkey(("ctrl", "a")))
    do(Hotkey(("delete",)))
    window.quiet(0.1)
    window.clear()
    return window


def keymap(display: str) -> str:
    return subprocess.run(["xkbcomp", "-xkb", display, "-"], capture_output=True, text=True).stdout


@pytest.mark.parametrize("text", TEXTS)
def test_any_text(field: EventWindow, do: Do, text: str) -> None:
    assert do(Type(text)).ok
    field.text_becomes(text)


@pytest.mark.parametrize("name", ["fr", "de", "us dvorak", "ru", "us,ru"])
def test_any_layout(field: EventWindow, do: Do, layout: Callable[..., None], name: str) -> None:
    layout(*name.split())
    for text in (SHELL_LINE, ASCII + "żółw 你好"):
        assert do(Type(text)).ok
        field.text_becomes(text)
        do(Hotkey(("ctrl", "a")))
        do(Hotkey(("delete",)))


def test_more_strange_characters_than_spare_keycodes(field: EventWindow, do: Do) -> None:
    text = "".join(chr(code) for code in range(0x4E00, 0x4E00 + 120))
    assert do(Type(text)).ok
    field.text_becomes(text)


def test_the_layout_is_left_as_it_was(
    field: EventWindow, hands: DesktopOperator, do: Do, layout: Callable[..., None], screen: str
) -> None:
    hands.let_go()
    layout("de")
    before = keymap(screen)
    assert do(Type("żółw 你好 😀")).ok
    hands.let_go()
    field.text_becomes("żółw 你好 😀")
    assert keymap(screen) == before


def test_caps_lock_does_not_turn_letters_over(field: EventWindow, do: Do) -> None:
    do(Hotkey(("capslock",)))
    try:
        assert do(Type("Caps and łÓ")).ok
        field.text_becomes("Caps and łÓ")
    finally:
        do(Hotkey(("capslock",)))


def test_a_busy_program_still_gets_the_text(field: EventWindow, do: Do) -> None:
    do(Hotkey(("f9",)))  # the window sleeps now
    assert do(Type("你好 żółw")).ok
    field.text_becomes("你好 żółw")


def test_fifty_characters_a_second(field: EventWindow, do: Do) -> None:
    text = (ASCII * 3)[:200]
    started = time.monotonic()
    assert do(Type(text)).ok
    assert len(text) / (time.monotonic() - started) >= 50
    field.text_becomes(text)


def test_stop_ends_typing(field: EventWindow, do: Do, pressed: Callable[..., list[str]]) -> None:
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    started = time.monotonic()
    outcome = do(Type("Ab" * 2000), stop)
    assert not outcome.ok
    assert time.monotonic() - started < 1.0
    assert pressed() == []


def test_what_no_key_makes_is_refused_whole(field: EventWindow, do: Do) -> None:
    outcome = do(Type("abc\x07def"))
    assert not outcome.ok
    assert "U+0007" in outcome.text
    assert not [e for e in field.quiet(0.2) if e["kind"] == "text"]


@pytest.fixture
def clipboard(screen: str) -> Iterator[Callable[[str, bytes], None]]:
    """Puts data of a type onto the clipboard, as another program would."""
    owners: list[subprocess.Popen[bytes]] = []

    def put(target: str, data: bytes) -> None:
        owner = subprocess.Popen(
            ["xclip", "-quiet", "-selection", "clipboard", "-t", target, "-in"],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert owner.stdin is not None
        owner.stdin.write(data)
        owner.stdin.close()
        owners.append(owner)
        time.sleep(0.2)

    yield put
    for owner in owners:
        owner.kill()
        owner.wait()


def read_clipboard(target: str) -> bytes:
    command = ["xclip", "-selection", "clipboard", "-t", target, "-out"]
    return subprocess.run(command, capture_output=True, timeout=5).stdout


@pytest.mark.parametrize("target", ["UTF8_STRING", "text/uri-list", "image/png", ""])
def test_the_clipboard_is_not_touched(
    field: EventWindow, do: Do, clipboard: Callable[[str, bytes], None], tmp_path: Path, target: str
) -> None:
    image = tmp_path / "one.png"
    Image.new("RGB", (40, 30), "red").save(image)
    data = {"UTF8_STRING": "schön".encode(), "text/uri-list": b"file:///etc/hosts\r\n", "image/png": image.read_bytes()}
    if target:
        clipboard(target, data[target])
    assert do(Type("é—😀")).ok
    field.text_becomes("é—😀")
    assert read_clipboard(target or "UTF8_STRING") == data.get(target, b"")


def wait_for_window(hands: DesktopOperator, part: str) -> str:
    """Waits until the active window's title holds a text."""
    limit = time.monotonic() + 20
    while time.monotonic() < limit:
        title = hands.look().window
        if part in title:
            return title
    raise AssertionError(f"no window {part!r} came up; the active one is {title!r}")


def wait_for_file(path: Path, text: str) -> None:
    limit = time.monotonic() + 5
    while time.monotonic() < limit and (not path.exists() or path.read_text().rstrip("\n") != text):
        time.sleep(0.05)
    assert path.read_text().rstrip("\n") == text


def test_mousepad_saves_what_was_typed(hands: DesktopOperator, do: Do, tmp_path: Path) -> None:
    file = tmp_path / "note.txt"
    file.touch()
    program = subprocess.Popen(["mousepad", "--disable-server", str(file)], stderr=subprocess.DEVNULL)
    try:
        wait_for_window(hands, "note.txt")
        assert do(Type("żółw 你好 😀\n" + SHELL_LINE)).ok
        assert do(Hotkey(("ctrl", "s"))).ok
        wait_for_file(file, "żółw 你好 😀\n" + SHELL_LINE)
    finally:
        program.kill()
        program.wait()


def test_xterm_gets_what_was_typed(hands: DesktopOperator, do: Do, layout: Callable[..., None], tmp_path: Path) -> None:
    layout("fr")
    file = tmp_path / "typed"
    command = ["xterm", "-T", "cat here", "-u8", "-e", "sh", "-c", f"cat > {file}"]
    program = subprocess.Popen(command, env={**os.environ, "LC_ALL": "C.UTF-8"}, stderr=subprocess.DEVNULL)
    try:
        wait_for_window(hands, "cat here")
        assert do(Type(f"{SHELL_LINE}\nżółw 你好\n")).ok
        wait_for_file(file, f"{SHELL_LINE}\nżółw 你好")
    finally:
        program.kill()
        program.wait()


@pytest.mark.browser
def test_chromium_gets_what_was_typed(hands: DesktopOperator, do: Do, tmp_path: Path) -> None:
    page = (
        "<title>page is up</title><body style='margin:0'><textarea style='width:100%;height:95vh'"
        " oninput='document.title=encodeURIComponent(this.value)'></textarea>"
    )
    profile = tmp_path / "profile"
    flags = ["--no-sandbox", "--no-first-run", "--disable-gpu", "--password-store=basic", f"--user-data-dir={profile}"]
    command = ["chromium", *flags, f"--app=data:text/html;charset=utf-8,{quote(page)}"]
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    text = f"{SHELL_LINE}\nżółw 你好 é—😀"
    try:
        wait_for_window(hands, "page is up")
        assert do(Click(Point(0.5, 0.5))).ok
        assert do(Type(text)).ok
        title = wait_for_window(hands, quote(text[-1]))
        assert unquote(title).startswith(text)
    finally:
        program.terminate()
        program.wait()
