"""One kept run as rows: which of its turns are imitated, which are only read, and what a person's words make of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agent_core.redaction import redact
from agent_core.step import CHATML_STOP, Run
from agent_core.traces.rows import KeptTurn, Label
from training.curate_labels import Said, said_of
from training.curate_rules import UNFIT, broken, is_redacted
from training.pairs import Pair, actions_in, acts_otherwise, steered
from training.solved import Row

APP = "app"  # the group of what persons did


@dataclass(frozen=True, slots=True)
class Text:
    """A text to read, prompt and reply."""

    text: str
    run: str

    @classmethod
    def of(cls, prompt: str, reply: str, run: str) -> Text:
        return cls(prompt + reply + CHATML_STOP, run)


@dataclass(frozen=True, slots=True)
class Vote:
    """A reply that a person found good or not."""

    prompt: str
    reply: str
    good: bool
    run: str


@dataclass(slots=True)
class Curated:
    """The rows of one run. `name` stands in them for the run; `imitated` are the numbers of the turns in `sft`;
    `turns` counts what became of each turn."""

    run: str
    name: str
    task: str
    group: str
    good: bool | None
    private: bool
    sft: list[Row] = field(default_factory=list)
    ct: list[Text] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    kto: list[Vote] = field(default_factory=list)
    imitated: set[int] = field(default_factory=set)
    turns: Counter[str] = field(default_factory=Counter)

    def text(self, text: str) -> str:
        """A text of the run as it may go out: redacted once more, for rules get better."""
        return redact(text) if self.private else text

    def paired(self, pair: Pair) -> Pair:
        """A pair with this run's name."""
        prompt, chosen, rejected = (self.text(each) for each in (pair.prompt, pair.chosen, pair.rejected))
        return Pair(prompt, chosen, rejected, pair.kind, self.name)


def name_of(run: Run) -> str:
    """How rows name the run: "suite/task/seed" of a sandbox's, its random id otherwise."""
    told = dict(tag.split(":", 1) for tag in run.tags if ":" in tag)
    parts = [told.get(part, "") for part in ("suite", "task", "seed")]
    return "/".join(parts) if all(parts) else run.id


def rows_of(
    run: Run, turns: Sequence[KeptTurn], labels: Sequence[Label], good: bool | None, taught: bool = False
) -> Curated:
    """The run as rows. `good` is its value; `taught` says that a teacher's word stands for every turn of it elsewhere.

    A review cuts the run: what comes before the first wrong step is right, whatever became of the rest.
    """
    name = name_of(run)
    group = name.rpartition("/")[0] or APP
    one = Curated(run.id, name, run.task, group, good, run.consent != "sandbox")
    said = said_of(labels, turns)
    for n, turn in enumerate(turns):
        _place(one, turn, turns[:n], said, taught)
    one.pairs += [one.paired(pair) for pair in steered(run.id, turns, bool(good)) if not is_redacted(pair.chosen)]
    return one


def _place(one: Curated, turn: KeptTurn, before: Sequence[KeptTurn], said: Said, taught: bool) -> None:
    """One turn to where it belongs."""
    prompt, reply = one.text(turn.prompt), one.text(turn.reply.text)
    if reply != turn.reply.text:
        turn = replace(turn, reply=replace(turn.reply, text=reply))
    rule = broken(turn, before)
    fate = rule or _by_word(turn, said, taught)
    right = said.cut is not None or one.good
    if not fate and right:
        one.sft.append(Row(prompt, reply, one.group, one.name))
        one.imitated.add(turn.n)
    elif rule not in UNFIT:
        one.ct.append(Text.of(prompt, reply, one.name))
    one.turns[fate or ("imitated" if right else "unsolved" if one.good is False else "unknown")] += 1
    _votes(one, turn, prompt, rule, said)
    _correction(one, turn, prompt, said)


def _by_word(turn: KeptTurn, said: Said, taught: bool) -> str:
    """Why a person, or a teacher, would not have the turn imitated; empty where nobody says so."""
    if said.cut is not None and turn.n >= said.cut:
        return "cut"
    if turn.n in said.better:
        return "corrected"
    if turn.n in said.taken:
        return "taken_over"
    return "taught" if taught else ""


def _votes(one: Curated, turn: KeptTurn, prompt: str, rule: str, said: Said) -> None:
    """A person's yes or no to this turn, or else to the whole run. A yes to what led nowhere, or to what
    they then did themselves, is none."""
    good = said.liked.get(turn.n, said.thumb)
    if good is None or (good and rule) or rule in UNFIT - {"refused"} or turn.n in said.taken:
        return
    one.kto.append(Vote(prompt, turn.reply.text, good, one.name))


def _correction(one: Curated, turn: KeptTurn, prompt: str, said: Said) -> None:
    """What a person would have done in the turn's place: imitated, and better than what was done."""
    if turn.n not in said.better or turn.withheld or turn.prompt_images:
        return
    better = one.text(said.better[turn.n])
    if is_redacted(better) or not actions_in(better):
        one.turns["correction_unreadable"] += 1
        return
    one.turns["correction"] += 1
    one.sft.append(Row(prompt, better, one.group, one.name))
    one.kto.append(Vote(prompt, better, True, one.name))
    if turn.reply.text and acts_otherwise(better, turn.reply.text):
        one.pairs.append(Pair(prompt, better, turn.reply.text, "correction", one.name))
