"""Makes a trained adapter the one that the program uses, if it won its evaluation; and takes that back.

    python -m training.promote runs/sft/adapter --evaluation new.json --against old.json
    python -m training.promote --roll-back
    python -m training.promote --list

The evaluations are `training.evaluate`'s, of the candidate and of the adapter in use, on the same suites; several files
may be given to each. Episodes are paired by suite, task and seed. The candidate wins if all of these hold:
  - it solved more of the pairs than the one in use;
  - that is no luck: among the pairs that only one of them solved, as many or more would go to it by tossing a coin in
    at most one case of ten (exact one-sided sign test);
  - no suite's success falls by more than five points.
A promoted adapter is copied to the data folder, adapters/VERSION, with its hashes and figures; the settings name it,
and the program takes it up at its next run. Each change is a line in adapters/history.jsonl.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any

from agent_core import paths, settings
from agent_core.errors import DeskhandError, ModelError
from training.deltas import CONFIG, WEIGHTS, hash_of
from training.runs import write_json
from training.serving import served

LUCK = 0.1  # how likely a coin may do as well
FALL = 0.05  # how far the success of a suite may fall
MANIFEST, HISTORY = "manifest.json", "history.jsonl"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What `training.evaluate` wrote: which episodes of a suite an adapter solved, by task and seed."""

    suite: str
    conditions: tuple[str, str]  # split and mode of the gate
    adapter: str  # hash of the adapter, empty for the shipped one
    solved: dict[tuple[str, str], bool]
    raw: dict[str, Any]

    @classmethod
    def of(cls, data: dict[str, Any], where: str) -> Evaluation:
        """Raises ModelError for something else than an evaluation."""
        try:
            solved = {(task, seed): won for task, one in data["tasks"].items() for seed, won in one["solved"].items()}
            return cls(data["suite"], (data["split"], data["mode"]), data["adapter_sha256"], solved, data)
        except (KeyError, TypeError, AttributeError) as error:
            raise ModelError(f"{where} is no evaluation that can be compared: run training.evaluate again.") from error

    @classmethod
    def read(cls, file: Path) -> Evaluation:
        try:
            return cls.of(json.loads(file.read_text(encoding="utf-8")), str(file))
        except (OSError, ValueError) as error:
            raise ModelError(f"The evaluation {file} cannot be read ({error}).") from error


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a candidate did against the one in use. `suites` are (success before, success now, pairs)."""

    gained: int
    lost: int
    suites: dict[str, tuple[float, float, int]]

    @property
    def luck(self) -> float:
        """How likely as many or more of the pairs that differ would be gained by tossing a coin."""
        differ = self.gained + self.lost
        return float(sum(comb(differ, k) for k in range(self.gained, differ + 1)) / 2**differ)

    @property
    def fallen(self) -> list[str]:
        return [name for name, (before, now, _) in self.suites.items() if now < before - FALL]

    @property
    def won(self) -> bool:
        return self.gained > self.lost and self.luck <= LUCK and not self.fallen

    def in_words(self) -> str:
        """One line for each suite and one for all."""
        lines = [f"{name}: {now:.1%} against {was:.1%} of {n}" for name, (was, now, n) in self.suites.items()]
        lines.append(f"{self.gained} gained, {self.lost} lost; a coin does as well in {self.luck:.1%} of cases")
        return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Promotes, rolls back or lists; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m training.promote", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("candidate", nargs="?", type=Path, help="adapter folder")
    parser.add_argument("--evaluation", nargs="+", type=Path, default=[], help="evaluations of the candidate")
    parser.add_argument(
        "--against", nargs="+", type=Path, default=[], help="evaluations of the adapter in use; its own if promoted"
    )
    parser.add_argument("--roll-back", action="store_true", help="go back to the adapter before the newest promotion")
    parser.add_argument("--list", action="store_true", help="show what was promoted")
    args = parser.parse_args(argv)
    try:
        if args.list:
            print("\n".join(listed()) or "Nothing was promoted yet.")
        elif args.roll_back:
            print(f"The program uses {roll_back() or 'the adapter that ships'} from its next run on.")
        elif args.candidate is None or not args.evaluation:
            parser.error("name the candidate's folder and its --evaluation, or --roll-back, or --list")
        else:
            verdict, folder = promote(args.candidate, args.evaluation, args.against)
            print(f"{verdict.in_words()}\nThe program uses {folder} from its next run on.")
    except DeskhandError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def adapters_folder() -> Path:
    """Where the promoted versions lie."""
    return paths.home() / "adapters"


def promote(candidate: Path, evaluation: Sequence[Path], against: Sequence[Path]) -> tuple[Verdict, Path]:
    """Promotes a winner and returns its new folder. Raises ModelError for one that did not win, with the figures."""
    wanted, notice = settings.load()
    if notice:
        print(notice, file=sys.stderr)
    new = [Evaluation.read(file) for file in evaluation]
    old = [Evaluation.read(file) for file in against] or recorded(wanted.model.adapter)
    require_of(new, hash_of(candidate), f"the candidate {candidate}")
    in_use = hash_of(Path(wanted.model.adapter)) if wanted.model.adapter else ""
    require_of(old, in_use, f"the adapter in use, {wanted.model.adapter or 'the one that ships'}")
    verdict = judged(new, old)
    if not verdict.won:
        fell = f"\nThe success on {', '.join(verdict.fallen)} fell by more than {FALL:.0%}." if verdict.fallen else ""
        raise ModelError(f"{verdict.in_words()}{fell}\nThe candidate did not win, so it was not promoted.")
    served(wanted.model.name, str(candidate)).close()  # it fits the model in use, and its file is ready
    folder = kept(candidate, new, old, verdict)
    use(folder, "promote", wanted)
    return verdict, folder


def judged(new: Sequence[Evaluation], old: Sequence[Evaluation]) -> Verdict:
    """Compares episode by episode. Raises ModelError where the two were not evaluated alike."""
    before = {one.suite: one for one in old}
    if len(before) < len(old) or sorted(one.suite for one in new) != sorted(before):
        raise ModelError(
            f"The candidate was evaluated on {', '.join(one.suite for one in new)} and the adapter in use on "
            f"{', '.join(one.suite for one in old)}: one evaluation of each suite is needed for both."
        )
    gained = lost = 0
    suites = {}
    for one in new:
        other = before[one.suite]
        pairs = one.solved.keys() & other.solved.keys()
        tasks = {task for task, _ in one.solved}, {task for task, _ in other.solved}
        if one.conditions != other.conditions or tasks[0] != tasks[1] or not pairs:
            raise ModelError(f"The evaluations on {one.suite} differ in split, mode, tasks or seeds: run them alike.")
        gained += sum(one.solved[pair] and not other.solved[pair] for pair in pairs)
        lost += sum(other.solved[pair] and not one.solved[pair] for pair in pairs)
        shares = [sum(e.solved[pair] for pair in pairs) / len(pairs) for e in (other, one)]
        suites[one.suite] = (shares[0], shares[1], len(pairs))
    return Verdict(gained, lost, suites)


def require_of(evaluations: Sequence[Evaluation], adapter: str, whose: str) -> None:
    """Raises ModelError unless all are evaluations of the adapter with that hash."""
    if any(one.adapter != adapter for one in evaluations):
        raise ModelError(f"An evaluation is not of {whose}, or of other weights than it holds now: evaluate it again.")


def recorded(adapter: str) -> list[Evaluation]:
    """The evaluations that a promoted adapter was promoted with. Raises ModelError when there are none."""
    file = Path(adapter) / MANIFEST
    if not adapter or not file.is_file():
        raise ModelError("The adapter in use was not promoted here: evaluate it, and name the files with --against.")
    return [Evaluation.of(data, str(file)) for data in json.loads(file.read_text(encoding="utf-8"))["evaluation"]]


def kept(candidate: Path, new: Sequence[Evaluation], old: Sequence[Evaluation], verdict: Verdict) -> Path:
    """Copies the candidate to a version of its own, whole or not at all; returns the folder. Raises ModelError."""
    try:
        adapters_folder().mkdir(parents=True, exist_ok=True)
        number = 1 + max((int(p.name.split("-")[0]) for p in adapters_folder().glob("[0-9]*-*")), default=0)
        folder = adapters_folder() / f"{number:04d}-{hash_of(candidate)[:8]}"
        with tempfile.TemporaryDirectory(dir=adapters_folder(), prefix=".promoting-") as temporary:
            part = Path(temporary) / folder.name
            part.mkdir()
            for name in (WEIGHTS, CONFIG):
                shutil.copy2(candidate / name, part / name)
            runs = [run for run in (candidate.parent, candidate.parent.parent) if (run / "args.json").is_file()]
            write_json(
                part / MANIFEST,
                {
                    "version": folder.name,
                    "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                    "sha256": hash_of(part),
                    "candidate": str(candidate.resolve()),
                    "run": json.loads((runs[0] / "args.json").read_text(encoding="utf-8")) if runs else {},
                    "verdict": dataclasses.asdict(verdict) | {"luck": verdict.luck},
                    "evaluation": [one.raw for one in new],
                    "against": [one.raw for one in old],
                },
            )
            part.rename(folder)
    except OSError as error:
        raise ModelError(f"The adapter could not be kept in {adapters_folder()}: {error.strerror}.") from error
    return folder


def use(adapter: Path | None, what: str, before: settings.Settings) -> None:
    """Notes the change in the history, then names the adapter in the settings. Raises DeskhandError."""
    named = str(adapter) if adapter else ""
    line = {"time": time.time(), "what": what, "adapter": named, "before": before.model.adapter}
    with (adapters_folder() / HISTORY).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    settings.save(dataclasses.replace(before, model=dataclasses.replace(before.model, adapter=named)))


def roll_back() -> str:
    """Goes back to the adapter before the newest promotion that holds; returns it, empty for the shipped one.

    Raises ModelError when there is none, when another adapter was chosen since, or when the one before is gone.
    """
    wanted, _ = settings.load()
    promotions: list[dict[str, Any]] = []
    for line in history():
        if line["what"] == "promote":
            promotions.append(line)
        elif promotions:
            promotions.pop()
    if not promotions:
        raise ModelError("There is nothing to roll back: no promotion holds.")
    newest = promotions[-1]
    if wanted.model.adapter != newest["adapter"]:
        raise ModelError(f"The settings name {wanted.model.adapter or 'the shipped adapter'}, not the promoted one.")
    before = str(newest["before"])
    if before:
        hash_of(Path(before))
    use(Path(before) if before else None, "roll back", wanted)
    return before


def history() -> list[dict[str, Any]]:
    """Every promotion and roll-back, oldest first."""
    file = adapters_folder() / HISTORY
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []


def listed() -> list[str]:
    """The promoted versions for reading; the one in use is marked."""
    wanted, _ = settings.load()
    lines = []
    for file in sorted(adapters_folder().glob(f"*/{MANIFEST}")):
        told = json.loads(file.read_text(encoding="utf-8"))
        mark = "*" if str(file.parent) == wanted.model.adapter else " "
        suites = ", ".join(f"{name} {now:.1%} ({was:.1%})" for name, (was, now, _) in told["verdict"]["suites"].items())
        lines.append(f"{mark} {told['version']}  {told['date']}  {suites}  from {told['candidate']}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
