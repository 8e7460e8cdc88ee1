"""The two requests of the XKEYBOARD extension that python-xlib lacks: read all key symbols, write a range of them.

Unlike the core request, this one writes keys back exactly as they were read, whatever their levels and groups; so one
request can change keycodes that lie apart, and every program reloads its keyboard map once instead of once for each.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from Xlib.display import Display
from Xlib.protocol import rq

from agent_core.errors import InputError

NAME = "XKEYBOARD"
_CORE_KEYBOARD = 0x100
_KEY_SYMBOLS = 2
_GROUPS = 0x0F
_ROW = struct.Struct("=4BBBH")  # key types of the four groups, group info, width, number of symbols


@dataclass(frozen=True, slots=True)
class Key:
    """What one keycode makes: `width` keysyms for each of its groups, with their key types."""

    types: tuple[int, int, int, int]
    info: int
    width: int
    symbols: tuple[int, ...]

    def in_group(self, group: int) -> tuple[int, ...]:
        """The keysyms of the keyboard group in effect, one for each level. A key with fewer groups starts over."""
        groups = self.info & _GROUPS
        start = (group % groups) * self.width if groups else 0
        return self.symbols[start : start + self.width]


NOTHING = Key((0, 0, 0, 0), 0, 0, ())


def one_symbol(symbol: int) -> Key:
    """A key that makes the same keysym in every group, with any modifier."""
    return Key((0, 0, 0, 0), 1, 1, (symbol,))


class _UseExtension(rq.ReplyRequest):  # type: ignore[misc]
    _request = rq.Struct(rq.Card8("opcode"), rq.Opcode(0), rq.RequestLength(), rq.Card16("major"), rq.Card16("minor"))
    _reply = rq.Struct(
        rq.ReplyCode(), rq.Bool("supported"), rq.Card16("sequence_number"), rq.ReplyLength(), rq.Pad(24)
    )  # fmt: skip


class _GetMap(rq.ReplyRequest):  # type: ignore[misc]
    _request = rq.Struct(
        rq.Card8("opcode"), rq.Opcode(8), rq.RequestLength(), rq.Card16("device"), rq.Card16("full"), rq.Pad(20)
    )  # fmt: skip
    _reply = rq.Struct(
        rq.ReplyCode(), rq.Card8("device"), rq.Card16("sequence_number"), rq.ReplyLength(), rq.Pad(2),
        rq.Card8("first"), rq.Card8("last"), rq.Card16("present"), rq.Pad(3), rq.Card8("first_key"),
        rq.Card16("total"), rq.Card8("keys"), rq.Pad(19), rq.Binary("rows"),
    )  # fmt: skip


class _SetMap(rq.Request):  # type: ignore[misc]
    _request = rq.Struct(
        rq.Card8("opcode"), rq.Opcode(9), rq.RequestLength(), rq.Card16("device"), rq.Card16("present"),
        rq.Card16("flags"), rq.Card8("first"), rq.Card8("last"), rq.Pad(2), rq.Card8("first_key"), rq.Card8("keys"),
        rq.Card16("total"), rq.Pad(18), rq.Binary("rows"),
    )  # fmt: skip


def start(display: Display) -> None:
    """Must come once before the others. Raises InputError when the server has no XKEYBOARD extension."""
    if not display.query_extension(NAME):
        raise InputError("This X server has no XKEYBOARD extension, so text cannot be typed; enable it in the server.")
    display.display.set_extension_major(NAME, display.query_extension(NAME).major_opcode)
    _UseExtension(display=display.display, opcode=_opcode(display), major=1, minor=0)


def read(display: Display) -> tuple[int, list[Key]]:
    """The first keycode and what it and all after it make."""
    reply = _GetMap(display=display.display, opcode=_opcode(display), device=_CORE_KEYBOARD, full=_KEY_SYMBOLS)
    rows: list[Key] = []
    data, place = bytes(reply.rows), 0
    for _ in range(reply.keys):
        *types, info, width, count = _ROW.unpack_from(data, place)
        symbols = struct.unpack_from(f"={count}I", data, place + _ROW.size)
        rows.append(Key((types[0], types[1], types[2], types[3]), info, width, symbols))
        place += _ROW.size + 4 * count
    return reply.first_key, rows


def write(display: Display, first: int, keys: Sequence[Key]) -> None:
    """Sets what the keycodes from `first` on make, in one request."""
    rows = b"".join(
        _ROW.pack(*key.types, key.info, key.width, len(key.symbols))
        + struct.pack(f"={len(key.symbols)}I", *key.symbols)
        for key in keys
    )
    _SetMap(
        display=display.display,
        opcode=_opcode(display),
        device=_CORE_KEYBOARD,
        present=_KEY_SYMBOLS,
        flags=0,
        first=display.display.info.min_keycode,
        last=display.display.info.max_keycode,
        first_key=first,
        keys=len(keys),
        total=sum(len(key.symbols) for key in keys),
        rows=rows,
    )
    display.sync()


def _opcode(display: Display) -> Any:
    return display.display.get_extension_major(NAME)
