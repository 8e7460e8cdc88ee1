"""Does a model click where it means to? `python -m agent_core.check_model NAME [--size WxH] [--url ADDRESS]`.

Nine targets on a page that is drawn in memory; nothing on the screen is touched. The result is kept, and the app tells
of a failed check whenever the model is loaded. Exit code 0 if it passed, 1 if not, 130 when interrupted.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import signal
import sys
from threading import Event

from agent_core import settings
from agent_core.dialects import fitted
from agent_core.errors import DeskhandError, ModelError, Stopped
from agent_core.models import calibration, model
from agent_core.models import manifest as manifests


def main(arguments: list[str] | None = None) -> int:
    """Checks one model and says how it went."""
    parser = argparse.ArgumentParser(
        prog="python -m agent_core.check_model", description="Checks where a model clicks."
    )
    parser.add_argument("name", help="the model's manifest")
    parser.add_argument("--size", default="1280x800", metavar="WxH", help="the page in pixels, best your screen's size")
    parser.add_argument("--url", default="", help="the server's address, instead of the one in the settings")
    args = parser.parse_args(arguments)
    stop = Event()
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        result = check(args.name, _size(args.size), args.url, stop)
    except Stopped as error:
        print(error, file=sys.stderr)
        return 130
    except DeskhandError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        signal.signal(signal.SIGINT, before)
    print(result.sentence)
    return 0 if result.passed else 1


def check(name: str, size: tuple[int, int], url: str, stop: Event) -> calibration.Calibration:
    """Loads the model, checks it and keeps the result. Raises DeskhandError with a sentence for the person."""
    wanted = settings.load()[0].model
    wanted = dataclasses.replace(wanted, name=name, url=url or wanted.url)
    manifest = manifests.find(name)
    speaks = fitted(manifest.dialect, **manifest.screen())
    if not isinstance(speaks, calibration.Speaks):
        raise ModelError(f"The model {name!r} reads lists of elements, whose places it is told: there is no need.")
    asked = model(manifest, wanted)
    try:
        result = calibration.calibrate(name, asked, speaks, stop, size=size)
    finally:
        asked.close()
    calibration.keep(manifest, wanted.url, result)
    return result


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([1-9][0-9]{2,4})x([1-9][0-9]{2,4})", text)
    if found is None:
        raise ModelError(f"{text!r} is not a size; write it as 1920x1080.")
    return int(found[1]), int(found[2])


if __name__ == "__main__":
    sys.exit(main())
