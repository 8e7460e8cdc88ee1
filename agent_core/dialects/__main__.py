"""What a reply is read as: `python -m agent_core.dialects NAME [--image-size WxH] [--coordinates RULE] < reply`.

Prints {"thought", "actions": [{"kind", "at": [x, y] as fractions, ...}], "problems"} as JSON. Exits 0 whatever the
reply says; 2 when the arguments cannot be used.
"""

from __future__ import annotations

import argparse
import json
import re
import sys

from agent_core.actions import to_json
from agent_core.dialects import DIALECTS, dialect
from agent_core.dialects.coordinates import coordinate_rule
from agent_core.dialects.uitars import UiTarsRules
from agent_core.errors import DeskhandError
from agent_core.step import Screenshot, Transform


def main() -> int:
    """Reads the reply from standard input."""
    parser = argparse.ArgumentParser(prog="agent_core.dialects", description="Shows what a model's reply is read as.")
    parser.add_argument("name", help=f"the dialect: {', '.join(DIALECTS)}")
    parser.add_argument(
        "--image-size", metavar="WxH", help="size of the screenshot in pixels; pixel coordinates need it"
    )
    parser.add_argument("--coordinates", default="thousand", help="thousand (0..1000) or pixels (of the resized image)")
    given = parser.parse_args()
    try:
        rule = coordinate_rule(given.coordinates)
        chosen = dialect(given.name, UiTarsRules(coordinates=rule))
        if rule == "pixels" and not given.image_size:
            raise DeskhandError("Pixel coordinates depend on the picture; add --image-size WxH.")
        text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
        intent = chosen.parse(text, _screenshot(given.image_size or "1000x1000"))
    except DeskhandError as error:
        parser.error(str(error))
    actions = [to_json(action) for action in intent.actions]
    print(json.dumps({"thought": intent.thought, "actions": actions, "problems": list(intent.problems)}))
    return 0


def _screenshot(size: str) -> Screenshot:
    """An empty screenshot of this size: reading a reply needs no pixels."""
    found = re.fullmatch(r"([1-9][0-9]{0,5})x([1-9][0-9]{0,5})", size.lower())
    if found is None:
        raise DeskhandError(f"{size!r} is not a size; write it as 1920x1080.")
    width, height = int(found[1]), int(found[2])
    return Screenshot(b"", width, height, Transform("", 0, 0, width, height))


if __name__ == "__main__":
    sys.exit(main())
