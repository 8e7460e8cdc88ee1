"""The MiniWoB tasks that a reader of pixels can do: small web pages with a text, a random seed and a reward.

The pages come from the package `miniwob`; they run in a Chromium of our own, through the same look, read, reply and
do as any run. The yellow bar with the instruction and the reward display lie outside of what the agent sees.

    python -m training.tasks.miniwob_check [TASK ...] [--seeds 20]     how often the teachers succeed
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page

from agent_core.dialects.elements import Elements
from agent_core.errors import ScreenError
from agent_core.protocols import Dialect, Reader
from agent_core.step import Element
from training.sandboxes.browser import BrowserSandbox
from training.tasks import (
    miniwob_booking,
    miniwob_boxes,
    miniwob_choices,
    miniwob_documents,
    miniwob_drags,
    miniwob_finds,
    miniwob_flights,
    miniwob_forms,
    miniwob_mail,
    miniwob_numbers,
    miniwob_plans,
    miniwob_shapes,
    miniwob_sliders,
    miniwob_social,
)
from training.tasks.miniwob_page import AREA, WINDOW, Node, PageState, reaches, read_page
from training.tasks.task import Episode, Split, check_seed
from training.tasks.teacher import Move, SeeingReader, Teacher

SCALE = 3.0
SETTLE_SECONDS = 1.2
EPISODE_MS = 600_000  # the pages' own limits of 10 to 30 s are made for reflexes, not for a model on two cores

PLANS = (
    miniwob_plans.PLANS
    | miniwob_finds.PLANS
    | miniwob_forms.PLANS
    | miniwob_booking.PLANS
    | miniwob_choices.PLANS
    | miniwob_documents.PLANS
    | miniwob_flights.PLANS
    | miniwob_sliders.PLANS
    | miniwob_mail.PLANS
    | miniwob_numbers.PLANS
    | miniwob_drags.PLANS
    | miniwob_social.PLANS
    | miniwob_boxes.PLANS
    | miniwob_shapes.PLANS
)
# The teachers know these too, but too often the reader does not show what must be clicked: most attempts end early.
UNREAD = frozenset({"click-menu-2", "click-pie", "click-pie-nodelay", "find-greatest", "tic-tac-toe"})
TRAINED: tuple[str, ...] = tuple(name for name in PLANS if name not in UNREAD)
# What no action of ours can say, and why: their success is not measured.
UNSAID: dict[str, str] = {
    "chase-circle": "the pointer must follow a circle that moves all the time",
    "draw-circle": "a curve must be drawn; a drag is straight",
    "hot-cold": "the page answers to the pointer's place; no action moves the pointer alone",
    "hover-shape": "the pointer must rest on shapes that move; no action moves the pointer alone",
    "moving-items": "the targets have moved on by the time a step is thought out",
    "simon-says": "the sequence flashes faster than a step",
    "stock-market": "the price holds for less than a step",
    "use-colorwheel-2": "the wanted colour is shown in the instruction bar, and its text does not name it",
}
UNTAUGHT = ("drag-cube",)  # it can be said, but no teacher knows how
EVALUATED: tuple[str, ...] = (*PLANS, *UNTAUGHT)
# These pages pay by distance from a point that lies between pixels, so that the whole reward is out of reach. Where the
# page itself ends the episode as done, this share of the reward counts as the whole.
NEAR = {"bisect-angle": 0.8, "circle-center": 0.8, "find-midpoint": 0.8, "right-angle": 0.8}

_START = """([seed, limit]) => {
  core.EPISODE_MAX_TIME = limit;
  Math.seedrandom(seed);
  core.startEpisodeReal();
  const text = core.getUtterance();
  return typeof text === 'string' ? text : text.utterance;
}"""
_REWARD = "() => [WOB_DONE_GLOBAL, WOB_RAW_REWARD_GLOBAL]"


class MiniWob:
    """`reader` reads the screenshots for the teachers; without one the program's own element reader is used.

    `sandbox` holds the pages; without one they are in a browser of the suite's own, and time is that of the wall.
    """

    name = "miniwob"
    evaluated: tuple[str, ...] = EVALUATED
    episodes = 10

    def __init__(
        self,
        reader: Reader | None = None,
        dialect: Dialect | None = None,
        scale: float = SCALE,
        sandbox: BrowserSandbox | None = None,
    ) -> None:
        self._reader = reader
        self._dialect = dialect or Elements()
        self._sandbox = sandbox or BrowserSandbox(*WINDOW, scale)
        self._folder = miniwob_pages()

    def tasks(self) -> tuple[str, ...]:
        return TRAINED

    def open(self, task_name: str, seed: int, split: Split) -> Episode:
        if task_name not in EVALUATED:
            raise ValueError(f"there is no task {task_name!r}; there are {', '.join(EVALUATED)}")
        check_seed(seed, split)
        page = self._sandbox.open(self._folder / f"{task_name}.html")
        text = str(page.evaluate(_START, [seed, EPISODE_MS]))
        plan = PLANS.get(task_name, _untaught)

        def next_move(said: tuple[str, ...]) -> Move | None:
            elements = teacher.shot.elements if teacher.shot is not None else ()
            return plan(read_page(page, said, elements)) if not _reward(page)[0] else None

        def reaches_node(node: Node, element: Element) -> bool:
            return reaches(page, node, element.point)

        def done() -> bool:
            return _reward(page)[0]

        def score() -> float:
            reward = _reward(page)[1]
            return 1.0 if task_name in NEAR and reward >= NEAR[task_name] else reward

        operator = self._sandbox.operator(page, AREA, SETTLE_SECONDS)
        teacher = Teacher(next_move, reaches_node, self._dialect)
        return Episode(
            task=text,
            operator=operator,
            teacher=teacher,
            score=score,
            close=operator.close,
            done=done,
            reader=SeeingReader(self._own_reader(), teacher, done),
        )

    def close(self) -> None:
        self._sandbox.close()

    def _own_reader(self) -> Reader:
        if self._reader is None:
            from agent_core.screen.elements import ElementReader  # loads OCR weights: only when needed

            self._reader = ElementReader()
        return self._reader


def _reward(page: Page) -> tuple[bool, float]:
    """Whether the page has ended the episode, and its reward without the share for speed."""
    try:
        done, reward = page.evaluate(_REWARD)
    except PlaywrightError as error:
        raise ScreenError(f"The task's page is gone: {error.message.splitlines()[0]} Start the task again.") from error
    return bool(done), float(reward)


def _untaught(_: PageState) -> None:
    """The teacher of pages that no teacher knows: it gives up."""


def miniwob_pages() -> Path:
    """The folder of the tasks' pages. Raises ScreenError when the package is not installed."""
    spec = find_spec("miniwob")
    if spec is None or spec.origin is None:
        raise ScreenError("The MiniWoB pages are not installed: run `pip install miniwob`.")
    return Path(spec.origin).parent / "html" / "miniwob"
