"""From traces to data sets: every kept run finds its place, by its value V(s), and the manifest says where and why.

    python -m training.curate --data runs/rollouts,~/.local/share/deskhand --out runs/set

What a run was worth to do again is imitated (sft.jsonl), the rest is read (ct.jsonl); what stands against each other
becomes pairs (pairs.jsonl), a person's yes and no becomes kto.jsonl, groups of rollouts groups.json, and the tasks of
persons, without what is personal, tasks.jsonl. `*_held.jsonl` hold the same of the tasks that are kept out of
training: a task is in one of the two, however often it was run and whatever else the data holds.

The same input gives the same files to the last byte. A run without a known consent is in none of them. Rules, labels
and tasks have a module each: curate_rules, curate_labels, curate_tasks; curate_rows makes the rows, here they are
gathered and written.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from agent_core.errors import StoreError
from agent_core.traces.reads import Traces
from agent_core.traces.rows import KeptRun
from training.curate_labels import value_of
from training.curate_rows import Curated, Text, Vote, name_of, rows_of
from training.curate_tasks import stripped, verifier_of
from training.pairs import Pair, lessons, outcomes
from training.runs import knob, parse, write_json, write_text
from training.solved import (
    LESSONS,
    Row,
    Source,
    distinct,
    held_rows,
    is_solved,
    lesson_rows,
    read_rows,
    solved_rows,
    sources,
    split_rows,
)

__all__ = [
    "LESSONS", "Manifest", "Row", "Source", "curate", "distinct", "held_rows", "is_solved", "lesson_rows", "read_rows",
    "solved_rows", "sources", "split_rows",
]  # fmt: skip

SCHEMA = 1
MANIFEST = "manifest.json"
CONSENTS = ("settings", "sandbox")  # given in the settings, for this run; or a sandbox with made-up texts
TEACHER = "+teacher"  # the end of the name of a model that a teacher corrected while it played
EVERY = 10**9
FATES = ("found", "repeated", "without_consent", "cut_off", "kept", "solved", "unsolved", "unknown", "held")


@dataclass(frozen=True, slots=True)
class Args:
    """What to curate."""

    data: str = knob("runs/rollouts", "folders with traces, comma separated")
    out: str = knob("runs/set", "folder of the data sets; what an earlier curation left there is replaced")
    held: float = knob(0.1, "share of the tasks that is kept out of training")
    threshold: float = knob(0.5, "a judge's score from which a run counts as solved")
    seed: int = knob(0, "seed of the split")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What was written, from what, and by whose leave.

    `files` are SHA-256 by file name, `rows` their numbers of rows. `runs` and `turns` count where those found went;
    `consent` holds for every run that is in a file its consent, when it was given, its value, and its split.
    """

    files: dict[str, str]
    rows: dict[str, int]
    runs: dict[str, int]
    turns: dict[str, int]
    values: dict[str, int]
    tasks: dict[str, int]
    consent: dict[str, dict[str, Any]]
    sources: list[dict[str, Any]]
    split: dict[str, Any]
    threshold: float
    schema: int = SCHEMA

    @property
    def share_solved(self) -> float:
        """The share of V(s) = 1 among the runs whose value is known; 0 without any."""
        known = self.runs["solved"] + self.runs["unsolved"]
        return self.runs["solved"] / known if known else 0.0


@dataclass(slots=True)
class _Gathered:
    """The rows of one split while they are gathered."""

    sft: list[Row] = field(default_factory=list)
    ct: list[Text] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    kto: list[Vote] = field(default_factory=list)
    tasks: dict[str, dict[str, Any]] = field(default_factory=dict)


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Args, argv, "python -m training.curate", __doc__)
    try:
        folders = [Path(part).expanduser() for part in args.data.split(",")]
        made = curate(folders, Path(args.out), held=args.held, threshold=args.threshold, seed=args.seed)
    except StoreError as error:
        raise SystemExit(str(error)) from error
    for name in ("runs", "turns", "values", "rows", "tasks"):
        counts = ", ".join(f"{n} {what}" for what, n in getattr(made, name).items() if n)
        print(f"{name}: {counts or 'none'}")
    print(f"solved, of those that are known: {made.share_solved:.1%}\nmanifest: {Path(args.out) / MANIFEST}")


def curate(folders: Sequence[Path], out: Path, *, held: float = 0.1, threshold: float = 0.5, seed: int = 0) -> Manifest:
    """Writes the data sets of all folders to `out` and returns their manifest. Raises StoreError for a damaged store.

    `held` is the share of tasks kept out of training, drawn by the task's text and the seed: a task stays on its side
    when data is added. A run that stands in several folders counts once.
    """
    curation = _Curation(held, threshold, seed)
    for folder in folders:
        curation.add(folder)
    return curation.write(out)


class _Curation:
    """One curation: takes folders in, then writes."""

    def __init__(self, held: float, threshold: float, seed: int) -> None:
        self.held, self.threshold, self.seed = held, threshold, seed
        self.runs = Counter(dict.fromkeys(FATES, 0))
        self.turns, self.values, self.tasks = Counter[str](), Counter[str](), Counter[str]()
        self.splits = {"train": _Gathered(), "held": _Gathered()}
        self.consent: dict[str, dict[str, Any]] = {}
        self.groups: dict[str, dict[str, list[bool]]] = {}
        self.sources: list[dict[str, Any]] = []

    def add(self, folder: Path) -> None:
        """Takes in what may be used of one folder."""
        traces = Traces(folder / "traces.db", folder / "images")
        runs = sorted(traces.runs(limit=EVERY), key=lambda kept: (kept.run.started, kept.run.id))
        told = [(kept, one) for kept in runs if (one := self._run(traces, kept)) is not None]
        self.sources.append({"folder": str(folder), "runs": len(runs), "kept": len(told)})
        self._pairs_between(folder, traces, [one for _, one in told])
        self._lessons(folder, [one for _, one in told])

    def _run(self, traces: Traces, kept: KeptRun) -> Curated | None:
        """One run into its split; None where nothing of it may be used."""
        run = kept.run
        self.runs["found"] += 1
        for reason, holds in (
            ("without_consent", run.consent not in CONSENTS),
            ("repeated", run.id in self.consent),
            ("cut_off", kept.ended is None),
        ):
            if holds:
                self.runs[reason] += 1
                return None
        labels = traces.labels(run.id)
        value = value_of(labels, kept.status, self.threshold)
        one = rows_of(run, traces.turns(run.id), labels, value.good, taught=run.model.endswith(TEACHER))
        split = self._split_of(run.task)
        known = {True: "solved", False: "unsolved", None: "unknown"}[value.good]
        self.runs.update(["kept", known, *(["held"] if split == "held" else [])])
        self.turns.update(one.turns)
        self.values[value.by] += 1
        self.consent[run.id] = {
            "consent": run.consent, "when": run.started, "row": name_of(run), "value": known, "by": value.by,
            "split": split,
        }  # fmt: skip
        gathered = self.splits[split]
        gathered.sft += one.sft
        gathered.ct += one.ct
        gathered.pairs += one.pairs
        gathered.kto += one.kto
        if run.consent != "sandbox":
            self._task(run.id, run.task, gathered)
        elif value.by == "verifier" and value.good is not None and one.group:
            seeds = self.groups.setdefault(one.group, {})
            seeds.setdefault(name_of(run).rpartition("/")[2], []).append(value.good)
        return one

    def _pairs_between(self, folder: Path, traces: Traces, runs: Sequence[Curated]) -> None:
        """What solved and unsolved runs did to the same prompt, and what a teacher said to it."""
        of_run = {one.run: one for one in runs}
        rows = [r for r in traces.training_rows() if r.run in of_run and r.reply and not r.prompt_images]
        good = [r for r in rows if of_run[r.run].good and r.n in of_run[r.run].imitated]
        bad = [r for r in rows if of_run[r.run].good is False]
        names = {one.name: one.run for one in runs}
        between = [*outcomes(good, bad), *lessons(folder, rows)]
        for pair in between:
            one = of_run.get(names.get(pair.run, pair.run))
            if one is not None:
                self.splits[self._split_of(one.task)].pairs.append(one.paired(pair))

    def _lessons(self, folder: Path, runs: Sequence[Curated]) -> None:
        """A teacher's word belongs to the run it was said in; without that there is no consent to it."""
        names = {one.name: one for one in runs}
        for row in lesson_rows(folder):
            one = names.get(row.run)
            if one is None:
                self.turns["lesson_without_run"] += 1
            else:
                self.turns["lesson"] += 1
                self.splits[self._split_of(one.task)].sft.append(row)

    def _task(self, run: str, text: str, gathered: _Gathered) -> None:
        """The run's task, if it can be stripped, as a task for sandboxes."""
        found = stripped(text)
        if found is None:
            self.tasks["not_stripped"] += 1
            return
        self.tasks["stripped"] += 1
        verifier = verifier_of(text)
        task = {"template": found.template, "slots": found.slots, "verifier": verifier, "sources": []}
        task["checked_by"] = "verifier" if verifier else "judge"
        told = gathered.tasks.setdefault(f"{found.template}\n{verifier}", task)
        told["sources"] = sorted({*told["sources"], hashlib.sha256(run.encode()).hexdigest()})

    def _split_of(self, task: str) -> str:
        """By the task's words alone, so that runs of one task never part."""
        text = f"{self.seed} {' '.join(task.casefold().split())}"
        share = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) / 2**64
        return "held" if share < self.held else "train"

    def write(self, out: Path) -> Manifest:
        """Files first, then the manifest that names their hashes."""
        out.mkdir(parents=True, exist_ok=True)
        (out / MANIFEST).unlink(missing_ok=True)  # until all is written there is no whole set
        contents: dict[str, list[str]] = {}
        for split, tail in (("train", ""), ("held", "_held")):
            for name, lines in _files(self.splits[split]):
                contents[f"{name}{tail}.jsonl"] = lines
        for name, lines in contents.items():
            write_text(out / name, "".join(f"{line}\n" for line in lines))
        write_json(out / "groups.json", _spread(self.groups))
        made = Manifest(
            files={name: _sha256(out / name) for name in sorted([*contents, "groups.json"])},
            rows={name: len(lines) for name, lines in contents.items()},
            runs=dict(self.runs),
            turns=dict(sorted(self.turns.items())),
            values=dict(sorted(self.values.items())),
            tasks=dict(sorted(self.tasks.items())),
            consent=dict(sorted(self.consent.items())),
            sources=self.sources,
            split={"held": self.held, "seed": self.seed, "by": "text of the task"},
            threshold=self.threshold,
        )
        write_json(out / MANIFEST, {**asdict(made), "share_solved": made.share_solved})
        return made


def _files(rows: _Gathered) -> Iterator[tuple[str, list[str]]]:
    """(name, lines) of one split, each thing once, in an order that does not depend on the folders'."""
    sft = distinct(rows.sft)
    learnt = {Text.of(row.prompt, row.reply, row.run).text for row in sft}
    texts = {text.text: text for text in sorted(rows.ct, key=lambda t: (t.text, t.run), reverse=True)}
    pairs = {(p.prompt, p.chosen, p.rejected): p for p in sorted(rows.pairs, key=str, reverse=True)}
    votes: dict[tuple[str, str], set[bool]] = {}
    for vote in rows.kto:
        votes.setdefault((vote.prompt, vote.reply), set()).add(vote.good)
    agreed = {(v.prompt, v.reply): v for v in sorted(rows.kto, key=str) if len(votes[v.prompt, v.reply]) == 1}
    yield "sft", _lines(sft)
    yield "ct", _lines(text for key, text in texts.items() if key not in learnt)
    yield "pairs", _lines(pairs.values())
    yield "kto", _lines(agreed.values())
    yield "tasks", sorted(json.dumps(task, ensure_ascii=False, sort_keys=True) for task in rows.tasks.values())


def _lines(rows: Iterable[Row | Text | Pair | Vote]) -> list[str]:
    return sorted(json.dumps(asdict(row), ensure_ascii=False) for row in rows)


def _spread(groups: dict[str, dict[str, list[bool]]]) -> dict[str, dict[str, Any]]:
    """Of every task how often it was tried and solved, and the seeds at which it was both solved and not."""
    told = {}
    for name, seeds in sorted(groups.items()):
        tries = [good for of_seed in seeds.values() for good in of_seed]
        mixed = sorted(int(seed) for seed, of_seed in seeds.items() if len(set(of_seed)) > 1 and seed.isdigit())
        told[name] = {"tried": len(tries), "solved": sum(tries), "spread": len(set(tries)) > 1, "seeds": mixed}
    return told


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
