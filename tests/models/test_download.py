"""Downloads against a server of our own that drops connections, sends wrong bytes, dawdles or refuses."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event

import pytest

from agent_core import paths
from agent_core.errors import ModelError, Stopped
from agent_core.models import manifest as manifests
from agent_core.models.download import download, file_names, here
from agent_core.models.manifest import Manifest

BASE = os.urandom(300_000)
EYES = os.urandom(120_000)
COMMIT = "0123456789abcdef0123456789abcdef01234567"
MANIFEST = """
dialect = "uitars"
kind = "llama_cpp"
[base]
file = "base.gguf"
[mmproj]
file = "eyes.gguf"
[download]
repository = "someone/seer"
gigabytes = 0.1
"""


@dataclass
class Behaviour:
    """What the server does wrong, and what it was asked for."""

    files: dict[str, bytes] = field(default_factory=lambda: {"base.gguf": BASE, "eyes.gguf": EYES})
    drops: int = 0  # how many answers end in the middle
    wrong: int = 0  # how many answers have other bytes
    slow: bool = False
    ranges: bool = True
    status: int = 0
    hashless: bool = False
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[tuple[str, Behaviour]]:
    does, over = Behaviour(), Event()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Quiet."""

        def do_HEAD(self) -> None:
            self._described(302)

        def do_GET(self) -> None:
            if not self.path.startswith("/cdn/"):
                self._described(302)
                return
            data = does.files[self.path.rpartition("/")[2]]
            asked = self.headers.get("Range", "")
            does.asked.append(asked)
            start = int(asked[6:-1]) if asked and does.ranges else 0
            body = data[start:]
            if does.wrong:
                does.wrong -= 1
                body = bytes(len(body))
            self.send_response(206 if asked and does.ranges else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if does.drops:
                does.drops -= 1
                self.wfile.write(body[: len(body) // 2])
                self.connection.shutdown(socket.SHUT_RDWR)
            elif does.slow:
                self.wfile.write(body[:5000])
                over.wait(20)
            else:
                self.wfile.write(body)

        def _described(self, status: int) -> None:
            name = self.path.rpartition("/")[2]
            self.send_response(does.status or (status if name in does.files else 404))
            data = does.files.get(name, b"")
            if not does.hashless:
                self.send_header("X-Linked-Etag", f'"{hashlib.sha256(data).hexdigest()}"')
                self.send_header("X-Linked-Size", str(len(data)))
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("Location", f"/cdn/{name}")
            self.send_header("Content-Length", "0")
            self.end_headers()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as serving:
        serving.daemon_threads = True
        thread = threading.Thread(target=serving.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}", does
        over.set()
        serving.shutdown()
        thread.join()


@pytest.fixture
def seer() -> Manifest:
    paths.models_folder().mkdir(parents=True)
    (paths.models_folder() / "seer.toml").write_text(MANIFEST, encoding="utf-8")
    return manifests.find("seer")


def get(model: Manifest, url: str, **options: object) -> None:
    values: dict[str, object] = {"server": url, "pauses": (0.01, 0.01), **options}
    download(model, Event(), **values)  # type: ignore[arg-type]


def contents() -> dict[str, bytes]:
    folder = paths.models_folder() / "seer"
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def test_a_download_brings_the_files_and_notes_their_hashes(server: tuple[str, Behaviour], seer: Manifest) -> None:
    told: list[tuple[int, int]] = []
    assert here(seer).state == "absent"
    with pytest.raises(ModelError, match="not on this computer yet"):
        seer.base_path()
    download(seer, Event(), lambda done, total: told.append((done, total)), server=server[0])
    assert set(contents()) == {"base.gguf", "eyes.gguf", "hashes.json"}
    assert told == sorted(told)
    assert told[-1] == (len(BASE) + len(EYES),) * 2
    found = manifests.find("seer")
    assert (found.sha256, found.mmproj_sha256) == (hashlib.sha256(BASE).hexdigest(), hashlib.sha256(EYES).hexdigest())
    assert found.base_path().read_bytes() == BASE
    eyes = found.mmproj_path()
    assert eyes is not None
    assert eyes.read_bytes() == EYES
    assert here(found).state == "ready"
    asked = len(server[1].asked)
    get(found, server[0])
    assert len(server[1].asked) == asked  # nothing is loaded twice


def test_a_dropped_connection_is_gone_on_with(server: tuple[str, Behaviour], seer: Manifest) -> None:
    server[1].drops = 2
    get(seer, server[0])
    assert contents()["base.gguf"] == BASE
    assert server[1].asked == ["", "bytes=150000-", "bytes=225000-", ""]


def test_a_server_without_ranges_begins_again(server: tuple[str, Behaviour], seer: Manifest) -> None:
    server[1].drops, server[1].ranges = 1, False
    get(seer, server[0])
    assert contents()["base.gguf"] == BASE


def test_what_came_before_the_end_of_the_program_is_gone_on_with(server: tuple[str, Behaviour], seer: Manifest) -> None:
    seer.folder().mkdir(parents=True)
    (seer.folder() / "base.gguf.part").write_bytes(BASE[:100_000])
    assert (here(seer).state, here(seer).size) == ("partly", 100_000)
    get(seer, server[0])
    assert server[1].asked[0] == "bytes=100000-"
    assert contents()["base.gguf"] == BASE


def test_wrong_bytes_are_removed_and_the_next_try_is_whole(server: tuple[str, Behaviour], seer: Manifest) -> None:
    server[1].wrong = 1
    with pytest.raises(ModelError, match=r"base.gguf was damaged on its way.*try again"):
        get(seer, server[0])
    assert contents() == {}
    get(seer, server[0])
    assert contents()["base.gguf"] == BASE


def test_a_file_that_was_changed_here_is_loaded_again(server: tuple[str, Behaviour], seer: Manifest) -> None:
    get(seer, server[0])
    (seer.folder() / "base.gguf").write_bytes(bytes(len(BASE)))
    get(manifests.find("seer"), server[0])
    assert contents()["base.gguf"] == BASE


def test_too_little_room_is_said_before_anything_is_loaded(server: tuple[str, Behaviour], seer: Manifest) -> None:
    with pytest.raises(ModelError, match=r"needs 0.3 GB .* only 0.0 GB are free.*Free some space"):
        get(seer, server[0], free=lambda folder: 1000)
    assert (contents(), server[1].asked) == ({}, [])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_disk_that_fills_up_is_one_sentence(server: tuple[str, Behaviour], seer: Manifest) -> None:
    seer.folder().mkdir(parents=True)
    (seer.folder() / "base.gguf.part").symlink_to("/dev/full")
    with pytest.raises(ModelError, match="the disk is full; free some space and try again"):
        get(seer, server[0])
    assert here(seer).state == "absent"


def test_a_cancel_ends_it_at_once_and_keeps_what_came(server: tuple[str, Behaviour], seer: Manifest) -> None:
    server[1].slow = True
    stop, began = Event(), Event()
    stopped: list[float] = []

    def told(done: int, total: int) -> None:
        if done:
            began.set()

    def run() -> None:
        with pytest.raises(Stopped, match="what came is kept"):
            download(seer, stop, told, server=server[0])
        stopped.append(time.monotonic())

    thread = threading.Thread(target=run)
    thread.start()
    assert began.wait(10)
    asked = time.monotonic()
    stop.set()
    thread.join(10)
    assert stopped[0] - asked < 1.0
    assert contents() == {"base.gguf.part": BASE[:5000]}
    server[1].slow = False
    get(seer, server[0])
    assert contents()["base.gguf"] == BASE


def test_a_connection_that_never_gets_further_is_given_up(server: tuple[str, Behaviour], seer: Manifest) -> None:
    server[1].drops = 1000
    server[1].files["base.gguf"] = b"x"  # half of it is nothing
    with pytest.raises(ModelError, match=r"cannot be reached or broke off.*try again"):
        get(seer, server[0])
    assert len(server[1].asked) == 3


def test_being_offline_is_one_sentence(seer: Manifest) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ModelError, match=r"127.0.0.1 cannot be reached.*models that are here go on working"):
        get(seer, f"http://127.0.0.1:{port}")


@pytest.mark.parametrize(("status", "words"), [(401, "wants a login"), (404, "no longer has"), (418, "refused")])
def test_refusals(server: tuple[str, Behaviour], seer: Manifest, status: int, words: str) -> None:
    server[1].status = status
    with pytest.raises(ModelError, match=words):
        get(seer, server[0])


def test_a_file_without_a_hash_is_not_loaded(server: tuple[str, Behaviour], seer: Manifest) -> None:
    server[1].hashless = True
    with pytest.raises(ModelError, match="does not say the SHA-256"):
        get(seer, server[0])
    assert server[1].asked == []


def test_a_model_that_is_not_to_be_downloaded_says_so() -> None:
    with pytest.raises(ModelError, match="import its files"):
        download(manifests.find("bundled"), Event())
    assert file_names(manifests.find("bundled")) == ()
