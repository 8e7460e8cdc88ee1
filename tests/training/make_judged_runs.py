"""Makes the labelled set that judges are measured on, tests/data/judged_runs.jsonl and .zip.

    python -m tests.training.make_judged_runs FOLDER ...

The folders hold traces of a policy in the suites desk and miniwob, good and bad; the rest is played here, in windows of
the pretend desktop, through the program's own loop, by somebody who errs in the ways that fool a judge: says done too
early, does a part, takes a detour, is refused. What is true is each time the verifier's word, never the agent's.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event

from agent_core import loop
from agent_core.actions import Action, Click, Finished
from agent_core.dialects.elements import Elements
from agent_core.models.scripted import Scripted
from agent_core.protocols import Model
from agent_core.screen.elements import ElementReader
from agent_core.step import Box, Element, Prompt, Reply, Run, Screenshot, Status, Tier, Transform, Verdict
from agent_core.traces.images import Pixels
from agent_core.traces.reads import Traces
from agent_core.traces.rows import KeptRun, KeptTurn
from agent_core.traces.store import TraceStore
from training.episodes import NoReader
from training.judge import LABELLED_SET, ended_runs, verified
from training.judge_model import SCREENS, seen
from training.judged_runs import JudgedRun, line_of_set, write_pictures
from training.sandboxes.pretend import Form, PretendDesktop, Widget
from training.solved import is_solved
from training.tasks.pretend import FormTeacher, Pretend
from training.tasks.task import seed_of
from training.tiny import Careless

LOST = {"pretend": 44, "desk": 22, "miniwob": 20}  # most runs that failed, and as many solved ones, of each suite
STEPS = 12
SCALE, QUALITY, PICTURES = 0.5, 30, 2
# task, what stands in the window, what the agent says, the known answers, whether that is right
ANSWERS: tuple[tuple[str, tuple[str, ...], str, tuple[str, ...], bool], ...] = (
    ("How many pieces are in stock? Tell me the number.", ("In stock", "1,240 pieces"), "1240", ("1,240",), True),
    ("How many guests are coming? Tell me.", ("Guests", "12"), "There are twelve guests.", ("12",), True),
    ("How many guests are coming? Tell me.", ("Guests", "12"), "There are 21 guests.", ("12",), False),
    ("Which city does order 4711 go to?", ("Order 4711", "City: Lyon"), "Order 4711 goes to Lyon.", ("Lyon",), True),
    ("Which city does order 4711 go to?", ("Order 4711", "City: Lyon"), "It goes to London.", ("Lyon",), False),
    ("What is the price of the lamp?", ("Lamp", "39.50 EUR"), "The lamp is 39.5 EUR", ("39.50",), True),
    ("What is the price of the lamp?", ("Lamp", "39.50 EUR"), "It costs 38.50 EUR.", ("39.50",), False),
    ("What is the price of the lamp?", ("Lamp", "39.50 EUR"), "39,50 EUR", ("39.50", "39,50"), True),
    ("Who wrote the note?", ("Note", "From: Anna Smith"), "anna smith", ("Anna Smith",), True),
    ("Who wrote the note?", ("Note", "From: Anna Smith"), "Anna Smyth", ("Anna Smith",), False),
    ("Who wrote the note?", ("Note", "From: Anna Smith"), "The note is from Smith, Anna.", ("Anna Smith",), True),
    ("On which day is the talk?", ("Talk", "Tuesday, 3 March"), "On Tuesday.", ("Tuesday",), True),
    ("On which day is the talk?", ("Talk", "Tuesday, 3 March"), "On Thursday.", ("Tuesday",), False),
    ("On which day is the talk?", ("Talk", "Tuesday, 3 March"), "Tuesday or Thursday.", ("Tuesday",), False),
    ("How long is the film in minutes?", ("Film", "1 h 35 min"), "95", ("95",), True),
    ("How long is the film in minutes?", ("Film", "1 h 35 min"), "1 h 35 min", ("95",), False),
    ("Is the shop open on Sunday?", ("Shop", "Sunday: closed"), "No.", ("no",), True),
    ("Is the shop open on Sunday?", ("Shop", "Sunday: closed"), "Yes, it is.", ("no",), False),
    ("What is the code of the room?", ("Room 5", "Code B-17"), "B17", ("B-17",), True),
    ("What is the code of the room?", ("Room 5", "Code B-17"), "The code is b-17", ("B-17",), True),
    ("What is the code of the room?", ("Room 5", "Code B-17"), "", ("B-17",), False),
    ("How many items are left?", ("Left", "7"), "Not 7 but 8 items are left.", ("7",), False),
    ("Which button is red, Save or Close?", ("Save", "Close"), "I could not find out.", ("Save",), False),
    ("Which language is it?", ("Language", "Français"), "FRANÇAIS", ("Français",), True),
)


class Stopping:
    """Does what the teacher says for some turns, then something else, and says that all is done."""

    name = "stopping"

    def __init__(self, teacher: FormTeacher, turns: int, press: bool, claim: str) -> None:
        self._teacher, self._left, self._press, self._claim = teacher, turns, press, claim

    def reply(self, prompt: Prompt, stop: Event, on_text: Callable[[str], None] | None = None) -> Reply:
        desktop, goal = self._teacher.desktop, self._teacher.goal
        shot = desktop.look()
        if self._left > 0 and not desktop.form.submitted:
            self._left -= 1
            return self._teacher.reply(prompt, stop)
        actions: list[Action] = [Finished(self._claim)]
        if self._press and not desktop.form.submitted:
            self._press = False
            actions = [Click(next(e for e in shot.elements if e.text == goal.press).point)]
            return Reply(self._teacher.dialect.write(f'All is set; click "{goal.press}".', actions, shot))
        return Reply(self._teacher.dialect.write("The task is done.", actions, shot))

    def close(self) -> None:
        """Nothing is held."""


class Person:
    """Who refuses: the first act on a label that is in `never`, or every one. Says what to do instead."""

    def __init__(self, never: frozenset[str], always: bool) -> None:
        self.never, self.always, self.refused = never, always, 0

    def decide(self, action: Action, shot: Screenshot, task: str) -> Verdict:
        on = shot.under(action.at) if isinstance(action, Click) else None
        if on is not None and on.text in self.never and (self.always or not self.refused):
            self.refused += 1
            return Verdict("deny", Tier.R3, "The person said no.", "person", "" if self.always else "Do what I asked.")
        return Verdict("allow", Tier.R1, "", "policy")


def play(store: TraceStore, task: str, desktop: PretendDesktop, model: Model, person: Person, tag: str) -> str:
    """One run through the program's loop, kept in the store; returns its id."""
    run = Run(
        f"{tag}-{time.time_ns()}", task, time.time(), "sandbox", operator="pretend", model=model.name, tags=(tag,)
    )
    parts = loop.Parts(
        operator=desktop,
        dialect=Elements(),
        model=model,
        decide=person.decide,
        recorder=store,
        reader=NoReader(),
        limits=loop.Limits(steps=STEPS, seconds=60),
    )
    for _ in loop.run_task(run, parts, Event()):
        pass
    return run.id


def play_forms(store: TraceStore, each: int) -> None:
    """Forms by somebody who errs; the score is what the form came to."""
    source = Pretend()
    for n in range(each):
        for task in source.tasks():
            for kind in ("careless", "stopping", "pressing", "refused", "sent back"):
                rng = random.Random(f"{kind} {task} {n}")
                episode = source.open(task, seed_of(n, "held_out"), "held_out")
                teacher = episode.teacher
                assert isinstance(teacher, FormTeacher)
                person, model = Person(frozenset(), False), _errs(kind, teacher, rng)
                if kind == "refused":
                    person = Person(frozenset({teacher.goal.press}), True)
                if kind == "sent back":
                    person = Person(frozenset(teacher.desktop.form.closes) - {teacher.goal.press}, False)
                run = play(store, episode.task, teacher.desktop, model, person, "suite:pretend")
                store.label(run, None, "score", episode.score(), f"pretend/{task}/{n}", "verifier")


def _errs(kind: str, teacher: FormTeacher, rng: random.Random) -> Model:
    claim = rng.choice(("Done.", "The form is filled in and sent.", "Everything that was asked for is done."))
    match kind:
        case "careless" | "sent back":
            return Careless(teacher, 0.35, rng)
        case "refused":
            return Stopping(teacher, rng.randint(2, 4), False, rng.choice((claim, "The person did not allow it.")))
        case "pressing":
            return Stopping(teacher, rng.randint(1, 2), True, claim)
        case _:
            return Stopping(teacher, rng.randint(0, 2), False, claim)


def play_answers(store: TraceStore) -> dict[str, tuple[str, ...]]:
    """Questions about a window; returns the known answers by run."""
    known = {}
    for task, rows, said, answers, right in ANSWERS:
        widgets = [Widget("text", row, Box(0.1, 0.1 + 0.1 * n, 0.6, 0.15 + 0.1 * n)) for n, row in enumerate(rows)]
        desktop = PretendDesktop(Form("Details", widgets))
        reply = Elements().write("I have read it.", [Finished(said)], desktop.look())
        run = play(store, task, desktop, Scripted([reply]), Person(frozenset(), False), "suite:answers")
        store.label(run, None, "score", float(right), "answers/answer/0", "verifier")
        known[run] = answers
    return known


def kind_of_run(run: KeptRun, turns: tuple[KeptTurn, ...], score: float, suite: str) -> str:
    """What is tricky about it."""
    steps = [step for turn in turns for step in turn.steps]
    if suite == "answers":
        return "answer"
    if any(step.verdict.decision != "allow" for step in steps):
        return "refused"
    if 0 < score < 1:
        return "partial"
    if not is_solved(score):
        done = [step for step in steps if not isinstance(step.action, Finished)]
        return "failed" if run.status is not Status.FINISHED else "partial" if len(done) > 1 else "claimed"
    thoughts = [turn.thought for turn in turns]
    stumbled = any(s.outcome and (not s.outcome.ok or s.outcome.changed is False) for s in steps)
    return "detour" if stumbled or len(set(thoughts)) < len(thoughts) or _retyped(turns) else "plain"


def _retyped(turns: tuple[KeptTurn, ...]) -> bool:
    """Whether one place was clicked at twice: filled in wrongly first, or ticked and unticked."""
    at = [step.action.at for turn in turns for step in turn.steps if isinstance(step.action, Click)]
    return len(set(at)) < len(at)


def runs_of(folder: Path, known: dict[str, tuple[str, ...]]) -> Iterator[tuple[str, JudgedRun, Traces]]:
    """(suite, run, where its pictures are) of a folder, as far as a verifier knows the outcome."""
    traces = Traces(folder / "traces.db", folder / "images")
    scores = verified(traces)
    for run in ended_runs(traces):
        label = scores.get(run.run.id)
        turns = traces.turns(run.run.id)
        if label is None or label.score is None or not turns:
            continue
        suite = label.value.partition("/")[0]
        kind = kind_of_run(run, turns, label.score, suite)
        yield suite, JudgedRun(run, turns, is_solved(label.score), kind, known.get(run.run.id, ()), {}), traces


def chosen(found: list[tuple[str, JudgedRun, Traces]]) -> list[tuple[JudgedRun, Traces]]:
    """As many that failed as were solved, of each suite, all kinds of them; answers are all taken."""
    rng = random.Random(0)
    rng.shuffle(found)
    taken: Counter[tuple[str, bool]] = Counter()
    tasks: Counter[str] = Counter()
    out = []
    for suite, one, traces in sorted(found, key=lambda f: f[1].kind == "plain"):
        room = len(ANSWERS) if suite == "answers" else LOST[suite] // 2
        if taken[suite, one.solved] < room and tasks[one.run.run.task] < 3:
            taken[suite, one.solved] += 1
            tasks[one.run.run.task] += 1
            out.append((one, traces))
    return out


def slim(number: int, one: JudgedRun, traces: Traces, reader: ElementReader) -> tuple[JudgedRun, dict[str, Pixels]]:
    """The run as it goes into the set, under a number, and its last pictures."""
    last = seen(one.turns)[-SCREENS:]
    read: dict[str, tuple[Element, ...]] = {}
    for _, sha256, elements in last:
        if elements is None:
            pixels = traces.picture(sha256)
            place = Transform("kept", 0, 0, pixels.width, pixels.height)
            read[sha256] = reader.read(Screenshot(pixels.rgb, pixels.width, pixels.height, place))
    shown = {sha256 for _, sha256, _ in last}
    turns = tuple(turn if turn.screenshot in shown else replace(turn, elements=()) for turn in one.turns)
    run = replace(one.run, run=replace(one.run.run, id=f"run-{number:03d}"))
    pictures = {sha256: traces.picture(sha256) for _, sha256, _ in last[-PICTURES:]}
    return replace(one, run=run, turns=turns, read=read), pictures


def main(folders: list[str]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary)
        with TraceStore(made / "traces.db", made / "images", sandbox_as_is=True) as store:
            play_forms(store, 12)
            known = play_answers(store)
        found = [one for folder in (made, *map(Path, folders)) for one in runs_of(folder, known)]
        reader = ElementReader(1)
        slimmed = [slim(n, one, traces, reader) for n, (one, traces) in enumerate(chosen(found), start=1)]
    lines = [line_of_set(one) + "\n" for one, _ in slimmed]
    LABELLED_SET.write_text("".join(lines), encoding="utf-8")
    write_pictures(LABELLED_SET, {sha: p for _, pictures in slimmed for sha, p in pictures.items()}, SCALE, QUALITY)
    print(Counter((one.kind, one.solved) for one, _ in slimmed))
    sizes = [file.stat().st_size for file in (LABELLED_SET, LABELLED_SET.with_suffix(".zip"))]
    print(f"{len(lines)} runs, {sizes[0]} bytes, {sizes[1]} of pictures")


if __name__ == "__main__":
    main(sys.argv[1:])
