"""The generative outcome judge: a model reads what the agent did and saw, and says whether the task is done.

It gets the whole history as text and the last five screens, as pictures where it sees pictures and else as the elements
that were read from them. It is asked several times, sampled; more than half of all its answers must say the same, and
be in the form that was asked for. A tie or an unreadable answer counts for nothing, and then there is no reward: such
judges err mostly by believing the agent. What the agent says of itself is marked as such.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from threading import Event
from typing import Literal

from agent_core.actions import Finished, in_words
from agent_core.dialects.elements import line_of
from agent_core.dialects.window import IMAGE, plain
from agent_core.errors import StoreError
from agent_core.protocols import Model
from agent_core.step import Element, Message, Prompt, Screenshot, Step, Transform
from agent_core.traces.images import Pixels
from agent_core.traces.rows import KeptRun, KeptTurn
from training.verdicts import Verdict

SCREENS = 5
ROOM = 6000  # characters of screens as text: what a context of 4096 tokens leaves beside a history
MAX_LINE = 300

RULES = """You judge whether an agent that uses a computer has done its task.
Go by the screens and by what each act did. What the agent says of itself is no proof. A task done in part is not done.
Answer in this form and write nothing else:
Asked: one thing that the task asks for | done, not done or not shown
(one such line for each thing; then the last line:)
Verdict: success
or
Verdict: failure"""

_VERDICT = re.compile(r"Verdict: (success|failure)\.?")
_ASKED = re.compile(r"Asked: [^|]+\| ?(done|not done|not shown)\.?")
Word = Literal["success", "failure"]


class Generative:
    """The Judge that asks a model `samples` times; one that answers greedily need not be asked more than once.

    The model belongs to the caller. Raises ValueError for a judge that is never asked.
    """

    def __init__(self, model: Model, samples: int = 3, view: View | None = None, name: str = "") -> None:
        if samples < 1:
            raise ValueError(f"a judge must be asked at least once, not {samples} times")
        self.name = name or model.name
        self._model, self._samples, self._view = model, samples, view or View()

    def judge(self, run: KeptRun, turns: Sequence[KeptTurn]) -> Verdict:
        prompt = self._view.prompt(run, turns)
        said = [word_of(self._answer(prompt)) for _ in range(self._samples)]
        yes, no = said.count("success"), said.count("failure")
        told = f"{yes} of {self._samples} answers say success, {no} failure"
        if unread := said.count(None):
            told += f", {unread} cannot be read"
        return Verdict(majority(said), f"{told}.", self.name)

    def _answer(self, prompt: Prompt) -> str:
        """What the model says; it is stopped as soon as that cannot be read any more, which saves most of the time
        that a poor judge takes."""
        stop, heard = Event(), list[str]()

        def on_text(piece: str) -> None:
            heard.append(piece)
            if not may_be_read("".join(heard)):
                stop.set()

        reply = self._model.reply(prompt, stop, on_text).text
        return "".join(heard) if stop.is_set() else reply


class View:
    """What a judging model is shown of a run: the history as text, and the last screens.

    `picture` gives a kept picture's pixels, and is asked for them only if the model `sees`. `read` gives the elements
    of a picture that were not kept with a turn, as those of the screen at the end are not; without it that screen is
    left out of the text. `room` is how many characters of elements are shown.
    """

    def __init__(
        self,
        picture: Callable[[str], Pixels] | None = None,
        *,
        sees: bool = False,
        read: Callable[[str], Sequence[Element]] | None = None,
        room: int = ROOM,
    ) -> None:
        self._picture = picture if sees else None
        self._read, self._room = read, room

    def prompt(self, run: KeptRun, turns: Sequence[KeptTurn]) -> Prompt:
        """What the model is asked."""
        history = f"Task: {plain(run.run.task)}\nWhat the agent did:\n{history_of(run, turns)}"
        text, shots = self._screens(turns)
        return Prompt((Message("system", RULES), Message("user", f"{history}\n{text}", shots)))

    def _screens(self, turns: Sequence[KeptTurn]) -> tuple[str, tuple[Screenshot, ...]]:
        """The last screens in the order of time: a line and a picture each, or their elements as far as there is room
        for them, the newest first to get it."""
        shots: list[Screenshot] = []
        texts: list[str] = []
        left = self._room
        for title, sha256, elements in reversed(seen(turns)[-SCREENS:]):
            shot = self._shot(sha256)
            if shot is not None:
                shots.append(shot)
                texts.append(f"{title}\n{IMAGE}")
                continue
            if elements is None:
                elements = self._read(sha256) if self._read else ()
            body = "\n".join(line_of(e).rsplit(" ", 2)[0] for e in elements) or "(nothing was read)"
            if len(body) > left:
                break
            left -= len(body)
            texts.append(f"{title}\n{body}")
        return "\n".join(reversed(texts)), tuple(reversed(shots))

    def _shot(self, sha256: str) -> Screenshot | None:
        """The picture as a screenshot; None when it is not to be seen, or not kept any more."""
        if self._picture is None:
            return None
        try:
            pixels = self._picture(sha256)
        except StoreError:
            return None
        place = Transform("kept", 0, 0, pixels.width, pixels.height)
        return Screenshot(pixels.rgb, pixels.width, pixels.height, place)


def word_of(text: str) -> Word | None:
    """A judge's word; None unless every line has the form asked for and the last one is the verdict.

    Success beside a thing that is not done or not shown contradicts itself, and cannot be read either.
    """
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    last = _VERDICT.fullmatch(lines[-1]) if lines else None
    items = [_ASKED.fullmatch(line) for line in lines[:-1]]
    if last is None or None in items:
        return None
    word: Word = "success" if last[1] == "success" else "failure"
    if word == "success" and any(item is not None and item[1] != "done" for item in items):
        return None
    return word


def may_be_read(text: str) -> bool:
    """Whether a text can still become an answer in the form asked for, by what is there of it."""
    *lines, last = text.lstrip().split("\n")
    whole = all(_ASKED.fullmatch(line.strip()) or _VERDICT.fullmatch(line.strip()) for line in lines if line.strip())
    begun = last.strip()
    heads = ("Asked: ", "Verdict: success.", "Verdict: failure.")
    return whole and (begun.startswith(heads[0].strip()) or any(head.startswith(begun) for head in heads))


def majority(said: Sequence[Word | None]) -> float | None:
    """1 or 0 when more than half of all answers say so; None otherwise."""
    for word, score in (("success", 1.0), ("failure", 0.0)):
        if 2 * sum(one == word for one in said) > len(said):
            return score
    return None


def seen(turns: Sequence[KeptTurn]) -> list[tuple[str, str, Sequence[Element] | None]]:
    """Every screen once: a title, its picture's hash, and its elements, None where they were not kept."""
    found: list[tuple[str, str, Sequence[Element] | None]] = []
    for turn in turns:
        if turn.withheld or (found and turn.screenshot == found[-1][1]):
            continue
        found.append(
            (f"Screen before act {turn.n}, window {_line(turn.window) or '?'}:", turn.screenshot, turn.elements)
        )
    after = [sha256 for turn in turns[-1:] for sha256 in turn.after.values()]
    if after and (not found or after[-1] != found[-1][1]):
        found.append(("Screen at the end:", after[-1], None))
    return found


def history_of(run: KeptRun, turns: Sequence[KeptTurn]) -> str:
    """What was thought and done and what came of it, a few lines a turn, and how the run ended."""
    lines = []
    for turn in turns:
        lines.append(f"{turn.n} The agent thought: {_line(turn.thought) or 'nothing'}")
        if turn.withheld:
            lines.append("   What it did here was not kept.")
        lines += [f"   {_told(step)}" for step in turn.steps if not isinstance(step.action, Finished)]
        lines += [f"   Its reply could not be read: {_line(problem)}" for problem in turn.problems]
    claims = [s.action.answer for turn in turns for s in turn.steps if isinstance(s.action, Finished)]
    if claims:
        lines.append(f"The agent says that it is done, and: {_line(claims[-1]) or 'nothing else'}")
    else:
        lines.append(f"The agent did not say that it is done; the run ended as {run.status.value}.")
    return "\n".join(lines)


def _told(step: Step) -> str:
    """One act: what, on what, and what came of it."""
    on = step.element
    words = in_words(step.action) + (f" on {on.kind} {_line(on.text)}".rstrip() if on is not None else "")
    if step.verdict.decision != "allow":
        instead = f"; the person wanted instead: {_line(step.verdict.instead)}" if step.verdict.instead else ""
        return f"{_line(words)}: refused, not done{instead}"
    outcome = step.outcome
    if outcome is None:
        return f"{_line(words)}: it is not known what came of it"
    result = "done" if outcome.ok else "failed"
    result += "" if outcome.changed is None else ", the screen changed" if outcome.changed else ", nothing changed"
    return f"{_line(words)}: {result}" + (f"; it said: {_line(outcome.text)}" if outcome.text else "")


def _line(text: str) -> str:
    return plain(" ".join(text.split()), MAX_LINE)
