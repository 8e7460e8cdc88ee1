"""The two lists of commands in tests/data, and commands made from them by putting in what shells act on."""

from __future__ import annotations

import random
import re
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
HOME, FOLDER = "/home/anna", "/home/anna/project"

# What turns a harmless command into another one.
INSERTS = (
    *(";touch MARK", "$(touch MARK)", "`touch MARK`", "|touch MARK", "&&touch MARK", "||touch MARK", "&touch MARK"),
    *("\ntouch MARK", "\rtouch MARK", " >MARK", ">>MARK", " >|MARK", " &>MARK", " 2>MARK", "<>MARK", " <(touch MARK)"),
    *(
        "$PLANTED",
        "${PLANTED}",
        '"$PLANTED"',
        "$'\\x24PLANTED'",
        "{a,MARK}",
        "$((a[$(touch MARK)]))",
        "a[$(touch MARK)]",
    ),
    *(" -o MARK", " -oMARK", " --output=MARK", " --output MARK", " -exec touch MARK ;", " -exec touch MARK {} +"),
    *(" -delete", " -fprint MARK", " --compress-program=touch", " --pre touch", " -i", " -O touch", " --ext-diff"),
    *(" MARK", " -- MARK", " e", " -e", "e", " env", " -f", " -f ~/.ssh/id_rsa", " --files0-from=../.ssh/id_rsa"),
    *(" ~/.ssh/id_rsa", " ../.ssh/id_rsa", " ../.s*/*", " .env", " *", " .*", " ?*", "*", "/*", " ../*", " ../*/*"),
    *(
        "'",
        '"',
        "\\",
        "\\\n",
        "#",
        " #",
        "!",
        "!!",
        "~",
        "=",
        "--",
        "-",
        " ",
        "\t",
        "\u00a0",
        "\u200b",
        "\u202e",
        "\x00",
    ),
    *(
        "X=1 ",
        "PATH=. ",
        "env ",
        "exec ",
        "command ",
        "eval ",
        "time ",
        "! ",
        "{ ",
        " }",
        "( ",
        " )",
        "if ",
        " -c touch",
    ),
)


def bypass() -> list[tuple[str, str]]:
    """(expected, command) of the commands that have to be asked about or denied."""
    return [(expected, command) for expected, _, command in (line.partition("\t") for line in _lines("shell_bypass"))]


def harmless() -> list[str]:
    """Everyday commands that only look."""
    return _lines("shell_harmless")


def mutated(count: int, seed: int, start: list[str]) -> list[str]:
    """Commands with one to three things put in at random places, each once."""
    chance = random.Random(seed)
    made = set()
    for _ in range(count):
        command = chance.choice(start)
        for _ in range(chance.choice((1, 1, 2, 3))):
            at = chance.choice((0, len(command), chance.randint(0, len(command))))
            command = command[:at] + chance.choice(INSERTS) + command[at:]
        made.add(command)
    return sorted(made)


def _lines(name: str) -> list[str]:
    text = (DATA / f"{name}.txt").read_text(encoding="utf-8")
    return [_decoded(line) for line in text.split("\n") if line and not line.startswith("#")]


def _decoded(line: str) -> str:
    raw = re.sub(rb"\\x([0-9a-f]{2})", lambda found: bytes([int(found[1], 16)]), line.encode())
    return raw.decode("utf-8", "surrogateescape")
