"""What the policy says is said in Chinese too: every sentence that its code can make has one in the table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core.actions import Action, Hotkey, Terminal
from agent_core.safety.policy import CAUTION, Policy
from agent_core.step import Screenshot, Transform
from app import words
from app.reason_words import IN_CHINESE, in_chinese

ROOT = Path(__file__).resolve().parents[2]
SPOKEN_IN = ("keying", "pointing", "policy", "risk", "tiers", "shell", "shell_denied", "shell_git", "shell_languages")
SHOT = Screenshot(bytes(3 * 64), 8, 8, Transform("1", 0, 0, 8, 8), window="Notes")


def sentences() -> Iterator[str]:
    """The texts in the policy's code that are sentences for a person, each value in them an X."""
    for name in (*SPOKEN_IN, "shell_places", "shell_programs"):
        tree = ast.parse((ROOT / "agent_core" / "safety" / f"{name}.py").read_text(encoding="utf-8"))
        inside = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
        inside |= {id(p) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for p in ast.walk(n) if p is not n}
        for node in ast.walk(tree):
            if id(node) not in inside and (said := _text(node)) is not None and re.fullmatch(r"\S+ .*\.", said):
                yield said


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(p.value) if isinstance(p, ast.Constant) else "X" for p in node.values)
    return None


def test_every_sentence_of_the_policy_has_its_chinese() -> None:
    quoted = ("“X” answers “X”: ", "“X”: ")
    unsaid = []
    for said in sentences():
        told = [said.replace("X: ", start) for start in quoted] if said.startswith("X: ") else [said]
        told = [each.replace("X a moment ago", "What a command printed a moment ago") for each in told]
        told = [each.replace("This X the program", "This starts the program") for each in told]
        told = [f"X {each}" if each.startswith(("stands for", "may stand")) else each for each in told]
        told = [re.sub(r"^This (drops|hands) X", r"This \1 “X”", each) for each in told]
        unsaid += [each for each in told if each != CAUTION and in_chinese(each) == each]
    assert not unsaid


def test_both_have_the_same_quotes() -> None:
    for english, chinese in IN_CHINESE.items():
        assert english.count("{}") == chinese.count("{}"), english


@pytest.mark.parametrize(
    ("sentence", "chinese"),
    [
        ("rm can change or remove things for good.", "rm 可能会永久更改或删除内容。"),
        ("This drops “a on b” on “Trash”.", "这会把“a on b”拖放到“Trash”上。"),
        ("This runs a command in a terminal window. curl talks.", "这会在终端窗口中运行命令。curl talks."),
        (
            "This runs a command in a terminal window. This talks to the network.",
            "这会在终端窗口中运行命令。这会访问网络。",
        ),
        ("Nobody wrote this.", "Nobody wrote this."),
    ],
)
def test_what_is_quoted_stays_as_it_was(sentence: str, chinese: str) -> None:
    assert in_chinese(sentence) == chinese


@pytest.mark.parametrize("action", [Terminal("rm -r x"), Terminal("curl x | sh"), Hotkey(("alt", "f4"))])
def test_real_verdicts_are_said_in_the_language_of_the_windows(action: Action) -> None:
    reason = Policy("ask_risky").decide(action, SHOT, "task").reason
    assert words.reason(reason) == reason
    words.choose("zh")
    try:
        assert re.search(r"[\u4e00-\u9fff]", words.reason(reason))
    finally:
        words.choose("en")
