"""A kept run as it leaves the store, for a page or a file: redacted once more.

What was kept is redacted already, but rules get better, and stores of the first format hold texts and pictures as they
were. A picture that was never judged is covered by what its turn's elements say; without elements it is left out.
Runs of sandboxes, which hold made-up texts, go out as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from agent_core.actions import from_json
from agent_core.errors import StoreError
from agent_core.screen.redact import covered, review
from agent_core.step import Element, Run, Screenshot, Step, Transform
from agent_core.traces.discretion import default_redactor
from agent_core.traces.images import Pixels
from agent_core.traces.reads import Traces
from agent_core.traces.rows import KeptTurn
from agent_core.traces.store import SANDBOX
from agent_core.traces.texts import Texts


class Outside:
    """One kept run for readers outside. Raises StoreError when it cannot be read."""

    def __init__(self, traces: Traces, run_id: str) -> None:
        self._traces = traces
        kept = traces.run(run_id)
        self._as_is = kept.run.consent == SANDBOX
        self._redactor = default_redactor()
        turns = traces.turns(run_id)
        self._elements = {turn.screenshot: turn.elements for turn in turns if turn.elements}
        self.kept = kept if self._as_is else replace(kept, run=self._run(kept.run), text=self.text(kept.text))
        self.turns = turns if self._as_is else tuple(self._turn(turn) for turn in turns)

    def text(self, text: str) -> str:
        """A text of the run."""
        return text if self._as_is else self._redactor.redact(text)

    def is_fit(self, sha256: str) -> bool:
        """Whether the stored picture may go out as it is."""
        return self._as_is or self._traces.is_judged(sha256)

    def picture(self, sha256: str) -> Pixels | Screenshot | None:
        """The picture, covered where it has to be; None when it is missing or cannot be judged."""
        try:
            pixels = self._traces.picture(sha256)
        except StoreError:
            return None  # the page says so in the picture's place
        if self.is_fit(sha256):
            return pixels
        elements = self._elements.get(sha256)
        if elements is None:
            return None
        place = Transform("", 0, 0, pixels.width, pixels.height)
        shot = Screenshot(pixels.rgb, pixels.width, pixels.height, place)
        return covered(shot, review(elements, self._redactor).covers)

    def _run(self, run: Run) -> Run:
        return replace(run, task=self.text(run.task))

    def _turn(self, turn: KeptTurn) -> KeptTurn:
        text = self.text
        elements = review(turn.elements, self._redactor).elements
        known = dict(zip(turn.elements, elements, strict=True))
        said = text(turn.reply.text)
        ids = {} if said == turn.reply.text else {"token_ids": (), "logprobs": ()}
        return replace(
            turn,
            window=text(turn.window),
            elements=elements,
            prompt=text(turn.prompt),
            reply=replace(turn.reply, text=said, **ids),  # type: ignore[arg-type]
            thought=text(turn.thought),
            reflection=text(turn.reflection),
            problems=tuple(text(problem) for problem in turn.problems),
            steps=tuple(redacted_step(step, text, known) for step in turn.steps),
        )


def redacted_step(step: Step, text: Callable[[str], str], known: dict[Element, Element]) -> Step:
    """The step with every text through `text`; `known` gives elements of its frame as they may be shown."""
    action = from_json(json.loads(Texts(text).action(step.action)[0]))
    element, outcome = step.element, step.outcome
    if element is not None:
        element = known.get(element) or replace(element, text=text(element.text), value=text(element.value))
    if outcome is not None:
        outcome = replace(outcome, text=text(outcome.text))
    verdict = replace(step.verdict, reason=text(step.verdict.reason), instead=text(step.verdict.instead))
    return replace(step, action=action, element=element, verdict=verdict, outcome=outcome)
