"""The files of a bundle, from a folder or from a zip file, also from one that was cut off in the middle."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path, PurePosixPath
from typing import Protocol

MOST_BYTES = 1 << 30  # of one file in a bundle
_LOCAL = struct.Struct("<4s5H3I2H")  # the header in front of each file in a zip
_LOCAL_MARK, _STREAMED = b"PK\x03\x04", 1 << 3


class Files(Protocol):
    """`names` are those that can be read whole, as far as that can be told without reading them."""

    names: frozenset[str]
    cut_off: bool

    def read(self, name: str) -> bytes:
        """The file. Raises KeyError when it is not there, ValueError with the reason when it cannot be read."""
        ...


def files_of(path: Path) -> Files:
    """The files in a folder or a zip file. Raises ValueError when it is neither, OSError when it cannot be read."""
    if path.is_dir():
        return _Folder(path)
    with path.open("rb") as file:
        mark = file.read(4)
    if not mark.startswith(b"PK"):
        raise ValueError("it is neither a folder nor a zip file")
    try:
        return _Zip(path)
    except zipfile.BadZipFile:
        return _CutOff(path)


class _Folder:
    cut_off = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self.names = frozenset(f.relative_to(path).as_posix() for f in path.rglob("*") if f.is_file())

    def read(self, name: str) -> bytes:
        if name not in self.names:  # so that no name leads out of the folder
            raise KeyError(name)
        try:
            return (self._path / PurePosixPath(name)).read_bytes()
        except OSError as error:
            raise ValueError(error.strerror or str(error)) from error


class _Zip:
    cut_off = False

    def __init__(self, path: Path) -> None:
        self._path = path
        with zipfile.ZipFile(path) as file:
            self._sizes = {one.filename: one.file_size for one in file.infolist() if not one.is_dir()}
        self.names = frozenset(self._sizes)

    def read(self, name: str) -> bytes:
        if self._sizes[name] > MOST_BYTES:
            raise ValueError(f"it would take {self._sizes[name]} bytes")
        try:
            with zipfile.ZipFile(self._path) as file:
                return file.read(name)
        except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError, EOFError) as error:
            raise ValueError(str(error)) from error


class _CutOff:
    """A zip file whose list of contents, which stands at its end, is gone: the files are found one after the other."""

    cut_off = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[str, tuple[int, int]] = {}
        length, at = path.stat().st_size, 0
        with path.open("rb") as file:
            while at + _LOCAL.size <= length:
                file.seek(at)
                mark, _, flags, method, _, _, _, size, _, name_bytes, extra = _LOCAL.unpack(file.read(_LOCAL.size))
                start = at + _LOCAL.size + name_bytes + extra
                if mark != _LOCAL_MARK or method != zipfile.ZIP_STORED or flags & _STREAMED or start + size > length:
                    break
                self._places[file.read(name_bytes).decode("utf-8", "replace")] = (start, size)
                at = start + size
        self.names = frozenset(self._places)

    def read(self, name: str) -> bytes:
        start, size = self._places[name]
        if size > MOST_BYTES:
            raise ValueError(f"it would take {size} bytes")
        with self._path.open("rb") as file:
            file.seek(start)
            return file.read(size)
