"""A person's review of a kept run: a thumb, the first wrong step, or what they would have done in a step's place."""

from __future__ import annotations

from agent_core.errors import StoreError
from agent_core.traces.reads import Traces
from agent_core.traces.store import TraceStore

WORDS = {
    "thumb": "up or down, for the run or a step",
    "wrong_step": "the run went wrong with this step",
    "correction": "the reply that would have been right, as the model writes it",
}


def review(run_id: str, kind: str, value: str, step: int | None) -> str:
    """Keeps the word and returns a sentence about it. Raises StoreError for one that does not fit the run."""
    traces = Traces()
    traces.run(run_id)
    if step is None and kind != "thumb":
        raise StoreError(f"A {kind} is about one step: name it with --step.")
    if step is not None and step not in {one.n for turn in traces.turns(run_id) for one in turn.steps}:
        raise StoreError(f"The run {run_id} has no step {step}: `show {run_id}` numbers them.")
    if kind == "thumb" and value not in ("up", "down"):
        raise StoreError("A thumb is up or down.")
    if kind == "correction" and "Action:" not in value:
        raise StoreError("A correction is a whole reply, such as: Action: click(point='<point>500 500</point>')")
    with TraceStore() as store:
        match kind:
            case "thumb":
                store.label(run_id, step, "thumb", 1.0 if value == "up" else -1.0, "", "person")
            case "wrong_step":
                store.label(run_id, step, "wrong_step", None, value, "person")
            case "correction":
                store.label(run_id, step, "correction", None, value, "person")
            case _:
                raise ValueError(f"{kind!r} is no word about a run; there are {', '.join(WORDS)}")
    return f"Kept: {kind} {value}".rstrip() + (f" on step {step}." if step is not None else ".")
