"""Episodes run through the loop of the program itself, by a teacher or by a model, and recorded in a trace store.

    python -m training.rollouts --suite miniwob --episodes 40 --db runs/demos
    python -m training.rollouts --suite miniwob --policy runs/sft/adapter --alone 1 --samples 4 --db runs/rollouts

One recorder for demonstrations, rollouts and evaluation: what is learnt is what is served. Recording is resumable: an
episode that stands in the store under the same suite, task and seed is not run again, so give each policy a folder.
"""

from __future__ import annotations

import json
import random
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event

from agent_core import __version__, loop
from agent_core.dialects.elements import Elements
from agent_core.errors import DeskhandError, ModelError
from agent_core.protocols import Dialect, Model, Reader, Recorder
from agent_core.safety.policy import Mode
from agent_core.screen.elements import ElementReader
from agent_core.step import Prompt, Reply, Run, Status, Turn
from agent_core.traces.reads import Traces
from agent_core.traces.store import TraceStore
from training.curate import LESSONS, Row, is_solved
from training.questions import Gate
from training.runs import knob, named, parse
from training.serving import sampled, served
from training.tasks import SUITES, suite
from training.tasks.task import Episode, Suite, seed_of
from training.tasks.teacher import GaveUp


@dataclass(frozen=True, slots=True)
class Rollout:
    """One episode that was run. `reward` is None when the sandbox failed: such an episode is never counted."""

    run: Run
    task: str
    seed: int
    reward: float | None
    turns: tuple[Turn, ...]
    text: str
    seconds: float


def run_episode(
    suite_name: str,
    task: str,
    seed: int,
    episode: Episode,
    model: Model,
    reader: Reader,
    recorder: Recorder,
    dialect: Dialect,
    max_steps: int,
    mode: Mode = "sandbox",
    best_of: int = 1,
) -> Rollout:
    """Runs one opened episode to its end or to `max_steps` actions and scores it from the outside.

    The model is asked for `best_of` replies each time, of which the majority counts.
    In another `mode` than the sandbox's, what the gate asks is allowed and counted (see `questions`).
    """
    gate = Gate(mode)
    run = Run(
        id=uuid.uuid4().hex,
        task=episode.task,
        started=time.time(),
        consent="sandbox",
        app_version=__version__,
        dialect=dialect.name,
        model=model.name,
        mode=mode,
        operator=episode.operator.name,
        tags=(f"suite:{suite_name}", f"task:{task}", f"seed:{seed}"),
    )
    parts = loop.Parts(
        operator=episode.operator,
        dialect=dialect,
        model=model,
        decide=gate.decide,
        recorder=recorder,
        reader=reader,
        approve=gate.approve,
        limits=loop.Limits(steps=max_steps, seconds=300, replies=best_of),
    )
    turns: list[Turn] = []
    began = time.monotonic()
    reward: float | None
    try:
        running = loop.run_task(run, parts, Event())
        for turn in running:
            turns.append(turn)
            if turn.status is Status.RUNNING and episode.done():
                running.close()
                break
        reward = episode.score()
        text = loop.ending(turns[-1])
    except GaveUp as error:
        text, reward = str(error), None
    except ModelError as error:  # the model's own failure counts against it
        text, reward = str(error), 0.0
    except DeskhandError as error:
        text, reward = str(error), None
    return Rollout(run, task, seed, reward, tuple(turns), text, time.monotonic() - began)


class Mixed:
    """A policy acts most of the time; what the teacher says to the same prompt is the lesson.

    After Ross et al., "A Reduction of Imitation Learning and Structured Prediction to No-Regret Online Learning"
    (2011): the states come from the policy, the labels from the teacher. `lessons` holds (prompt, teacher's reply).
    """

    def __init__(self, policy: Model, teacher: Model, share: float, rng: random.Random) -> None:
        self.name = f"{policy.name}+teacher"
        self.policy, self.teacher, self.share, self.rng = policy, teacher, share, rng
        self.lessons: list[tuple[str, str]] = []

    def reply(self, prompt: Prompt, stop: Event, on_text: Callable[[str], None] | None = None) -> Reply:
        taught = self.teacher.reply(prompt, stop)
        self.lessons.append((prompt.chatml(), taught.text))
        return self.policy.reply(prompt, stop) if self.rng.random() < self.share else taught

    def close(self) -> None:
        """The policy belongs to the caller."""


@dataclass(frozen=True, slots=True)
class Args:
    """What to record."""

    suite: str = knob("miniwob", "which suite: " + ", ".join(SUITES))
    db: str = knob("runs/demos", "folder of the trace store")
    tasks: str = knob("", "task names, comma separated; all trained ones if empty")
    episodes: int = knob(40, "episodes a task")
    first: int = knob(0, "number of the first training seed")
    max_steps: int = knob(12, "most actions an episode")
    threads: int = knob(1, "threads of the screen reader and of a policy")
    model: str = knob("bundled", "name of the manifest of a policy's model")
    policy: str = knob("", "adapter of a policy that acts; the teacher's word is kept")
    share: float = knob(0.8, "share of the replies that a policy gives")
    alone: int = knob(0, "1: the policy plays without a teacher, sampled at temperature 1")
    samples: int = knob(1, "how often a policy alone plays each seed")


def plan(tasks: Sequence[str], args: Args) -> Iterator[tuple[str, int]]:
    """Task by task for each seed, so that a recording cut short covers every task."""
    for n in range(args.first, args.first + args.episodes):
        for _ in range(args.samples):
            for task in tasks:
                yield task, seed_of(n, "train")


def record(args: Args) -> int:
    """Records episodes of the teachers, or of a policy with the teachers' word on it; returns how many were solved."""
    folder = Path(args.db)
    store = TraceStore(folder / "traces.db", folder / "images", sandbox_as_is=True)
    source: Suite = suite(args.suite)
    tasks = named(args.tasks) or list(source.tasks())
    known = recorded(folder)
    policy = acting(args, sum(known.values()))
    solved = tried = 0
    try:
        for task, seed in plan(tasks, args):
            name = f"{args.suite}/{task}/{seed}"
            if known[name]:
                known[name] -= 1
                continue
            episode = source.open(task, seed, "train")
            taught = policy is not None and not args.alone
            mixed = Mixed(policy, episode.teacher, args.share, random.Random(seed)) if policy and taught else None
            try:
                reader = ElementReader(threads=args.threads) if args.alone else episode.reader
                reader = reader or ElementReader(threads=args.threads)
                model = mixed or policy or episode.teacher
                result = run_episode(args.suite, task, seed, episode, model, reader, store, Elements(), args.max_steps)
            finally:
                episode.close()
            tried += 1
            if result.turns:
                store.label(result.run.id, None, "score", result.reward, name, "verifier")
            if mixed is not None:
                keep_lessons(folder, mixed.lessons, name)
            good = is_solved(result.reward)
            solved += good
            why = "" if good else f" | {result.text}"
            print(
                f"{task} {seed}: {result.reward} in {len(result.turns)} turns, {result.seconds:.1f} s{why}", flush=True
            )
    finally:
        source.close()
        store.close()
        if policy is not None:
            policy.close()
    print(f"{solved} of {tried} episodes solved")
    return solved


def keep_lessons(folder: Path, lessons: Sequence[tuple[str, str]], name: str) -> None:
    """Appends what the teacher said in the policy's states, one JSON object a line, as `curate` reads it."""
    with (folder / LESSONS).open("a", encoding="utf-8") as file:
        for prompt, reply in lessons:
            row = Row(prompt, reply, name.rpartition("/")[0], name)
            file.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")


def acting(args: Args, played: int) -> Model | None:
    """The policy that plays, None for the teachers. One that plays alone is sampled, from `played` episodes on anew.

    Raises ModelError when it cannot be served, or not be sampled.
    """
    if args.alone:
        return sampled(args.model, args.policy, args.threads, seed=args.first + played)
    return served(args.model, args.policy, args.threads) if args.policy else None


def recorded(folder: Path) -> Counter[str]:
    """How often each episode, "suite/task/seed", stands in the store already."""
    scores = Traces(folder / "traces.db", folder / "images").scores().values()
    return Counter(label.value for label in scores if label.score is not None)


def main(argv: Sequence[str] | None = None) -> None:
    record(parse(Args, argv, "python -m training.rollouts", __doc__))


if __name__ == "__main__":
    main()
