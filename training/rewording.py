"""The same demonstration under other words.

A teacher does not read the task's text, and a prompt differs in its first line only when the text does. So a row with
another wording of the same episode is exactly what would have been recorded, and a policy that saw many wordings reads
one it never saw. Held-out wordings are not among them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from training.curate import Row
from training.tasks import desk

HEAD = "<|im_start|>user\nTask: "


def reworded(rows: Sequence[Row], copies: int, seed: int) -> list[Row]:
    """Each row of a desk episode `copies` times, each under a wording drawn by the seed; other rows as they are."""
    rng = random.Random(seed)
    out: list[Row] = []
    for row in rows:
        suite, _, rest = row.run.partition("/")
        if suite != desk.Desk.name or not row.prompt.startswith(HEAD):
            out.append(row)
            continue
        task, _, number = rest.partition("/")
        texts = desk.rewordings(task, int(number))
        _, _, after = row.prompt.removeprefix(HEAD).partition("\n")
        out += [replace(row, prompt=f"{HEAD}{text}\n{after}") for text in rng.sample(texts, min(copies, len(texts)))]
    return out
