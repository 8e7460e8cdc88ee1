"""The one place that names concrete models and operators: puts a run together from the settings.

Everything made here is made and closed in the agent's thread. The model and the reader outlive a run, because loading
them takes seconds; operator, policy and recorders belong to one run.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from agent_core import __version__, paths
from agent_core.dialects import dialect, fitted
from agent_core.errors import ModelError, StoreError
from agent_core.limits import limits_of
from agent_core.loop import Parts
from agent_core.models import calibration, model
from agent_core.models import manifest as manifests
from agent_core.models.scripted import Scripted
from agent_core.operators.desktop import DesktopOperator
from agent_core.operators.jail import jail_of
from agent_core.operators.terminal import TerminalSession
from agent_core.protocols import Dialect, Model, Operator, Reader
from agent_core.safety.policy import Mode, Policy
from agent_core.screen.elements import ElementReader
from agent_core.settings import ModelSettings, Settings
from agent_core.step import Run
from agent_core.traces import retention
from agent_core.traces.audit import AuditLog, Recorders
from agent_core.traces.replay import write_replay
from agent_core.traces.store import NoTrace, TraceStore
from app.agent_thread import Fitted, Job, Line, Word
from app.unseen import Unseen

SCRIPTED = "scripted:"
GRACE_S = 2.0  # the window that asks answers itself; where it cannot, the loop does so much later


@dataclass(frozen=True, slots=True)
class Brain:
    """A model with the dialect it speaks and the hashes a run is recorded with. `reads`: whether elements are read."""

    model: Model
    dialect: Dialect
    model_hash: str = ""
    adapter_hash: str = ""
    reads: bool = True


class Workbench:
    """Puts runs together. Every method is called in the agent's thread."""

    def __init__(self, model_name: str = "") -> None:
        """`model_name` stands in for the one in the settings: a manifest's name, or scripted:FILE."""
        self._model_name = model_name
        self._brain: Brain | None = None
        self._brain_of: ModelSettings | None = None
        self._reader: Reader | None = None
        self._closers: list[Callable[[], None]] = []
        self._checked: set[int] = set()  # monitors on which the pointer was seen to go where it is sent

    def fit(self, job: Job, line: Line) -> Fitted:
        """Everything for one run. Raises DeskhandError with a sentence for the person."""
        settings = job.settings
        wanted = replace(settings.model, name=self._model_name or settings.model.name)
        if not wanted.name.startswith(SCRIPTED):
            manifests.check_language(manifests.find(wanted.name), job.task)
        brain = self._brain_for(wanted, line)
        operator = self._operator(settings, line)
        policy = Policy(
            cast(Mode, settings.safety.mode),
            folder=str(settings.run.task_folder),
            grant_s=settings.safety.grant_minutes * 60.0,
        )
        reader = self._reader_for(brain)
        run = Run(
            id=uuid.uuid4().hex,
            task=job.task,
            started=time.time(),
            consent=job.consent if settings.privacy.consent == "yes" else "",
            app_version=__version__,
            dialect=brain.dialect.name,
            model=brain.model.name,
            model_hash=brain.model_hash,
            adapter_hash=brain.adapter_hash,
            mode=settings.safety.mode,
            operator=operator.name,
        )
        limits = limits_of(settings)
        parts = Parts(
            operator=operator,
            dialect=brain.dialect,
            model=brain.model,
            decide=policy.decide,
            recorder=self._recorder(run, settings, reader, line),
            reader=reader,
            approve=line.approve,
            caution=policy.note,
            heard=policy.heard,
            answer=line.answer,
            added=line.added,
            limits=replace(limits, approval_seconds=limits.approval_seconds + GRACE_S),
            watch=line.watch,
            pause=line.paused,
            taken=line.taken,
        )
        return Fitted(run, parts, policy)

    def put_away(self) -> None:
        """Closes what belongs to one run, in the reverse order."""
        while self._closers:
            self._closers.pop()()

    def tidy(self, settings: Settings, line: Line) -> None:
        """Deletes the oldest runs beyond what the settings keep; what cannot be deleted now is said, not raised."""
        if not paths.traces_file().exists():
            return
        try:
            with TraceStore() as store:
                if notice := store.open():
                    line.notice(notice)
            retention.tidy(settings.privacy.keep_days, settings.privacy.keep_megabytes)
        except StoreError as error:
            line.notice(str(error))

    def rate(self, word: Word, line: Line) -> None:
        """Keeps a person's word on a run; what cannot be kept is said, not raised."""
        try:
            with TraceStore() as store:
                store.label(word.run, None, "thumb", 1.0 if word.good else -1.0, "", "person")
        except StoreError as error:
            line.notice(str(error))

    def close(self) -> None:
        self.put_away()
        if self._brain is not None:
            self._brain.model.close()
            self._brain = None

    def _operator(self, settings: Settings, line: Line) -> Operator:
        terminal = TerminalSession(settings.run.task_folder, settings.run.terminal_seconds, jail=jail_of(settings))
        on_person = line.taken_over if settings.safety.pause_on_mouse else None
        inner = DesktopOperator(
            settings.run.monitor, settings.run.settle_seconds, terminal=terminal, on_person=on_person
        )
        operator = Unseen(inner, line.acting, line.own_escapes)
        self._closers.append(operator.close)
        if settings.run.monitor not in self._checked:
            inner.check()
            self._checked.add(settings.run.monitor)
        return operator

    def _recorder(self, run: Run, settings: Settings, reader: Reader | None, line: Line) -> Recorders:
        kept = TraceStore(never_keep=settings.privacy.never_kept, reader=reader) if run.consent else NoTrace()
        recorders = Recorders(AuditLog(), kept)
        self._closers.append(recorders.close)
        for sentence in recorders.open():
            line.notice(sentence)
        return recorders

    def _brain_for(self, wanted: ModelSettings, line: Line) -> Brain:
        """The model of the settings, the loaded one if nothing about it has changed and it can be asked again."""
        if self._brain is None or self._brain_of != wanted or wanted.name.startswith(SCRIPTED):
            if self._brain is not None:
                self._brain.model.close()
                self._brain = None
            if wanted.name.startswith(SCRIPTED):
                self._brain = scripted(wanted.name)
            else:
                self._brain = from_manifest(wanted, line.preparing)
                if warning := calibration.warning(manifests.find(wanted.name), wanted.url):
                    line.notice(warning)
            self._brain_of = wanted
        return self._brain

    def _reader_for(self, brain: Brain) -> Reader | None:
        """Also for a dialect that needs no elements: the gate judges by them, and pictures are redacted by them."""
        if brain.reads and self._reader is None:
            self._reader = ElementReader()
        return self._reader if brain.reads else None


def from_manifest(wanted: ModelSettings, preparing: Callable[[float, str], None]) -> Brain:
    """The model of a manifest; on first use its file is made, which `preparing` is told of. Raises ModelError."""
    manifest = manifests.find(wanted.name)
    return Brain(
        model(manifest, wanted, preparing),
        fitted(manifest.dialect, **manifest.screen()),
        manifest.sha256,
        manifests.adapter_hash(manifest, wanted.adapter),
    )


def scripted(name: str) -> Brain:
    """Replies from a JSON file: a list of texts, or {"replies": [...], "dialect": ..., "delay": seconds, "read": bool}.

    For demonstrations and tests of the whole program. Raises ModelError when the file cannot be used.
    """
    file = Path(name.removeprefix(SCRIPTED))
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        told: dict[str, Any] = {"replies": data} if isinstance(data, list) else dict(data)
        replies = [str(reply) for reply in told["replies"]]
        model = Scripted(replies, float(told.get("delay", 0)))
        return Brain(model, dialect(str(told.get("dialect", "elements"))), reads=bool(told.get("read", True)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"The replies in {file} cannot be used ({error}). Give a JSON list of texts.") from error


def check_screen(monitor: int) -> int:
    """How many monitors are seen. Raises DeskhandError where this one cannot be seen or the pointer does not obey."""
    operator = DesktopOperator(monitor, 0.0)
    try:
        operator.check()
        operator.look()
        return len(operator.monitors())
    finally:
        operator.close()


def replay(run_id: str) -> Path:
    """Makes the replay page of a kept run in the data folder; it goes with the run. Raises StoreError."""
    return write_replay(run_id, paths.replays_folder() / f"{run_id}.html")
