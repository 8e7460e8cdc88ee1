"""Runs kept in a real trace store, told in few words: what was asked, what was done, what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agent_core.actions import Action, Click, Point
from agent_core.dialects.elements import Elements
from agent_core.step import (
    Box,
    Element,
    Intent,
    Message,
    Outcome,
    Prompt,
    Reply,
    Run,
    Screenshot,
    Status,
    Step,
    Tier,
    Transform,
    Turn,
    Verdict,
)
from agent_core.traces.store import TraceStore

ALLOWED = Verdict("allow", Tier.R1, "Reversible.")
YES = Verdict("allow", Tier.R3, "Asked.", "person")
NO = Verdict("deny", Tier.R3, "You said no.", "person")
WENT = Outcome(True, changed=True)
STILL = Outcome(True, changed=False)


@dataclass(frozen=True, slots=True)
class Act:
    """One turn with one action, on the screen with that number."""

    action: Action
    screen: int
    verdict: Verdict = ALLOWED
    outcome: Outcome | None = WENT
    problems: tuple[str, ...] = ()
    said: str = ""
    thought: str = "Go on."


def press(x: float, screen: int, **more: object) -> Act:
    return Act(Click(Point(x, 0.5)), screen, **more)  # type: ignore[arg-type]


def shot(n: int) -> Screenshot:
    """A screen of one colour with one button on it."""
    there = Transform("1", 0, 0, 8, 8)
    return Screenshot(
        bytes([n % 256, n // 256, 9]) * 64, 8, 8, there, "Window", (Element("button", f"B{n}", Box(0, 0, 1, 1)),), 1, 1
    )


def reply_of(act: Act) -> str:
    """The turn's reply as the model gave it."""
    return act.said or Elements().write(act.thought, [act.action], shot(act.screen))


def prompt_of(task: str, act: Act) -> Prompt:
    return Prompt((Message("user", f"Task: {task}\nScreen:\nbutton B{act.screen} 500 500"),))


def keep(
    folder: Path,
    run_id: str,
    task: str,
    acts: list[Act],
    *,
    consent: str = "settings",
    status: Status | None = Status.FINISHED,
    score: float | None = None,
    who: str = "verifier",
    tags: tuple[str, ...] = (),
    model: str = "bundled",
) -> Run:
    """Records the run as the loop would; without a `status` it was cut off. `score` is said by `who`."""
    run = Run(run_id, task, 1000.0, consent, dialect="elements", model=model, tags=tags)
    with TraceStore(folder / "traces.db", folder / "images", sandbox_as_is=True) as store:
        store.started(run, shot(acts[0].screen))
        for n, act in enumerate(acts, start=1):
            intent = Intent(act.thought, () if act.problems else (act.action,), act.problems)
            turn = Turn(n, shot(act.screen), prompt_of(task, act), Reply(reply_of(act)), intent)
            if act.problems:
                store.replied(run, turn)
                continue
            step = Step(n, n, act.action, act.verdict)
            store.decided(run, turn, step)
            if act.outcome is not None and act.verdict.decision == "allow":
                store.happened(run, step, act.outcome, shot(act.screen + 1))
        if status is not None:
            store.ended(run, status, "")
        if score is not None:
            store.label(run_id, None, "score", score, "", who)
    return run


def say(folder: Path, run_id: str, step: int | None, kind: str, score: float | None = None, value: str = "") -> None:
    """A person's word on the run or a step."""
    with TraceStore(folder / "traces.db", folder / "images") as store:
        store.label(run_id, step, kind, score, value, "person")  # type: ignore[arg-type]
