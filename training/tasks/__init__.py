"""The suites of tasks, name -> class, resolved when chosen."""

from __future__ import annotations

import importlib
from typing import cast

from agent_core.errors import TaskError
from training.tasks.task import Suite

SUITES = {
    "desk": "training.tasks.desk:Desk",
    "miniwob": "training.tasks.miniwob:MiniWob",
    "pretend": "training.tasks.pretend:Pretend",
    "pretend_small": "training.tasks.pretend_small:PretendSmall",
}

HERE = frozenset({"pretend", "pretend_small"})  # made of Python alone: no program to run, nothing that can hang


def suite(name: str) -> Suite:
    """A suite ready to open tasks. Raises TaskError that lists the names."""
    if name not in SUITES:
        raise TaskError(f"There is no suite {name!r}; known: {', '.join(SUITES)}.")
    module, attribute = SUITES[name].split(":")
    return cast(Suite, getattr(importlib.import_module(module), attribute)())


def consequential(name: str) -> frozenset[str]:
    """The tasks of a suite that delete or overwrite by nature, so that a question is in its place."""
    if name != "desk":
        return frozenset()
    from training.tasks.desk import TASKS

    return frozenset(task.name for task in TASKS.values() if task.consequential)
