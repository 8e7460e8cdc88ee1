"""Secrets planted everywhere a run can meet them, and none of them in anything that it leaves behind.

The real loop and the real desktop: a window shows an e-mail address, a card and keys, a password is typed and another
filled in from a keyring, the environment and a file hold more and the terminal prints them. Then every byte of the
data folder is searched, and every picture read with the program's own reader.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from agent_core import loop, paths
from agent_core.actions import Action, Click, Finished, Hotkey, Point, Terminal, Type
from agent_core.dialects.elements import Elements
from agent_core.models.scripted import Scripted
from agent_core.operators.desktop import DesktopOperator
from agent_core.operators.terminal import TerminalSession
from agent_core.protocols import Reader
from agent_core.safety.approvers import allow_all
from agent_core.safety.policy import Policy
from agent_core.screen.elements import ElementReader
from agent_core.screen.window import ActiveWindow
from agent_core.secrets import Vault
from agent_core.step import Run, Screenshot, Status, Transform, Turn
from agent_core.traces import audit
from agent_core.traces.__main__ import main as traces
from agent_core.traces.audit import AuditLog, Recorders
from agent_core.traces.discretion import default_redactor
from agent_core.traces.reads import Traces
from agent_core.traces.replay import replay_of
from agent_core.traces.store import TraceStore
from app.crash import write_report
from tests.flow.login_window import FIELDS
from tests.flow.test_kill import wait_until

TYPED = "Vq7typedMarigold"
BY_KEYS = "tm9kvw3x"
FROM_KEYRING = "Kr4ring8Lavender"
PIN = FROM_KEYRING + BY_KEYS
SHOWN = {
    "mail": "zinnia@rowan-garden.test",
    "card": "4111 1111 1111 1111",
    "key": "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
}
ENVIRONMENT = "Env5valuePeony7Qx"
IN_FILE = "Fi1e7printedThistle"
PRIVATE = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
ALL = (TYPED, BY_KEYS, FROM_KEYRING, *SHOWN.values(), ENVIRONMENT, IN_FILE, PRIVATE)
TASK = f"Log in as ann with {TYPED}, then print the settings"
SIZE = (1280, 800)
PIECE = 7  # so many signs in a row of a secret count as a hit


@pytest.fixture
def window(screen: str) -> Iterator[subprocess.Popen[str]]:
    """The window, on top and with the focus."""
    script = Path(__file__).with_name("login_window.py")
    words = [f"Write to {SHOWN['mail']} for help", f"Card {SHOWN['card']}", SHOWN["key"], f"Build {ENVIRONMENT}"]
    title = ActiveWindow()
    with subprocess.Popen([sys.executable, str(script), *words], stdout=subprocess.PIPE, text=True) as program:
        wait_until(lambda: title.title() == "Account")
        yield program
        program.kill()
    title.close()


@pytest.fixture
def hands(screen: str, tmp_path: Path) -> Iterator[DesktopOperator]:
    """The desktop with a terminal that has the secrets in its environment and in a file."""
    (tmp_path / "deploy.txt").write_text(
        f"password={IN_FILE}\nbuild {ENVIRONMENT}\n-----BEGIN PRIVATE KEY-----\n{PRIVATE}\n-----END PRIVATE KEY-----\n"
    )
    os.environ["PLANTED_API_TOKEN"] = ENVIRONMENT
    operator = DesktopOperator(settle_seconds=0.4, terminal=TerminalSession(tmp_path))
    operator.vault = Vault({"PIN": FROM_KEYRING}.get)
    yield operator
    operator.close()
    del os.environ["PLANTED_API_TOKEN"]


def on(name: str) -> Click:
    """A click on a part of the window."""
    tops = {**FIELDS, "Log in": 270}
    return Click(Point(260 / SIZE[0], (tops[name] + 18) / SIZE[1]))


def replies(shot: Screenshot) -> list[str]:
    """What the model says, and it says the secret too."""
    turns: list[tuple[str, list[Action]]] = [
        (f"Click the field; the password is {TYPED}.", [on("User name"), Type("ann")]),
        ("Click the field Password.", [on("Password")]),
        (f"Type {TYPED}.", [Type(TYPED[:7])]),
        ("Type the rest.", [Type(TYPED[7:])]),
        ("Now the PIN.", [on("PIN"), Type("{{secret:PIN}}")]),
        (f"Key by key: {BY_KEYS}.", [Hotkey((key,)) for key in BY_KEYS[:4]]),
        ("Go on.", [Hotkey((key,)) for key in BY_KEYS[4:]]),
        ("No such key.", [Hotkey((TYPED,))]),
        ("Log in.", [on("Log in")]),
        ("Look at the settings.", [Terminal("env | grep PLANTED; cat deploy.txt")]),
        (f"It says {ENVIRONMENT} and {IN_FILE}.", [Finished(f"Logged in with {TYPED}.")]),
    ]
    return [Elements().write(thought, actions, shot) for thought, actions in turns]


def perform(hands: DesktopOperator, reader: Reader) -> list[Turn]:
    """The run, kept as a person's runs are."""
    run = Run("run7", TASK, 1_760_000_000.0, consent="settings", operator="desktop", dialect="elements")
    vault = hands.vault
    store = TraceStore(redactor=lambda: default_redactor(vault))
    recorder = Recorders(AuditLog(), store)
    model = Scripted(replies(hands.look()))
    parts = loop.Parts(hands, Elements(), model, Policy().decide, recorder, reader, approve=allow_all)
    turns = list(loop.run_task(run, parts, Event()))
    copies = [file.read_bytes() for file in paths.home().glob("traces.db*")]  # with the WAL, as a crash would leave it
    assert [secret for secret in ALL if any(secret.encode() in copy for copy in copies)] == []
    recorder.close()
    replay_of(run, turns, turns[-1].status, paths.replays_folder() / "memory.html", f"Used {TYPED}")
    return turns


def folded(text: str) -> str:
    return "".join(text.lower().split())


def told_by(text: str) -> list[str]:
    """The secrets of which a piece stands in a text, blanks and capitals aside."""
    words = folded(text)
    return [s for s in ALL if any(folded(s)[i : i + PIECE] in words for i in range(len(folded(s)) - PIECE + 1))]


def words_on(reader: Reader, shot: Screenshot) -> str:
    return "\n".join(f"{e.text}\n{e.value}" for e in reader.read(shot))


def test_planted_secrets_are_nowhere(
    home: Path, hands: DesktopOperator, window: subprocess.Popen[str], capsys: pytest.CaptureFixture[str]
) -> None:
    reader = ElementReader(threads=1)
    seen = told_by(words_on(reader, hands.look()))
    assert set(seen) == {*SHOWN.values(), ENVIRONMENT}, "the screen did not show what it should"
    turns = perform(hands, reader)
    assert turns[-1].status is Status.FINISHED
    assert window.stdout is not None
    assert json.loads(window.stdout.readline()) == {"User name": "ann", "Password": TYPED, "PIN": PIN}
    output = next(s.outcome.text for t in turns for s in t.steps if isinstance(s.action, Terminal) and s.outcome)
    assert set(told_by(output)) == {ENVIRONMENT, IN_FILE, PRIVATE}  # the model was told what the person may not lose

    capsys.readouterr()
    assert traces(["export", "run7", "--out", str(home / "out.html")]) == 0
    assert traces(["export", "run7", "--format", "jsonl", "--out", str(home / "out.jsonl")]) == 0
    assert traces(["show", "run7"]) == 0
    assert traces(["show", "run7", "--json"]) == 0
    assert told_by(capsys.readouterr().out) == []
    write_report(ValueError(f"{SHOWN['mail']} {SHOWN['key']} {ENVIRONMENT} {SHOWN['card']} '{TYPED}'"), "test")

    files = [file for file in home.rglob("*") if file.is_file()]
    assert {file.suffix for file in files} >= {".db", ".png", ".html", ".jsonl", ".txt"}
    hits = [(file.name, s) for file in files for s in ALL if s.encode() in file.read_bytes()]
    hits += [(file.name, s) for file in files if file.suffix != ".png" for s in told_by(file.read_text("latin-1"))]
    assert hits == []

    pictures = sorted(paths.images_folder().glob("??/*.png"))
    assert len(pictures) >= 4
    store = Traces()
    for picture in pictures:
        pixels = store.picture(picture.stem)
        place = Transform("", 0, 0, pixels.width, pixels.height)
        assert told_by(words_on(reader, Screenshot(pixels.rgb, pixels.width, pixels.height, place))) == []
    rules = {rule for picture in pictures for rule, _ in store.redactions(picture.stem)}
    assert rules >= {"email", "card", "key", "secret", "password", "secure"}
    assert store.faults() == ()
    assert audit.verify() is None
