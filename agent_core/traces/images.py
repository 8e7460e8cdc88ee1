"""Pictures as PNG files named by what they show: images/ab/abcdef....png.

The name is the SHA-256 of the size and the RGB bytes, not of the file, so an identical frame is known without encoding
it again and is stored once. A file is written beside its place and renamed: a name always means a whole picture.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from PIL import Image

from agent_core.errors import StoreError
from agent_core.step import Screenshot

MOST_PIXELS = 64_000_000  # of a picture from elsewhere: an 8K screen has half of it
_PNG_LEVEL = 1  # of 9: a 1280 x 800 desktop takes a third of the time of the default and about a fifth more bytes


@dataclass(frozen=True, slots=True)
class Pixels:
    """A picture read back: `rgb` is height*width*3 bytes, row by row."""

    rgb: bytes
    width: int
    height: int


def hash_of(picture: Screenshot | Pixels) -> str:
    """64 hex digits that name the picture."""
    digest = hashlib.sha256(f"{picture.width}x{picture.height}\n".encode())
    digest.update(picture.rgb)
    return digest.hexdigest()


def file_of(folder: Path, sha256: str) -> Path:
    """Where the picture lies below the images folder, whether it exists or not."""
    return folder / sha256[:2] / f"{sha256}.png"


def save(folder: Path, shot: Screenshot, sha256: str) -> int:
    """Writes the picture unless it is there, whole or not at all. Gives the file's size in bytes. Raises OSError."""
    target = file_of(folder, sha256)
    try:
        return target.stat().st_size
    except FileNotFoundError:
        return save_file(folder, png_bytes(shot), sha256)


def save_file(folder: Path, data: bytes, sha256: str) -> int:
    """Writes the bytes of a PNG file under this name, whole or not at all. Gives their number. Raises OSError."""
    target = file_of(folder, sha256)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix="new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return len(data)


def shows(data: bytes, sha256: str) -> bool:
    """Whether the bytes are a picture file that shows what this name says. For files from elsewhere; never raises."""
    try:
        with Image.open(BytesIO(data), formats=("PNG",)) as image:
            if image.width * image.height > MOST_PIXELS:
                return False
            pixels = Pixels(image.convert("RGB").tobytes(), image.width, image.height)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return False
    return hash_of(pixels) == sha256


def png_bytes(picture: Screenshot | Pixels) -> bytes:
    """The picture as a PNG file."""
    out = BytesIO()
    Image.frombytes("RGB", (picture.width, picture.height), picture.rgb).save(out, "PNG", compress_level=_PNG_LEVEL)
    return out.getvalue()


def load(folder: Path, sha256: str) -> Pixels:
    """Reads a stored picture. Raises StoreError when it is missing or damaged."""
    path = file_of(folder, sha256)
    try:
        with Image.open(path) as image:
            return Pixels(image.convert("RGB").tobytes(), image.width, image.height)
    except (OSError, SyntaxError, ValueError) as error:  # Pillow reports a broken PNG as any of the three
        raise StoreError(f"The picture {path} is missing or damaged; the rest of the run can still be read.") from error
