"""A byte-level BPE tokenizer as a GGUF holds it.

llama.cpp knows its pre-tokenizers by name and not by their rules, so the rule is looked up here; a rule without a name
is refused, because its texts would be cut up otherwise than in training.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_core.errors import ModelError

QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3 = QWEN2.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
_RULES = {QWEN2: "qwen2", LLAMA3: "llama-bpe"}
NORMAL, CONTROL, USER_DEFINED, UNUSED = 1, 3, 4, 5  # token types of llama.cpp


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Tokens by id, merges in the order of their rank, and what is special."""

    tokens: Sequence[str]
    types: Sequence[int]
    merges: Sequence[str]
    rule: str
    begin_id: int | None
    begins: bool
    end_id: int
    pad_id: int | None
    template: str

    @classmethod
    def of_folder(cls, folder: Path, size: int, *, asked_by_ids: bool = False) -> Vocabulary:
        """The tokenizer in a folder, filled up to `size` tokens. Raises ModelError.

        With `asked_by_ids` any rule will do, because the file is never given a text to cut.
        """
        from transformers import AutoTokenizer

        try:
            tokenizer = AutoTokenizer.from_pretrained(str(folder))
            data = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ModelError(f"The tokenizer in {folder} cannot be read: copy its tokenizer.json there.") from error
        if data["model"]["type"] != "BPE":
            raise ModelError(
                f"The tokenizer in {folder} is a {data['model']['type']}; only byte-level BPE can be made."
            )
        if tokenizer.eos_token_id is None:
            raise ModelError(f"The tokenizer in {folder} has no end token: replies would never stop.")
        tokens, types = _tokens(data, size)
        if len(tokens) > size:
            raise ModelError(f"The tokenizer in {folder} has {len(tokens)} tokens, and the model {size}.")
        merges = [m if isinstance(m, str) else " ".join(m) for m in data["model"]["merges"]]
        first = tokenizer("a")["input_ids"][:1]
        return cls(
            tokens, types, merges, "gpt-2" if asked_by_ids else _rule(data.get("pre_tokenizer"), folder),
            tokenizer.bos_token_id,
            first == [tokenizer.bos_token_id], int(tokenizer.eos_token_id), tokenizer.pad_token_id,
            str(tokenizer.chat_template or ""),
        )  # fmt: skip

    def describe(self, writer: Any) -> None:
        """Writes it into a GGUF."""
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(self.rule)
        writer.add_token_list(list(self.tokens))
        writer.add_token_types(list(self.types))
        writer.add_token_merges(list(self.merges))
        writer.add_add_bos_token(self.begins)
        writer.add_eos_token_id(self.end_id)
        if self.begin_id is not None:
            writer.add_bos_token_id(self.begin_id)
        if self.pad_id is not None:
            writer.add_pad_token_id(self.pad_id)
        if self.template:
            writer.add_chat_template(self.template)


def _tokens(data: dict[str, Any], size: int) -> tuple[list[str], list[int]]:
    """Tokens and their types by id. Ids without a token, up to the width of the output layer, are never said."""
    named = {number: (token, NORMAL) for token, number in data["model"]["vocab"].items()}
    for added in data.get("added_tokens", ()):
        text = added["content"]
        control = added["special"] or (text.startswith("<|") and text.endswith("|>"))
        named[added["id"]] = (text, CONTROL if control else USER_DEFINED)
    every = [named.get(n, (f"[PAD{n}]", UNUSED)) for n in range(max(size, max(named) + 1))]
    return [token for token, _ in every], [kind for _, kind in every]


def _rule(pre: dict[str, Any] | None, folder: Path) -> str:
    """llama.cpp's name for how texts are cut before merging."""
    parts = (pre or {}).get("pretokenizers") or ([pre] if pre else [])
    kinds = [part["type"] for part in parts]
    last = parts[-1] if parts else {}
    if kinds == ["Split", "ByteLevel"] and not last.get("use_regex"):
        pattern = parts[0]["pattern"].get("Regex", "")
        if pattern in _RULES and parts[0]["behavior"] == "Isolated" and not last.get("add_prefix_space"):
            return _RULES[pattern]
    if kinds == ["Digits", "ByteLevel"] and parts[0].get("individual_digits") and last.get("use_regex", True):
        return "smollm"
    if kinds == ["ByteLevel"] and last.get("use_regex", True) and not last.get("add_prefix_space"):
        return "gpt-2"
    raise ModelError(f"The tokenizer in {folder} cuts texts by a rule of its own, which llama.cpp does not know.")
