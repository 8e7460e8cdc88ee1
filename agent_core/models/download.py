"""Downloads a model's files from the Hugging Face Hub, or from a server that answers like it.

The Hub names the SHA-256, the size and the commit of each file before it sends it; the bytes are streamed into a
`.part` file that a later try goes on with, and get their name only once the hash is right. Whatever happens - a dropped
connection, wrong bytes, a full disk, a cancel - the folder is left in a state that the next try understands.

The Hub's own client is not used here: it retries for minutes without a way to stop it, and what it keeps while it
works lies in a cache of its own.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import re
import shutil
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Literal, TypeVar

import httpx

from agent_core.errors import ModelError, Stopped
from agent_core.models import hashes
from agent_core.models.hashes import HASHES, SAFE
from agent_core.models.manifest import Manifest

HUB = "https://huggingface.co"
Progress = Callable[[int, int], None]
"""Told the bytes that are here and the bytes in all, some times a second."""
Free = Callable[[Path], int]

PAUSES = (1.0, 3.0, 10.0)  # seconds before the next try when nothing came since the last one
SPARE = 256 * 2**20  # bytes left free on the disk
POLL_SECONDS = 0.05
TELL_SECONDS = 0.2
TIMEOUT = httpx.Timeout(60.0, connect=10.0)
_CHUNK = 2**20
_T = TypeVar("_T")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Remote:
    """A file as the server describes it; `commit` is the state of the repository it belongs to."""

    name: str
    size: int
    sha256: str
    commit: str


@dataclass(frozen=True, slots=True)
class Here:
    """What of a model is on this computer: all of it, a part of a download, or nothing; `size` in bytes."""

    state: Literal["ready", "partly", "absent"]
    size: int


class _Dropped(Exception):
    """The connection ended early; what came is kept. The text is for the person, should no try get further."""


def here(manifest: Manifest) -> Here:
    """How much of a model is on this computer. Files that the manifest names with their hash count as they are."""
    folder, names = manifest.folder(), file_names(manifest)
    whole = [folder / name for name in names if (folder / name).is_file()]
    parts = [part for name in names if (part := _part(folder / name)).is_file()]
    size = sum(file.stat().st_size for file in (*whole, *parts))
    known = manifest.sha256 and (manifest.mmproj_sha256 or not manifest.mmproj)
    if len(whole) == len(names) and known:
        return Here("ready", size)
    return Here("partly" if whole or parts else "absent", size)


def file_names(manifest: Manifest) -> tuple[str, ...]:
    """The model's files, the base first."""
    return tuple(name for name in (manifest.file, manifest.mmproj) if name)


def download(
    manifest: Manifest,
    stop: Event,
    on_progress: Progress | None = None,
    *,
    server: str = HUB,
    pauses: tuple[float, ...] = PAUSES,
    free: Free | None = None,
) -> None:
    """Brings the model's files here and notes their hashes. Call it from a thread without an event loop.

    Raises Stopped when `stop` is set, within a fraction of a second; ModelError with one sentence for all else. What
    was loaded stays for the next try, except bytes with a wrong hash.
    """
    if not manifest.repository:
        raise ModelError(f"The manifest of {manifest.name!r} does not say where to download it; import its files.")
    folder, address = manifest.folder(), f"{server.rstrip('/')}/{manifest.repository}/resolve"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ModelError(f"The folder {folder} cannot be made ({error.strerror}); check its permissions.") from error
    asked = [_asked(f"{address}/{manifest.revision}/{name}", name, stop) for name in file_names(manifest)]
    for remote, sha256 in zip(asked, (manifest.sha256, manifest.mmproj_sha256), strict=False):
        if sha256 and remote.sha256 != sha256 and not hashes.noted_hashes(manifest.name):
            raise ModelError(f"The file {remote.name} at {manifest.repository} is not the one the manifest means.")
    tell = _Told(sum(remote.size for remote in asked), on_progress)
    _check_room(folder, asked, free or (lambda place: shutil.disk_usage(place).free))
    for remote in asked:
        _get(f"{address}/{remote.commit or manifest.revision}/{remote.name}", folder / remote.name, remote, stop, tell,
             pauses)  # fmt: skip
    _note(folder, manifest, asked)


class _Told:
    """Adds the files up for the one who watches."""

    def __init__(self, total: int, on_progress: Progress | None) -> None:
        self.before = 0
        self._total = total
        self._on_progress = on_progress
        self._next = 0.0

    def __call__(self, of_this_file: int) -> None:
        now = time.monotonic()
        if self._on_progress and (now >= self._next or not of_this_file):
            self._on_progress(self.before + of_this_file, self._total)
            self._next = now + TELL_SECONDS


def _asked(url: str, name: str, stop: Event) -> Remote:
    """What the server says of a file before it sends it."""

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(timeout=TIMEOUT) as client:
            return await client.head(url)

    try:
        answer = _run(ask(), stop)
    except httpx.HTTPError as error:
        raise ModelError(_offline(url)) from error
    if answer.status_code >= 400:
        raise _refused(answer.status_code, url)
    sha256 = answer.headers.get("x-linked-etag", "").strip('W/"').lower()
    size = answer.headers.get("x-linked-size", "")
    if not _SHA256.fullmatch(sha256) or not size.isdigit():
        raise ModelError(
            f"The server does not say the SHA-256 of {name}, so it is not loaded; import the file instead."
        )
    commit = answer.headers.get("x-repo-commit", "")
    return Remote(name, int(size), sha256, commit if re.fullmatch(r"[0-9a-f]{6,64}", commit) else "")


def _get(url: str, target: Path, remote: Remote, stop: Event, tell: _Told, pauses: tuple[float, ...]) -> None:
    """One file, with as many tries as bring something, and then as many as there are pauses."""
    part, failures = _part(target), 0
    if not _is_whole(target, remote):
        while _size(part) < remote.size:
            before = _size(part)
            try:
                _run(_stream(url, part, remote, tell), stop)
            except _Dropped as error:
                failures = 0 if _size(part) > before else failures + 1
                if failures > len(pauses):
                    raise ModelError(str(error)) from error
                if stop.wait(pauses[max(failures - 1, 0)] if pauses else 0.0):
                    raise Stopped("The download was cancelled; what came is kept.") from error
        _check(part, remote, stop)
        part.replace(target)
        hashes.remember(target, remote.sha256)
    tell.before += remote.size
    tell(0)


async def _stream(url: str, part: Path, remote: Remote, tell: _Told) -> None:
    """Goes on with a part file. Raises _Dropped when the connection ends before the file does."""
    have = _size(part)
    ask = {"Range": f"bytes={have}-"} if have else {}
    try:
        async with (
            httpx.AsyncClient(timeout=TIMEOUT, follow_redirects=True) as client,
            client.stream("GET", url, headers={"Accept-Encoding": "identity", **ask}) as answer,
        ):
            if answer.status_code >= 500 or answer.status_code == 429:
                raise _Dropped(f"The server failed ({answer.status_code}). What came is kept; try again later.")
            if answer.status_code >= 400:
                raise _refused(answer.status_code, url)
            have = have if answer.status_code == 206 else 0  # a server may send the whole file again
            with part.open("r+b" if have else "wb") as file:
                file.seek(have)
                async for piece in answer.aiter_raw():
                    file.write(piece)
                    have += len(piece)
                    if have > remote.size:
                        break
                    tell(have)
    except httpx.HTTPError as error:
        raise _Dropped(_offline(url)) from error
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what = "the disk is full; free some space" if full else f"{error.strerror}; check the folder"
        raise ModelError(f"{part.parent} cannot be written to: {what} and try again, what came is kept.") from error
    if have < remote.size:
        raise _Dropped(_offline(url))


def _check(part: Path, remote: Remote, stop: Event) -> None:
    """Raises ModelError and removes the bytes when they are not those the server spoke of."""
    found = hashlib.sha256()
    with part.open("rb") as file:
        while piece := file.read(8 * _CHUNK):
            if stop.is_set():
                raise Stopped("The download was cancelled; what came is kept.")
            found.update(piece)
    if found.hexdigest() != remote.sha256:
        part.unlink()
        raise ModelError(f"The file {remote.name} was damaged on its way (wrong SHA-256) and was removed; try again.")


def _check_room(folder: Path, asked: list[Remote], free: Free) -> None:
    needed = SPARE
    for remote in asked:
        if not _is_whole(folder / remote.name, remote):
            needed += max(0, remote.size - _size(_part(folder / remote.name)))
    left = free(folder)
    if needed > SPARE and left < needed:
        raise ModelError(
            f"The model needs {needed / 1e9:.1f} GB in {folder}, but only {left / 1e9:.1f} GB are free. {SAFE} "
            "Free some space and try again."
        )


def _is_whole(target: Path, remote: Remote) -> bool:
    """Whether the file is here already, with the right bytes."""
    if _size(target) != remote.size:
        return False
    try:
        hashes.verify(target, remote.sha256)
    except ModelError:
        return False
    return True


def _note(folder: Path, manifest: Manifest, asked: list[Remote]) -> None:
    noted = {"repository": manifest.repository, "revision": asked[0].commit, "sha256": asked[0].sha256}
    if manifest.mmproj:
        noted["mmproj_sha256"] = asked[-1].sha256
    unfinished = folder / f"{HASHES}.new"
    unfinished.write_text(json.dumps(noted, indent=2) + "\n", encoding="utf-8")
    unfinished.replace(folder / HASHES)


def _run(work: Coroutine[Any, Any, _T], stop: Event) -> _T:
    """Runs the work to its end. Raises Stopped as soon as `stop` is set; the connection is closed then."""

    async def watched() -> _T:
        task = asyncio.create_task(work)
        while not task.done():
            await asyncio.wait({task}, timeout=POLL_SECONDS)
            if stop.is_set():
                task.cancel()
                await asyncio.wait({task})
                raise Stopped("The download was cancelled; what came is kept.")
        return task.result()

    return asyncio.run(watched())


def _part(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")


def _size(file: Path) -> int:
    return file.stat().st_size if file.is_file() else 0


def _offline(url: str) -> str:
    return (
        f"{httpx.URL(url).host} cannot be reached or broke off. Check the connection and try again: "
        "what came is kept, and models that are here go on working."
    )


def _refused(status: int, url: str) -> ModelError:
    host = httpx.URL(url).host
    if status in (401, 403):
        return ModelError(f"{host} wants a login for this model; load its files in a browser and import them.")
    if status == 404:
        return ModelError(f"{host} no longer has {url.rpartition('/')[2]}; load another version and import it.")
    return ModelError(f"{host} refused the download ({status}); try again later or import the files.")
