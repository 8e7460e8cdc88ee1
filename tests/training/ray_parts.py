"""What runs in Ray's processes in a test: environments, one of which kills its own process. Light to import."""

from __future__ import annotations

import os
import signal

from agent_core.step import Prompt, Reply
from training.episodes import EpisodeEnvironment
from training.tasks import suite


class Dying(EpisodeEnvironment):
    """Its process ends at the first step of seed 0."""

    seed = -1

    def reset(self, task: str, seed: int) -> Prompt | None:
        self.seed = seed
        return super().reset(task, seed)

    def step(self, reply: Reply) -> Prompt | None:
        if self.seed == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(reply)


def forms() -> EpisodeEnvironment:
    return EpisodeEnvironment(suite("pretend_small"), max_steps=2)


def dying() -> EpisodeEnvironment:
    return Dying(suite("pretend_small"), max_steps=2)
