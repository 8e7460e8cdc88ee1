"""Kept runs in the formats of others: OSWorld, AgentNet, UI-TARS chat with loss mask, Hugging Face rows.

    python -m training.exports --format osworld --data runs/team --out osworld

Everything goes through the redaction of the other exports, and only runs that their person agreed to keep are in a
store at all. The folder is written whole or not at all.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_core.dialects.coordinates import coordinate_rule
from agent_core.dialects.uitars import UiTars, UiTarsRules
from agent_core.errors import DeskhandError
from agent_core.traces.bundle_write import whole
from agent_core.traces.reads import Traces
from training.exports_chat import uitars_chat
from training.exports_rows import hf_json, hf_parquet
from training.exports_runs import out_runs, picture_keeper, require_some
from training.exports_steps import agentnet, osworld
from training.runs import knob, named, parse

FORMATS = ("osworld", "agentnet", "uitars-chat", "hf", "hf-json")


@dataclass(frozen=True, slots=True)
class Args:
    """What to write."""

    format: str = knob("osworld", "osworld, agentnet, uitars-chat, hf (Parquet) or hf-json", FORMATS)
    data: str = knob("runs/team", "folder with a trace store")
    out: str = knob("runs/exported", "folder to write, which must not be there yet")
    runs: str = knob("", "ids of runs, comma separated; all that have ended if empty")
    coordinates: str = knob("thousand", "how uitars-chat counts places", ("thousand", "pixels"))


def export(args: Args) -> int:
    """Writes the folder and gives the number of runs in it. Raises StoreError with a sentence."""
    data = Path(args.data)
    traces = Traces(data / "traces.db", data / "images")
    ids = named(args.runs)
    with whole(Path(args.out)) as folder, tempfile.TemporaryDirectory() as aside:
        inside = args.format in ("osworld", "hf")  # pictures that get other names or places than images/NAME.png
        pictures = Path(aside) if inside else folder / "images"
        runs = out_runs(traces, ids, picture_keeper(pictures))

        def png(name: str) -> bytes:
            return (pictures / f"{name}.png").read_bytes()

        match args.format:
            case "osworld":
                count = osworld(runs, folder, png)
            case "agentnet":
                count = agentnet(runs, folder)
            case "uitars-chat":
                count = uitars_chat(runs, folder, UiTars(UiTarsRules(coordinates=coordinate_rule(args.coordinates))))
            case "hf":
                count = hf_parquet(runs, folder, png)
            case _:
                count = hf_json(runs, folder)
        require_some(count, args.data)
    return count


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0 when written, 1 with a sentence when not."""
    args = parse(Args, argv, "python -m training.exports", __doc__)
    try:
        count = export(args)
    except DeskhandError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{args.out}: {count} run{'' if count == 1 else 's'} as {args.format}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
