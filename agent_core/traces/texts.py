"""How values become text columns: JSON, with every text passed through the redaction first.

Nothing here decides what is secret. The caller hands in `redact`, a function from text to text, and every text that a
person, a screen or a model wrote goes through it before it is stored; names of our own (kinds, tiers, hashes) do not.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from agent_core.actions import Action, from_json, in_words, to_json
from agent_core.step import Element, Transform

Redact = Callable[[str], str]
_OWN_WORDS = ("kind", "direction")  # fields of actions and elements that come from a closed list


def as_is(text: str) -> str:
    """The redaction that leaves everything."""
    return text


@dataclass(frozen=True, slots=True)
class Texts:
    """Writes values as columns through one redaction."""

    redact: Redact = as_is

    def text(self, text: str) -> str:
        """One text column. Half surrogate pairs, which a cut reply can hold and SQLite cannot, become "?"."""
        return self.redact(text).encode("utf-8", "replace").decode("utf-8")

    def texts(self, texts: tuple[str, ...]) -> str:
        return json_text([self.text(t) for t in texts])

    def action(self, action: Action) -> tuple[str, str]:
        """The action as JSON and in words, both redacted in the same way."""
        data = self._inside(to_json(action))
        return json_text(data), in_words(from_json(data))

    def element(self, element: Element | None) -> str | None:
        return None if element is None else json_text(self._element(element))

    def elements(self, elements: tuple[Element, ...]) -> str:
        return json_text([self._element(e) for e in elements])

    def _element(self, element: Element) -> dict[str, Any]:
        box = element.box
        data = {"kind": element.kind, "text": element.text, "value": element.value, "on": element.on}
        return {**self._inside(data), "box": [round(side, 5) for side in (box.left, box.top, box.right, box.bottom)]}

    def _inside(self, data: dict[str, Any]) -> dict[str, Any]:
        inside: dict[str, Any] = mapped(data, self.text)
        return inside


def mapped(value: Any, redact: Redact) -> Any:
    """A value of JSON with every text in it through `redact`, but for kinds and directions."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [mapped(one, redact) for one in value]
    if isinstance(value, dict):
        return {k: v if k in _OWN_WORDS else mapped(v, redact) for k, v in value.items()}
    return value


NOTHING = Texts(lambda text: "")
"""Writes every text as empty: for what happened in windows that the person excluded."""


def transform_json(transform: Transform) -> str:
    return json_text(asdict(transform))


def json_text(value: Any) -> str:
    """Compact JSON that keeps letters of every script readable."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
