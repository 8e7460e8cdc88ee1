"""What of a run may be kept: the one place that every text and picture goes through on its way into the store.

Texts lose what the redaction finds, and every secret of this run by value. What is typed into a password field is
known from then on; its frames are withheld while the field has the focus. Of windows that the person excluded nothing
is kept but that there was a step. A frame that was not read cannot be judged, so it is withheld too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from agent_core import secrets
from agent_core.actions import Action, CallUser, Hotkey, Press
from agent_core.protocols import Reader
from agent_core.redaction import TYPED, WITHHELD, Redactor, token
from agent_core.screen.redact import WHOLE, Cover, Reason, Review, covered, review, withheld
from agent_core.secret_words import is_secret_label, secret_values
from agent_core.step import Element, Outcome, Screenshot, Step, Turn
from agent_core.traces.focus import Focus
from agent_core.traces.keystrokes import Keystrokes
from agent_core.traces.unsaid import blank, hidden, words_in

CUTS = (45, 117, 157, 397, 1997)  # where the dialects cut a long text that they quote
SHORTEST_PHRASE = 6
MET = ("password", "key", "token")
SHORTEST_MET, LONGEST_MET = 8, 4096
# What may be a name in a program, a path or words: known by value, it would be taken out of harmless texts too.
_PLAIN = re.compile(r"[A-Za-z_./()\[\]:,\s-]+")
_TOLD = re.compile(r"(?=\S*\d)(?=\S*[^\W\d])\S{6,}")  # a word of an answer that looks like a password


@dataclass(frozen=True, slots=True)
class Picture:
    """A frame as it may be kept, and what was done to it."""

    shot: Screenshot
    covers: tuple[Cover, ...]


class Keeping(Protocol):
    """What the store asks while it writes one run. `judges`: whether its pictures are covered where they have to be."""

    @property
    def judges(self) -> bool: ...

    def turn(self, turn: Turn) -> bool: ...

    def text(self, text: str) -> str: ...

    def picture(self, shot: Screenshot) -> Picture | None: ...

    def elements(self, shot: Screenshot) -> tuple[Element, ...]: ...

    def element(self, element: Element) -> Element: ...

    def action(self, action: Action) -> Action: ...

    def happened(self, step: Step, outcome: Outcome, after: Screenshot | None) -> Outcome: ...

    def without_known(self, text: str) -> str: ...

    def meet(self, text: str) -> None: ...

    def has_learnt(self) -> bool: ...


def default_redactor(vault: secrets.Vault = secrets.VAULT) -> Redactor:
    """Knows the secrets of the environment and what was filled in from the keyring."""
    return Redactor(secret_values(os.environ), (vault.values,))


class Discretion:
    """The state of one run. Methods are called in the order of the recorder's."""

    judges = True

    def __init__(self, redactor: Redactor, never_keep: Sequence[str] = (), reader: Reader | None = None) -> None:
        self._redactor = redactor
        self._never_keep = tuple(word.lower() for word in never_keep)
        self._reader = reader
        self._focus = Focus()
        self._shot: Screenshot | None = None
        self._excluded = False
        self._learnt = False
        self._keys = Keystrokes()
        self._thought = ""
        self._phrases: dict[str, None] = {}
        self._frames: dict[int, Reason | None] = {}
        self._reviews: dict[int, Review] = {}

    def turn(self, turn: Turn) -> bool:
        """Takes a new turn in. Gives whether it is in an excluded window, so that nothing of it may be kept."""
        shot = self._shot = self._read(turn.screenshot)
        self._thought = turn.intent.thought
        self._excluded = self._is_excluded(shot)
        if self._excluded:
            for text in (turn.intent.thought, turn.intent.reflection, turn.reply.text, *turn.intent.problems):
                self._forget(text)
            for action in turn.intent.actions:
                self._forget(words_in(action))
        focus, bits = self._focus, self._keys.count
        for action in turn.intent.actions:
            secret = focus.takes_secret(shot) or (self._excluded and isinstance(action, Hotkey | Press))
            for value in self._keys.take(action, secret):
                self._learn(value, TYPED)
            focus = focus.after(action, shot)
        self._learnt = self._learnt or self._keys.count > bits
        self.meet(turn.prompt.chatml())
        self._review(shot)
        return self._excluded

    def meet(self, text: str) -> None:
        """Learns the passwords and keys that the rules find in a text: elsewhere they may stand without their name."""
        for found in self._redactor.findings(text):
            value = text[found.start : found.end]
            if found.rule in MET and SHORTEST_MET <= len(value) <= LONGEST_MET and not _PLAIN.fullmatch(value):
                self._learn(value, found.rule)

    def _learn(self, value: str, rule: str) -> None:
        if self._redactor.learn(value, rule):
            self._learnt = True
            self._reviews.clear()  # what was read may show it

    def text(self, text: str) -> str:
        """The text as it may be kept."""
        for phrase in self._phrases:
            if phrase in text:
                text = text.replace(phrase, token(WITHHELD))
        return self._redactor.redact(self._keys.hide(text))

    def without_known(self, text: str) -> str:
        """The text without the secrets of this run; used on what was written before they were known."""
        return self._redactor.without_known(self._keys.hide(text))

    def has_learnt(self) -> bool:
        """Whether a secret became known since the last call."""
        learnt, self._learnt = self._learnt, False
        return learnt

    def elements(self, shot: Screenshot) -> tuple[Element, ...]:
        """The elements as they may be kept."""
        return () if self._is_excluded(shot) else self._review(shot).elements

    def element(self, element: Element) -> Element:
        """An element of the newest turn's frame as it may be kept."""
        shot = self._shot
        if shot is not None:
            for own, kept in zip(shot.elements, self._review(shot).elements, strict=False):
                if own == element:
                    return kept
        return replace(element, text=self.text(element.text), value=self.text(element.value))

    def picture(self, shot: Screenshot) -> Picture | None:
        """The frame with what is secret covered, or grey; None for an excluded window."""
        if self._is_excluded(shot):
            return None
        reason = self._reason(shot)
        if reason is not None:
            return Picture(withheld(shot, reason), (Cover(reason, WHOLE),))
        covers = self._review(shot).covers
        return Picture(covered(shot, covers), covers)

    def action(self, action: Action) -> Action:
        """The action as it may be kept, decided on now: what goes into a password field is not told."""
        if self._excluded:
            return blank(action)
        if self._shot is not None and self._focus.takes_secret(self._shot):
            return hidden(action)
        return action

    def happened(self, step: Step, outcome: Outcome, after: Screenshot | None) -> Outcome:
        """Follows the focus. Gives the outcome as it may be kept, but for the redaction of its text."""
        if self._excluded:
            self._forget(outcome.text)
            outcome = replace(outcome, text="")
        elif isinstance(step.action, CallUser) and self._asks_for_secret(step.action) and outcome.text:
            for value in (*Keystrokes().values(outcome.text), *_TOLD.findall(outcome.text)):
                self._learn(value, TYPED)
            outcome = replace(outcome, text=token(TYPED))
        else:
            self.meet(outcome.text)
        if self._shot is not None:
            moved = self._focus.after(step.action, self._shot)
            self._focus = moved if outcome.ok else replace(moved, secure=moved.secure or self._focus.secure)
        if after is not None:
            self._reason(after)  # now, while the focus is where it is in this frame
        return outcome

    def begin_again(self) -> None:
        """For going through the same run a second time with what is known by now."""
        self._focus, self._shot = Focus(), None

    def _asks_for_secret(self, action: CallUser) -> bool:
        return is_secret_label(action.question or self._thought)  # without a question the person is shown the thought

    def _is_excluded(self, shot: Screenshot) -> bool:
        title = shot.window.lower()
        return any(word in title for word in self._never_keep)

    def _reason(self, shot: Screenshot) -> Reason | None:
        """Why the frame must not be kept. Once withheld it stays so, wherever it comes up again."""
        frame = hash(shot.rgb)
        if self._frames.get(frame) is None:
            read = self._read(shot)
            unread = not read.elements and shot.read_ms == 0 and self._reader is None
            self._frames[frame] = "unread" if unread else "secure" if self._focus.is_secure(read) else None
        return self._frames[frame]

    def _review(self, shot: Screenshot) -> Review:
        frame = hash(shot.rgb)
        if frame not in self._reviews:
            found = review(self._read(shot).elements, self._redactor)
            for rule, value in found.secrets:
                self._learn(value, rule)
            self._reviews[frame] = found
        return self._reviews[frame]

    def _read(self, shot: Screenshot) -> Screenshot:
        """The frame with its elements, read here if nobody has read it."""
        if shot.elements or self._reader is None or shot.read_ms > 0:
            return shot
        return replace(shot, elements=self._reader.read(shot))

    def _forget(self, text: str) -> None:
        """Takes this text out of later prompts, in the forms in which they quote it."""
        for line in (text, *text.splitlines(), " ".join(text.split())):
            for phrase in (line.strip(), *(line.strip()[:cut] for cut in CUTS if len(line) > cut)):
                if len(phrase) >= SHORTEST_PHRASE:
                    self._phrases[phrase] = None
        self._phrases = dict.fromkeys(sorted(self._phrases, key=len, reverse=True))


class AsItIs:
    """Keeps everything: for sandboxes, whose texts are made up."""

    judges = False

    def turn(self, turn: Turn) -> bool:
        return False

    def text(self, text: str) -> str:
        return text

    def without_known(self, text: str) -> str:
        return text

    def meet(self, text: str) -> None:
        return

    def has_learnt(self) -> bool:
        return False

    def elements(self, shot: Screenshot) -> tuple[Element, ...]:
        return shot.elements

    def element(self, element: Element) -> Element:
        return element

    def picture(self, shot: Screenshot) -> Picture | None:
        return Picture(shot, ())

    def action(self, action: Action) -> Action:
        return action

    def happened(self, step: Step, outcome: Outcome, after: Screenshot | None) -> Outcome:
        return outcome


Discreet = Callable[[], Keeping]
"""Makes what one run is kept by."""
