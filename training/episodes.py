"""The program's own loop as an environment: it stops at every question to the model until it is handed a reply.

So a trainer steps through exactly what the app runs: the same screenshots, prompts, parser, gate and limits. The loop
runs in a thread of its own, and so does whatever waits on it; the two are never at work at the same time.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import Protocol

from agent_core.dialects.elements import Elements
from agent_core.errors import ModelError
from agent_core.protocols import Dialect, Reader, Recorder
from agent_core.step import Prompt, Reply, Status, Turn
from agent_core.traces.store import NoTrace
from training.rewards import turn_rewards
from training.rollouts import Rollout, run_episode
from training.rows import Ended
from training.tasks.task import Episode, Split, Suite


@dataclass(frozen=True, slots=True)
class Score:
    """What came of an episode. `reward` is None, and `ended` "failed", when the sandbox broke down.

    `turns` holds a reward for each reply that was acted on, which sum to the reward and its shaping: a limit leaves the
    last reply undone, and then there is one reward fewer than replies. `thoughts` are the lengths of their thoughts,
    in characters.
    """

    reward: float | None
    ended: Ended
    turns: tuple[float, ...] = ()
    thoughts: tuple[int, ...] = ()
    text: str = ""


class Environment(Protocol):
    """What resets, steps and scores. Raises DeskhandError where it breaks down."""

    def reset(self, task: str, seed: int) -> Prompt | None:
        """Opens a task at a seed and gives what the policy is asked first; None when it ended at once."""

    def step(self, reply: Reply) -> Prompt | None:
        """Acts on a reply; the next question, or None when the episode has ended."""

    def score(self) -> Score:
        """Of the episode that has ended."""

    def close(self) -> None:
        """Leaves an episode that is still going on, and frees what was taken."""


class EpisodeEnvironment:
    """An Environment over a suite of tasks. `max_steps` is the most actions an episode.

    `reader` is made anew for an episode that brings none; without one the operator's own elements are used.
    `unreadable` and `per_turn` are the costs of `rewards.turn_rewards`. The suite is closed with the environment if it
    is its `own`.
    """

    def __init__(
        self,
        source: Suite,
        split: Split = "train",
        *,
        max_steps: int = 12,
        dialect: Dialect | None = None,
        reader: Callable[[], Reader] | None = None,
        recorder: Recorder | None = None,
        unreadable: float = 0.0,
        per_turn: float = 0.0,
        own: bool = False,
    ) -> None:
        self._own = own
        self._source, self._split, self._max_steps = source, split, max_steps
        self._dialect, self._reader = dialect or Elements(), reader
        self._recorder = recorder or NoTrace()
        self._costs = (unreadable, per_turn)
        self._asking = _Asking()
        self._thread = ThreadPoolExecutor(1, "episode")
        self._playing: Future[Rollout] | None = None
        self._score: Score | None = None

    def reset(self, task: str, seed: int) -> Prompt | None:
        self._leave()
        episode = self._source.open(task, seed, self._split)
        self._score, self._asking = None, _Asking()
        self._playing = self._thread.submit(self._play, task, seed, episode)
        self._playing.add_done_callback(self._asking.said.put)
        return self._hear()

    def step(self, reply: Reply) -> Prompt | None:
        if self._playing is None:
            raise ValueError("no episode is going on: reset first")
        self._asking.replies.put(reply)
        return self._hear()

    def score(self) -> Score:
        if self._score is None:
            raise ValueError("the episode has not ended yet")
        return self._score

    def close(self) -> None:
        self._leave()
        self._thread.shutdown()
        if self._own:
            self._source.close()

    def _hear(self) -> Prompt | None:
        """The next question, or None when the loop has come to its end."""
        said = self._asking.said.get()
        if isinstance(said, Prompt):
            return said
        self._playing = None
        self._score = self._scored(said.result())
        return None

    def _leave(self) -> None:
        """Ends an episode in the middle: the loop closes as after a failure of its model."""
        while self._playing is not None:
            self._asking.replies.put(None)
            self._hear()

    def _play(self, task: str, seed: int, episode: Episode) -> Rollout:
        """In the thread: the whole episode."""
        reader = episode.reader or (self._reader() if self._reader else NoReader())
        try:
            return run_episode(
                self._source.name,
                task,
                seed,
                episode,
                self._asking,
                reader,
                self._recorder,
                self._dialect,
                self._max_steps,
            )
        finally:
            episode.close()

    def _scored(self, rollout: Rollout) -> Score:
        if rollout.reward is None:
            return Score(None, "failed", text=rollout.text)
        cut = bool(rollout.turns) and rollout.turns[-1].status is Status.LIMIT
        acted: tuple[Turn, ...] = rollout.turns[:-1] if cut and len(rollout.turns) > 1 else rollout.turns
        rewards = turn_rewards(acted, rollout.reward, *self._costs)
        thoughts = tuple(len(turn.intent.thought) for turn in acted)
        return Score(rollout.reward, "cut" if cut else "end", rewards, thoughts, rollout.text)


class _Asking:
    """The model that the loop asks: hands the question over and waits for the reply."""

    name = "policy"

    def __init__(self) -> None:
        self.said: queue.SimpleQueue[Prompt | Future[Rollout]] = queue.SimpleQueue()
        self.replies: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()

    def reply(self, prompt: Prompt, stop: Event, on_text: Callable[[str], None] | None = None) -> Reply:
        self.said.put(prompt)
        reply = self.replies.get()
        if reply is None:
            raise ModelError("The episode was left before its end.")
        return reply

    def close(self) -> None:
        """The policy belongs to the trainer."""


class NoReader:
    """For operators that know their elements."""

    def read(self, shot: object) -> tuple[()]:
        return ()
