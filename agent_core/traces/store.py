"""Writes runs into the trace store as they happen: the recorder of a run the person agreed to keep.

One insert a fact, nothing updated. `decided` returns only when the step's row is committed, so the mouse never moves
before its evidence is safe; `happened` adds the outcome. A crash in between leaves a step without an outcome. Every
text and picture goes through the run's discretion first (discretion.py); when a secret becomes known by being typed,
what was written of the run before is gone over again (hindsight.py).

Use one TraceStore in one thread: its connection is opened by the first write and belongs to that thread. Any number of
stores and readers may have the file open at once. Kept only with consent: a run whose `consent` is empty is refused
here and by the table; `NoTrace` is the recorder for it. Not here: reading (reads.py), deleting (erase.py).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from agent_core import paths
from agent_core.actions import kind_of
from agent_core.errors import StoreError
from agent_core.protocols import Reader
from agent_core.redaction import WITHHELD, Redactor, token
from agent_core.step import Outcome, Run, Screenshot, Status, Step, Turn
from agent_core.traces.connection import empty_wal, open_for_writing, store_errors, transaction
from agent_core.traces.discretion import AsItIs, Discretion, Keeping, default_redactor
from agent_core.traces.hindsight import go_over
from agent_core.traces.migrations import MIGRATIONS
from agent_core.traces.no_trace import NoTrace
from agent_core.traces.pictures import Pictures
from agent_core.traces.texts import NOTHING, Texts, json_text, transform_json

__all__ = ["NoTrace", "TraceStore"]

LabelKind = Literal["allow", "deny", "instead", "thumb", "wrong_step", "correction", "take_over", "answer", "score"]
SANDBOX = "sandbox"  # the consent of runs in sandboxes, which hold made-up texts only


@dataclass(frozen=True, slots=True)
class _Open:
    """What one run is kept by while it goes on."""

    keeping: Keeping
    pictures: Pictures
    texts: Texts


class TraceStore:
    """The recorder that keeps a run in SQLite. Every method raises StoreError when the row could not be kept."""

    def __init__(
        self,
        path: Path | None = None,
        folder: Path | None = None,
        redactor: Callable[[], Redactor] = default_redactor,
        never_keep: Sequence[str] = (),
        reader: Reader | None = None,
        sandbox_as_is: bool = False,
    ) -> None:
        """`path` is the database, `folder` holds the pictures.

        `redactor` makes what each run is redacted by. `never_keep` are words of titles of windows of which nothing is
        kept. `reader` reads frames that come without elements; without one they are withheld. `sandbox_as_is` leaves
        runs whose consent is "sandbox" as they are: what is learnt there is to type the very text of the task.
        """
        self.path = path or paths.traces_file()
        self.folder = folder or paths.images_folder()
        self.notice = ""
        self._redactor, self._never_keep, self._reader = redactor, tuple(never_keep), reader
        self._sandbox_as_is = sandbox_as_is
        self._runs: dict[str, _Open] = {}
        self._db: sqlite3.Connection | None = None

    def __enter__(self) -> TraceStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> str:
        """Opens the file if it is not open. Gives `notice`: a sentence if a damaged file was set aside, else empty."""
        if self._db is None:
            opened = open_for_writing(self.path, MIGRATIONS)
            self._db = opened.db
            self.notice = opened.notice or self.notice
        return self.notice

    def close(self) -> None:
        """Closes the connection; a later write opens it again."""
        if self._db is not None:
            self._db.close()
            self._db = None

    # -- the recorder ------------------------------------------------------------------------------------------------

    def started(self, run: Run, shot: Screenshot | None) -> None:
        """Keeps the run's row. `shot` says which monitor; its pixels are kept with the first turn."""
        if not run.consent:
            raise StoreError(
                "This run was not agreed to be kept, so nothing was written. Allow keeping runs in the settings."
            )
        self._of(run).keeping.meet(run.task)
        transform = None if shot is None else transform_json(shot.transform)
        told = (run.consent, run.app_version, run.dialect, run.model, run.model_hash, run.adapter_hash, run.mode)
        row = (run.id, self._of(run).texts.text(run.task), run.started, *told, run.operator, transform)
        with self._writing() as db:
            db.execute(f"INSERT INTO runs VALUES ({_marks(13)})", (*row, json_text(run.tags)))

    def replied(self, run: Run, turn: Turn) -> None:
        """Keeps a turn without an action (an unreadable reply). `decided` keeps the others by itself."""
        with self._writing() as db:
            self._keep_turn(db, run, turn)

    def decided(self, run: Run, turn: Turn, step: Step) -> None:
        """Keeps the step, and its turn with the first of its steps. Committed when this returns."""
        verdict, keeping = step.verdict, self._of(run).keeping
        with self._writing() as db:
            texts = NOTHING if self._keep_turn(db, run, turn) else self._of(run).texts
            kept = keeping.action(step.action)
            action, words = (texts if texts is not NOTHING else Texts()).action(kept)
            element = None if step.element is None else keeping.element(step.element)
            row = (
                run.id,
                step.n,
                step.turn,
                time.time(),
                kind_of(step.action),
                action,
                words,
                None if texts is NOTHING else texts.element(element),
                verdict.decision,
                verdict.tier.value,
                texts.text(verdict.reason),
                verdict.who,
                texts.text(verdict.instead),
                verdict.waited_ms,
            )
            db.execute(f"INSERT INTO steps VALUES ({_marks(14)})", row)
            if verdict.who == "person":
                kind: LabelKind = "instead" if verdict.instead else "allow" if verdict.decision == "allow" else "deny"
                score = 1.0 if verdict.decision == "allow" else -1.0
                self._keep_label(db, run.id, step.n, kind, score, texts.text(verdict.instead), "person")
        self._look_back(run)

    def happened(self, run: Run, step: Step, outcome: Outcome, after: Screenshot | None) -> None:
        """Keeps what came of the step, and the picture after it."""
        one = self._of(run)
        kept = one.keeping.happened(step, outcome, after)
        with self._writing() as db:
            row = (
                run.id,
                step.n,
                time.time(),
                kept.ok,
                one.texts.text(kept.text),
                kept.changed,
                kept.duration_ms,
                None if after is None else one.pictures.keep(db, after, one.keeping),
            )
            db.execute(f"INSERT INTO outcomes VALUES ({_marks(8)})", row)
        self._look_back(run)

    def labelled(self, run: Run, step: int | None, kind: str, text: str) -> None:
        """Keeps a word that the program itself noticed, such as take_over, on the run or on a step."""
        with self._writing() as db:
            self._keep_label(db, run.id, step, kind, None, self._of(run).texts.text(text), "program")

    def ended(self, run: Run, status: Status, text: str) -> None:
        """Keeps how the run ended and the sentence the person was told."""
        with self._writing() as db:
            row = (run.id, time.time(), status.value, self._of(run).texts.text(text))
            db.execute(f"INSERT INTO run_ends VALUES ({_marks(4)})", row)
        del self._runs[run.id]

    def label(self, run_id: str, step: int | None, kind: LabelKind, score: float | None, value: str, who: str) -> None:
        """Keeps a word on a run, or on its step with number `step`. A thumb scores 1 or -1, a judge as it likes."""
        one = self._runs.get(run_id)
        text = one.texts.text(value) if one else value if who == "verifier" else self._redactor().redact(value)
        with self._writing() as db:
            self._keep_label(db, run_id, step, kind, score, text, who)

    # -- rows --------------------------------------------------------------------------------------------------------

    def _of(self, run: Run) -> _Open:
        if run.id not in self._runs:
            if self._sandbox_as_is and run.consent == SANDBOX:
                keeping: Keeping = AsItIs()
            else:
                keeping = Discretion(self._redactor(), self._never_keep, self._reader)
            self._runs[run.id] = _Open(keeping, Pictures(self.folder), Texts(keeping.text))
        return self._runs[run.id]

    def _keep_turn(self, db: sqlite3.Connection, run: Run, turn: Turn) -> bool:
        """Keeps the turn if it is not there. Gives whether it is one of which nothing but its number is kept."""
        one = self._of(run)
        found = db.execute("SELECT withheld FROM turns WHERE run = ? AND n = ?", (run.id, turn.n)).fetchone()
        if found is not None:
            return bool(found["withheld"])
        excluded = one.keeping.turn(turn)
        shot, reply, intent = turn.screenshot, turn.reply, turn.intent
        texts = NOTHING if excluded else one.texts
        said = texts.text(reply.text)
        ids_tell = said == reply.text  # the sampled ids would spell out again what the redaction took away
        row = (
            run.id,
            turn.n,
            time.time(),
            one.pictures.keep(db, shot, one.keeping),
            token(WITHHELD) if excluded else texts.text(shot.window),
            transform_json(shot.transform),
            texts.elements(one.keeping.elements(shot)),
            texts.text(turn.prompt.chatml()),
            said,
            reply.stop_reason,
            json_text(reply.token_ids if ids_tell else ()),
            json_text(reply.logprobs if ids_tell else ()),
            texts.text(intent.thought),
            texts.text(intent.reflection),
            texts.texts(intent.problems),
            shot.capture_ms,
            shot.read_ms,
            reply.think_ms,
            reply.prompt_tokens,
            reply.reused_tokens,
            "window" if excluded else "",
        )
        db.execute(f"INSERT INTO turns VALUES ({_marks(21)})", row)
        asked = [] if excluded else [image for message in turn.prompt.messages for image in message.images]
        for place, image in enumerate(asked):
            if (sha256 := one.pictures.keep(db, image, one.keeping)) is not None:
                db.execute(f"INSERT INTO prompt_images VALUES ({_marks(4)})", (run.id, turn.n, place, sha256))
        return excluded

    def _keep_label(
        self,
        db: sqlite3.Connection,
        run_id: str,
        step: int | None,
        kind: str,
        score: float | None,
        value: str,
        who: str,
    ) -> None:
        row = (run_id, step, time.time(), kind, score, value, who)
        db.execute("INSERT INTO labels (run, step, at, kind, score, value, who) VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def _look_back(self, run: Run) -> None:
        """Takes a secret that has just become known out of the earlier rows of the run, and out of the WAL."""
        one = self._of(run)
        if one.keeping.has_learnt():
            with self._writing() as db:
                gone_over = go_over(db, run.id, one.keeping.without_known, self.folder, one.pictures.read)
            if gone_over and self._db is not None:
                empty_wal(self._db)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, with every known fault turned into a sentence."""
        self.open()
        assert self._db is not None
        try:
            with store_errors("written", self.path), transaction(self._db):
                yield self._db
        except sqlite3.IntegrityError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
                raise
            raise StoreError(
                "This run or step is no longer in the history (it was deleted), so nothing more of it is kept."
            ) from error


def _marks(count: int) -> str:
    return ", ".join("?" * count)
