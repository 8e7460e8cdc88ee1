"""`python -m agent_core.models list | download NAME | import FILE --like NAME | key URL`: models on this computer.

Exits 0 when it is done, 1 with one sentence when it is not, 130 when it was interrupted.
"""

from __future__ import annotations

import argparse
import getpass
import signal
import sys
from pathlib import Path
from threading import Event

from agent_core.errors import DeskhandError, Stopped
from agent_core.models import keys, manifest
from agent_core.models.download import HUB, download, here
from agent_core.models.importing import import_model


def main(arguments: list[str] | None = None) -> int:
    """Does what the first word says."""
    parser = argparse.ArgumentParser(prog="python -m agent_core.models", description="Models on this computer.")
    words = parser.add_subparsers(dest="word", required=True)
    words.add_parser("list", help="every model and whether it is here")
    get = words.add_parser("download", help="bring a model here")
    get.add_argument("name")
    get.add_argument("--server", default=HUB, help="another server that answers like the Hugging Face Hub")
    take = words.add_parser("import", help="use a GGUF file that is here already")
    take.add_argument("file", type=Path)
    take.add_argument("--like", required=True, metavar="NAME", help="the known model that the file is a version of")
    take.add_argument("--mmproj", type=Path, help="the file with its eyes, unless it lies alone beside the file")
    take.add_argument("--name", default="", help="how it is to be called (default: after the file)")
    key = words.add_parser("key", help="keep a server's key in the system's keyring; an empty one removes it")
    key.add_argument("url")
    args = parser.parse_args(arguments)
    try:
        if args.word == "list":
            _list()
        elif args.word == "download":
            _download(args.name, args.server)
        elif args.word == "import":
            made = import_model(args.file, args.like, args.mmproj, args.name)
            print(f"{made.name} is ready; its manifest is {made.source}.")
        else:
            keys.keep(args.url, getpass.getpass("Key: ") if sys.stdin.isatty() else sys.stdin.readline().strip())
    except Stopped as error:
        print(error, file=sys.stderr)
        return 130
    except DeskhandError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _list() -> None:
    for name, file in sorted(manifest.names().items()):
        found = manifest.read(file)
        if found.kind != "llama_cpp" or not found.repository:
            print(f"{name}: {found.dialect}, {found.kind}")
            continue
        state = here(found)
        words = {"ready": "ready", "partly": f"{state.size / 1e9:.1f} GB here", "absent": "not here"}[state.state]
        print(f"{name}: {found.dialect}, {found.gigabytes:g} GB from {found.repository}, {words}")


def _download(name: str, server: str) -> None:
    """Ctrl+C ends it and keeps what came."""
    stop = Event()
    before = signal.signal(signal.SIGINT, lambda *_: stop.set())
    shown = sys.stderr.isatty()

    def tell(done: int, total: int) -> None:
        if shown:
            print(f"\r{done / 1e9:.2f} of {total / 1e9:.2f} GB", end="", file=sys.stderr, flush=True)

    try:
        download(manifest.find(name), stop, tell, server=server)
    finally:
        signal.signal(signal.SIGINT, before)
        if shown:
            print(file=sys.stderr)
    print(f"{name} is ready.")


if __name__ == "__main__":
    sys.exit(main())
