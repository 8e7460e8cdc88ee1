"""Writes runs into the trace store as they happen: the recorder of a run the person agreed to keep.

One insert a fact, nothing updated. `decided` returns only when the step's row is committed, so the mouse never moves
before its evidence is safe; `happened` adds the outcome. A crash in between leaves a step without an outcome.

Use one TraceStore in one thread: its connection is opened by the first write and belongs to that thread. Any number of
stores and readers may have the file open at once. Kept only with consent: a run whose `consent` is empty is refused
here and by the table; `NoTrace` is the recorder for it. Not here: reading (reads.py), deleting (erase.py).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Literal

from agent_core import paths
from agent_core.actions import kind_of
from agent_core.errors import StoreError
from agent_core.step import Outcome, Run, Screenshot, Status, Step, Turn
from agent_core.traces import images
from agent_core.traces.connection import open_for_writing, store_errors, transaction
from agent_core.traces.migrations import MIGRATIONS
from agent_core.traces.texts import Redact, Texts, as_is, json_text, transform_json

LabelKind = Literal["allow", "deny", "instead", "thumb", "wrong_step", "correction", "take_over", "answer", "score"]


class NoTrace:
    """The recorder of a run that is not kept: writes nothing."""

    def open(self) -> str:
        """There is no file, so there is nothing to say about it."""
        return ""

    def close(self) -> None:
        """Nothing is open."""

    def started(self, run: Run, shot: Screenshot | None) -> None:
        """Nothing is kept."""

    def replied(self, run: Run, turn: Turn) -> None:
        """Nothing is kept."""

    def decided(self, run: Run, turn: Turn, step: Step) -> None:
        """Nothing is kept."""

    def happened(self, run: Run, step: Step, outcome: Outcome, after: Screenshot | None) -> None:
        """Nothing is kept."""

    def ended(self, run: Run, status: Status, text: str) -> None:
        """Nothing is kept."""


class TraceStore:
    """The recorder that keeps a run in SQLite. Every method raises StoreError when the row could not be kept."""

    def __init__(self, path: Path | None = None, folder: Path | None = None, redact: Redact = as_is) -> None:
        """`path` is the database, `folder` holds the pictures; `redact` is applied to every text before it is kept."""
        self.path = path or paths.traces_file()
        self.folder = folder or paths.images_folder()
        self.notice = ""
        self._texts = Texts(redact)
        self._db: sqlite3.Connection | None = None
        self._newest: tuple[Screenshot, str] | None = None

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
        text = self._texts.text
        with self._writing() as db:
            db.execute(
                f"INSERT INTO runs VALUES ({_marks(13)})",
                (
                    run.id,
                    text(run.task),
                    run.started,
                    run.consent,
                    run.app_version,
                    run.dialect,
                    run.model,
                    run.model_hash,
                    run.adapter_hash,
                    run.mode,
                    run.operator,
                    None if shot is None else transform_json(shot.transform),
                    json_text(run.tags),
                ),
            )

    def replied(self, run: Run, turn: Turn) -> None:
        """Keeps a turn without an action (an unreadable reply). `decided` keeps the others by itself."""
        with self._writing() as db:
            self._keep_turn(db, run, turn)

    def decided(self, run: Run, turn: Turn, step: Step) -> None:
        """Keeps the step, and its turn with the first of its steps. Committed when this returns."""
        verdict, text = step.verdict, self._texts.text
        action, words = self._texts.action(step.action)
        with self._writing() as db:
            self._keep_turn(db, run, turn)
            db.execute(
                f"INSERT INTO steps VALUES ({_marks(14)})",
                (
                    run.id,
                    step.n,
                    step.turn,
                    time.time(),
                    kind_of(step.action),
                    action,
                    words,
                    self._texts.element(step.element),
                    verdict.decision,
                    verdict.tier.value,
                    text(verdict.reason),
                    verdict.who,
                    text(verdict.instead),
                    verdict.waited_ms,
                ),
            )
            if verdict.who == "person":
                kind: LabelKind = "instead" if verdict.instead else "allow" if verdict.decision == "allow" else "deny"
                score = 1.0 if verdict.decision == "allow" else -1.0
                self._keep_label(db, run.id, step.n, kind, score, verdict.instead, "person")

    def happened(self, run: Run, step: Step, outcome: Outcome, after: Screenshot | None) -> None:
        """Keeps what came of the step, and the picture after it."""
        with self._writing() as db:
            db.execute(
                f"INSERT INTO outcomes VALUES ({_marks(8)})",
                (
                    run.id,
                    step.n,
                    time.time(),
                    outcome.ok,
                    self._texts.text(outcome.text),
                    outcome.changed,
                    outcome.duration_ms,
                    None if after is None else self._keep_image(db, after),
                ),
            )

    def ended(self, run: Run, status: Status, text: str) -> None:
        """Keeps how the run ended and the sentence the person was told."""
        with self._writing() as db:
            row = (run.id, time.time(), status.value, self._texts.text(text))
            db.execute(f"INSERT INTO run_ends VALUES ({_marks(4)})", row)

    def label(self, run_id: str, step: int | None, kind: LabelKind, score: float | None, value: str, who: str) -> None:
        """Keeps a word on a run, or on its step with number `step`. A thumb scores 1 or -1, a judge as it likes."""
        with self._writing() as db:
            self._keep_label(db, run_id, step, kind, score, value, who)

    # -- rows --------------------------------------------------------------------------------------------------------

    def _keep_turn(self, db: sqlite3.Connection, run: Run, turn: Turn) -> None:
        if db.execute("SELECT 1 FROM turns WHERE run = ? AND n = ?", (run.id, turn.n)).fetchone():
            return
        shot, reply, intent, text = turn.screenshot, turn.reply, turn.intent, self._texts.text
        said = text(reply.text)
        ids_tell = said == reply.text  # the sampled ids would spell out again what the redaction took away
        db.execute(
            f"INSERT INTO turns VALUES ({_marks(20)})",
            (
                run.id,
                turn.n,
                time.time(),
                self._keep_image(db, shot),
                text(shot.window),
                transform_json(shot.transform),
                self._texts.elements(shot.elements),
                text(turn.prompt.chatml()),
                said,
                reply.stop_reason,
                json_text(reply.token_ids if ids_tell else ()),
                json_text(reply.logprobs if ids_tell else ()),
                text(intent.thought),
                text(intent.reflection),
                self._texts.texts(intent.problems),
                shot.capture_ms,
                shot.read_ms,
                reply.think_ms,
                reply.prompt_tokens,
                reply.reused_tokens,
            ),
        )
        asked = [image for message in turn.prompt.messages for image in message.images]
        for place, image in enumerate(asked):
            row = (run.id, turn.n, place, self._keep_image(db, image))
            db.execute(f"INSERT INTO prompt_images VALUES ({_marks(4)})", row)

    def _keep_image(self, db: sqlite3.Connection, shot: Screenshot) -> str:
        """The picture's hash, once its file and row are there. The write lock keeps a deletion away meanwhile."""
        if self._newest is not None and self._newest[0] is shot:
            sha256 = self._newest[1]  # the frame after a step is mostly the frame before the next one
        else:
            sha256 = images.hash_of(shot)
            self._newest = (shot, sha256)
        size = images.save(self.folder, shot, sha256)
        row = (sha256, shot.width, shot.height, size)
        db.execute("INSERT INTO images (sha256, width, height, bytes) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", row)
        return sha256

    def _keep_label(
        self,
        db: sqlite3.Connection,
        run_id: str,
        step: int | None,
        kind: LabelKind,
        score: float | None,
        value: str,
        who: str,
    ) -> None:
        row = (run_id, step, time.time(), kind, score, self._texts.text(value), who)
        db.execute("INSERT INTO labels (run, step, at, kind, score, value, who) VALUES (?, ?, ?, ?, ?, ?, ?)", row)

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
