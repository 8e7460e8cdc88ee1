"""Writes one kept run for others: a page to look at, redacted JSON lines, or a redacted bundle to train on."""

from __future__ import annotations

from pathlib import Path

from agent_core.errors import StoreError
from agent_core.traces.bundle_write import export_bundle
from agent_core.traces.export import json_lines
from agent_core.traces.reads import Traces
from agent_core.traces.replay import write_replay

FORMS = ("html", "jsonl", "zip")


def export(run_id: str, form: str, out: Path) -> Path:
    """Writes the run to `out`, which gets the form's ending if it has none. Raises StoreError."""
    if not out.suffix:
        out = out.with_suffix(f".{form}")
    match form:
        case "html":
            return write_replay(run_id, out)
        case "zip":
            return export_bundle(out, [run_id]).path
        case "jsonl":
            text = "".join(f"{line}\n" for line in json_lines(run_id, Traces()))
            try:
                out.write_text(text, encoding="utf-8")
            except OSError as error:
                raise StoreError(
                    f"The run could not be written to {out}: {error.strerror}. Choose another place."
                ) from error
            return out
    raise ValueError(f"{form!r} is no form of export; there are {', '.join(FORMS)}")
