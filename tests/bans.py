"""What no code here may do, found in the syntax tree: text in comments and strings does not count.

Everywhere: eval, exec, a shell given a whole line, unpickling. In tests also: replacing our own code by patching or
mocks, because a test that replaces what it tests shows nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("app", "agent_core", "training", "installer")
CALLS = {
    "eval": "no code is made from text",
    "exec": "no code is made from text",
    "os.system": "start a program with a list of words",
    "os.popen": "start a program with a list of words",
    "subprocess.getoutput": "start a program with a list of words",
    "pickle.load": "unpickling runs whatever the file says",
    "pickle.loads": "unpickling runs whatever the file says",
}
TEST_CALLS = {"monkeypatch.setattr": "use the real part", "monkeypatch.setitem": "use the real part"}
TEST_IMPORTS = ("unittest.mock", "mock", "pytest_mock")


def found(root: Path) -> list[str]:
    """`file:line: what (why)` for each use of something banned, in the order of the files."""
    lines = []
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            lines += [f"{path.relative_to(root)}:{said}" for said in in_source(path.read_text("utf-8"), CALLS)]
    for path in sorted((root / "tests").rglob("*.py")):
        source = path.read_text("utf-8")
        lines += [f"{path.relative_to(root)}:{said}" for said in in_source(source, CALLS | TEST_CALLS, TEST_IMPORTS)]
    return lines


def in_source(source: str, calls: dict[str, str], imports: tuple[str, ...] = ()) -> Iterator[str]:
    """`line: what (why)` for one file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in calls:
                yield f"{node.lineno}: {name} ({calls[name]})"
            if any(word.arg == "shell" and not _is_false(word.value) for word in node.keywords):
                yield f"{node.lineno}: shell= in {name} (start a program with a list of words)"
        for module in _imported(node):
            if module.startswith(imports) and imports:
                yield f"{getattr(node, 'lineno', 0)}: {module} (use the real part)"


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [name.name for name in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module or ''}.{name.name}" for name in node.names]
    return []


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False
