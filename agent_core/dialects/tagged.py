"""Reads tool calls that are not call expressions: `<function=...>` blocks and JSON function calls.

Both become the same `Call` values that `calls.py` reads. JSON strings are decoded by the JSON decoder and never
unescaped again; arguments that are themselves a string of JSON are decoded once more. Linear in the text.
"""

from __future__ import annotations

import json
import re
from typing import Any

from agent_core.dialects.calls import Call, Unreadable, Value, unescape

FUNCTION = re.compile(r"<function=\s*([^\W\d][\w.:-]{0,63})\s*>", re.IGNORECASE)
_PARAMETER = re.compile(r"\s*<parameter=\s*([^\W\d]\w{0,63})\s*>", re.IGNORECASE)
_PARAMETER_END = re.compile(r"</parameter>(?=\s*+(?:<parameter=|</function>|\Z))", re.IGNORECASE)
_FUNCTION_END = re.compile(r"\s*</function>", re.IGNORECASE)
# Shell text has its own escapes: it goes through as written.
_RAW = ("command",)
_DECODER = json.JSONDecoder(strict=False)


def scan_function(text: str, at: int) -> tuple[Call | Unreadable, int]:
    """Reads the `<function=NAME>` block that starts at `at`, and says where it ends."""
    opening = FUNCTION.match(text, at)
    if opening is None:
        return Unreadable("No <function=...> was found."), at
    name, at = opening[1], opening.end()
    named: dict[str, Value] = {}
    while parameter := _PARAMETER.match(text, at):
        end = _PARAMETER_END.search(text, parameter.end())
        value = text[parameter.end() : end.start() if end else len(text)]
        if parameter[1] in named:
            return Unreadable(f"{name} has the argument {parameter[1]} twice."), at
        named[parameter[1]] = _parameter(parameter[1], value, cut=end is None)
        at = end.end() if end else len(text)
    closing = _FUNCTION_END.match(text, at)
    if closing is None and text[at:].strip():
        return Unreadable(f"{name}: the parameters cannot be read; write <parameter=name>value</parameter>."), at
    return Call(name, named, closed=closing is not None), closing.end() if closing else len(text)


def _parameter(name: str, text: str, cut: bool) -> Value:
    if text.startswith("\n"):  # the value stands on lines of its own
        text = text[1:].removesuffix("\n")
    return Value(text if name in _RAW else unescape(text), cut=cut)


def scan_json(text: str, at: int) -> tuple[list[Call] | Unreadable, int]:
    """Reads the JSON function call, or list of them, that starts at `at`, and says where it ends."""
    try:
        data, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return Unreadable("The JSON of the function call cannot be read."), at
    calls: list[Call] = []
    for item in data if isinstance(data, list) else [data]:
        call = _call(item)
        if isinstance(call, Unreadable):
            return call, end
        calls.append(call)
    return calls, end


def _call(item: Any) -> Call | Unreadable:
    if isinstance(item, dict) and isinstance(item.get("function"), dict):
        item = item["function"]
    if isinstance(item, dict) and "name" not in item and isinstance(item.get("action"), str):
        item = {"name": "computer_use", "arguments": item}  # the arguments without their call
    name = item.get("name") if isinstance(item, dict) else None
    if not isinstance(name, str) or not name.strip():
        return Unreadable('A JSON function call needs "name" and "arguments".')
    given = next((item[key] for key in ("arguments", "parameters") if key in item), None)
    if isinstance(given, str) and given.strip():
        try:
            given = _DECODER.decode(given)
        except (ValueError, RecursionError):
            return Unreadable(f"{name}: the arguments are not JSON.")
    if given is None or isinstance(given, str):
        given = {}
    if not isinstance(given, dict):
        return Unreadable(f"{name}: the arguments must be a JSON object.")
    return Call(name.strip(), {key: _json_value(value) for key, value in given.items() if value is not None})


def _json_value(value: Any) -> Value:
    if isinstance(value, str):
        return Value(value)
    try:
        return Value(json.dumps(value), quoted=False)
    except (ValueError, RecursionError):
        return Value("?", quoted=False)
