"""A small run to record: a drawn desktop, a few turns with every kind of verdict and outcome."""

from __future__ import annotations

from dataclasses import replace

from PIL import Image, ImageDraw

from agent_core.actions import Action, CallUser, Click, Drag, Finished, Point, Scroll, Terminal, Type
from agent_core.protocols import Recorder
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

SIZE = (1280, 800)
RUN = Run(
    id="run1",
    task="Put the three invoices into one folder",
    started=1_760_000_000.0,
    consent="yes",
    app_version="0.1.0",
    dialect="elements",
    model="bundled",
    model_hash="ab" * 32,
    adapter_hash="cd" * 32,
    mode="ask_risky",
    operator="desktop",
    tags=("sample", "held_out"),
)
ALLOWED = Verdict("allow", Tier.R1, "Reversible.")
BUTTON = Box(0.58, 0.62, 0.68, 0.67)


def desktop(line: str = "Invoices", size: tuple[int, int] = SIZE) -> Screenshot:
    """A drawn file window with a line of text in it and a button."""
    width, height = size
    image = Image.new("RGB", size, "#3b5b7a")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0.15 * width, 0.15 * height, 0.75 * width, 0.75 * height), "#f7f7f5", "#222222")
    draw.rectangle((0.15 * width, 0.15 * height, 0.75 * width, 0.19 * height), "#d8dde3")
    draw.text((0.17 * width, 0.158 * height), "Files - Downloads", "#222222", font_size=18)
    for row, name in enumerate(("invoice-01.pdf", "invoice-02.pdf", "invoice-03.pdf", line)):
        draw.text((0.18 * width, (0.25 + row * 0.06) * height), name, "#222222", font_size=20)
    draw.rectangle((BUTTON.left * width, BUTTON.top * height, BUTTON.right * width, BUTTON.bottom * height), "#2f6feb")
    draw.text(((BUTTON.left + 0.012) * width, (BUTTON.top + 0.01) * height), "New folder", "white", font_size=18)
    return Screenshot(
        image.tobytes(),
        width,
        height,
        Transform("1", 0, 0, width, height),
        window="Files - Downloads",
        elements=(Element("button", "New folder", BUTTON), Element("text", line, Box(0.18, 0.43, 0.4, 0.46))),
        capture_ms=21.0,
        read_ms=140.0,
    )


def turn_of(n: int, shot: Screenshot, thought: str, *actions: Action, reply: str = "", asked: str = "") -> Turn:
    """A turn that has just been answered."""
    text = reply or f"Thought: {thought}\nAction: {len(actions)}"
    prompt = Prompt((Message("system", "You use the computer."), Message("user", asked or RUN.task, (shot,))))
    return Turn(n, shot, prompt, Reply(text, (5, 6, 7), (-0.5, -0.1, -1.25), think_ms=1400.0), Intent(thought, actions))


def turns() -> list[Turn]:
    """Six turns: two actions in one, a refusal with another wish, an unreadable reply, a failure, the end."""
    start, made, moved = desktop(), desktop("Invoices/  (empty)"), desktop("Invoices/  (3 files)")
    click, named = Click(BUTTON.centre), Type("Invoices\n")
    drag = Drag(Point(0.2, 0.27), Point(0.22, 0.45))
    delete = Terminal("rm -r ~/Downloads")
    listing = Terminal("ls ~/Downloads/Invoices")
    instead = Verdict("deny", Tier.R3, "This deletes files.", "person", "Leave the others alone.", 4200.0)
    done = Outcome(True, changed=True, duration_ms=62.0)
    listed = Outcome(False, "ls: cannot access 'Invoices': No such file or directory", False, 35.0)
    raw = [
        (
            turn_of(1, start, "Make the folder and name it.", click, named),
            [
                Step(1, 1, click, ALLOWED, start.elements[0], done),
                Step(2, 1, named, replace(ALLOWED, who="person", waited_ms=2600.0), None, done),
            ],
        ),
        (turn_of(2, made, "Drag the first invoice onto it.", drag), [Step(3, 2, drag, ALLOWED, None, done)]),
        (
            turn_of(3, moved, "Tidy up the rest.", delete, CallUser("Really?")),
            [Step(4, 3, delete, instead)],
        ),
        (replace(turn_of(4, moved, ""), intent=Intent("", (), ("The reply holds no action.",))), []),
        (turn_of(5, moved, "See what is in it.", listing), [Step(5, 5, listing, ALLOWED, None, listed)]),
        (
            turn_of(
                6, moved, "All three are there.", Scroll("down", Point(0.5, 0.5)), Finished("They are in Invoices.")
            ),
            [
                Step(6, 6, Scroll("down", Point(0.5, 0.5)), ALLOWED, None, done),
                Step(7, 6, Finished("They are in Invoices."), replace(ALLOWED, tier=Tier.R0), None, Outcome(True)),
            ],
        ),
    ]
    return [replace(turn, steps=tuple(steps)) for turn, steps in raw]


def record(recorder: Recorder, run: Run = RUN, made: list[Turn] | None = None) -> list[Turn]:
    """Plays the turns into a recorder in the order of the loop, and gives them back."""
    made = turns() if made is None else made
    recorder.started(run, made[0].screenshot)
    for turn, following in zip(made, [*made[1:], None], strict=True):
        if not turn.intent.actions:
            recorder.replied(run, turn)
        for step in turn.steps:
            undone = replace(step, outcome=None)
            recorder.decided(run, replace(turn, steps=()), undone)
            if step.outcome is not None:
                last = step is turn.steps[-1] and following is not None
                recorder.happened(run, undone, step.outcome, following.screenshot if last and following else None)
    recorder.ended(run, Status.FINISHED, "They are in Invoices.")
    return made
