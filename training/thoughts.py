"""Thoughts for actions that are known to be right: written backwards, or sampled until one leads there by itself.

    python -m training.thoughts --data runs/demos --way actre --model bundled --adapter none --out runs/thoughts
    python -m training.thoughts --data runs/demos --way bootstrap --adapter runs/sft/adapter --tries 8 --out runs/own

ActRe (UI-TARS, 2501.12326, 4.3): a model is given the state and the right action, turn by turn, and writes the thought
before it; a thought that tells that its writer knew the action is thrown away (`thought_checks`). The past in later
prompts holds the new thoughts, as it would have been. Bootstrapping: the policy itself samples thoughts with actions,
not knowing the right one, and those are kept whose action is the right one, or hits the same element.

Only solved runs with a known consent are used, and their turns that worked. `lessons.jsonl` in the out folder is what
`training.sft --data` reads; `report.json` says how many thoughts were kept, why others were not, and which of the five
patterns they have, before and after.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from agent_core.actions import Action, in_words, target_of
from agent_core.dialects import uitars
from agent_core.dialects.elements import to_point
from agent_core.protocols import Model
from agent_core.redaction import redact
from agent_core.step import Element, Message, Prompt
from agent_core.traces.reads import Traces
from agent_core.traces.rows import KeptTurn
from training.curate import CONSENTS
from training.curate_labels import value_of
from training.curate_rows import name_of
from training.curate_rules import is_redacted
from training.replies import Parts, parts_of, prompt_of, same_act, thought_of, with_past, with_thought
from training.runs import knob, parse, write_json, write_text
from training.serving import questioned
from training.solved import LESSONS, Row
from training.thought_checks import fault
from training.thought_patterns import ASKED, Pattern, distribution, wanted

REPORT = "report.json"
MAX_SHOWN = 60  # lines of the screen that a writer of thoughts is shown

RULES = """You write down what a person at a computer thinks right before they act.
Write one or two short sentences as they would think them, and nothing else.
Name what is on the screen by its words. No positions, no numbers that are not in the task or on the screen.
They decide by themselves: do not say that the act was given or known."""


@dataclass(frozen=True, slots=True)
class Args:
    """What to write thoughts for, and who writes them."""

    data: str = knob("runs/demos", "folders with traces, comma separated")
    out: str = knob("runs/thoughts", "folder for the rows; what lay there is replaced")
    way: str = knob(
        "actre", "actre: written for the known action; bootstrap: sampled without it", ("actre", "bootstrap")
    )
    model: str = knob("bundled", "a manifest's name, or a folder with weights")
    adapter: str = knob("", 'adapter folder of the model, "none" for the bare base; its own if empty')
    tries: int = knob(4, "how often a thought is sampled for a turn at most")
    limit: int = knob(0, "most turns, 0 for all")
    temperature: float = knob(1.0, "how freely is sampled")
    max_new_tokens: int = knob(120, "most tokens of a reply")
    seed: int = knob(0, "seed of the samples")
    threads: int = knob(1, "threads of the model")


@dataclass(frozen=True, slots=True)
class Known:
    """Turn number `n` of a run, whose action is known to be right. `private` is what comes from a person's runs."""

    prompt: str
    reply: str
    elements: tuple[Element, ...]
    n: int
    group: str
    run: str
    private: bool = False


@dataclass(slots=True)
class Report:
    """What became of the turns. `lost` counts the samples that were not kept, by the reason."""

    turns: int = 0
    kept: int = 0
    samples: int = 0
    lost: Counter[str] = field(default_factory=Counter)
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)

    def as_json(self) -> dict[str, Any]:
        share = self.kept / self.turns if self.turns else 0.0
        patterns = {"before": distribution(self.before), "after": distribution(self.after), "asked": dict(self.asked)}
        counts = {"turns": self.turns, "kept": self.kept, "share": share, "samples": self.samples}
        return {**counts, "lost": dict(self.lost.most_common()), "patterns": patterns}


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Args, argv, "python -m training.thoughts", __doc__)
    turns = [one for folder in args.data.split(",") for one in known_turns(Path(folder).expanduser())]
    turns = turns[: args.limit] if args.limit else turns
    options = {"temperature": args.temperature, "seed": args.seed, "max_new_tokens": args.max_new_tokens}
    model = questioned(args.model, args.adapter, args.threads, **options)  # type: ignore[arg-type]
    report = Report()
    try:
        make = act_re if args.way == "actre" else bootstrap
        rows = list(make(model, turns, args.tries, report))
    finally:
        model.close()
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / LESSONS, "".join(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows))
    write_json(out / REPORT, report.as_json() | {"args": asdict(args)})
    print(f"{report.kept} of {report.turns} turns have a new thought, in {report.samples} samples; {dict(report.lost)}")
    for when, thoughts in (("before", report.before), ("after", report.after)):
        shares = ", ".join(f"{name} {share:.0%}" for name, share in distribution(thoughts).items())
        print(f"patterns {when}: {shares or 'none'}")


def known_turns(folder: Path) -> Iterator[Known]:
    """The turns of solved runs that worked, run by run and in order. Raises StoreError."""
    traces = Traces(folder / "traces.db", folder / "images")
    for run in sorted(traces.runs(limit=max(1, traces.stats().runs)), key=lambda r: (r.run.started, r.run.id)):
        value = value_of(traces.labels(run.run.id), run.status, 1.0)
        if run.run.consent not in CONSENTS or value.good is not True:
            continue
        name = name_of(run.run)
        for turn in traces.turns(run.run.id):
            if _fit(turn):
                group, private = name.rpartition("/")[0] or "app", run.run.consent != "sandbox"
                yield Known(turn.prompt, turn.reply.text, turn.elements, turn.n, group, name, private)


def act_re(model: Model, turns: Sequence[Known], tries: int, report: Report) -> Iterator[Row]:
    """A row with a thought written for its action, where one of `tries` is fit. Later prompts hold the new thoughts."""
    new: dict[str, str] = {}
    run = ""
    for known in turns:
        if known.run != run or known.n == 1:
            run, new = known.run, {}
        prompt = with_past(known.prompt, new)
        parts, actions = parts_of(prompt), uitars.read(known.reply, to_point).actions
        pattern = wanted(known.n, parts.past, actions)
        report.turns += 1
        report.asked[pattern] += 1
        for _ in range(tries):
            report.samples += 1
            thought = _bare(model.reply(question(parts, actions, pattern), Event()).text)
            why = fault(thought, parts)
            reply = None if why else with_thought(known.reply, thought)
            if reply is None:
                report.lost[why or "does not fit the reply"] += 1
                continue
            new[thought_of(known.reply)] = thought
            yield _kept(known, prompt, reply, report)
            break


def bootstrap(model: Model, turns: Sequence[Known], tries: int, report: Report) -> Iterator[Row]:
    """Every different reply of the policy, of `tries`, that does what is known to be right."""
    for known in turns:
        report.turns += 1
        prompt = prompt_of(known.prompt)
        found: set[str] = set()
        for _ in range(tries):
            report.samples += 1
            reply = model.reply(prompt, Event()).text.strip()
            if not same_act(reply, known.reply, known.elements):
                report.lost["acts otherwise"] += 1
            elif why := fault(thought_of(reply), parts_of(known.prompt)):
                report.lost[why] += 1
            elif reply in found:
                report.lost["said before"] += 1
            else:
                found.add(reply)
        for number, reply in enumerate(sorted(found)):
            yield _kept(known, known.prompt, reply, report, counts=number == 0)


def question(parts: Parts, actions: Sequence[Action], pattern: Pattern) -> Prompt:
    """What a model is asked for the thought before known actions."""
    shown = [line.words for line in parts.screen if line.words][:MAX_SHOWN]
    past = "\n".join(parts.past) or "nothing yet"
    text = (
        f"Task: {parts.task}\nDone so far:\n{past}\nOn the screen:\n" + "\n".join(shown) + "\n"
        f"What they do next: {told(actions, parts)}.\n{ASKED[pattern]} Write the thought before it."
    )
    return Prompt((Message("system", RULES), Message("user", text)))


def told(actions: Sequence[Action], parts: Parts) -> str:
    """Actions in words, with the words of what they act on and without any place."""
    words = []
    for action in actions:
        at = target_of(action)
        on = parts.at(at) if at is not None else ""
        words.append(f"{in_words(action)} on {on}" if on else in_words(action))
    return ", then ".join(words) or "nothing"


def _kept(known: Known, prompt: str, reply: str, report: Report, counts: bool = True) -> Row:
    report.kept += counts
    report.before.append(thought_of(known.reply))
    report.after.append(thought_of(reply))
    if known.private:
        prompt, reply = redact(prompt), redact(reply)
    return Row(prompt, reply, known.group, known.run)


def _bare(text: str) -> str:
    """The thought without a label or quotes around it."""
    flat = text.strip().removeprefix("Thought:").strip()
    return flat[1:-1].strip() if len(flat) > 2 and flat[0] == flat[-1] == '"' and flat.count('"') == 2 else flat


def _fit(turn: KeptTurn) -> bool:
    """Whether the turn is text that is all there, and everything in it was allowed and worked."""
    worked = all(s.verdict.decision == "allow" and s.outcome is not None and s.outcome.ok for s in turn.steps)
    whole = turn.reply.text and not (turn.withheld or turn.prompt_images or turn.problems)
    return bool(turn.steps and worked and whole) and not is_redacted(turn.reply.text)


if __name__ == "__main__":
    main()
